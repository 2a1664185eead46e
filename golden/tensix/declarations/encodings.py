"""Encodings of Tensix instructions: opcodes and fields of Wormhole and Blackhole, one table for both.

An instruction is a word of 32 bits::

     31       24 23                                     0
    +-----------+----------------------------------------+
    |  opcode   |  fields; the bits of no field are zero |
    +-----------+----------------------------------------+

Ref: tenstorrent/tt-llk 36b092e, ``instructions/assembly.yaml``; ttsim v1.10.0; tt-isa-documentation 3930471, of Blackhole 585749d.
"""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.formats import Chip, Segment

# Sizes of a thread's instruction stream, its expanders and its counters.
#
# Ref: tt-isa-documentation 3930471, MOPExpander, REPLAY, RWCs, ADCs.


MOP_WORDS = 9
"""Configuration words of a thread's MOP expander."""
MASK_BITS, MASK_HIGH_SHIFT = 32, 16
"""Bits of template 0's mask, and place of MOP_CFG's among them."""
COUNT_MASK = 127
"""Bits of template 1's counts."""
EXTRA_ROUNDS = 128
"""Outer rounds that the hardware bug adds."""
REPLAY_WORDS = 32
"""Words of a thread's replay buffer."""

SRC_BITS, DST_BITS, PHASE_BITS = 6, 10, 2
"""Bits of the RWCs of SrcA's and SrcB's rows, of Dst's rows, and of the fidelity phase."""
INDEX_BITS = {Chip.WORMHOLE: 2, Chip.BLACKHOLE: 3}
"""Bits of an instruction's modifier index."""
MODIFIERS = 8
"""Modifiers of a thread."""
MODIFIER_BITS = 16

DIMENSIONS = ("x", "y", "z", "w")
"""ADCs of a channel, in the order of SETADC's `dimension`."""
WIDTHS = {"x": 18, "y": 13, "z": 8, "w": 8}
"""Bits of the ADCs."""
CHANNELS, UNITS = 2, 3
PACK_WORD_BITS = 16


# Fields of Tensix's configuration registers that the core reads, one table for Wormhole and Blackhole.
#
# Ref: tt-isa-documentation 3930471, BackendConfiguration; ttsim v1.10.0, whose tables give positions of both chips.


REGISTERS = {Chip.WORMHOLE: 188, Chip.BLACKHOLE: 224}
"""Registers of 32 bits in one bank, which WRCFG and RMWCIB write."""
SHARED_FROM = {Chip.WORMHOLE: 152, Chip.BLACKHOLE: 180}
"""Registers from this one on exist once and not in two banks."""
THREAD_CONTROL_FROM = {Chip.WORMHOLE: 52, Chip.BLACKHOLE: 64}
"""First of the registers of unpackers and packers, to which REG2FLOP counts; `SHARED_FROM` follows the last one."""
THREAD_REGISTERS = {Chip.WORMHOLE: 57, Chip.BLACKHOLE: 68}
"""Registers of 16 bits of one thread, which SETC16 writes."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Bits `low` to `low + width - 1` of a register."""

    register: int
    low: int
    width: int

    @property
    def mask(self) -> int:
        """The field's bits in the register."""
        return (1 << self.width) - 1 << self.low


