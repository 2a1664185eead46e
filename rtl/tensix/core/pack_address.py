"""Addresses of a PACR: from the address counters and the strides to rows of Dst and addresses in L1.

::

    datum    = (X * X_stride + Y * Y_stride + Z * Z_stride + W * W_stride) / bytes of an intermediate datum       channel 0
    row      = datum / 16 + the packer's Dst offset
    Wormhole's packers     (X of channel 1) - (X of channel 0) + 1 datums from this row on
    Blackhole's packer     one row, (row & ~3) | i, for each bit i of the mask

Ref: tt-isa-documentation, PACR, Packers/InputAddressGenerator and OutputAddressGenerator: 3930471, of Blackhole f82128b.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    COLUMNS,
    DST16_ROWS,
    EXPONENT5_FORMATS,
    Chip,
    Format,
)
from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.config_file import field_of
from bitpath.rtl.tensix.core.dst_rows import row_order
from bitpath.rtl.tensix.core.row_packer import ADDRESS_BITS, FLUSH_STEPS, PACKERS, SOURCES, pack_rows_layout
from bitpath.rtl.tensix.core.thread_view import view_layout
from bitpath.rtl.tensix.pack.l1_round import ACCUMULATING_FORMATS

MASKS = (0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100, 0b1111)
"""Packers that Wormhole's PACR may name; 0 names the first."""
PACKERS_UNIT = 2
RELATIVE = 31
"""Bit of packer 0's address that adds it to the others'."""
INTEGERS = (Format.INT32, Format.INT16, Format.INT8)
MIDDLES = (
    (Format.BF16, Format.TF32, Format.BFP8, Format.FP16, Format.BFP8A, Format.INT16),
    (Format.FP32, Format.TF32, Format.BF16, Format.BFP8, Format.INT32, Format.INT8, Format.INT16),
    (Format.BF16, Format.FP16, Format.BFP8A, Format.FP8, Format.INT16),
    (Format.FP32, Format.BF16, Format.INT32, Format.INT8),
)
"""Intermediate formats that a 16-bit and a 32-bit Dst have, rounded and then raw."""
SHORT_FORMATS = (*EXPONENT5_FORMATS, Format.INT8)


