"""Vector registers with F, G and E beside them, under all their names: W, X, Y and those with exponents and signs.

::

    y_n = x_{2n+1}:x_{2n} = wh:wl:wh:wl          slot 4n + 2 is wl_{2n+1}; beside each slot lie a half of F, G and E

Ref: llvm-aie's register file and itineraries (target aie2ps).
"""

from dataclasses import dataclass

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


class AccumulatorRegisters(wiring.Component):
    """A read is combinational; a write is visible in the next cycle, one of ``mac`` at once to ``acc1`` with its forwarding code.

    Parameters
    ----------
    config : number and width of accumulators.

    Members
    -------
    acc1, acc2, mv, store : In(name_layout), the register that a unit reads
    acc1_data, ... : Out(dm), zeros above the register
    mac, load, move : In(accumulator_write), the register that a unit writes
    mac_enable, ... : In(1)
    """

    def __init__(self, config: AccumulatorRegistersConfig):
        self.config = config
        super().__init__(
            {name: In(name_layout(config.accumulators)) for name in ACCUMULATOR_READERS}
            | {f"{name}_data": Out(SLOTS * config.bm_bits) for name in ACCUMULATOR_READERS}
            | {name: In(accumulator_write(config)) for name in ACCUMULATOR_WRITERS}
            | {f"{name}_enable": In(1) for name in ACCUMULATOR_WRITERS}
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        cells = instantiate(
            m,
            platform,
            "cells",
            SlotFile,
            config.bm_bits,
            config.accumulators,
            len(ACCUMULATOR_READERS),
            len(ACCUMULATOR_WRITERS),
            tuple(
                (ACCUMULATOR_READERS.index(reader), ACCUMULATOR_WRITERS.index(writer))
                for reader, writer in ACCUMULATOR_PATHS
            ),
        )
        for number, reader in enumerate(ACCUMULATOR_READERS):
            m.d.comb += [
                cells.read[number].eq(getattr(self, reader)),
                getattr(self, f"{reader}_data").eq(cells.read_data[number]),
            ]
        for number, writer in enumerate(ACCUMULATOR_WRITERS):
            write = getattr(self, writer)
            m.d.comb += [
                cells.write[number].eq(write.name),
                cells.write_enable[number].eq(getattr(self, f"{writer}_enable")),
                cells.write_data[number].eq(write.data),
            ]
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
            {name: In(name_layout(config.pairs)) for name in VECTOR_READERS}
            | {f"{name}_data": Out(vector_layout(config)) for name in VECTOR_READERS}
            | {name: In(vector_write(config)) for name in VECTOR_WRITERS}
            | {f"{name}_enable": In(1) for name in VECTOR_WRITERS}
        )

    def elaborate(self, platform):
        m = Module()
        paths = tuple((VECTOR_READERS.index(reader), VECTOR_WRITERS.index(writer)) for reader, writer in VECTOR_PATHS)
        for part, member in vector_layout(self.config):
            bits = member.width // SLOTS
            cells = instantiate(
                m,
                platform,
                f"part_{part}",
                SlotFile,
                bits,
                self.config.pairs,
                len(VECTOR_READERS),
                len(VECTOR_WRITERS),
                paths,
            )
            for number, reader in enumerate(VECTOR_READERS):
                m.d.comb += [
                    cells.read[number].eq(getattr(self, reader)),
                    getattr(self, f"{reader}_data")[part].as_value().eq(cells.read_data[number]),
                ]
            for number, writer in enumerate(VECTOR_WRITERS):
                write = getattr(self, writer)
                m.d.comb += [
                    cells.write[number].eq(write.name),
                    cells.write_enable[number].eq(getattr(self, f"{writer}_enable") & write.parts[part]),
                    cells.write_data[number].eq(write.data[part].as_value()),
                ]
        return m


RECORDS = (
    Unit(
        name="vector_registers",
        room="aie_ml_v2/tile",
        config_type=VectorRegistersConfig,
        build=VectorRegisters,
        summary="AIE-ML v2: vector registers with F, G and E under all their names",
        covered=Covered(VectorRegistersConfig(), 150),
        judges=(Judge(93, VectorRegistersConfig(w_bits=8), 150),),
    ),
    Unit(
        name="accumulator_registers",
        room="aie_ml_v2/tile",
        config_type=AccumulatorRegistersConfig,
        build=AccumulatorRegisters,
        summary="AIE-ML v2: accumulators under all their names",
        covered=Covered(AccumulatorRegistersConfig(), 400),
        judges=(Judge(94, AccumulatorRegistersConfig(bm_bits=8), 150),),
    ),
)