# Name and places, each register.low:width. If there are several units (unpackers 0 and 1, packers 0 to 3), each has a
# place, in this order. If the chips differ, Wormhole's places stand before the bar and Blackhole's after it.
_FIELDS = (
    ("gasket_stochastic", "1.1:1"),
    ("packer_stochastic", "1.2:1"),
    ("src_a_unsigned", "1.15:1"),
    ("src_b_unsigned", "1.16:1"),
    ("src_a_format", "1.17:4"),
    ("src_b_format", "1.21:4"),
    ("dst_format", "1.25:4"),
    ("fp32_enabled", "1.29:1"),
    ("sfpu_fp32", "1.30:1"),
    ("int8_math", "1.31:1"),
    ("zero_flag_disabled_src", "2.0:1"),
    ("relu_mode", "2.2:4"),
    ("relu_threshold", "2.6:16"),
    ("dst_base", "6.0:16"),
    ("dst_stack_base", "-|7.0:16"),
    ("packer_x_stride", "8.0:12|12.0:16"),
    ("packer_y_stride", "8.12:12|12.16:16"),
    ("packer_z_stride", "9.0:12|13.0:16"),
    ("packer_w_stride", "9.12:16|13.16:16"),
    ("read_32b", "14.0:1|18.0:1"),
    ("read_unsigned", "14.1:1|18.1:1"),
    ("read_raw", "14.2:1|18.2:1"),
    ("round_10b", "14.3:1|18.3:1"),
    ("edge_mask", "20.0:16|24.0:16"),
    ("reads_per_plane", "24.8:8 25.8:8 26.8:8 27.8:8|28.8:8"),
    ("forced_exponent", "41.0:8 49.0:8|50.0:8 62.0:8"),
    ("add_dst_address", "41.8:1|50.8:1"),
    ("unpack_y_stride", "44.12:12 46.12:12|56.16:16 58.16:16"),
    ("unpack_z_stride", "45.0:12 47.0:12|57.0:16 59.0:16"),
    ("unpack_w_stride", "45.12:16 47.12:16|57.16:16 59.16:16"),
    ("l1_format", "52.0:4 92.0:4|64.0:4 112.0:4"),
    ("descriptor_uncompressed", "52.4:1 92.4:1|64.4:1 112.4:1"),
    ("x_dim", "52.16:16 92.16:16|64.16:16 112.16:16"),
    ("y_dim", "53.0:16 93.0:16|65.0:16 113.0:16"),
    ("z_dim", "53.16:16 93.16:16|65.16:16 113.16:16"),
    ("exponent_section", "56.16:16 84.16:16 96.16:16 124.16:16|68.16:16"),
    ("pack_address", "57.0:32 85.0:32 97.0:32 125.0:32|69.0:32"),
    ("pack_uncompressed", "58.0:1 86.0:1 98.0:1 126.0:1|70.0:1"),
    ("pack_out_format", "58.4:4 86.4:4 98.4:4 126.4:4|70.4:4"),
    ("pack_in_format", "58.8:4 86.8:4 98.8:4 126.8:4|70.8:4"),
    ("exponent_threshold_enabled", "59.20:1 87.20:1 99.20:1 127.20:1|71.20:1"),
    ("exponent_threshold", "59.24:8 87.24:8 99.24:8 127.24:8|71.24:8"),
    ("l1_accumulate", "59.21:1 87.21:1 99.21:1 127.21:1|71.19:1"),
    ("unpack_e4m3", "-|71.22:1 119.22:1"),
    ("pack_e4m3", "-|71.23:1"),
    ("unpack_out_format", "60.0:4 100.0:4|72.0:4 120.0:4"),
    ("throttle", "60.4:2 100.4:2|72.4:2 120.4:2"),
    ("transpose", "60.8:1 100.8:1|72.8:1 120.8:1"),
    ("tilise", "60.9:1 100.9:1|72.9:1 120.9:1"),
    ("descriptor_to_dst", "60.11:1|72.11:1"),
    ("shift_amounts", "60.16:12|72.16:12"),
    ("uncompressed", "61.0:1 101.0:1|73.0:1 121.0:1"),
    ("unpack_to_dst", "61.4:1|73.4:1"),
    ("force_exponent", "61.8:1 101.8:1|73.8:1 121.8:1"),
    ("base_address", "64.0:32 104.0:32|76.0:32 124.0:32"),
    ("dst_address", "72.0:16|84.0:16"),
    ("context_x_dim", "74.0:16|86.0:16"),
    ("packer_dst_offset", "152.0:12 153.0:12 154.0:12 155.0:12|180.0:12"),
    ("prng_seed", "164.0:32|186.0:32"),
    ("swizzle_32b", "-|220.0:1"),
    ("remap_addrs", "-|220.1:1"),
    ("zeroacc_absolute_tile_mode", "-|220.3:1"),
    # Contexts of the unpackers, of which the fields above are context 0. Unpacker 1 has two; kernels set
    # `uncompressed_1` of eight.
    ("context_count", "60.6:2 100.6:2|72.6:2 120.6:2"),
    ("last_shift_amount", "60.28:4|72.28:4"),
    (
        "uncompressed_0",
        "61.1:1 61.2:1 61.3:1 61.16:1 61.17:1 61.18:1 61.19:1|73.1:1 73.2:1 73.3:1 73.16:1 73.17:1 73.18:1 73.19:1",
    ),
    (
        "uncompressed_1",
        "101.1:1 101.2:1 101.3:1 101.16:1 101.17:1 101.18:1 101.19:1|121.1:1 121.2:1 121.3:1 121.16:1 121.17:1 121.18:1 121.19:1",
    ),
    (
        "contexts_to_dst",
        "61.5:1 61.6:1 61.7:1 61.20:1 61.21:1 61.22:1 61.23:1|73.5:1 73.6:1 73.7:1 73.20:1 73.21:1 73.22:1 73.23:1",
    ),
    (
        "base_addresses_0",
        "65.0:32 66.0:32 67.0:32 68.0:32 69.0:32 70.0:32 71.0:32|77.0:32 78.0:32 79.0:32 80.0:32 81.0:32 82.0:32 83.0:32",
    ),
    ("base_addresses_1", "105.0:32|125.0:32"),
    ("dst_addresses", "72.16:16 73.0:16 73.16:16|84.16:16 85.0:16 85.16:16"),
    ("context_x_dims", "74.16:16 75.0:16 75.16:16|86.16:16 87.0:16 87.16:16"),
    ("base_offsets_0", "80.0:16 81.0:16 82.0:16 83.0:16|92.0:16 93.0:16 94.0:16 95.0:16"),
    ("base_offsets_1", "120.0:16 121.0:16|140.0:16 141.0:16"),
)
# Fields that golden's core reads and RTL has not: formats that override others, sets of edge masks, counters of another thread.
# `all_uncompressed` counts only with its override, which is not modelled.
_GOLDEN_FIELDS = (
    ("src_a_value", "0.0:4"),
    ("src_a_override", "0.4:1"),
    ("src_b_value", "0.5:4"),
    ("src_b_override", "0.9:1"),
    ("row_sets", "16.0:32 17.0:32 18.0:32 19.0:32|-"),
    ("edge_minus_infinity", "20.16:1|24.16:1"),
    ("edge_row_set", "20.17:2 20.19:2 20.21:2 20.23:2|-"),
    ("edge_masks", "21.0:16 22.0:16 23.0:16|-"),
    ("all_uncompressed", "58.17:4 86.17:4 98.17:4 126.17:4|-"),
    ("pack_counters_thread", "58.2:2 86.2:2 98.2:2 126.2:2|-"),
    ("scratch", "-|209.0:32 210.0:32 211.0:32"),
)
# Thread registers of several address modifiers: name, bits, Wormhole's registers and Blackhole's.
_MODIFIERS = (
    ("ab_modifier", 16, (range(7, 23, 2), range(12, 20))),
    ("dst_modifier", 16, (range(23, 31), range(28, 36))),
    ("bias_modifier", 5, (range(48, 56), range(47, 55))),
    ("pack_modifier", 16, (range(31, 35), range(37, 41))),
)
_THREAD_FIELDS = (
    ("state_id", "0.0:1"),
    ("math_offset", "1.0:12"),
    ("modifier_base", "2.0:1|-"),
    ("implied_src_a_disabled", "-|2.0:1"),
    ("implied_src_b_disabled", "-|3.0:1"),
    ("sfpu_dst_format_enable", "-|4.0:1"),
    ("sfpu_dst_format", "-|4.1:4"),
    ("override_with_address", "3.2:1|5.2:1"),
    ("context_offset", "39.0:4 39.8:4|41.0:4 41.8:4"),
    ("clear_dvalid_disable", "5.0:2|7.0:2"),
    ("fidelity_base", "6.0:2|11.0:2"),
    ("sfpu_stack_increment", "-|36.0:10"),
    *(
        (name, "|".join(" ".join(f"{register}.0:{width}" for register in own) for own in of_chips))
        for name, width, of_chips in _MODIFIERS
    ),
)

