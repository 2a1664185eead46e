"""Arguments for the nonlinear unit, and golden's results."""

from collections.abc import Collection, Iterator
from fractions import Fraction
from functools import partial
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.mover import BF20
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat, Rounding
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.rtl.aie_ml_v2.mover.layouts import Function, nonlinear_request
from bitpath.verif.common.boundary_codes import exact_code
from bitpath.verif.kit.boundaries import SIDES, Boundary, Near, float_boundaries, near
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import code_text

FORMATS: dict[Function, FloatFormat] = {
    Function.EXP2_BF16: BF16,
    Function.EXP2_FP16: FP16,
    Function.EXP2_FP32: BF20,
    Function.TANH: BF16,
}
NAMES = {Function.EXP2_BF16: "bf16", Function.EXP2_FP16: "fp16", Function.EXP2_FP32: "fp32"}
SPECIALS = (0, 1, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF)
SMALL = 8
"""Kinds of boundaries below ``2**-12``."""
RANGES = ("below", "result", "above", "NaN")
TANH_RANGES = ("argument", "table", "one", "NaN")
BINS = (
    *(f"{function.name}/{name}" for function in NAMES for name in RANGES),
    *(f"TANH/{name}" for name in TANH_RANGES),
)


def bits_of(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


def neighbours(codes: np.ndarray | list[int]) -> np.ndarray:
    """Return FP32 codes with those before and behind them, of both signs."""
    codes = np.asarray(codes, np.int64)
    around = np.unique(np.concatenate([codes - 1, codes, codes + 1]) & FP32.sign_mask - 1)
    return np.concatenate([around, around | FP32.sign_mask]).astype(np.uint32)


def results(function: Function, codes: np.ndarray) -> np.ndarray:
    """Return golden's results of FP32 codes."""
    x = codes.astype(np.uint32).view(np.float32)
    got = aie.tanh(x) if function is Function.TANH else aie.exp2_instruction(x, fmt=NAMES[function])
    return got.view(f"u{got.itemsize}")


def nonlinear_requests(function: Function, codes: np.ndarray, lanes: int) -> list[Request]:
    """Requests of FP32 codes, the last filled up with zeros, and the results side by side."""
    rows = np.zeros(-(-len(codes) // lanes) * lanes, np.uint32)
    rows[: len(codes)] = codes
    rows = rows.reshape(-1, lanes)
    return [
        Request(
            pack(nonlinear_request(lanes), {"op": function, "lanes": row.tolist()}),
            int.from_bytes(result.tobytes(), "little"),
            partial(_shown, function, row),
        )
        for row, result in zip(rows, results(function, rows.reshape(-1)).reshape(rows.shape), strict=True)
    ]


def _shown(function: Function, row: np.ndarray, _: str) -> Shown:
    return Shown(
        operands={"function": function.name, "arguments": ", ".join(code_text(FP32, int(code)) for code in row)}
    )


def fractions() -> np.ndarray:
    """Return all 2048 fractions of exp2's argument, with the bits below them clear and set."""
    codes = bits_of(895) + (np.arange(2048) << 3)
    return np.concatenate([codes, codes | 7])


def exponents() -> np.ndarray:
    """Return every exponent of exp2's result, and both sides of each clamp."""
    return neighbours([bits_of(number) for number in range(766, 1027)])


def breakpoints() -> np.ndarray:
    """Return golden's breakpoints of tanh, the least FP32 code of each positive result above 2**-12, by bisection."""
    first, last = results(Function.TANH, np.array([bits_of(2.0**-12), bits_of(4)]))
    wanted = np.arange(int(first) + 1, int(last) + 1)
    low, high = np.full(len(wanted), bits_of(2.0**-12), np.int64), np.full(len(wanted), bits_of(4), np.int64)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        reached = results(Function.TANH, middle) >= wanted
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def small_boundaries(rng: Random) -> Collection[Boundary]:
    """Return BF16's boundaries where tanh rounds its argument: below ``2**-12``, without the largest numbers."""
    found: dict[str, Boundary] = {}
    while len(found) < SMALL:
        found |= {each.name: each for each in float_boundaries(BF16, rng) if each.lower < Fraction(1, 1 << 13)}
    return found.values()


def small_bins() -> list[str]:
    return [Near(boundary, 1, side, 2).bin for boundary in small_boundaries(Random(0)) for side in SIDES]


def near_small(rng: Random) -> Iterator[tuple[int, str | None]]:
    """Yield arguments of either sign at and beside ties, with a bit at every distance; and the bin, if golden gives the nearest
    number, and at a tie the smaller one."""
    for each in near(small_boundaries, rng, range(2, FP32.precision + 2), Rounding.RNZ):
        code = exact_code(each.value, FP32)
        if code is not None:
            code |= rng.getrandbits(1) << 31
            exact = round_to_format(decode(FP32, code).value, BF16, Rounding.RNZ)
            yield code, each.bin if results(Function.TANH, np.array([code]))[0] == exact else None


def any_codes(function: Function, source: Random, count: int) -> np.ndarray:
    """Return FP32 codes: any, specials, and numbers in the range where the function has a table."""
    low, high = (bits_of(2.0**-14), bits_of(5)) if function is Function.TANH else (bits_of(760), bits_of(1032))
    return np.array(
        [
            source.choice(
                (
                    source.getrandbits(32),
                    source.choice(SPECIALS) | source.getrandbits(1) << 31,
                    source.randrange(low, high),
                    source.randrange(low, high) | (function is Function.TANH) << 31,
                )
            )
            for _ in range(count)
        ],
        np.uint32,
    )


def bin_of(function: Function, code: int) -> str:
    magnitude, fmt = code & FP32.sign_mask - 1, FORMATS[function]
    if magnitude > FP32.infinity_code:
        return f"{function.name}/NaN"
    if function is Function.TANH:
        place = (magnitude >= bits_of(2.0**-12)) + (magnitude >= bits_of(4))
        return f"TANH/{TANH_RANGES[place]}"
    if code & FP32.sign_mask or magnitude < bits_of(895 + fmt.emin):
        return f"{function.name}/below"
    return f"{function.name}/{'result' if magnitude < bits_of(896 + fmt.emax) else 'above'}"
