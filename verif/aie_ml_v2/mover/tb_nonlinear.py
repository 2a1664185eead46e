"""Bench of exp2 and tanh: BF16 inputs, fractions, exponents, clamps, breakpoints, random numbers, latency, resets.

Results of exp2 are irrational but for powers of two, so that none is a tie; all fractions, exponents and clamps are swept. The
table of tanh has each of its breakpoints swept.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random requests of a test, and
those of the sweeps over BF16 inputs and over breakpoints, which are all inputs where they fit.
"""

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.mover import BF20
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat, Rounding
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.rtl.aie_ml_v2.mover.layouts import Function, NonlinearConfig, nonlinear_request
from bitpath.rtl.aie_ml_v2.mover.nonlinear import Nonlinear
from bitpath.verif.common.boundary_codes import exact_code
from bitpath.verif.kit import pauses
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import SIDES, Boundary, Near, code_text, float_boundaries, near

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
    got = aie.tanh(x) if function is Function.TANH else aie.exp2_instruction(x, format=NAMES[function])
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


@cache
def corners() -> dict[Function, np.ndarray]:
    """Both sides of every clamp, specials, and for exp2 every exponent."""
    of_exp2 = np.concatenate([exponents(), neighbours(SPECIALS)])
    limits = [2.0**-126, 2.0**-13, 2.0**-12, 3.46, 4, 8]
    of_tanh = neighbours([*SPECIALS, *np.array(limits, np.float32).view(np.uint32).tolist()])
    return {function: of_exp2 if function in NAMES else of_tanh for function in Function}


def _some(rng: Random, codes: np.ndarray) -> np.ndarray:
    most = BENCH.cases * BENCH.config.lanes
    return codes if len(codes) <= most else codes[sorted(rng.sample(range(len(codes)), most))]


def draw(functions: Sequence[Function], rng: Random) -> list[Request]:
    return [each for function in functions for each in requests(function, any_codes(function, rng, BENCH.config.lanes))]


BENCH = StreamBench(__name__, NonlinearConfig, Nonlinear, list(Function), draw, draws="numbers")
latency, resets = BENCH.timing()
covers("nonlinear.stream", latency, resets)


def requests(function: Function, codes: np.ndarray) -> list[Request]:
    return nonlinear_requests(function, codes, BENCH.config.lanes)


@covers("nonlinear.bf16", "Inputs are often widened from BF16")
@BENCH.sweep(function=[each.name for each in Function])
def bf16_inputs(function: str) -> Made:
    """Every BF16 number through every function."""
    return requests(Function[function], _some(pauses.rng("inputs"), np.arange(1 << 16, dtype=np.uint32) << 16))


@covers("nonlinear.exp2", "A fraction may round up into the next exponent, and there into infinity")
@BENCH.sweep(function=[each.name for each in NAMES])
def every_fraction(function: str) -> Made:
    """All 2048 fractions with the bits below them clear and set, every exponent of the result, both sides of each
    clamp, in BF16, FP16 and FP32."""
    return requests(Function[function], fractions())


@covers("nonlinear.tanh", "The table is exact where it changes at the right arguments")
@BENCH.sweep()
def breakpoints_of_tanh() -> Made:
    """The least argument of each of 1,536 results, the argument before and the one behind, of both signs; limits of the
    table; specials."""
    return requests(Function.TANH, _some(pauses.rng("inputs"), neighbours(breakpoints())))


@covers("nonlinear.exp2")
@covers("nonlinear.tanh")
@BENCH.sweep()
def every_exponent_and_clamp() -> Made:
    return [each for function, codes in corners().items() for each in requests(function, codes)]


@covers("nonlinear.boundaries", "The tangent of a small tie is below it, and one lost bit changes the result")
@BENCH.sweep()
def range_boundaries() -> Made:
    """Tanh of arguments below 2**-12: ties of BF16 at zero, the smallest normal number and the next binade, even and
    odd, and a bit beside them at every distance."""
    codes, hit = zip(*near_small(pauses.rng("boundaries")), strict=True)
    return requests(Function.TANH, np.array(codes)), Coverage(small_bins(), filter(None, hit))


@covers("nonlinear.stream", "Each request carries its own function")
@BENCH.exchange()
def random_requests(pace: str) -> Made:
    """Any numbers and functions in any order, full speed, gaps, stalls and both; latency; resets."""
    rng = pauses.rng("numbers")
    made: list[Request] = []
    hit = set()
    for function, codes in corners().items():
        some = any_codes(function, rng, BENCH.config.lanes * BENCH.cases // 4)
        chosen = np.concatenate([codes[:: len(codes) // 100 + 1], some])
        hit |= {bin_of(function, code) for code in chosen.tolist()}
        made += requests(function, chosen)
    rng.shuffle(made)
    return made, Coverage(BINS, hit)