Fields = dict[str, tuple[Place, ...]]
"""Places of each field by name: one, or one for each unit or address modifier."""


def _places(text: str) -> dict[Chip, tuple[Place, ...]]:
    """Return each chip's places of a list in the form of the tables."""
    places: dict[Chip, tuple[Place, ...]] = {}
    for chip, own in zip(Chip, text.split("|") * len(Chip), strict=False):
        split = [each.replace(".", ":").split(":") for each in own.split(" ") if each != "-"]
        places[chip] = tuple(Place(register=int(a), low=int(b), width=int(c)) for a, b, c in split)
    return places


FIELDS: dict[Chip, Fields] = {chip: {name: _places(text)[chip] for name, text in _FIELDS} for chip in Chip}
"""Fields of the registers that all threads share."""
THREAD_FIELDS: dict[Chip, Fields] = {
    chip: {name: _places(text)[chip] for name, text in _THREAD_FIELDS} for chip in Chip
}
"""Fields of a thread's own registers; modifiers are whole words, of which Rwc and Adc know the fields."""


GOLDEN_FIELDS: dict[Chip, Fields] = {
    chip: FIELDS[chip] | {name: _places(text)[chip] for name, text in _GOLDEN_FIELDS} for chip in Chip
}
GOLDEN_THREAD_FIELDS = THREAD_FIELDS
"""All fields that golden's core reads, those of RTL's among them."""


