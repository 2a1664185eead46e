"""Cases of the scalar functions, with golden's results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product, repeat
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS
from bitpath.golden.aie_ml_v2.declarations.scalar import ScalarFunction, Sr2
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
from bitpath.verif.aie_ml_v2.lanes.bench import Case, Cases
from bitpath.verif.common.fp32.functions import FORMAT_EDGES, FUNCTIONS, beside_ties, class_of, rounding_edges
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack, unpack
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


def _stated(cases: Iterable[Case], results: Iterable[int], bins: Iterable[Sequence[str]]) -> Iterator[Case]:
    """Give the cases their bins where golden has the results that are stated."""
    for case, result, names in zip(cases, results, bins, strict=False):
        holds = unpack(FunctionResult, case.expected).y == result
        yield replace(case, bins=tuple(names) if holds else ())


class FunctionCases(Cases):
    """Cases of the unit.

    Parameters
    ----------
    config : digits of each stage.
    edges : rounding edges of each function among the directed cases.
    """

    def __init__(self, config: ScalarFunctionsConfig, edges: int):
        self.unit, self.edges = ScalarFunctions(config), edges
        self.latency = self.unit.latency
        own = tuple(
            f"{function.value}/{name}" for function in ScalarFunction for name in FUNCTIONS[NAMES[function]].bins
        )
        self.bins = (*own, *(f"inv/{flag}" for flag in OWN))
        self.kinds = tuple(
            f"{function.value}/{_way(*(0 if each else None for each in way))}"
            for function, way in product(ScalarFunction, WAYS)
        )

    def cases(
        self,
        function: ScalarFunction,
        codes: Sequence[int],
        fix_in: int | None = None,
        fix_out: int | None = None,
        answers: np.ndarray | None = None,
    ) -> list[Case]:
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
        return [self._case(function, word, *row, fix_in, fix_out) for row in rows]

    def _case(
        self,
        function: ScalarFunction,
        control: int,
        x: int,
        y: int,
        flags: int,
        fix_in: int | None,
        fix_out: int | None,
    ) -> Case:
        bins = [f"{function.value}/{_way(fix_in, fix_out)}"]
        if fix_in is fix_out is None:
            bins += [f"{function.value}/{name}" for name in FUNCTIONS[NAMES[function]].bins_of(x, y)]
            bins += [f"{function.value}/{name}" for name, bit in OWN.items() if flags & bit]
        fields = {"y": y, "flags": _rose(flags, OWN)}
        fields |= {"to_float": _rose(flags, fix_float.FLAGS), "to_fix": _rose(flags, float_fix.FLAGS)}
        return Case(
            pack(FunctionRequest, {"x": x, "control": control}),
            pack(FunctionResult, fields),
            partial(self._shown, function, x, fix_in, fix_out),
            tuple(bins),
        )

    @staticmethod
    def _shown(function: ScalarFunction, x: int, fix_in: int | None, fix_out: int | None, _: str) -> Shown:
        operands = {
            "function": f"{function.value}, {_way(fix_in, fix_out)}, shifts {fix_in}, {fix_out}",
            "operand": code_text(FP32 if fix_in is None else float_fix.FloatFixAsk.result, x),
        }
        return Shown(operands=operands, formats={"y": FP32 if fix_out is None else float_fix.FloatFixAsk.result})

    def directed(self, rng: Random) -> list[Case]:
        """Every exponent with fractions at its ends, exact results, and results at midpoints with their neighbours."""
        cases = []
        for function in ScalarFunction:
            codes = [code for code in FORMAT_EDGES if self._asks(code)]
            codes += rounding_edges(FUNCTIONS[NAMES[function]], rng, self.edges)
            cases += self.cases(function, codes)
        return cases

    @staticmethod
    def _asks(code: int) -> bool:
        """Return True for positive codes, and for some negative ones: a sign passes, or makes NaN of any number."""
        return not code & FP32.sign_mask or class_of(code) == "-subnormal" or code & FP32.fraction_mask == 0

    def boundaries(self, rng: Random) -> list[Case]:
        """Results beside ties at every distance, of each function and of both conversions.

        A case has its bins if golden gives the exact value's number. A reciprocal follows integers; an integer is made of a
        square root.
        """
        cases = []
        for function in ScalarFunction:
            own = FUNCTIONS[NAMES[function]]
            ties = list(beside_ties(own, rng))
            nearer = [round_to_format(each.lower + (each.side > 0) * each.unit, FP32) for each in ties]
            bins = [[f"{function.value}/{name}" for name in each.bins_of(own)] for each in ties]
            cases += _stated(self.cases(function, [each.code for each in ties]), nearer, bins)
        inverse, root = (FUNCTIONS[NAMES[each]].exact for each in (ScalarFunction.INV, ScalarFunction.SQRT))
        for each in fix_float.boundaries():
            given = self.cases(ScalarFunction.INV, each.codes, fix_in=each.ask.shift)
            cases += _stated(given, map(inverse, each.results), repeat([f"fix to float/{each.bin}"]))
        for each in float_fix.boundaries():
            # The square of a number, rounded, has that number as its root.
            squares = [round_to_format(decode(FP32, code).value ** 2, FP32) for code in each.codes]
            found = zip(squares, each.codes, each.results, strict=True)
            operands, results = zip(*((x, y) for x, code, y in found if root(x) == code), strict=True)
            given = self.cases(ScalarFunction.SQRT, operands, fix_out=each.ask.shift)
            cases += _stated(given, results, repeat([f"float to fix/{each.bin}"]))
        return cases

    @property
    def boundary_bins(self) -> list[str]:
        own = [f"{each.value}/{name}" for each in ScalarFunction for name in FUNCTIONS[NAMES[each]].tie_bins]
        ways = {"fix to float": fix_float.boundaries(), "float to fix": float_fix.boundaries()}
        return own + [f"{way}/{each.bin}" for way, table in ways.items() for each in table]

    def random(self, rng: Random, count: int) -> list[Case]:
        """Any operand in every kind, in any order; integers and results near the borders of both conversions."""
        kinds = [*product(ScalarFunction, WAYS)]
        kinds = [*rng.sample(kinds, min(count, len(kinds))), *rng.choices(kinds, k=max(0, count - len(kinds)))]
        return [case for function, way in kinds for case in self._any(rng, function, *way)]

    def _any(self, rng: Random, function: ScalarFunction, into: bool, out: bool) -> list[Case]:
        fix_in, fix_out = (rng.choice(FLOAT_SHIFTS) if each else None for each in (into, out))
        code = rng.getrandbits(FP32.width)
        if into:
            code = (code >> rng.randrange(32)) * rng.choice((-1, 1, 1, 1)) % (1 << 32)
        else:
            code = rng.choice((code, float_fix.FloatFixAsk().code(rng), rng.choice(FORMAT_EDGES)))
            code &= ~FP32.sign_mask if rng.random() < 0.75 else -1
        return self.cases(function, [code], fix_in, fix_out)
