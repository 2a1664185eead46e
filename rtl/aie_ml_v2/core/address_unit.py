"""Pointers, modifiers and shifts, with an address generator for each of lda, ldb and st.

Ref: llvm-aie's register file and itineraries (target aie2ps): pointers and counters are read and written in cycle 1.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS
from bitpath.rtl.aie_ml_v2.core.bundle import ADDRESS
from bitpath.rtl.aie_ml_v2.tile.agu import Agu, AguConfig, AguMode
from bitpath.rtl.common.pipeline.shared_instances import instantiate

PORTS = ("lda", "ldb", "st")
REGISTERS, SHIFTS = 8, 4
"""Registers of a kind, and registers s."""
SHIFT_BITS = 6
ADDRESS_REGISTERS = data.ArrayLayout(ADDRESS_BITS, REGISTERS)
SHIFT_REGISTERS = data.ArrayLayout(SHIFT_BITS, SHIFTS)


class AddressKind(enum.Enum, shape=3):
    """Kinds of registers, as the host numbers them."""

    P = 0
    M = 1
    DN = 2
    DJ = 3
    DC = 4
    S = 5


POINTER_USE = data.StructLayout(
    {
        "address": ADDRESS,
        "steps": 1,  # the pointer is updated
        "counts": 1,  # the counters are updated
        "is_relative": 1,  # 0 means the pointer
    }
)
"""Layout of a slot's use of a pointer and its modifier."""
POINTER_WRITE = data.StructLayout({"enable": 1, "value": ADDRESS_BITS})
"""Layout of a FIFO's write of its pointer."""
FIFO_POINTERS = 3
"""Pointers of FIFOs: p0 and p1 of the load FIFOs, p2 of the store FIFO."""
STORE_POINTER = 2
HOST_REGISTER = data.StructLayout({"kind": AddressKind, "index": 3, "writes": 1, "value": ADDRESS_BITS})
"""Layout of the host's access."""


class AddressUnit(wiring.Component):
    """Three updates a cycle, of different registers: `IssueCheck` refuses others. Registers are 0 after reset.

    Members
    -------
    advance : In(1), clock enable of the slots' and the FIFOs' updates
    lda, ldb, st : In(POINTER_USE)
    lda_address, ... : Out(20), of the access, combinational; lda_after, ... : Out(20), the pointer after it
    pointer : Out(20), write : In(POINTER_WRITE), of each FIFO
    shift_index : In(2), shift : Out(6), of a register s
    host : In(HOST_REGISTER), an access in every cycle; host_value : Out(20), combinational
    """

    def __init__(self):
        super().__init__(
            {
                "advance": In(1),
                **{name: In(POINTER_USE) for name in PORTS},
                **{f"{name}_{what}": Out(ADDRESS_BITS) for name in PORTS for what in ("address", "after")},
                "pointer": Out(ADDRESS_BITS).array(FIFO_POINTERS),
                "write": In(POINTER_WRITE).array(FIFO_POINTERS),
                "shift_index": In(2),
                "shift": Out(SHIFT_BITS),
                "host": In(HOST_REGISTER),
                "host_value": Out(ADDRESS_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # A signal for each kind: a signal for each register would have a multiplexer of its own for every write.
        kinds = {
            kind: Signal(SHIFT_REGISTERS if kind is AddressKind.S else ADDRESS_REGISTERS, name=kind.name.lower())
            for kind in AddressKind
        }
        for name in PORTS:
            self._update(m, platform, name, kinds)
        for number, write in enumerate(self.write):
            pointer = kinds[AddressKind.P][number]
            m.d.comb += self.pointer[number].eq(pointer)
            with m.If(self.advance & write.enable):
                m.d.sync += pointer.eq(write.value)
        m.d.comb += self.shift.eq(kinds[AddressKind.S][self.shift_index])
        with m.Switch(self.host.kind):
            for kind, registers in kinds.items():
                with m.Case(kind):
                    chosen = registers[self.host.index[: exact_log2(len(registers))]]
                    m.d.comb += self.host_value.eq(chosen)
                    with m.If(self.host.writes):
                        m.d.sync += chosen.eq(self.host.value)
        return m

    def _update(self, m: Module, platform, name: str, kinds: dict[AddressKind, data.View]) -> None:
        """Address generation of a slot."""
        use = getattr(self, name)
        address = use.address
        agu = instantiate(m, platform, f"agu_{name}", Agu, AguConfig())
        counted = (address.mode == AguMode.TWO_D) | (address.mode == AguMode.THREE_D)
        own, outer = address.register, address.register[:2]
        p, m_, dn, dj, dc = (kinds[kind] for kind in list(AddressKind)[:5])
        # Registers of a 3D address's outer dimension.
        dn2, dj2, dc2 = (each[REGISTERS // 2 :] for each in (dn, dj, dc))
        pointer = p[address.pointer]
        request, result = agu.i.p, agu.o.p
        m.d.comb += [
            agu.i.valid.eq(1),
            agu.o.ready.eq(1),
            request.mode.eq(address.mode),
            request.p.eq(Mux(use.is_relative, 0, pointer)),
            request.m.eq(Mux(address.is_immediate, address.immediate, m_[own])),
            request.dj.eq(Mux(address.is_immediate, address.immediate, dj[own])),
            request.dn.eq(dn[own]),
            request.dc.eq(dc[own]),
            request.dn2.eq(dn2[outer]),
            request.dj2.eq(dj2[outer]),
            request.dc2.eq(dc2[outer]),
            getattr(self, f"{name}_address").eq(result.address),
            getattr(self, f"{name}_after").eq(result.p),
        ]
        with m.If(self.advance & use.steps & (address.mode != AguMode.INDEXED)):
            m.d.sync += pointer.eq(result.p)
        with m.If(self.advance & use.counts):
            with m.If(counted):
                m.d.sync += dc[own].eq(result.dc)
            with m.If(address.mode == AguMode.THREE_D):
                m.d.sync += dc2[outer].eq(result.dc2)