class UndefinedBehavior(ValueError):
    """A page of the instruction set calls the behaviour of an instruction here undefined."""


OPCODE_LOW = 24
"""Lowest bit of the opcode."""
WORD_BITS = 32


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """How a chip encodes an instruction.

    Attributes
    ----------
    opcode : bits 31 to 24.
    fields : positions of the fields, in the order of the text form.
    """

    name: str
    opcode: int
    fields: tuple[Segment, ...]

    @property
    def used_bits(self) -> int:
        """Mask of the opcode and of all fields."""
        return 0xFF << OPCODE_LOW | sum((1 << each.width) - 1 << each.low for each in self.fields)


_FLIP = "flip 23:22"
_MODIFIER = "modifier 16:15|16:14"
_MATRIX = f"{_FLIP}, broadcast_row 19, {_MODIFIER}, dst 9:0"
_ELEMENTWISE = f"{_FLIP}, add_dst 21, broadcast_row 20, broadcast_column 19, {_MODIFIER}, dst 9:0"
_POOLING = f"{_FLIP}, dim_16x16 19, modifier 16:15|17:15, argmax 14, dst 9:0"
_MOVE = f"low_half 23, src_row 22:17, {_MODIFIER}, mode 13:12, dst 9:0"
_UNITS = "units 23:21"
_XY = "ch1_y 17:15, ch1_x 14:12, ch0_y 11:9, ch0_x 8:6"
_ZW = "ch1_w 17:15, ch1_z 14:12, ch0_w 11:9, ch0_z 8:6"
_WHICH = "which 3:0"
_SEMAPHORES = "semaphores 9:2"
_PACR = (
    "config_context -|22:21, row_pad -|20:18, strided -|17, modifier 16:15, counter_context -|14:13, zero 12, "
    "packers 11:8, override_thread 7, concat 4, context_control -|3:2, flush 1, last 0"
)
_UNPACR = (
    "unpacker 23, ch1_y 22:21, ch1_z 20:19, ch0_y 18:17, ch0_z 16:15, context 12:10, adc 9:8, multi_context 7, flip 6, "
    "zero 4, context_counter 3, row_search 2, last 0"
)
_DMA = "right 11:6, left 5:0"
_ARITHMETIC = f"constant 23, result 17:12, {_DMA}"
_OPERATION = f"constant 23, operation 20:18, result 17:12, {_DMA}"
_GPRS = "data_gpr 11:6, address_gpr 5:0"
_INDIRECT = f"offset_half 20:14, increment 13:12, {_GPRS}"
_MASKED_BYTE = "mask 23:16, data 15:8, register 7:0"
# The Vector unit's: `mod` is the modifier, `vd` the destination, `vc`, `vb` and `va` are operands. A word with a VD of 12 to 15
# may become a template, so every word but those of the load form and SFPNOP has one.
_LANES = "modifier 15:14|15:13, address 9:0"
_LOAD = f"vd 23:20, mod 19:16, {_LANES}"
_VD, _VC = "vd 7:4, mod 3:0", "vc 11:8, vd 7:4, mod 3:0"
_IMM12, _IMM16 = f"imm 23:12, {_VC}", f"imm 23:8, {_VD}"
_MAD = f"va 19:16, vb 15:12, {_VC}"

