"""Load units A and B with both load FIFOs: lines of memory into vector registers.

::

    cycle   1         5                        6                 7          8
    load    address   bank access              line              written
    FIFO    step      bank access, if there    line into the     element    written
                      is room for a line       FIFO, element

A FIFO works on its count and pointer in the cycle of its access. What a sparse pop takes is known a cycle later, and enters
the next operation's count at once.

Ref: llvm-aie's itineraries and register file (target aie2ps).
"""

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.aie_ml_v2.declarations.codes import (
    MX9,
    MX_PAIRS,
    SPARSE_ALIGNMENT_BYTES,
    SPARSE_CHUNK_BYTES,
    SPARSE_GROUP,
    SPARSE_KEPT,
    VECTOR_BITS,
)
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, BANK_BYTES, FIFO_BYTES, LINE_BYTES, LOAD, POP
from bitpath.rtl.aie_ml_v2.core.address_unit import POINTER_WRITE
from bitpath.rtl.aie_ml_v2.core.bundle import REGISTER, LoadOp, PopFormat
from bitpath.rtl.aie_ml_v2.tile.fifos import COUNT, FIFO_BITS, LINE_BITS, PLACE_BITS, LoadFifo, LoadFifoConfig
from bitpath.rtl.aie_ml_v2.tile.registers import VectorRegistersConfig, vector_write
from bitpath.rtl.aie_ml_v2.vector.native_mac import SparseGroup
from bitpath.rtl.common.pipeline.pipeline_registers import Delay
from bitpath.rtl.common.pipeline.shared_instances import instantiate

# The register that a pop makes of its bytes: data as they are, blocks of MX9, or two compressed chunks.
#
# ::
#
#     MX9      exponent, shifts, 16 codes; four times        X: codes; E: each exponent twice; G: shifts in two nibbles
#     sparse   mask of 64 bits, bytes, zeros; twice          X: two slots for each group; G, E: the masks
#
# Combinational. Ref: AM027 and llvm-aie for MX's registers; UG1583 for compressed chunks.


