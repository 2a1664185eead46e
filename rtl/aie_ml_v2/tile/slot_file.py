"""Register file whose registers are slots, pairs of slots or four of them, read and written under all their names."""

from collections.abc import Collection

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

SLOTS = 4
"""Slots of the widest register: W of a Y, or bm of a dm."""
FORWARD_BITS = 2
"""Bits of the code that says which results a read may take in the cycle of their write; 0 takes none."""


def name_layout(registers: int) -> data.StructLayout:
    """Layout of a register's name: the number of its first slot, and the logarithm of its slots (0, 1 or 2)."""
    return data.StructLayout({"index": ceil_log2(SLOTS * registers), "size": 2, "forward": FORWARD_BITS})


class SlotFile(wiring.Component):
    """The reads are combinational. A read finds a slot as it was before the cycle's writes, or, where a path leads from
    the writer to the reader, as the write with its own code.

    Slots are 0 after reset. Of two writes to one slot in a cycle either wins.

    Parameters
    ----------
    bits : of a slot.
    registers : widest registers, of four slots.
    readers, writers : numbers of ports.
    paths : pairs of a reader and a writer whose writes it can take in their cycle.

    Members
    -------
    read : In(name_layout), of each reader; read_data : Out(four slots), zeros above the register
    write : In(name_layout), of each writer; write_enable : In(1), write_data : In(four slots)
    """

    def __init__(self, bits: int, registers: int, readers: int, writers: int, paths: Collection[tuple[int, int]]):
        self.bits, self.registers, self.readers, self.writers = bits, registers, readers, writers
        self.paths = paths
        name = In(name_layout(registers))
        super().__init__(
            {
                "read": name.array(readers),
                "read_data": Out(SLOTS * bits).array(readers),
                "write": name.array(writers),
                "write_enable": In(1).array(writers),
                "write_data": In(SLOTS * bits).array(writers),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = self.bits
        cells = [Signal(SLOTS * bits, name=f"register_{number}") for number in range(self.registers)]
        covers, values = [], []
        for number in range(self.writers):
            cover, value = Signal(SLOTS, name=f"cover_{number}"), Signal(SLOTS * bits, name=f"value_{number}")
            name, given = self.write[number], self.write_data[number]
            m.d.comb += [
                cover.eq(Mux(self.write_enable[number], _cover(name), 0)),
                value.eq(
                    Mux(
                        name.size == 0,
                        given[:bits].replicate(4),
                        Mux(name.size == 1, given[: 2 * bits].replicate(2), given),
                    )
                ),
            ]
            covers.append(cover)
            values.append(value)
            for register, cell in enumerate(cells):
                with m.If(name.index[2:] == register):
                    for slot in range(SLOTS):
                        with m.If(cover[slot]):
                            m.d.sync += cell.word_select(slot, bits).eq(value.word_select(slot, bits))
        for number in range(self.readers):
            self._read(m, number, cells, covers, values)
        return m

    def _read(self, m: Module, number: int, cells: list, covers: list, values: list) -> None:
        bits, name = self.bits, self.read[number]
        whole = Signal(SLOTS * bits, name=f"whole_{number}")
        m.d.comb += whole.eq(Array(cells)[name.index[2:]])
        for writer in (own for reader, own in self.paths if reader == number):
            write, cover, value = self.write[writer], covers[writer], values[writer]
            same = (name.forward != 0) & (write.forward == name.forward) & (write.index[2:] == name.index[2:])
            for slot in range(SLOTS):
                with m.If(same & cover[slot]):
                    m.d.comb += whole.word_select(slot, bits).eq(value.word_select(slot, bits))
        single, double = whole.word_select(name.index[:2], bits), whole.word_select(name.index[1], 2 * bits)
        m.d.comb += self.read_data[number].eq(Mux(name.size == 0, single, Mux(name.size == 1, double, whole)))


def _cover(name) -> Value:
    """The slots of a register, of the four of its widest one."""
    first = name.index[:2]
    single = Cat(first == slot for slot in range(SLOTS))
    return Mux(name.size == 0, single, Mux(name.size == 1, Mux(first[1], 0b1100, 0b0011), 0b1111))