# Opcode, name, fields high:low; where the chips differ, Wormhole's bits stand before the bar and Blackhole's behind it.
_TABLE = (
    (0x01, "MOP", "template 23, count_minus_1 22:16, mask_low 15:0"),
    (0x02, "NOP", ""),
    (0x03, "MOP_CFG", "mask_high 15:0"),
    (0x04, "REPLAY", "start 18:14, count 9:4, execute 1, load 0"),
    (0x08, "MOVD2A", _MOVE),
    (0x09, "MOVDBGA2D", _MOVE),
    (0x0A, "MOVD2B", _MOVE),
    (0x0B, "MOVB2A", f"src_a_row 22:17, {_MODIFIER}, mode 13:12, src_b_row 5:0"),
    (0x10, "ZEROACC", f"mode 20:19, dst32 21|18, revert -|17, {_MODIFIER}, operand 9:0"),
    (0x11, "ZEROSRC", "negative_infinity 4, matrix_bank 3, both_banks 2, sources 1:0"),
    (0x12, "MOVA2D", _MOVE),
    (0x13, "MOVB2D", f"low_half 23, src_row 22:17, {_MODIFIER}, mode 14:12|13:11, dst 9:0"),
    (0x16, "TRNSPSRCB", ""),
    (0x26, "MVMUL", _MATRIX),
    (0x27, "ELWMUL", _ELEMENTWISE),
    (0x28, "ELWADD", _ELEMENTWISE),
    (0x29, "DOTPV", _MATRIX),
    (0x30, "ELWSUB", _ELEMENTWISE),
    (0x33, "GMPOOL", _POOLING),
    (0x34, "GAPOOL", _POOLING),
    (0x35, "GATESRCRST", "src_b 1, src_a 0"),
    (0x36, "CLEARDVALID", f"{_FLIP}, keep_reading 1, reset 0"),
    (0x37, "SETRWC", f"{_FLIP}, cr 21:18, dst 17:14, src_b 13:10, src_a 9:6, {_WHICH}"),
    (0x38, "INCRWC", "cr 20:18, dst 17:14, src_b 13:10, src_a 9:6"),
    (0x41, "PACR", _PACR),
    (0x42, "UNPACR", _UNPACR),
    (0x43, "UNPACR_NOP", "unpacker 23, what 4:0|-, set_valid -|8, stall -|5, bank -|4, value -|3:2, pop -|1:0"),
    (0x45, "SETDMAREG", "value_high 23:22, value_low 21:8, half_register 6:0"),
    (0x46, "FLUSHDMA", "conditions 3:0"),
    (0x48, "REG2FLOP", "size 23:22, target 21:20, byte 19:18, other_thread 17:16, index 12:6, gpr 5:0"),
    (0x49, "LOADIND", f"size 23:22, {_INDIRECT}"),
    (0x50, "SETADC", f"{_UNITS}, channel 20, dimension 19:18, value 17:0"),
    (0x51, "SETADCXY", f"{_UNITS}, {_XY}, {_WHICH}"),
    (0x52, "INCADCXY", f"{_UNITS}, {_XY}"),
    (0x53, "ADDRCRXY", f"{_UNITS}, {_XY}, {_WHICH}"),
    (0x54, "SETADCZW", f"{_UNITS}, {_ZW}, {_WHICH}"),
    (0x55, "INCADCZW", f"{_UNITS}, {_ZW}"),
    (0x56, "ADDRCRZW", f"{_UNITS}, {_ZW}, {_WHICH}"),
    (0x57, "SETDVALID", "sources 1:0"),
    (0x58, "ADDDMAREG", _ARITHMETIC),
    (0x59, "SUBDMAREG", _ARITHMETIC),
    (0x5A, "MULDMAREG", _ARITHMETIC),
    (0x5B, "BITWOPDMAREG", _OPERATION),
    (0x5C, "SHIFTDMAREG", _OPERATION),
    (0x5D, "CMPDMAREG", _OPERATION),
    (0x5E, "SETADCXX", f"{_UNITS}, end 19:10, start 9:0"),
    (0x60, "DMANOP", ""),
    (0x61, "ATINCGET", f"wrap 18:14, word 13:12, {_GPRS}"),
    (0x63, "ATSWAP", f"mask 21:14, {_GPRS}"),
    (0x64, "ATCAS", "value 21:18, compare 17:14, word 13:12, address_gpr 5:0"),
    (0x66, "STOREIND", f"l1 23, size 22:21, {_INDIRECT}"),
    (0x70, "SFPLOAD", _LOAD),
    (0x71, "SFPLOADI", "vd 23:20, mod 19:16, imm 15:0"),
    (0x72, "SFPSTORE", _LOAD),
    (0x73, "SFPLUT", "vd 23:20, mod 19:16"),
    (0x74, "SFPMULI", _IMM16),
    (0x75, "SFPADDI", _IMM16),
    (0x76, "SFPDIVP2", _IMM12),
    (0x77, "SFPEXEXP", _VC),
    (0x78, "SFPEXMAN", _VC),
    (0x79, "SFPIADD", _IMM12),
    (0x7A, "SFPSHFT", _IMM12),
    (0x7B, "SFPSETCC", f"imm 12, {_VC}"),
    (0x7C, "SFPMOV", _VC),
    (0x7D, "SFPABS", _VC),
    (0x7E, "SFPAND", f"vb -|15:12, {_VC}"),
    (0x7F, "SFPOR", f"vb -|15:12, {_VC}"),
    (0x80, "SFPNOT", _VC),
    (0x81, "SFPLZ", _VC),
    (0x82, "SFPSETEXP", _IMM12),
    (0x83, "SFPSETMAN", _IMM12),
    (0x84, "SFPMAD", _MAD),
    (0x85, "SFPADD", _MAD),
    (0x86, "SFPMUL", _MAD),
    (0x87, "SFPPUSHC", _VD),
    (0x88, "SFPPOPC", _VD),
    (0x89, "SFPSETSGN", f"imm 12, {_VC}"),
    (0x8A, "SFPENCC", f"imm 13:12, {_VD}"),
    (0x8B, "SFPCOMPC", _VD),
    (0x8C, "SFPTRANSP", _VD),
    (0x8D, "SFPXOR", _VC),
    (0x8E, "SFP_STOCH_RND", f"rounding 21|22:21, imm 20:16, vb 15:12, {_VC}"),
    (0x8F, "SFPNOP", ""),
    (0x90, "SFPCAST", _VC),
    (0x91, "SFPCONFIG", _IMM16),
    (0x92, "SFPSWAP", _VC),
    (0x93, "SFPLOADMACRO", "macro 23:22, vd_low 21:20, mod 19:16, modifier 15:14|15:13, address 9:1, vd_high 0"),
    (0x94, "SFPSHFT2", _IMM12),
    (0x95, "SFPLUTFP32", f"mod_mirror -|19:16, {_VD}"),
    (0xA0, "ATGETM", "mutex 15:0"),
    (0xA1, "ATRELM", "mutex 15:0"),
    (0xA2, "STALLWAIT", "block 23:15, conditions 14:0|11:0"),
    (0xA3, "SEMINIT", f"maximum 23:20, value 19:16, {_SEMAPHORES}"),
    (0xA4, "SEMPOST", _SEMAPHORES),
    (0xA5, "SEMGET", _SEMAPHORES),
    (0xA6, "SEMWAIT", f"block 23:15, {_SEMAPHORES}, at_maximum 1, while_zero 0"),
    (0xB0, "WRCFG", "gpr 21:16, wide 15, register 10:0"),
    (0xB1, "RDCFG", "gpr 21:16, register 10:0"),
    (0xB2, "SETC16", "register 23:16, value 15:0"),
    (0xB3, "RMWCIB0", _MASKED_BYTE),
    (0xB4, "RMWCIB1", _MASKED_BYTE),
    (0xB5, "RMWCIB2", _MASKED_BYTE),
    (0xB6, "RMWCIB3", _MASKED_BYTE),
)

