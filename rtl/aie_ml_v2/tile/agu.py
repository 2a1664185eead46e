"""Address generation: the address of an access, and its pointer and counters afterwards.

Ref: UG1583, pseudo-code of 2D and 3D addressing; llvm-aie for the registers.
"""

from dataclasses import dataclass

from amaranth import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.unit import Covered, Judge, Unit


@dataclass(frozen=True, kw_only=True)
class AguConfig(UnitConfig, unit="agu"):
    """Configuration of address generation.

    Attributes
    ----------
    address_bits : bits of pointers, modifiers, sizes and counters; 20 on the machine.
    """

    address_bits: int = in_range(2, ADDRESS_BITS, ADDRESS_BITS)


class AguMode(enum.Enum, shape=2):
    """How an access uses its pointer and its modifier."""

    POST_MODIFY = 0
    TWO_D = 1
    THREE_D = 2
    INDEXED = 3


def agu_request(config: AguConfig) -> data.StructLayout:
    """Layout of a pointer and the registers of its modifier; ``m`` holds an immediate, or ``dj`` if indexed."""
    names = ("p", "m", "dn", "dj", "dc", "dn2", "dj2", "dc2")
    return data.StructLayout({"mode": AguMode} | dict.fromkeys(names, config.address_bits))


def agu_result(config: AguConfig) -> data.StructLayout:
    """Layout of the address, and of the registers that an access may write."""
    return data.StructLayout(dict.fromkeys(("address", "p", "dc", "dc2"), config.address_bits))


class Agu(wiring.Component):
    """One access a cycle, combinational. Sums are modulo ``2**address_bits``, counters are compared unsigned.

    Parameters
    ----------
    config : bits of an address.

    Members
    -------
    i : In(stream of agu_request)
    o : Out(stream of agu_result)
    """

    clocked = False

    def __init__(self, config: AguConfig):
        self.config = config
        super().__init__(
            {"i": In(stream.Signature(agu_request(config))), "o": Out(stream.Signature(agu_result(config)))}
        )

    def elaborate(self, platform):
        m = Module()
        request, result = self.i.p, self.o.p
        indexed, plain = request.mode == AguMode.INDEXED, request.mode == AguMode.POST_MODIFY
        inner, outer = Signal(), Signal()
        step = Signal(self.config.address_bits)
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready),
            inner.eq(request.dc < request.dn),
            outer.eq(request.dc2 < request.dn2),
            step.eq(request.m),
            result.dc.eq(request.dc),
            result.dc2.eq(request.dc2),
            result.address.eq(Mux(indexed, request.p + request.dj, request.p)),
            result.p.eq(Mux(indexed, request.p, request.p + step)),
        ]
        with m.If(~plain & ~indexed):
            with m.If(inner):
                m.d.comb += [step.eq(request.dj), result.dc.eq(request.dc + 1)]
            with m.Else():
                m.d.comb += result.dc.eq(0)
                with m.If((request.mode == AguMode.THREE_D) & outer):
                    m.d.comb += [step.eq(request.dj2), result.dc2.eq(request.dc2 + 1)]
                with m.Elif(request.mode == AguMode.THREE_D):
                    m.d.comb += result.dc2.eq(0)
        return m


RECORDS = (
    Unit(
        name="agu",
        config_type=AguConfig,
        build=Agu,
        summary="AIE-ML v2: address of an access, its pointer and counters afterwards",
        covered=Covered(AguConfig(), 400),
        judges=(Judge(91, AguConfig(), 200),),
    ),
)