BYTE = 8
BLOCK_BITS = BYTE * MX9.block_bytes
BLOCKS = 4
MASK_BITS = SPARSE_CHUNK_BYTES
KEPT = MASK_BITS * SPARSE_KEPT // SPARSE_GROUP
"""Bytes of a chunk with two entities in each group."""
ELEMENT = data.StructLayout({"x": VECTOR_BITS, "g": VECTOR_BITS // 8, "e": VECTOR_BITS // 8})
"""Layout of an EX."""


class Popped(wiring.Component):
    """Members: ``i`` In(1024), the bytes from the lowest on; ``format`` In(PopFormat); ``o`` Out(ELEMENT)."""

    clocked = False
    apart = True

    def __init__(self):
        super().__init__({"i": In(FIFO_BITS), "format": In(PopFormat), "o": Out(ELEMENT)})

    def elaborate(self, platform):
        m = Module()
        o = self.o
        with m.Switch(self.format):
            with m.Case(PopFormat.BYTES):
                m.d.comb += o.x.eq(self.i)
            with m.Case(PopFormat.MX9):
                m.d.comb += [o.x.eq(self._codes()), o.g.eq(self._shifts()), o.e.eq(self._exponents())]
            with m.Default():
                chunks = self._chunks(m, platform)
                m.d.comb += [
                    o.x.eq(Cat(chunk.slots for chunk in chunks)),
                    o.g.eq(chunks[0].i[:MASK_BITS]),
                    o.e.eq(chunks[1].i[:MASK_BITS]),
                ]
        return m

    def _fields(self, first: int, width: int) -> list[Value]:
        """Return a field of each block: bits from ``first`` on."""
        return [self.i[at : at + width] for at in range(first, first + BLOCKS * BLOCK_BITS, BLOCK_BITS)]

    def _codes(self) -> Value:
        return Cat(self._fields(2 * BYTE, BLOCK_BITS - 2 * BYTE))

    def _exponents(self) -> Value:
        return Cat(each.replicate(2) for each in self._fields(0, BYTE))

    def _shifts(self) -> Value:
        half = MX_PAIRS // 2
        nibbles = (field[at : at + half] for field in self._fields(BYTE, BYTE) for at in (0, half))
        return Cat(Cat(nibble, Const(0, BYTE - half)) for nibble in nibbles)

    def _chunks(self, m: Module, platform) -> list["SparseChunk"]:
        """Both chunks; the second one begins where the first one ends."""
        first = instantiate(m, platform, "chunk_0", SparseChunk)
        second = instantiate(m, platform, "chunk_1", SparseChunk)
        wide = self.format == PopFormat.SPARSE16
        up = SPARSE_ALIGNMENT_BYTES - 1
        words = Signal(range(len(first.i) // (BYTE * SPARSE_ALIGNMENT_BYTES) + 1))
        m.d.comb += [
            words.eq((first.kept + up)[2:] + MASK_BITS // (BYTE * SPARSE_ALIGNMENT_BYTES)),
            first.i.eq(self.i),
            second.i.eq(self.i >> (words << 5)),
            first.wide.eq(wide),
            second.wide.eq(wide),
        ]
        return [first, second]


class SparseChunk(wiring.Component):
    """Slots of a compressed chunk; combinational.

    A group with more than two entities gives 0. Bytes beyond 32 of these repeat.

    Members
    -------
    i : In(320), the mask, then the bytes
    wide : In(1), entities have 16 bits
    slots : Out(256), the low and the high slot of each group
    kept : Out, bytes behind the mask
    """

    clocked = False
    apart = True

    def __init__(self):
        super().__init__(
            {
                "i": In(MASK_BITS + BYTE * KEPT),
                "wide": In(1),
                "slots": Out(BYTE * KEPT),
                "kept": Out(range(MASK_BITS + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        mask, kept = self.i[:MASK_BITS], self.i[MASK_BITS:]
        # The place of each byte among those that are kept.
        below = [Const(0, 1)]
        for byte in range(MASK_BITS):
            count = Signal(range(byte + 2), name=f"below_{byte + 1}")
            m.d.comb += count.eq(below[-1] + mask[byte])
            below.append(count)
        dense = [Signal(BYTE, name=f"byte_{byte}") for byte in range(MASK_BITS)]
        place_bits = exact_log2(KEPT)
        m.d.comb += [
            # A shift: a multiplexer of 32 places for each byte would be a case with as many lines.
            own.eq(Mux(mask[k], kept.word_select(below[k][:place_bits], BYTE), 0))
            for k, own in enumerate(dense)
        ]
        m.d.comb += self.kept.eq(below[-1])
        narrow, wide = [], []
        for number in range(MASK_BITS // SPARSE_GROUP):
            group = instantiate(m, platform, f"group_{number}", SparseGroup)
            places = range(SPARSE_GROUP * number, SPARSE_GROUP * (number + 1))
            entities, present = [dense[place] for place in places], [mask[place] for place in places]
            if number < MASK_BITS // SPARSE_GROUP // 2:
                pairs = [Cat(dense[2 * place : 2 * place + 2]) for place in places]
                either = [mask[2 * place : 2 * place + 2].any() for place in places]
                entities = [Mux(self.wide, *both) for both in zip(pairs, entities, strict=True)]
                present = [Mux(self.wide, *both) for both in zip(either, present, strict=True)]
                wide += list(group.x)
            m.d.comb += [
                *(own.eq(entity) for own, entity in zip(group.a, entities, strict=True)),
                group.mask.eq(Cat(present)),
            ]
            narrow += [slot[:BYTE] for slot in group.x]
        m.d.comb += self.slots.eq(Mux(self.wide, Cat(wide), Cat(narrow)))
        return m


UNITS = FIFOS = 2
LINE_ACCESS = data.StructLayout({"valid": 1, "address": ADDRESS_BITS, "size": 3})
"""Layout of an access to memory; ``size`` is the logarithm of its bytes."""
LOAD_ISSUE = data.StructLayout(
    {
        "op": LoadOp,
        "to": REGISTER,
        "fifo": 1,
        "format": PopFormat,
        "jumps": 1,
        "address": ADDRESS_BITS,  # of a load; of a jump the step of the pointer
    }
)
"""Layout of an operation in cycle 1."""
POP_BYTES = {PopFormat.BYTES: LINE_BYTES, PopFormat.MX9: MX9.store_bits // 8}
SPARSE = (PopFormat.SPARSE8, PopFormat.SPARSE16)
assert LOAD.memory
assert LOAD.result
assert POP.result
TO_MEMORY, TO_LINE, TO_WRITE = LOAD.memory - 1, LOAD.memory, LOAD.result - 1
"""Cycles from the issue to the access, to the line, and to the write of a load."""
TO_POP = POP.result - 1


class LoadUnits(wiring.Component):
    """An operation a cycle and unit. Structural hazards: one FIFO in both units, and a load in the cycle after a pop of its unit.

    An operation whose FIFO would load a line beyond the memory becomes a no-op.

    Parameters
    ----------
    config : VectorRegistersConfig, the registers that they write.
    used_bits : bits of an address in the memory.

    Members
    -------
    advance : In(1), clock enable of everything
    issue : In(LOAD_ISSUE), of each unit
    access : Out(LINE_ACCESS), beyond : Out(1), of each unit, in cycle 5
    line : In(512), of each unit, in cycle 6
    write : Out(vector_write), write_enable : Out(1), of each unit
    pointer : In(20), pointer_write : Out(POINTER_WRITE), of each FIFO
    held : Out(1024), count : Out, of each FIFO: its registers
    host_write : In(2), of each FIFO: halves of its bytes to write; host_counts : In(1); host_data : In(512)
    """

    def __init__(self, config: VectorRegistersConfig, used_bits: int):
        self.config, self.used_bits = config, used_bits
        ports = {
            "issue": In(LOAD_ISSUE),
            "access": Out(LINE_ACCESS),
            "beyond": Out(1),
            "line": In(LINE_BITS),
            "write": Out(vector_write(config)),
            "write_enable": Out(1),
        }
        fifos = {
            "pointer": In(ADDRESS_BITS),
            "pointer_write": Out(POINTER_WRITE),
            "held": Out(FIFO_BITS),
            "count": Out(COUNT),
            "host_write": In(2),
            "host_counts": In(1),
        }
        super().__init__(
            {"advance": In(1), "host_data": In(LINE_BITS)}
            | {name: member.array(UNITS) for name, member in ports.items()}
            | {name: member.array(FIFOS) for name, member in fifos.items()}
        )

    def elaborate(self, platform):
        m = Module()
        due = [self._delayed(m, platform, f"due_{unit}", self.issue[unit], TO_MEMORY) for unit in range(UNITS)]
        fifos = [self._fifo(m, platform, number, due) for number in range(FIFOS)]
        for unit in range(UNITS):
            self._access(m, unit, due[unit], fifos)
            self._write(m, platform, unit, due[unit], fifos)
        return m

    def _fifo(self, m: Module, platform, number: int, due: list[data.View]) -> LoadFifo:
        """A FIFO with its count and its pointer's update, in the cycle of its access."""
        fifo = instantiate(m, platform, f"fifo_{number}", LoadFifo, LoadFifoConfig(latency=TO_LINE - TO_MEMORY))
        by_a, by_b = (_uses_fifo(each) & (each.fifo == number) for each in due)
        asked, request = Signal(LOAD_ISSUE, name=f"asked_{number}"), fifo.request
        held, count = Signal(COUNT, name=f"held_count_{number}"), self.count[number]
        from_b = Signal(name=f"from_b_{number}")
        write = self.pointer_write[number]
        beyond = Signal(name=f"beyond_{number}")
        m.d.comb += [
            beyond.eq((count <= FIFO_BYTES - LINE_BYTES) & self.pointer[number][self.used_bits :].any()),
            asked.eq(Mux(by_b, due[1], due[0])),
            fifo.advance.eq(self.advance | self.host_write[number].any()),
            fifo.enable.eq((by_a | by_b) & ~beyond),
            count.eq(Mux(fifo.late, fifo.late_count, held)),
            request.pop.eq(asked.op == LoadOp.POP),
            request.sparse.eq(_is_sparse(asked.format)),
            request.jumps.eq((asked.op == LoadOp.POP) & asked.jumps),
            request.bytes.eq(Mux(asked.format == PopFormat.MX9, POP_BYTES[PopFormat.MX9], POP_BYTES[PopFormat.BYTES])),
            request.count.eq(count),
            request.pointer.eq(self.pointer[number]),
            fifo.data.eq(Mux(from_b, self.line[1], self.line[0])),
            fifo.write.eq(self.host_write[number]),
            fifo.write_data.eq(self.host_data.replicate(2)),
            self.held[number].eq(fifo.held),
            write.enable.eq(fifo.enable),
            write.value.eq(Mux(request.jumps, fifo.head + asked.address, fifo.next_pointer)),
        ]
        for unit, own in enumerate((by_a, by_b)):
            with m.If(own):
                m.d.comb += self.beyond[unit].eq(beyond)
        with m.If(self.advance):
            m.d.sync += [from_b.eq(by_b), held.eq(Mux(fifo.enable, fifo.next_count, count))]
        with m.If(self.host_counts[number]):
            m.d.sync += held.eq(self.host_data)
        return fifo

    def _access(self, m: Module, unit: int, due: data.View, fifos: list[LoadFifo]) -> None:
        access, plain = self.access[unit], due.op == LoadOp.LOAD
        loads, line = (Array([getattr(fifo, name) for fifo in fifos])[due.fifo] for name in ("loads", "line"))
        m.d.comb += [
            access.valid.eq(plain | (_uses_fifo(due) & loads)),
            access.address.eq(Mux(plain, due.address, line << PLACE_BITS)),
            access.size.eq(Mux(plain & (due.to.size == 0), exact_log2(BANK_BYTES), exact_log2(LINE_BYTES))),
        ]

    def _write(self, m: Module, platform, unit: int, due: data.View, fifos: list[LoadFifo]) -> None:
        """Writes of registers: a line, or a pop's element."""
        issue, write = self.issue[unit], self.write[unit]
        line = Signal(LINE_BITS, name=f"line_{unit}_held", reset_less=True)
        loads, pops = (Signal(LOAD_ISSUE, name=f"{name}_{unit}") for name in ("loads", "pops"))
        m.d.comb += [
            loads.eq(Mux(issue.op == LoadOp.LOAD, issue, 0)),
            pops.eq(Mux((due.op == LoadOp.POP) & ~self.beyond[unit], due, 0)),
        ]
        loaded = self._delayed(m, platform, f"loaded_{unit}", loads, TO_WRITE)
        popping = self._delayed(m, platform, f"popping_{unit}", pops, TO_POP - 1 - TO_MEMORY)
        popped, element = Signal(LOAD_ISSUE, name=f"popped_{unit}"), instantiate(m, platform, f"popped_{unit}", Popped)
        held = Signal(element.o.shape(), name=f"element_{unit}", reset_less=True)
        m.d.comb += [
            element.format.eq(popping.format),
            element.i.eq(Array([fifo.o for fifo in fifos])[popping.fifo]),
        ]
        with m.If(self.advance):
            m.d.sync += [line.eq(self.line[unit]), popped.eq(popping), held.eq(element.o)]
        is_pop = popped.op == LoadOp.POP
        blocks = is_pop & (popped.format != PopFormat.BYTES)
        m.d.comb += [
            self.write_enable[unit].eq(is_pop | (loaded.op == LoadOp.LOAD)),
            write.name.index.eq(Mux(is_pop, popped.to.index, loaded.to.index)),
            write.name.size.eq(Mux(is_pop, popped.to.size, loaded.to.size)),
            write.parts.w.eq(1),
            write.parts.g.eq(blocks),
            write.parts.e.eq(blocks),
            write.data.w.as_value().eq(Mux(is_pop, held.x, line)),
            write.data.g.as_value().eq(held.g),
            write.data.e.as_value().eq(held.e),
        ]

    def _delayed(self, m: Module, platform, name: str, issue: data.View, cycles: int) -> data.View:
        """Return an operation some cycles later."""
        delay = instantiate(m, platform, name, Delay, LOAD_ISSUE.size, cycles)
        m.d.comb += [delay.advance.eq(self.advance), delay.i.eq(issue)]
        return data.View(LOAD_ISSUE, delay.o)


def _uses_fifo(issue: data.View) -> Value:
    return (issue.op == LoadOp.FILL) | (issue.op == LoadOp.POP)


def _is_sparse(code: Value) -> Value:
    return Cat(code == each for each in SPARSE).any()