_TABLE_OF_BLACKHOLE = (
    (0x96, "SFPLE", _VC),
    (0x97, "SFPGT", _VC),
    (0x98, "SFPMUL24", _MAD),
    (0x99, "SFPARECIP", f"vb 15:12, {_VC}"),
    (0xB8, "CFGSHIFTMASK", "keep_old 23, operation 22:20, mask_width 19:15, rotate 14:10, scratch 9:8, register 7:0"),
)

# Instructions that are not modelled: name and hexadecimal opcode, of both chips and of Blackhole alone.
_OTHERS = (
    "TRNSPSRCA 14, RAREB 15, SHIFTXA 17, SHIFTXB 18, SETASHRMH0 1A, SETASHRMH1 1B, SETASHRMV 1C, "
    "SETPKEDGOF 1D, SETASHRMH 1E, CLREXPHIST 21, CONV3S1 22, CONV3S2 23, MPOOL3S1 24, APOOL3S1 25, MPOOL3S2 31, "
    "APOOL3S2 32, SETIBRWC 39, MFCONV3S1 3A, XMOV 40, RSTDMA 44, PACR_SETREG 4A, TBUFCMD 4B, ATINCGETPTR 62, STOREREG 67, "
    "LOADREG 68"
)
_OTHERS_OF_BLACKHOLE = "MOVDBGB2D 0C, STREAMWAIT A7, STREAMWRCFG B7"


