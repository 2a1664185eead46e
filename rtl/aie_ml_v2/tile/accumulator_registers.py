"""Accumulators under all their names: dm, its halves cml and cmh, and its quarters bmll, bmlh, bmhl and bmhh.

Ref: llvm-aie's register file and itineraries (target aie2ps).
"""

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.tile.config import AccumulatorRegistersConfig
from bitpath.rtl.aie_ml_v2.tile.slot_file import SLOTS, SlotFile, name_layout
from bitpath.rtl.common.pipeline.shared_instances import instantiate

READERS = ("acc1", "acc2", "mv", "store")
WRITERS = ("mac", "load", "move")
PATHS = (("acc1", "mac"),)
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
            {name: In(name_layout(config.accumulators)) for name in READERS}
            | {f"{name}_data": Out(SLOTS * config.bm_bits) for name in READERS}
            | {name: In(accumulator_write(config)) for name in WRITERS}
            | {f"{name}_enable": In(1) for name in WRITERS}
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
            len(READERS),
            len(WRITERS),
            tuple((READERS.index(reader), WRITERS.index(writer)) for reader, writer in PATHS),
        )
        for number, reader in enumerate(READERS):
            m.d.comb += [
                cells.read[number].eq(getattr(self, reader)),
                getattr(self, f"{reader}_data").eq(cells.read_data[number]),
            ]
        for number, writer in enumerate(WRITERS):
            write = getattr(self, writer)
            m.d.comb += [
                cells.write[number].eq(write.name),
                cells.write_enable[number].eq(getattr(self, f"{writer}_enable")),
                cells.write_data[number].eq(write.data),
            ]
        return m