class PackAddress(wiring.Component):
    """It is combinational, with latency 0.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    view : In(view_layout)
    o : Out(pack_rows_layout)
    refused : Out(1), a core does not execute the PACR: compression, sums of other formats than FP32, BF16 and FP16, a start inside
        of a row, a number of datums that is no multiple of 16 (on Blackhole other than 16), packers or read interfaces that do not
        go together, formats of Dst and packer that differ, more rows than Dst has, a ReLU mode above 3, a ReLU threshold that is
        negative or for integers, an exponent threshold for integers, block floats with Packer_srnd_en, formats that the packer does not convert. A flush is not refused for its datums
    """

    clocked = False

    def __init__(self, config: ChipConfig):
        self.config = config
        super().__init__({"view": In(view_layout(config.chip)), "o": Out(pack_rows_layout(config)), "refused": Out(1)})

    def elaborate(self, platform):
        m = Module()
        instruction, shared = self.view.instruction, self.view.shared
        near, far = self.view.adc[PACKERS_UNIT]
        mid_format, out_format = shared.pack_in_format[0], shared.pack_out_format[0]
        relu = shared.relu_mode[0]
        strides = {name: field_of(shared, f"packer_{name}_stride") for name in "xyzw"}
        address = Signal(32)
        m.d.comb += address.eq(
            near.x.value * strides["x"][:4]
            + near.y.value * strides["y"]
            + near.z.value * strides["z"]
            + near.w.value * strides["w"]
        )
        # Bytes of an intermediate datum by the low bits of its code: 4, 2, and else 1.
        width_log2 = Mux(mid_format[:2] == 0, 2, mid_format[:2] == 1)
        columns = Signal(32)  # as wide as the address, so that its complement is
        datum = Signal(32)
        count = Signal(20)
        m.d.comb += [
            columns.eq((COLUMNS >> width_log2) - 1),
            datum.eq(((address >> width_log2) & ~columns) + (near.x.value & columns)),
            count.eq(far.x.value - near.x.value + 1),
        ]
        # A flush takes no datums, so that only its packers, their formats and addresses matter.
        wrong = [
            datum[:4].any(),
            count[:4].any() | (far.x.value < near.x.value),
            shared.l1_accumulate[0] & ~out_format.matches(*ACCUMULATING_FORMATS),
            (relu > 3) | (relu > 1) & (shared.relu_threshold[0][-1] | mid_format.matches(*INTEGERS)),
            ~self._converts(mid_format, out_format),
            _threshold(shared, 0).any() & mid_format.matches(*INTEGERS),
            shared.packer_stochastic[0] & out_format.matches(*BLOCK_FLOATS),
        ]
        rows, packers = self._sources(m, datum[4:], count >> 4)
        refusals = [
            ~instruction.flush & Cat(*wrong, rows).any(),
            packers,
            shared.dst_format[0] != mid_format,
            ~mid_format.matches(*Format) | ~out_format.matches(*Format),
            *self._begins(m),
        ]
        self._control(m, mid_format, out_format)
        m.d.comb += [
            self.o.last.eq(instruction.last),
            self.o.flush.eq(instruction.flush),
            self.refused.eq(Cat(refusals).any()),
        ]
        return m

    def _converts(self, mid_format: Value, out_format: Value) -> Value:
        """Return whether the packer converts a format of Dst to one of L1 in this configuration."""
        shared = self.view.shared
        wide, raw = shared.read_32b[0], shared.read_raw[0]
        # Round_10b makes TF32 of it, or narrows FP16.
        rounds, fp16 = shared.round_10b[0] & ~raw, mid_format == Format.FP16
        narrow = out_format.matches(*EXPONENT5_FORMATS)
        to_tf32 = (mid_format == Format.FP32) | ((mid_format == Format.BF16) & (out_format == Format.FP16))
        if self.config.numerics.round_10b_fp16:
            narrows = fp16 & ~wide
            to_tf32 |= fp16 & narrow & wide
        else:
            narrows = Const(0)
        early = Cat(mid_format.matches(*formats) for formats in MIDDLES).bit_select(Cat(wide, raw), 1)
        integer = mid_format.matches(*INTEGERS)
        outputs = Mux(integer, out_format == mid_format, ~out_format.matches(*INTEGERS))
        copies = (mid_format == Format.FP32) & (out_format == Format.TF32) & ~rounds
        return Mux(rounds, to_tf32 | narrows, early) & outputs & ~copies

    def _sources(self, m: Module, start: Value, rows: Value) -> tuple[Value, Value]:
        """Choose rows; return whether their number, and whether the packers or interfaces are refused."""
        instruction, shared, o = self.view.instruction, self.view.shared, self.o
        offsets = [shared.packer_dst_offset[k] for k in range(PACKERS[self.config.chip])]
        mask = instruction.packers
        begin = Signal(10)
        if self.config.chip is Chip.WORMHOLE:
            m.d.comb += [o.sources.eq(Mux(mask == 0, 1, mask)), o.rows.eq(rows)]
            m.d.comb += [o.first[k].eq(start + offset) for k, offset in enumerate(offsets)]
            wrong, packers = (rows > DST16_ROWS) | (rows == 0), (mask != 0) & ~mask.matches(*MASKS)
        else:
            whole = Signal(SOURCES)
            m.d.comb += [
                begin.eq(start + offsets[0]),
                whole.eq(Mux(mask == 0, (1 << SOURCES) - 1, mask)),
                o.sources.eq(Mux(instruction.flush, 1, whole)),
                o.rows.eq(1),
            ]
            m.d.comb += [o.first[k].eq(Cat(Const(k, 2), begin[2:])) for k in range(SOURCES)]
            wrong, packers = rows != 1, ((whole << begin[:2]) >> SOURCES).any()
        with m.If(instruction.flush):
            m.d.comb += o.rows.eq(FLUSH_STEPS)
        return wrong, packers

    def _begins(self, m: Module) -> list[Value]:
        """Compute the address at which each packer begins; return the conditions that are refused."""
        shared, o = self.view.shared, self.o
        narrow = shared.pack_out_format[0][1]  # formats of 8 bits and less have a section of exponents first
        first = Signal(33)
        m.d.comb += first.eq(shared.pack_address[0] + 1)
        refused = []
        for k in range(PACKERS[self.config.chip]):
            place = Signal(ADDRESS_BITS, name=f"place_{k}")
            base = Mux(first[RELATIVE], first, 0) if k else 0
            section = Mux(narrow, shared.exponent_section[k], 0)
            m.d.comb += [
                place.eq(shared.pack_address[k] + 1 + base),
                o.exponents[k].eq(place),
                o.begins[k].eq(place + section),
            ]
            same = (shared.pack_in_format[k] == shared.pack_in_format[0]) & (
                shared.pack_out_format[k] == shared.pack_out_format[0]
            )
            alike = same & (shared.l1_accumulate[k] == shared.l1_accumulate[0])
            alike &= _threshold(shared, k) == _threshold(shared, 0)
            taken = o.sources[k] if self.config.chip is Chip.WORMHOLE else 1
            refused.append(taken & (~alike | ~shared.pack_uncompressed[k]))
        return refused

    def _control(self, m: Module, mid_format: Value, out_format: Value) -> None:
        shared, control = self.view.shared, self.o.control
        relu = shared.relu_mode[0]
        # FP16 is narrowed from BF16.
        narrows = (mid_format == Format.FP16) & shared.round_10b[0] & self.config.numerics.round_10b_fp16
        m.d.comb += [
            control.mid_format.eq(mid_format),
            control.out_format.eq(out_format),
            control.dst32.eq(shared.read_32b[0]),
            control.raw.eq(shared.read_raw[0]),
            control.unsigned.eq((mid_format == Format.INT8) & shared.read_unsigned[0]),
            control.relu.eq(relu),
            control.relu_threshold.eq(Mux(relu > 1, shared.relu_threshold[0], 0)),
            control.accumulate.eq(shared.l1_accumulate[0]),
            control.exponent_threshold.eq(_threshold(shared, 0)),
            control.round_10b.eq(shared.round_10b[0]),
            control.e4m3.eq(field_of(shared, "pack_e4m3")),
            self.o.zero.eq(self.view.instruction.zero),
            self.o.order.eq(row_order(shared)),
            self.o.masked.eq(~shared.edge_mask[0]),
            self.o.stochastic.eq(shared.gasket_stochastic[0]),
            self.o.fp16.eq(mid_format.matches(*SHORT_FORMATS) & ~narrows & ~shared.read_32b[0]),
        ]


def _threshold(shared: data.View, packer: int) -> Value:
    """Return the exponent below which a packer makes numbers zero."""
    return Mux(shared.exponent_threshold_enabled[packer], shared.exponent_threshold[packer], 0)


RECORDS = (
    Unit(
        name="pack_address",
        config_type=ChipConfig,
        build=PackAddress,
        summary="Tensix: rows of Dst and addresses in L1 of a PACR",
        covered=Covered(ChipConfig(), 2000),
        judges=(Judge(99, ChipConfig(), 2000),),
        agreed=ChipConfig(chip=Chip.BLACKHOLE),
    ),
)