def _segments(fields: str) -> dict[Chip, tuple[Segment, ...]]:
    """Return each chip's fields of a list in the form of the table."""
    segments: dict[Chip, list[Segment]] = {chip: [] for chip in Chip}
    for each in filter(None, fields.split(", ")):
        name, bits = each.split(" ")
        for chip, own in zip(Chip, bits.split("|") * len(Chip), strict=False):
            high, _, low = own.partition(":")
            if high != "-":
                segments[chip].append(Segment(name=name, high=int(high), low=int(low or high)))
    return {chip: tuple(own) for chip, own in segments.items()}


ENCODINGS = {
    chip: tuple(
        Encoding(name=name, opcode=opcode, fields=_segments(fields)[chip])
        for opcode, name, fields in sorted(_TABLE + (_TABLE_OF_BLACKHOLE if chip is Chip.BLACKHOLE else ()))
    )
    for chip in Chip
}
"""Every instruction of a chip, in the order of the opcodes."""
BY_NAME = {chip: {each.name: each for each in encodings} for chip, encodings in ENCODINGS.items()}
BY_OPCODE = {chip: {each.opcode: each for each in encodings} for chip, encodings in ENCODINGS.items()}


def _numbered(listed: str) -> dict[int, str]:
    """Return the names of a list in the form NAME OPCODE, NAME OPCODE, by opcode."""
    return {int(opcode, 16): name for name, opcode in (each.split(" ") for each in listed.split(", "))}


OTHERS = {
    Chip.WORMHOLE: _numbered(_OTHERS),
    Chip.BLACKHOLE: _numbered(f"{_OTHERS}, {_OTHERS_OF_BLACKHOLE}"),
}
"""Names, by opcode, of a chip's instructions that are not modelled."""
