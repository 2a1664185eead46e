"""Shuffle unit: 58 permutations of the fields of one register or two, with their exponents, shifts and sign bits.

    field   64 bits of X with a byte of E, a byte of G and 16 bits of F; or a part of these 64 bits, then of X alone

A result field's place is ``column * rows + row`` in its matrix, its source ``row * columns + column``: in binary the
place's digits, rotated.

Latency: 1 cycle. Throughput: one shuffle a cycle.

Ref: llvm-aie for the modes; AM027, Vector Unit.
"""

from typing import Any

from amaranth import Cat, Module, Value
from amaranth.utils import exact_log2

from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES, Half, ShuffleMode
from bitpath.rtl.aie_ml_v2.mover.layouts import Fex, ShuffleConfig, ShuffleRequest
from bitpath.rtl.common.pipeline.pipeline_registers import Registered
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

SHARE_BITS = 64
"""Bits of X with a whole share of E, G and F."""


def source(place: int, mode: ShuffleMode) -> int:
    """Return the number of the field that goes to a place, over both registers."""
    columns, rows = exact_log2(mode.cols), exact_log2(mode.rows)
    within = place % (mode.rows * mode.cols)
    if mode.flip:
        return place ^ mode.cols - 1
    return place - within | within >> rows | (within & mode.rows - 1) << columns


class Shuffle(Registered):
    """Permutes fields of registers. Codes without a mode give 0; E, G and F are 0 too in modes of fields below 64 bits.

    Parameters
    ----------
    config : ShuffleConfig.

    Members
    -------
    i : In(stream of ShuffleRequest)
    o : Out(stream of Fex)
    """

    def __init__(self, config: ShuffleConfig):
        self.config = config
        super().__init__(ShuffleRequest, Fex)

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        with m.Switch(request.code):
            for code, mode in SHUFFLE_CODES.items():
                names = ("x", "e", "g", "f") if mode.bits >= SHARE_BITS else ("x",)
                with m.Case(code):
                    m.d.comb += [getattr(result, name).eq(self._moved(name, mode)) for name in names]

    def _moved(self, name: str, mode: ShuffleMode) -> Value:
        """Return a part of the result, whose fields are as large against it as the mode's are against X."""
        low, high = (getattr(register, name) for register in (self.i.p.low, self.i.p.high))
        size = len(low) * mode.bits // VECTOR_BITS
        count = VECTOR_BITS // mode.bits
        first = count if mode.half is Half.HI else 0
        both = Cat(low, high)
        return Cat(both.word_select(source(place, mode), size) for place in range(first, first + count))


RECORDS = (
    Unit(
        name="shuffle",
        config_type=ShuffleConfig,
        build=Shuffle,
        summary="AIE-ML v2: 58 permutations of one vector or two, with MX exponents, shifts and signs",
        covered=Covered(ShuffleConfig(), 200),
        judges=(Judge(62, ShuffleConfig(), 100),),
        waves=(CLOCK, INPUTS, WaveGroup("result", r"result"), OUTPUT),
    ),
)
