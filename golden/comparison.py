"""Errors of a matmul in each format against the product in float64, as numbers, a table and a plot."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, numbers, one_of, operand
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.machines import MACHINES, Machine, find_machine
from bitpath.golden.matmul import find_arguments, matmul
from bitpath.golden.tables import as_html, as_text

FORMATS = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4", "bf16_hifi4", "bf16_lofi", "bfp8_hifi2", "mx9", "mx6", "mx4", "bf16")
"""Formats that are compared by default: those that `bitpath run` multiplies."""
HEAD = ("format", "machine", "max error", "RMS error", "SQNR in dB", "median ulp", "max ulp")


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Errors of a result against a reference; None where a number of either is not finite.

    Attributes
    ----------
    max_abs : largest absolute error.
    rms : root of the mean square error.
    max_rel : largest absolute error over the largest absolute reference; None for a reference of zeros.
    sqnr_db : signal to quantisation noise, ``10 log10(sum reference**2 / sum error**2)``; None without error or signal.
    ulp : how many results lie how far off: entry 0 counts distances below 1, entry k > 0 those of 2**(k-1) up to 2**k, in units
        in the last place of the float32 nearest to the reference, whose exponent has no upper limit.
    """

    max_abs: float | None
    rms: float | None
    max_rel: float | None
    sqnr_db: float | None
    ulp: tuple[int, ...]


def errors(result: np.ndarray, reference: np.ndarray) -> Errors:
    """Return the errors of a result, of any shape and of float or integer dtype, against float64 of the same shape."""
    if not (np.isfinite(result).all() and np.isfinite(reference).all()):
        return Errors(max_abs=None, rms=None, max_rel=None, sqnr_db=None, ulp=())
    error = np.abs(result.astype(np.float64) - reference)
    noise, signal = float(np.square(error).sum()), float(np.square(reference).sum())
    largest = float(np.abs(reference).max())
    with np.errstate(over="ignore"):
        nearest = np.abs(reference.astype(np.float32)).astype(np.float64)
    # Beyond float32 the exponent goes on; below its normal numbers the last place stays.
    nearest = np.maximum(np.where(np.isinf(nearest), np.abs(reference), nearest), 2.0**FP32.emin)
    distance = error / np.ldexp(1.0, np.frexp(nearest)[1] - FP32.precision)
    # frexp's exponent of 2**(k-1) up to 2**k is k.
    bins = np.maximum(np.frexp(distance)[1], 0)
    return Errors(
        max_abs=float(error.max()),
        rms=math.sqrt(noise / error.size),
        max_rel=float(error.max()) / largest if largest else None,
        sqnr_db=10 * math.log10(signal / noise) if noise and signal else None,
        ulp=tuple(np.bincount(bins.reshape(-1)).tolist()),
    )


@dataclass(frozen=True)
class Comparison:
    """Errors of one matmul in several formats, in their order.

    It shows itself as a table: as text, and as HTML in a notebook.
    """

    errors: Mapping[str, Errors]

    def __str__(self) -> str:
        return as_text([HEAD, *self._rows()], left=2)

    def _repr_html_(self) -> str:
        return as_html([HEAD, *self._rows()])

    def to_json(self) -> str:
        """Return the errors of each format as a JSON object."""
        return json.dumps({name: asdict(each) for name, each in self.errors.items()}, indent=2)

    def plot(self) -> Any:
        """Return a matplotlib figure: SQNR of each format, and how far its results lie off in ulp.

        Raises
        ------
        ImportError : matplotlib is not installed; bitpath's extra "plot" installs it.
        """
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 1.2 + 0.4 * len(self.errors)), layout="constrained")
        bars, histogram = figure.subplots(1, 2, sharey=True)
        names = list(self.errors)
        bars.barh(names, [each.sqnr_db or 0 for each in self.errors.values()])
        bars.invert_yaxis()
        bars.set_xlabel("SQNR in dB")
        counts = np.zeros((len(names), max((len(each.ulp) for each in self.errors.values()), default=0) or 1))
        for row, each in zip(counts, self.errors.values(), strict=True):
            row[: len(each.ulp)] = each.ulp
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        picture = histogram.imshow(share, aspect="auto", cmap="Blues", vmin=0)
        histogram.set_xlabel("distance: below 2**k ulp of float32")
        figure.colorbar(picture, ax=histogram, label="share of results")
        return figure

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                name,
                _side(name.partition(",")[0]).name,
                *(_number(value) for value in (each.max_abs, each.rms, each.sqnr_db)),
                _power(_median(each.ulp)),
                _power(len(each.ulp) - 1),
            )
            for name, each in self.errors.items()
        ]


