"""Bench of the scalar functions: ends of the format, rounding edges, operands in volume and nearest to midpoints, both conversions.

``BITPATH_CASES`` sets the random cases of a test, of which a fifth are rounding edges; ``BITPATH_VOLUME`` the operands in volume.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product, repeat
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS
from bitpath.golden.aie_ml_v2.declarations.mover import ScalarFunction, Sr2
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.rtl.aie_ml_v2.scalar.scalar_functions import (
    FunctionCode,
    FunctionControl,
    FunctionRequest,
    FunctionResult,
    ScalarFunctions,
    ScalarFunctionsConfig,
)
from bitpath.verif.aie_ml_v2.floats import tb_fix_float as fix_float
from bitpath.verif.aie_ml_v2.floats import tb_float_fix as float_fix
from bitpath.verif.common.fp32.functions import (
    FORMAT_EDGES,
    FUNCTIONS,
    beside_ties,
    class_of,
    decisive_remainders,
    nearest_to_midpoints,
    rounding_edges,
)
from bitpath.verif.kit import pauses
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack, unpack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench, hit
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import code_text

NAMES = {
    ScalarFunction.INV: "reciprocal",
    ScalarFunction.SQRT: "square_root",
    ScalarFunction.INVSQRT: "reciprocal_square_root",
}
"""Names of the functions in the tests of FP32."""
OWN = {
    "zero": Sr2.ZERO,
    "infinity": Sr2.INFINITY,
    "invalid": Sr2.INVALID,
    "tiny": Sr2.TINY,
    "huge": Sr2.HUGE,
    "inexact": Sr2.INEXACT,
}
"""Flags of the function's layout, by their bits of SR2."""
WAYS = [*product((False, True), repeat=2)]
"""Whether operand and result are integers."""


def _rose(flags: int, names: Mapping[str, Sr2]) -> dict[str, int]:
    """Return the fields of a layout of flags for bits of SR2."""
    return {name: int(flags & bit > 0) for name, bit in names.items()}


def _way(fix_in: int | None, fix_out: int | None) -> str:
    return " to ".join("float" if each is None else "fix" for each in (fix_in, fix_out))


def _stated(cases: Iterable[Request], results: Iterable[int], bins: Iterable[Sequence[str]]) -> Iterator[Request]:
    """Give the cases their bins where golden has the results that are stated."""
    for case, result, names in zip(cases, results, bins, strict=False):
        holds = unpack(FunctionResult, case.expected).y == result
        yield replace(case, bins=tuple(names) if holds else ())


def cases(
    function: ScalarFunction,
    codes: Sequence[int],
    fix_in: int | None = None,
    fix_out: int | None = None,
    answers: np.ndarray | None = None,
) -> list[Request]:
    """Return cases of FP32 codes, or of integers as codes; the results are golden's without answers of another source."""
    words = np.array(codes, np.uint32)
    given = words if fix_in is None else words.view(np.int32)
    results, flags = aie.scalar_function(function, given, fix_in=fix_in, fix_out=fix_out)
    control = {
        "op": FunctionCode.of(function),
        "fix_in": int(fix_in is not None),
        "fix_out": int(fix_out is not None),
        "shift_in": fix_in or 0,
        "shift_out": fix_out or 0,
    }
    word = pack(FunctionControl, control)
    codes_out = results.view(np.uint32) if answers is None else answers
    rows = zip(words.tolist(), codes_out.tolist(), flags.tolist(), strict=True)
    return [_case(function, word, *row, fix_in, fix_out) for row in rows]


