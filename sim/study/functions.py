"""Accuracy of the kernel library's functions on Tensix's Vector unit, over every BF16 operand.

The error is in units in the last place of the exact result in the format of Dst: BF16, or FP32 in a 32-bit Dst. The reference
is float64's. Its own error, below 1e-8 of a unit of FP32, does not show.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import erf, erfc
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Column, Table

from bitpath.golden.tensix import llk
from bitpath.golden.tensix.declarations.formats import Chip

erf_of = np.vectorize(erf, otypes=[np.float64])
erfc_of = np.vectorize(erfc, otypes=[np.float64])
Reference = Callable[..., np.ndarray]


def _normal_cdf(x: np.ndarray) -> np.ndarray:
    return 0.5 * erfc_of(-x / np.sqrt(2))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _elu(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, np.expm1(np.minimum(x, 0)), x)


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return np.where(np.isneginf(x), 0.0, x * _sigmoid(2 * inner))


REFERENCES: dict[str, Reference] = {
    "exp": np.exp,
    "exponential": np.exp,
    "exp2": np.exp2,
    "reciprocal": np.reciprocal,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "log": np.log,
    "log1p": np.log1p,
    "sigmoid": _sigmoid,
    "silu": lambda x: np.where(np.isneginf(x), 0.0, x * _sigmoid(x)),
    "tanh": np.tanh,
    "tanh_derivative": lambda x: 1 / np.cosh(x) ** 2,
    "gelu": lambda x: np.where(np.isneginf(x), 0.0, x * _normal_cdf(x)),
    "gelu_derivative": lambda x: (
        _normal_cdf(x) + np.where(np.isinf(x), 0.0, x * np.exp(-x * x / 2)) / np.sqrt(2 * np.pi)
    ),
    "gelu_tanh": _gelu_tanh,
    "erf": erf_of,
    "erfc": erfc_of,
    "softplus": lambda x: np.logaddexp(0, x),
    "elu": _elu,
    "celu": _elu,
    "relu": lambda x: np.maximum(x, 0),
    "relu_max": lambda x: np.clip(x, 0, 5),
    "relu_min": lambda x: np.maximum(x, 5),
    "lrelu": lambda x: np.where(x < 0, x * 0.01, x),
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "clamp": lambda x: np.clip(x, -1, 1),
    "threshold": lambda x: np.where(x <= 5, 10.0, x),
    "square": np.square,
    "abs": np.abs,
    "neg": np.negative,
    "sign": np.sign,
    "sine": np.sin,
    "cosine": np.cos,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "frac": lambda x: x - np.trunc(x),
    "round": np.rint,
    "add": np.add,
    "sub": np.subtract,
    "rsub": lambda x, y: y - x,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "power": np.power,
    "xlogy": lambda x, y: x * np.log(y),
}
"""Exact functions by name; those of two operands are measured with every BF16 number as the left one and, in random order, the
right one."""
FRACTION_BITS = {False: 7, True: 23}
"""Fraction bits of the result by whether Dst has 32 bits."""
SMALLEST, LARGEST = 2.0**-126, 2.0**128
SEED = 66


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Errors of a function in one mode.

    Attributes
    ----------
    largest, at : largest error in units in the last place, and the first operand that gives it.
    within : share of results within one unit.
    special : results that are NaN, infinite or zero where the exact one is not, or conversely.
    """

    largest: float
    at: float
    within: float
    special: int


def modes() -> Iterator[tuple[str, llk.Mode]]:
    """Yield each measured function with each of its modes."""
    for name in REFERENCES:
        forms = llk.FUNCTIONS[name].forms
        for dst32 in (False, True):
            for chip in Chip:
                yield name, llk.Mode(chip=chip, dst32=dst32)
                if "approximate" in forms:
                    yield name, llk.Mode(chip=chip, dst32=dst32, approximate=True)
                if "fast" in forms:
                    yield name, llk.Mode(chip=chip, dst32=dst32, approximate=True, fast=True)


def measure(name: str, mode: llk.Mode) -> Accuracy:
    """Measure a function over every BF16 number that is no subnormal, which the unit reads as zero."""
    function = llk.FUNCTIONS[name]
    codes = np.arange(1 << 16, dtype=np.uint32)
    codes = codes[(codes & 0x7F80 != 0) | (codes & 0x7FFF == 0)]
    operands = [codes, np.random.default_rng(SEED).permutation(codes)][: function.operands]
    words = [each << 16 if mode.dst32 else each for each in operands]
    options: dict[str, Any] = {
        "chip": mode.chip,
        "approximate": mode.approximate,
        "fast": mode.fast,
        "dst32": mode.dst32,
    }
    result = llk.apply(name, words, **options)
    with np.errstate(all="ignore"):
        got = (result if mode.dst32 else result << 16).view(np.float32).astype(np.float64)
        numbers = [(each << 16).view(np.float32).astype(np.float64) for each in operands]
        exact = np.asarray(REFERENCES[name](*numbers), np.float64)
        return _compared(numbers[0], got, exact, FRACTION_BITS[mode.dst32])


def _compared(x: np.ndarray, got: np.ndarray, exact: np.ndarray, bits: int) -> Accuracy:
    exact = np.where(np.abs(exact) >= LARGEST * (1 - 2.0 ** -(bits + 2)), np.copysign(np.inf, exact), exact)
    tiny = np.abs(exact) < SMALLEST
    usual = np.isfinite(exact) & np.isfinite(got) & ~tiny & (got != 0)
    same = np.where(np.isnan(exact), np.isnan(got), np.where(tiny, np.abs(got) <= SMALLEST, got == exact))
    unit = np.exp2(np.floor(np.log2(np.where(usual, np.abs(exact), 1))) - bits)
    error = np.where(usual, np.abs(got - exact) / unit, 0)
    worst = int(np.argmax(error))
    return Accuracy(
        largest=float(error[worst]),
        at=float(x[worst]),
        within=float(np.mean(error[usual] <= 1)),
        special=int(np.sum(~usual & ~same)),
    )


def records(names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield a flat record for each function, form, width of Dst and chip; of both chips one if their errors are the same."""
    before: dict[tuple[str, str, str], Accuracy] = {}
    for name, mode in modes():
        if names and name not in names:
            continue
        form = "fast" if mode.fast else "approximate" if mode.approximate else "accurate"
        key = name, form, "FP32" if mode.dst32 else "BF16"
        found = measure(name, mode)
        if mode.chip is Chip.WORMHOLE:
            before[key] = found
            continue
        chips = {"both": found} if before[key] == found else {"wormhole": before[key], "blackhole": found}
        for chip, each in chips.items():
            yield {"function": name, "form": form, "dst": key[-1], "chip": chip, **vars(each)}


COLUMNS = ("function", "form", "Dst", "chip", "max ulp", "at", "within 1 ulp", "special")


def cells(record: dict[str, Any]) -> list[Any]:
    """Return a record as a row of `COLUMNS`."""
    texts = f"{record['largest']:.3g}", f"{record['at']:.6g}", f"{100 * record['within']:.1f} %"
    return [*(record[each] for each in ("function", "form", "dst", "chip")), *texts, record["special"]]


def show(console: Console, found: Sequence[dict[str, Any]]) -> None:
    """Print a row for each record."""
    table = Table(*COLUMNS[:4], *(Column(each, justify="right") for each in COLUMNS[4:]))
    for each in found:
        table.add_row(*map(str, cells(each)))
    console.print(table)