def compare(
    a: Any,
    b: Any,
    *,
    formats: Iterable[str] = FORMATS,
    reference: Any = None,
    numerics: Mapping[str, Any] | None = None,
    split: bool = False,
    **options: Any,
) -> Comparison:
    """Multiply [..., M, K] @ [..., K, N] in each format and return its errors.

    Parameters
    ----------
    a, b : as `matmul` takes them; integers for formats of integers.
    formats : names as `matmul` takes them; "MACHINE:FORMAT" where another machine has the name too, as "trainium3:bf16".
    reference : numbers [..., M, N] to compare with in float64; None is the product of the operands in float64.
    numerics : for machines by name, as `matmul` takes them; others have their defaults.
    split : True for two further rows of each format of floats: the errors of its operands alone, whose product is float64's, and of its
        products and sums alone, the difference of the whole and of these added to the product of the operands as they are.
    options : further arguments of `matmul`; each goes to the formats whose machine has it.

    Raises
    ------
    TypeError, ValueError : as `matmul`; one name for several formats, or none; a reference of another shape; an option of no machine.
    """
    if isinstance(formats, str):
        raise TypeError(f"formats must be a list of names, not {formats!r}")
    names = list(formats)
    if not names:
        known = ", ".join(name for each in MACHINES.values() for name in each.formats)
        raise ValueError(f"formats must name at least one of {known}")
    sides = {name: _side(name) for name in names}
    for each in numerics or {}:
        check_choice("numerics", each, {side.name for side in sides.values()})
    taken = {option for side in sides.values() for option in side.options}
    for option in options.keys() - taken:
        raise TypeError(f"options must be {one_of(sorted(taken))} of these formats, not {option!r}")
    # float64 takes float32 operands and integers up to 53 bits as they are.
    left, right = (operand(name, x, names[0] in sides[names[0]].integers) for name, x in (("a", a), ("b", b)))
    with np.errstate(invalid="ignore", over="ignore"):
        product = np.matmul(left.astype(np.float64), right.astype(np.float64))
    exact = product if reference is None else numbers("reference", reference).astype(np.float64)
    found = {}
    for name, side in sides.items():
        own = {option: value for option, value in options.items() if option in side.options}
        given: dict[str, Any] = {"format": name.rpartition(":")[2], "machine": side.name}
        result = matmul(a, b, **given, numerics=(numerics or {}).get(side.name), **own)
        if result.shape != exact.shape:
            raise ValueError(f"reference must have shape {result.shape}, not {exact.shape}")
        found[name] = errors(result, exact)
        if split and given["format"] not in side.integers:
            _, arguments = find_arguments(side.name, given["format"], (numerics or {}).get(side.name), own)
            x, y = (side.numbers(each, operand(each, own, False), **arguments) for each, own in (("a", a), ("b", b)))
            rounded = np.matmul(x.astype(np.float64), y.astype(np.float64))
            found[f"{name}, operands"] = errors(rounded, exact)
            found[f"{name}, sums"] = errors(product + (result - rounded), exact)
    return Comparison(found)


def _side(name: str) -> Machine:
    """Return the machine of a format, which may stand before it."""
    machine, colon, own = name.rpartition(":") if isinstance(name, str) else ("", "", name)
    return find_machine(machine if colon else None, own)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _median(counts: tuple[int, ...]) -> int:
    """Return the entry of a histogram that holds its median; -1 without results."""
    return int(np.searchsorted(np.cumsum(counts), sum(counts) / 2)) if counts else -1


def _power(place: int) -> str:
    return "-" if place < 0 else f"< 2**{place}"
