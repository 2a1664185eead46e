"""Loads and stores of the Vector unit: from an instruction and its thread's counters to rows of Dst, and rows behind a store.

Ref: tt-isa-documentation, SFPLOAD and SFPSTORE: of Wormhole 1392d23 and 545c98a, of Blackhole 0f3f6b7.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.encodings import WORD_BITS
from bitpath.golden.tensix.declarations.formats import (
    COLUMNS,
    DST16_BF16,
    DST32,
    EXPONENT8_FORMATS,
    Chip,
    Format,
)
from bitpath.golden.tensix.declarations.sfpu import BY_CONFIGURATION, WIDE_LOADS, WIDE_STORES, StoreMode
from bitpath.rtl.common.unit import Covered, Unit
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.config_file import field_of
from bitpath.rtl.tensix.core.decode import named
from bitpath.rtl.tensix.core.dst_rows import RowOrder, ordered, row_order
from bitpath.rtl.tensix.core.thread_view import view_layout
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.matrix.matrix_unit import ACCESS_ROWS, DstAccess
from bitpath.rtl.tensix.matrix.registers import from_physical, to_physical
from bitpath.rtl.tensix.sfpu.dst_words import HALF
from bitpath.rtl.tensix.sfpu.layouts import ADDRESS_BITS, ROWS, SfpuRequest
from bitpath.rtl.tensix.sfpu.layouts import COLUMNS as LANE_COLUMNS
from bitpath.rtl.tensix.sfpu.sfpu import DstRows, DstStore


class VectorOperands(wiring.Component):
    """It is combinational, with latency 0.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    view : In(view_layout), word : In(32), an instruction of the Vector unit
    o : Out(SfpuRequest)
    accesses : Out(1), it is a load or SFPSTORE; access : Out(DstAccess), its rows of Dst
    refused : Out(1), a core does not execute the instruction: Blackhole's INT32_ALL, whose stack pointer it does not have, or a mode
        that an unknown format decides
    """

    clocked = False

    def __init__(self, config: ChipConfig):
        self.config = config
        super().__init__(
            {
                "view": In(view_layout(config.chip)),
                "word": In(WORD_BITS),
                "o": Out(SfpuRequest),
                "accesses": Out(1),
                "access": Out(DstAccess),
                "refused": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        view, blackhole = self.view, self.config.chip is Chip.BLACKHOLE
        instruction, shared, own = view.instruction, view.shared, view.own
        fmt = Signal(range(max(Format) + 1))
        m.d.comb += fmt.eq(shared.src_b_format[0])
        if blackhole:
            with m.If(own.sfpu_dst_format_enable[0]):
                m.d.comb += fmt.eq(own.sfpu_dst_format[0])
        mode, offset, address, order = Signal(4), Signal(ADDRESS_BITS), Signal(ADDRESS_BITS), Signal(RowOrder)
        short = Mux(fmt.matches(*EXPONENT8_FORMATS), StoreMode.BF16, StoreMode.FP16)
        implied = Mux(shared.sfpu_fp32[0], StoreMode.FP32, short)
        by_format, every = instruction.mod == BY_CONFIGURATION, mode == StoreMode.INT32_ALL
        macro, stores = named(instruction, "SFPLOADMACRO"), named(instruction, "SFPSTORE")
        # The lowest bit of SFPLOADMACRO's address is the upper one of its register.
        immediate = Mux(macro, Cat(instruction.vd_high, instruction.address), instruction.address)
        m.d.comb += [
            mode.eq(Mux(by_format, implied, instruction.mod)),
            offset.eq(view.rwc.dst.value + shared.dst_base[0]),
            address.eq(
                immediate + own.math_offset[0] + Mux(every, offset[:2], offset) + field_of(shared, "dst_stack_base")[:2]
            ),
            order.eq(row_order(shared)),
            self.o.word.eq(self.word),
            self.o.address.eq(address),
            self.o.implied.eq(implied),
            self.accesses.eq(named(instruction, "SFPLOAD") | macro | stores),
            self.access.dst32.eq(mode.matches(*WIDE_LOADS) | (stores & mode.matches(*WIDE_STORES))),
            self.access.row.eq(ordered(Cat(Const(0, 2), address[2:]), order, self.access.dst32)),
            self.refused.eq(self.accesses & ((by_format & ~fmt.matches(*Format)) | (every & int(blackhole)))),
        ]
        return m


class DstMerge(wiring.Component):
    """Four rows of Dst between the registers' logical words and the Vector unit's, in the register's bit order; rows behind a store.
    It is combinational, with latency 0.

    Members
    -------
    found : In(4 rows), words found in Dst, those of 16 bits as BF16; dst32 : In(1), words of 32 bits
    rows : Out(DstRows)
    store : In(DstStore)
    values : Out(4 rows), with the stored words; written : Out(4), rows with a stored word
    """

    clocked = False
    found: In(ACCESS_ROWS * DstRow.size)
    dst32: In(1)
    rows: Out(DstRows)
    store: In(DstStore)
    values: Out(ACCESS_ROWS * DstRow.size)
    written: Out(ACCESS_ROWS)

    def elaborate(self, platform):
        m = Module()
        words = [self.found.word_select(place, WORD_BITS) for place in range(ROWS * COLUMNS)]
        values = []
        for place, word in enumerate(words):
            row, column = divmod(place, COLUMNS)
            lane = row * LANE_COLUMNS + column // 2
            stored = self.store.words[lane]
            here = self.store.lanes[lane] & (self.store.odd[column // 2] == column % 2)
            new = Mux(self.dst32, from_physical(DST32, stored), from_physical(DST16_BF16, stored[:HALF]))
            values.append(Mux(here, new, word))
            seen = Mux(self.dst32, to_physical(DST32, word), to_physical(DST16_BF16, word[:HALF]))
            m.d.comb += self.rows[row][column].eq(seen)
        lanes = self.store.lanes
        m.d.comb += [
            self.values.eq(Cat(values)),
            self.written.eq(Cat(lanes.word_select(row, LANE_COLUMNS).any() for row in range(ROWS))),
        ]
        return m


RECORDS = (
    Unit(
        name="vector_operands",
        config_type=ChipConfig,
        build=VectorOperands,
        summary="Tensix: an instruction of the Vector unit becomes a request, and rows of Dst",
        covered=Covered(ChipConfig(chip=Chip.BLACKHOLE), 1000),
    ),
)
