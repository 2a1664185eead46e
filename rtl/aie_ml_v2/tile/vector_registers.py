"""Vector registers with F, G and E beside them, under all their names: W, X, Y and those with exponents and signs.

::

    y_n = x_{2n+1}:x_{2n} = wh:wl:wh:wl          slot 4n + 2 is wl_{2n+1}; beside each slot lie a half of F, G and E

Ref: llvm-aie's register file and itineraries (target aie2ps).
"""

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.tile.config import VectorRegistersConfig
from bitpath.rtl.aie_ml_v2.tile.slot_file import SLOTS, SlotFile, name_layout
from bitpath.rtl.common.pipeline.shared_instances import instantiate

READERS = ("mac_x", "mac_y", "mv_a", "mv_b", "store", "unpack")
WRITERS = ("load_a", "load_b", "mv", "convert")
PATHS = (("mv_a", "mv"), ("mv_b", "mv"))
"""Readers that can take a result in the cycle of its write."""
MV_FORWARD = 1
"""Code of the mv unit's results for its own operands."""


def vector_layout(config: VectorRegistersConfig) -> data.StructLayout:
    """Layout of four slots: an EY's x, g and e, and the signs f of a FEY."""
    bits = {"w": config.w_bits, "f": config.w_bits // 4, "g": config.w_bits // 8, "e": config.w_bits // 8}
    return data.StructLayout({part: data.ArrayLayout(width, SLOTS) for part, width in bits.items()})


def vector_write(config: VectorRegistersConfig) -> data.StructLayout:
    """Layout of a write: a name, which of its parts are written, and their bits from the lowest slot on."""
    parts = data.StructLayout({"w": 1, "f": 1, "g": 1, "e": 1})
    return data.StructLayout({"name": name_layout(config.pairs), "parts": parts, "data": vector_layout(config)})


class VectorRegisters(wiring.Component):
    """A read is combinational; a write is visible in the next cycle, one of ``mv`` at once to ``mv_a`` and ``mv_b`` with its
    forwarding code.

    Parameters
    ----------
    config : number and width of registers.

    Members
    -------
    mac_x, mac_y, mv_a, mv_b, store, unpack : In(name_layout), the register that a unit reads
    mac_x_data, ... : Out(vector_layout), zeros above the register
    load_a, load_b, mv, convert : In(vector_write), the register that a unit writes
    load_a_enable, ... : In(1)
    """

    def __init__(self, config: VectorRegistersConfig):
        self.config = config
        super().__init__(
            {name: In(name_layout(config.pairs)) for name in READERS}
            | {f"{name}_data": Out(vector_layout(config)) for name in READERS}
            | {name: In(vector_write(config)) for name in WRITERS}
            | {f"{name}_enable": In(1) for name in WRITERS}
        )

    def elaborate(self, platform):
        m = Module()
        paths = tuple((READERS.index(reader), WRITERS.index(writer)) for reader, writer in PATHS)
        for part, member in vector_layout(self.config):
            bits = member.width // SLOTS
            cells = instantiate(
                m, platform, f"part_{part}", SlotFile, bits, self.config.pairs, len(READERS), len(WRITERS), paths
            )
            for number, reader in enumerate(READERS):
                m.d.comb += [
                    cells.read[number].eq(getattr(self, reader)),
                    getattr(self, f"{reader}_data")[part].as_value().eq(cells.read_data[number]),
                ]
            for number, writer in enumerate(WRITERS):
                write = getattr(self, writer)
                m.d.comb += [
                    cells.write[number].eq(write.name),
                    cells.write_enable[number].eq(getattr(self, f"{writer}_enable") & write.parts[part]),
                    cells.write_data[number].eq(write.data[part].as_value()),
                ]
        return m