def _case(
    function: ScalarFunction,
    control: int,
    x: int,
    y: int,
    flags: int,
    fix_in: int | None,
    fix_out: int | None,
) -> Request:
    bins = [f"{function.value}/{_way(fix_in, fix_out)}"]
    if fix_in is fix_out is None:
        bins += [f"{function.value}/{name}" for name in FUNCTIONS[NAMES[function]].bins_of(x, y)]
        bins += [f"{function.value}/{name}" for name, bit in OWN.items() if flags & bit]
    fields = {"y": y, "flags": _rose(flags, OWN)}
    fields |= {"to_float": _rose(flags, fix_float.FLAGS), "to_fix": _rose(flags, float_fix.FLAGS)}
    return Request(
        pack(FunctionRequest, {"x": x, "control": control}),
        pack(FunctionResult, fields),
        partial(_shown, function, x, fix_in, fix_out),
        tuple(bins),
    )


def _shown(function: ScalarFunction, x: int, fix_in: int | None, fix_out: int | None, _: str) -> Shown:
    operands = {
        "function": f"{function.value}, {_way(fix_in, fix_out)}, shifts {fix_in}, {fix_out}",
        "operand": code_text(FP32 if fix_in is None else float_fix.FloatFixAsk.result, x),
    }
    return Shown(operands=operands, formats={"y": FP32 if fix_out is None else float_fix.FloatFixAsk.result})


