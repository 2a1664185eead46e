"""Vector registers with F, G and E beside them, under all their names: W, X, Y and those with exponents and signs.

::

    y_n = x_{2n+1}:x_{2n} = wh:wl:wh:wl          slot 4n + 2 is wl_{2n+1}; beside each slot lie a half of F, G and E

Ref: llvm-aie's register file and itineraries (target aie2ps).
"""

from dataclasses import dataclass
from typing import Any

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.tile.slot_file import SLOTS, SlotFile, name_layout
from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import Covered, Judge, Unit


@dataclass(frozen=True, kw_only=True)
class VectorRegistersConfig(UnitConfig, unit="vector_registers"):
    """Configuration of the vector registers; the machine has 6 Y of four W of 256 bits.

    Attributes
    ----------
    pairs : Y registers, 1 to 6.
    w_bits : bits of a W, a power of two from 8 to 256; F has a quarter, G and E an eighth of it.
    """

    pairs: int = in_range(1, 6, 2)
    w_bits: int = power_of_two(8, 256, 16)


@dataclass(frozen=True, kw_only=True)
class AccumulatorRegistersConfig(UnitConfig, unit="accumulator_registers"):
    """Configuration of the accumulators; the machine has 8 dm of four bm of 512 bits.

    Attributes
    ----------
    accumulators : dm registers, 1 to 8.
    bm_bits : bits of a bm, a power of two from 8 to 512.
    """

    accumulators: int = in_range(1, 8, 2)
    bm_bits: int = power_of_two(8, 512, 16)


class Registers(wiring.Component):
    """Registers under all their names, in parts that lie in register files of their own.

    A read is combinational; a write is visible in the next cycle, that of a path at once to its reader with its forwarding code.

    Parameters
    ----------
    config : number and width of registers.
    count : widest registers, of four slots.
    shape, write : layouts of a read register and of a write.
    readers, writers : names of the ports.
    paths : readers that can take a result in the cycle of its write, with its writer.

    Members
    -------
    READER : In(name_layout), the register that a unit reads; READER_data : Out(shape), zeros above the register
    WRITER : In(write), the register that a unit writes; WRITER_enable : In(1)
    """

    def __init__(
        self,
        config: Any,
        count: int,
        shape: Any,
        write: data.StructLayout,
        *,
        readers: tuple[str, ...],
        writers: tuple[str, ...],
        paths: tuple[tuple[str, str], ...],
    ):
        self.config, self.count, self.readers, self.writers = config, count, readers, writers
        self.paths = tuple((readers.index(reader), writers.index(writer)) for reader, writer in paths)
        super().__init__(
            {name: In(name_layout(count)) for name in readers}
            | {f"{name}_data": Out(shape) for name in readers}
            | {name: In(write) for name in writers}
            | {f"{name}_enable": In(1) for name in writers}
        )

    def cells(self, m: Module, platform: Any, name: str, bits: int, part: str | None = None) -> None:
        """Instantiate the register file of a part, of ``bits`` bits a slot; None is the whole register."""
        shape = len(self.readers), len(self.writers), self.paths
        cells = instantiate(m, platform, name, SlotFile, bits, self.count, *shape)
        for number, reader in enumerate(self.readers):
            found = getattr(self, f"{reader}_data")
            m.d.comb += [
                cells.read[number].eq(getattr(self, reader)),
                (found if part is None else found[part].as_value()).eq(cells.read_data[number]),
            ]
        for number, writer in enumerate(self.writers):
            write, enable = getattr(self, writer), getattr(self, f"{writer}_enable")
            m.d.comb += [
                cells.write[number].eq(write.name),
                cells.write_enable[number].eq(enable if part is None else enable & write.parts[part]),
                cells.write_data[number].eq(write.data if part is None else write.data[part].as_value()),
            ]


# Accumulators under all their names: dm, its halves cml and cmh, and its quarters bmll, bmlh, bmhl and bmhh.
#
# Ref: llvm-aie's register file and itineraries (target aie2ps).


ACCUMULATOR_READERS = ("acc1", "acc2", "mv", "store")
ACCUMULATOR_WRITERS = ("mac", "load", "move")
ACCUMULATOR_PATHS = (("acc1", "mac"),)
"""Readers that can take a result in the cycle of its write."""
INTEGER_FORWARD, MX6_FORWARD, FLOAT_FORWARD = 1, 2, 3
"""Codes of the multiply-accumulate's results for acc1 and acc2 of the same datapath."""


def accumulator_write(config: AccumulatorRegistersConfig) -> data.StructLayout:
    """Layout of a write: a name, and its lanes from the lowest bm on."""
    return data.StructLayout({"name": name_layout(config.accumulators), "data": SLOTS * config.bm_bits})


class AccumulatorRegisters(Registers):
    """A write of ``mac`` is visible at once to ``acc1`` with its forwarding code; a read is a dm."""

    def __init__(self, config: AccumulatorRegistersConfig):
        super().__init__(
            config,
            config.accumulators,
            SLOTS * config.bm_bits,
            accumulator_write(config),
            readers=ACCUMULATOR_READERS,
            writers=ACCUMULATOR_WRITERS,
            paths=ACCUMULATOR_PATHS,
        )

    def elaborate(self, platform):
        m = Module()
        self.cells(m, platform, "cells", self.config.bm_bits)
        return m


VECTOR_READERS = ("mac_x", "mac_y", "mv_a", "mv_b", "store", "unpack")
VECTOR_WRITERS = ("load_a", "load_b", "mv", "convert")
VECTOR_PATHS = (("mv_a", "mv"), ("mv_b", "mv"))
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


class VectorRegisters(Registers):
    """A write of ``mv`` is visible at once to ``mv_a`` and ``mv_b`` with its forwarding code; a read is a `vector_layout`."""

    def __init__(self, config: VectorRegistersConfig):
        super().__init__(
            config,
            config.pairs,
            vector_layout(config),
            vector_write(config),
            readers=VECTOR_READERS,
            writers=VECTOR_WRITERS,
            paths=VECTOR_PATHS,
        )

    def elaborate(self, platform):
        m = Module()
        for part, member in vector_layout(self.config):
            self.cells(m, platform, f"part_{part}", member.width // SLOTS, part)
        return m


RECORDS = (
    Unit(
        name="vector_registers",
        config_type=VectorRegistersConfig,
        build=VectorRegisters,
        summary="AIE-ML v2: vector registers with F, G and E under all their names",
        covered=Covered(VectorRegistersConfig(), 150),
        judges=(Judge(93, VectorRegistersConfig(w_bits=8), 150),),
    ),
    Unit(
        name="accumulator_registers",
        config_type=AccumulatorRegistersConfig,
        build=AccumulatorRegisters,
        summary="AIE-ML v2: accumulators under all their names",
        covered=Covered(AccumulatorRegistersConfig(), 400),
        judges=(Judge(94, AccumulatorRegistersConfig(bm_bits=8), 150),),
    ),
)
