"""Encodings of Tensix instructions: opcodes and fields of Wormhole and Blackhole, one table for both.

An instruction is a word of 32 bits::

     31       24 23                                     0
    +-----------+----------------------------------------+
    |  opcode   |  fields; the bits of no field are zero |
    +-----------+----------------------------------------+

Ref: tenstorrent/tt-llk 36b092e, ``instructions/assembly.yaml``; ttsim v1.10.0; tt-isa-documentation 3930471.
"""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import Segment

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
_MASKED_BYTE = "mask 23:16, data 15:8, register 7:0"

# Opcode, name, fields high:low; where the chips differ, Wormhole's bits stand before the bar and Blackhole's behind it.
_TABLE = (
    (0x01, "MOP", "template 23, count_minus_1 22:16, mask_low 15:0"),
    (0x02, "NOP", ""),
    (0x03, "MOP_CFG", "mask_high 15:0"),
    (0x04, "REPLAY", "start 18:14, count 9:4, execute 1, load 0"),
    (0x08, "MOVD2A", _MOVE),
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
    (0x36, "CLEARDVALID", f"{_FLIP}, keep_reading 1, reset 0"),
    (0x37, "SETRWC", f"{_FLIP}, cr 21:18, dst 17:14, src_b 13:10, src_a 9:6, {_WHICH}"),
    (0x38, "INCRWC", "cr 20:18, dst 17:14, src_b 13:10, src_a 9:6"),
    (0x41, "PACR", _PACR),
    (0x42, "UNPACR", _UNPACR),
    (0x43, "UNPACR_NOP", "unpacker 23, what 4:0|-, set_valid -|8, stall -|5, bank -|4, value -|3:2, pop -|1:0"),
    (0x45, "SETDMAREG", "value_high 23:22, value_low 21:8, half_register 6:0"),
    (0x50, "SETADC", f"{_UNITS}, channel 20, dimension 19:18, value 17:0"),
    (0x51, "SETADCXY", f"{_UNITS}, {_XY}, {_WHICH}"),
    (0x52, "INCADCXY", f"{_UNITS}, {_XY}"),
    (0x53, "ADDRCRXY", f"{_UNITS}, {_XY}, {_WHICH}"),
    (0x54, "SETADCZW", f"{_UNITS}, {_ZW}, {_WHICH}"),
    (0x55, "INCADCZW", f"{_UNITS}, {_ZW}"),
    (0x56, "ADDRCRZW", f"{_UNITS}, {_ZW}, {_WHICH}"),
    (0x57, "SETDVALID", "sources 1:0"),
    (0x5E, "SETADCXX", f"{_UNITS}, end 19:10, start 9:0"),
    (0xA2, "STALLWAIT", "block 23:15, conditions 14:0|11:0"),
    (0xA3, "SEMINIT", f"maximum 23:20, value 19:16, {_SEMAPHORES}"),
    (0xA4, "SEMPOST", _SEMAPHORES),
    (0xA5, "SEMGET", _SEMAPHORES),
    (0xA6, "SEMWAIT", f"block 23:15, {_SEMAPHORES}, at_maximum 1, while_zero 0"),
    (0xB0, "WRCFG", "gpr 21:16, wide 15, register 10:0"),
    (0xB2, "SETC16", "register 23:16, value 15:0"),
    (0xB3, "RMWCIB0", _MASKED_BYTE),
    (0xB4, "RMWCIB1", _MASKED_BYTE),
    (0xB5, "RMWCIB2", _MASKED_BYTE),
    (0xB6, "RMWCIB3", _MASKED_BYTE),
)

# Instructions that are not modelled: name and hexadecimal opcode, of both chips and of Blackhole alone.
_OTHERS = (
    "MOVDBGA2D 09, TRNSPSRCA 14, RAREB 15, SHIFTXA 17, SHIFTXB 18, SETASHRMH0 1A, SETASHRMH1 1B, SETASHRMV 1C, "
    "SETPKEDGOF 1D, SETASHRMH 1E, CLREXPHIST 21, CONV3S1 22, CONV3S2 23, MPOOL3S1 24, APOOL3S1 25, MPOOL3S2 31, "
    "APOOL3S2 32, GATESRCRST 35, SETIBRWC 39, MFCONV3S1 3A, XMOV 40, RSTDMA 44, FLUSHDMA 46, REG2FLOP 48, LOADIND 49, "
    "PACR_SETREG 4A, TBUFCMD 4B, ADDDMAREG 58, SUBDMAREG 59, MULDMAREG 5A, BITWOPDMAREG 5B, SHIFTDMAREG 5C, "
    "CMPDMAREG 5D, DMANOP 60, ATINCGET 61, ATINCGETPTR 62, ATSWAP 63, ATCAS 64, STOREIND 66, STOREREG 67, LOADREG 68, "
    "SFPLOAD 70, SFPLOADI 71, SFPSTORE 72, SFPLUT 73, SFPMULI 74, SFPADDI 75, SFPDIVP2 76, SFPEXEXP 77, SFPEXMAN 78, "
    "SFPIADD 79, SFPSHFT 7A, SFPSETCC 7B, SFPMOV 7C, SFPABS 7D, SFPAND 7E, SFPOR 7F, SFPNOT 80, SFPLZ 81, "
    "SFPSETEXP 82, SFPSETMAN 83, SFPMAD 84, SFPADD 85, SFPMUL 86, SFPPUSHC 87, SFPPOPC 88, SFPSETSGN 89, SFPENCC 8A, "
    "SFPCOMPC 8B, SFPTRANSP 8C, SFPXOR 8D, SFP_STOCH_RND 8E, SFPNOP 8F, SFPCAST 90, SFPCONFIG 91, SFPSWAP 92, "
    "SFPLOADMACRO 93, SFPSHFT2 94, SFPLUTFP32 95, ATGETM A0, ATRELM A1, RDCFG B1"
)
_OTHERS_OF_BLACKHOLE = (
    "MOVDBGB2D 0C, SFPLE 96, SFPGT 97, SFPMUL24 98, SFPARECIP 99, STREAMWAIT A7, STREAMWRCFG B7, CFGSHIFTMASK B8"
)


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
    chip: tuple(Encoding(name=name, opcode=opcode, fields=_segments(fields)[chip]) for opcode, name, fields in _TABLE)
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