def directed_cases(rng: Random) -> list[Request]:
    """Every exponent with fractions at its ends, exact results, and results at midpoints with their neighbours."""
    made: list[Request] = []
    for function in ScalarFunction:
        codes = [code for code in FORMAT_EDGES if _asks(code)]
        codes += rounding_edges(FUNCTIONS[NAMES[function]], rng, max(1, BENCH.cases // 20))
        made += cases(function, codes)
    return made


def _asks(code: int) -> bool:
    """Return True for positive codes, and for some negative ones: a sign passes, or makes NaN of any number."""
    return not code & FP32.sign_mask or class_of(code) == "-subnormal" or code & FP32.fraction_mask == 0


def boundaries(rng: Random) -> list[Request]:
    """Results beside ties at every distance, of each function and of both conversions.

    A case has its bins if golden gives the exact value's number. A reciprocal follows integers; an integer is made of a
    square root.
    """
    made: list[Request] = []
    for function in ScalarFunction:
        own = FUNCTIONS[NAMES[function]]
        ties = list(beside_ties(own, rng))
        nearer = [round_to_format(each.lower + (each.side > 0) * each.unit, FP32) for each in ties]
        bins = [[f"{function.value}/{name}" for name in each.bins_of(own)] for each in ties]
        made += _stated(cases(function, [each.code for each in ties]), nearer, bins)
    inverse, root = (FUNCTIONS[NAMES[each]].exact for each in (ScalarFunction.INV, ScalarFunction.SQRT))
    for each in fix_float.boundaries():
        given = cases(ScalarFunction.INV, each.codes, fix_in=each.ask.shift)
        made += _stated(given, map(inverse, each.results), repeat([f"fix to float/{each.bin}"]))
    for each in float_fix.boundaries():
        # The square of a number, rounded, has that number as its root.
        squares = [round_to_format(decode(FP32, code).value ** 2, FP32) for code in each.codes]
        found = zip(squares, each.codes, each.results, strict=True)
        operands, results = zip(*((x, y) for x, code, y in found if root(x) == code), strict=True)
        given = cases(ScalarFunction.SQRT, operands, fix_out=each.ask.shift)
        made += _stated(given, results, repeat([f"float to fix/{each.bin}"]))
    return made


def boundary_bins() -> list[str]:
    own = [f"{each.value}/{name}" for each in ScalarFunction for name in FUNCTIONS[NAMES[each]].tie_bins]
    ways = {"fix to float": fix_float.boundaries(), "float to fix": float_fix.boundaries()}
    return own + [f"{way}/{each.bin}" for way, table in ways.items() for each in table]


def draw(kinds: Sequence[tuple[ScalarFunction, tuple[bool, bool]]], rng: Random) -> list[Request]:
    """Return requests of any operand; integers and results near the borders of both conversions."""
    return [each for function, way in kinds for each in _any(rng, function, *way)]


def _any(rng: Random, function: ScalarFunction, into: bool, out: bool) -> list[Request]:
    fix_in, fix_out = (rng.choice(FLOAT_SHIFTS) if each else None for each in (into, out))
    code = rng.getrandbits(FP32.width)
    if into:
        code = (code >> rng.randrange(32)) * rng.choice((-1, 1, 1, 1)) % (1 << 32)
    else:
        code = rng.choice((code, float_fix.FloatFixAsk().code(rng), rng.choice(FORMAT_EDGES)))
        code &= ~FP32.sign_mask if rng.random() < 0.75 else -1
    return cases(function, [code], fix_in, fix_out)


KINDS = [*product(ScalarFunction, WAYS)]
BENCH = StreamBench(
    __name__,
    ScalarFunctionsConfig,
    ScalarFunctions,
    KINDS,
    draw,
    lambda kind: (f"{kind[0].value}/{_way(*(0 if each else None for each in kind[1]))}",),
    draws="cases",
)
random_cases, latency, resets = BENCH.tests("random_cases")
covers(
    "scalar_functions.integers",
    "The instruction rounds up to three times, and flags of a conversion that is not asked for stay clear",
    "All four combinations of float and integer at both ends with any shifts, and the flags of both conversions",
    random_cases,
)
covers(
    "scalar_functions.stream",
    "The tile writes the register in cycle 4 and issues one operation a cycle",
    "The three functions in any order, full speed, gaps, stalls and both; the result after 3 cycles; resets",
    random_cases,
    latency,
    resets,
)


@covers(
    "scalar_functions.format",
    "Operands are shifted to their leading bit, and an inverse may overflow or be subnormal",
    "Every exponent with ten fractions at the ends, negative ones with fraction 0; subnormals of every length; "
    "zeros, infinities and NaN",
)
@covers(
    "scalar_functions.rounding",
    "The last residue is the sticky bit; one lost bit shows in few results",
    "Operands with short results, many exact, and with results nearest to a midpoint, each with its neighbours; "
    "inverses that one bit of the remainder decides",
)
@BENCH.sweep()
def directed() -> Made:
    """Every exponent with fractions at its ends, exact results, and results at midpoints with their neighbours."""
    own = [f"{each.value}/{name}" for each in ScalarFunction for name in FUNCTIONS[NAMES[each]].bins]
    made = directed_cases(pauses.rng("directed"))
    return made, hit(made, [*own, *(f"inv/{flag}" for flag in OWN)])


@covers("scalar_functions.volume", "A wrong bit of a wide residue changes few results")
@BENCH.sweep(function=[each.value for each in ScalarFunction])
def volume(function: str) -> Made:
    """Random operands of each function; a million of each in the deep tests."""
    rng, count = (
        np.random.default_rng(pauses.rng("codes").getrandbits(32)),
        int(os.environ.get("BITPATH_VOLUME", "1000")),
    )
    return cases(ScalarFunction(function), rng.integers(0, 1 << (32 if function == "inv" else 31), count, np.uint32))


@covers(
    "scalar_functions.boundaries",
    "Each of the three roundings may lose a sticky bit that random operands rarely need",
)
@BENCH.sweep()
def range_boundaries() -> Made:
    """Results above and below ties, normal and subnormal, even and odd, at every distance; integers beside ties of both
    conversions."""
    made = boundaries(pauses.rng("boundaries"))
    return made, hit(made, boundary_bins())


@covers("scalar_functions.rounding")
@BENCH.sweep()
def nearest_midpoints() -> Made:
    """Reciprocals that a remainder of one bit decides, and the inverse roots nearest to midpoints."""
    count = BENCH.cases // 2
    return [
        *cases(ScalarFunction.INV, pauses.rng("codes").choices(decisive_remainders().tolist(), k=count)),
        *cases(ScalarFunction.INVSQRT, nearest_to_midpoints(count)),
    ]
