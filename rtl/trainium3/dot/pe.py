"""Processing element of the systolic array: operand registers around a multiply step.

Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving.
"""

from abc import abstractmethod
from typing import Any

from amaranth import EnableInserter, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.dot.config import DotConfig, MultiplyAddConfig
from bitpath.rtl.trainium3.dot.multiply_add import MultiplyAdd, element_layout
from bitpath.rtl.trainium3.dot.quad_mx_dot import DOT_GROUPS, QuadMxDot, operand_layout


def pe_ports(operand: data.StructLayout, moving: data.StructLayout | None = None) -> dict[str, wiring.Member]:
    """Return the members of a :class:`ProcessingElement`; moving operands have a layout of their own if one is given."""
    moving = operand if moving is None else moving
    return {
        "advance": In(1),
        "load": In(1),
        "stationary_west": In(operand),
        "stationary_east": Out(operand),
        "moving_west": In(moving),
        "moving_east": Out(moving),
        "swap_west": In(1),
        "swap_east": Out(1),
        "partial_north": In(FP32.width),
        "partial_south": Out(FP32.width),
    }


class ProcessingElement(wiring.Component):
    """One PE: ``partial_south = step(stationary, moving_west, partial_north)``::

                       partial_north
                             |
                            [r]
    stationary_west --[second]--------------> stationary_east    shifts with ``load``
                          | swap
                     [stationary]
                          |
    moving_west ---[r]-- step --------------> moving_east
    swap_west -----[r]----|-----------------> swap_east
                          |
                     partial_south

    The stationary operand is double-buffered. ``load`` shifts the row's second copies one PE east while the
    multiplication goes on. ``swap`` travels with the moving operands and makes the second copy the first for the next
    moving operand.

    Latency: one cycle to the east; ``stages + 1`` cycles to the south, with the pipeline stages of the step. Each PE
    registers its inputs, so that all PEs simulate as the same logic over their own registers.

    Parameters
    ----------
    operand : layout of a stationary operand.
    moving : layout of a moving operand; that of a stationary one if not given.

    Members
    -------
    advance : In(1), clock enable of every register
    load : In(1), stationary_west : In(operand), stationary_east : Out(operand), the second copy
    moving_west : In(moving), moving_east : Out(moving)
    swap_west : In(1), swap_east : Out(1)
    partial_north : In(32), partial_south : Out(32), FP32 codes
    """

    def __init__(self, operand: data.StructLayout, moving: data.StructLayout | None = None):
        self.operand, self.moving_operand = operand, operand if moving is None else moving
        super().__init__(pe_ports(operand, moving))

    @abstractmethod
    def step(self, m: Module, platform: Any, stationary: Value, moving: Value, partial: Value) -> Value:
        """The partial sum to the south, with the latency of the step's pipeline stages."""

    def elaborate(self, platform):
        m = Module()
        # Operands need no reset: invalid ones are never read.
        stationary = Signal(self.operand, reset_less=True)
        second = Signal.like(stationary)
        moving = Signal(self.moving_operand, reset_less=True)
        partial = Signal.like(self.partial_north, reset_less=True)
        with m.If(self.load):
            m.d.sync += second.eq(self.stationary_west)
        with m.If(self.swap_east):
            m.d.sync += stationary.eq(second)
        m.d.sync += [
            moving.eq(self.moving_west),
            self.swap_east.eq(self.swap_west),
            partial.eq(self.partial_north),
        ]
        m.d.comb += [
            self.stationary_east.eq(second),
            self.moving_east.eq(moving),
            self.partial_south.eq(self.step(m, platform, stationary, moving, partial)),
        ]
        return EnableInserter(self.advance)(m)


# Processing element of the quad-MX array.
#
# Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving.


class QuadMxPe(ProcessingElement):
    """A :class:`ProcessingElement` for x4 words with their scale, with one :class:`QuadMxDot` as its step.

    Parameters
    ----------
    config : numerics and pipeline of the dot product.
    """

    def __init__(self, config: DotConfig):
        self.config = config
        super().__init__(operand_layout(config.numerics))

    @staticmethod
    def ports(config: DotConfig) -> dict[str, wiring.Member]:
        """Members of the PE with this configuration."""
        return pe_ports(operand_layout(config.numerics))

    def step(self, m: Module, platform: Any, stationary: Value, moving: Value, partial: Value) -> Value:
        m.submodules.dot = dot = QuadMxDot(self.config)
        m.d.comb += [
            dot.i.p.stationary.eq(stationary),
            dot.i.p.moving.eq(moving),
            dot.i.p.partial.eq(partial),
            # No handshake: ``advance`` stalls the whole array.
            dot.i.valid.eq(1),
            dot.o.ready.eq(1),
        ]
        return dot.o.p


# Processing element of the unscaled matmul.
#
# Ref: "Trainium3 Architecture Guide for NKI", figures of LoadStationary and MultiplyMoving; ``nki.isa.nc_matmul``.


class Bf16Pe(ProcessingElement):
    """A :class:`ProcessingElement` for BF16 or FP16 elements, with one :class:`MultiplyAdd` as its step.

    Parameters
    ----------
    config : numerics, formats and pipeline of the multiply-add.
    """

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        super().__init__(element_layout(config))

    def step(self, m: Module, platform: Any, stationary: Value, moving: Value, partial: Value) -> Value:
        m.submodules.multiply_add = multiply_add = MultiplyAdd(self.config)
        m.d.comb += [
            multiply_add.stationary.eq(stationary),
            multiply_add.moving.eq(moving),
            multiply_add.partial.eq(partial),
        ]
        return multiply_add.o


PE_INPUTS = WaveGroup("inputs", r"(moving_west|stationary_west|partial_north|load|swap_west|advance)\b")


PE_OUTPUTS = WaveGroup("outputs", r"(moving_east|stationary_east|partial_south|swap_east)\b")


RECORDS = (
    Unit(
        name="quad_mx_pe",
        config_type=DotConfig,
        build=QuadMxPe,
        summary="Trainium3: the dot product with its stationary operands held twice",
        covered=Covered(DotConfig(pipeline=registered(2)), 1500),
        judges=(Judge(15, DotConfig()),),
        waves=(
            CLOCK,
            PE_INPUTS,
            WaveGroup("held operands", r"(stationary|second|moving|partial)\b"),
            *DOT_GROUPS,
            PE_OUTPUTS,
        ),
    ),
    Unit(
        name="bf16_pe",
        config_type=MultiplyAddConfig,
        build=Bf16Pe,
        summary="Trainium3: BF16 or FP16 multiply-add, its stationary element held twice",
        covered=Covered(MultiplyAddConfig(), 300),
        judges=(Judge(5, MultiplyAddConfig()), Judge(24, MultiplyAddConfig(numerics=TRAINIUM2_BF16_PRODUCTS.numerics))),
        waves=(
            CLOCK,
            PE_INPUTS,
            WaveGroup("held operands", r"(stationary|second|moving|partial)\b"),
            WaveGroup("decode", r"multiply_add\.decode_"),
            WaveGroup("product", r"multiply_add\.(multiply|product)"),
            WaveGroup("sum", r"multiply_add\.(add|special|total)"),
            WaveGroup("normalize", r"multiply_add\.normal"),
            WaveGroup("round", r"multiply_add\.round"),
            PE_OUTPUTS,
        ),
    ),
)
