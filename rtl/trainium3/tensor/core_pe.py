"""TensorE's processing element in all its modes, each instruction in its own.

    MX, DOUBLE_ROW    x4 word or two FP8 elements -> QuadMxDot
    NARROW, FUSED     one element, or a half of one a pass -> WideMultiplyAdd
    SPARSE            the slot that the stationary element's tag names, then as NARROW
    PASS              16 of the stationary word's bits where the moving element is 1, else the partial sum's

Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving, performance modes;
``nki.isa.nc_matmul`` reference page, NKI 0.6.
"""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, enum
from amaranth.lib.data import UnionLayout

from bitpath.golden.formats.catalogue import E8M0, FP32
from bitpath.golden.trainium3.declarations.tensor import DOUBLE_ROW
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import Covered, Judge, Unit, registered
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.pe import ProcessingElement
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot, operand_layout
from bitpath.rtl.trainium3.tensor.config import NARROW, WIDE, CorePeConfig
from bitpath.rtl.trainium3.tensor.sparse_select import PATTERN, SLOTS, TAG, TagSelect
from bitpath.rtl.trainium3.tensor.wide_multiply_add import WideMultiplyAdd

PASS_BITS = 16
"""Bits that transpose mode moves in a pass; 32-bit data takes two, the low half first."""


class Mode(enum.Enum, shape=3):
    """Mode of a moving word; any two may follow each other."""

    MX = 0
    DOUBLE_ROW = 1
    NARROW = 2
    FUSED = 3
    SPARSE = 4
    PASS = 5


def stationary_layout(config: CorePeConfig) -> data.StructLayout:
    """Layout of a stationary word: an x4 word with its scale, an element, or 32 bits; and the element's tag."""
    word = UnionLayout({"mx": operand_layout(config.dot), "element": WIDE, "bits": FP32.width})
    return data.StructLayout({"word": word} | ({"tag": TAG} if config.sparse else {}))


def moving_layout(config: CorePeConfig) -> data.StructLayout:
    """Layout of a moving word: its mode, the pass number, the pattern of SPARSE, and an x4 word or the slots of a group.

    Modes without slots take ``slots[0]``. ``number`` is 3 but in passes of FP32; in PASS its lowest bit selects the upper half.
    ``first`` marks the first pass of a FUSED number; a bubble between its passes must not be FUSED.
    """
    slots = SLOTS * SLOTS if config.sparse else 1
    word = UnionLayout({"mx": operand_layout(config.dot), "slots": data.ArrayLayout(NARROW, slots)})
    sparse = {"pattern": PATTERN} if config.sparse else {}
    return data.StructLayout({"word": word, "mode": Mode, "number": 2, "first": 1} | sparse)


class CorePe(ProcessingElement):
    """A :class:`ProcessingElement` whose moving words carry their mode.

    A step takes one moving word, of FUSED one for each pass.

    Parameters
    ----------
    config : numerics of both datapaths, sparse selection and pipeline.
    """

    def __init__(self, config: CorePeConfig):
        self.config = config
        super().__init__(stationary_layout(config), moving_layout(config))

    def step(self, m: Module, platform: Any, stationary: Value, moving: Value, partial: Value) -> Value:
        config, stages = self.config, self.config.pipeline.stages
        dot = QuadMxDot(DotConfig(numerics=config.dot, pipeline=config.pipeline))
        wide = WideMultiplyAdd(config)
        m.submodules.dot, m.submodules.wide = dot, wide
        double = moving.mode == Mode.DOUBLE_ROW
        m.d.comb += [
            dot.i.p.partial.eq(partial),
            # No handshake: ``advance`` stalls the whole array.
            dot.i.valid.eq(1),
            dot.o.ready.eq(1),
        ]
        # Elements that double row lacks give -0 * +0 = -0, which adds nothing; its scales are 1.
        for name, word, zero in (
            ("stationary", stationary.word.mx, 1 << len(stationary.word.mx.elements[0]) - 1),
            ("moving", moving.word.mx, 0),
        ):
            side = dot.i.p[name]
            m.d.comb += [
                side.eq(word),
                side.scale.eq(Mux(double, E8M0.bias, word.scale)),
                *(
                    side.elements[k].eq(Mux(double, zero, word.elements[k]))
                    for k in range(DOUBLE_ROW, config.dot.terms)
                ),
            ]

        element = moving.word.slots[0]
        if config.sparse:
            select = instantiate(m, platform, "select", TagSelect, NARROW)
            m.d.comb += [
                select.slots.eq(moving.word.slots),
                select.tag.eq(stationary.tag),
                select.pattern.eq(moving.pattern),
            ]
            chosen = Signal(NARROW, name="chosen")
            m.d.comb += chosen.eq(Mux(moving.mode == Mode.SPARSE, select.o, element))
        else:
            chosen = element
        m.d.comb += [
            wide.stationary.eq(stationary.word.element),
            wide.moving.eq(chosen),
            wide.number.eq(moving.number),
            wide.fused.eq(moving.mode == Mode.FUSED),
            wide.first.eq(moving.first),
            wide.partial.eq(partial),
        ]

        one = NARROW.const({"significand": 1 << NARROW["significand"].shape.width - 1, "exponent": FP32.bias})
        passed = Signal(FP32.width)
        held = stationary.word.bits.word_select(moving.number[0], PASS_BITS)
        m.d.comb += passed.eq(Mux(element.as_value() == Value.cast(one), held, partial))
        # Results of all modes appear ``stages`` cycles after their operands.
        in_dot, in_pass = (moving.mode == Mode.MX) | double, moving.mode == Mode.PASS
        for stage in range(stages):
            held = {"passed": passed, "in_dot": in_dot, "in_pass": in_pass}
            passed, in_dot, in_pass = (Signal.like(value, name=f"{name}_{stage}") for name, value in held.items())
            m.d.sync += [
                signal.eq(value) for signal, value in zip((passed, in_dot, in_pass), held.values(), strict=True)
            ]
        return Mux(in_dot, dot.o.p, Mux(in_pass, passed, wide.o))


RECORDS = (
    Unit(
        name="core_pe",
        config_type=CorePeConfig,
        build=CorePe,
        summary="Trainium3: MX, double row, narrow, FP32, sparse and transpose mode in one processing element",
        covered=Covered(CorePeConfig(pipeline=registered(2)), 400),
        judges=(Judge(43, CorePeConfig(), 150),),
    ),
)
