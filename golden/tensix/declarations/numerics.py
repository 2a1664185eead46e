"""Tenstorrent's Tensix of Wormhole and Blackhole: numerics of the Matrix unit, unpackers and packers, presets, and evidence for every choice.

The references are those of :mod:`bitpath.golden.tensix.declarations.formats`, which declares formats and layouts.
"""

from dataclasses import dataclass, fields
from enum import Enum

from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.formats.sources import Source, choices, chosen, documented, inferred, measured, preset
from bitpath.golden.tensix.declarations.formats import Chip

# Rules of Tensix that no field of its numerics switches, with their evidence.
#
# The references are those of :mod:`bitpath.golden.tensix.declarations.formats`, which declares formats and layouts.


def _ttsim_choice(where: str) -> Source:
    return inferred(f"ttsim: {where}")


CHOICES = choices(
    {
        "The packers' stochastic rounding compares as SFP_STOCH_RND does, with bits that the caller gives; the Matrix unit's is left out": chosen(
            "TT-ISA Packers/FormatConversion names the same bias; where the bits come from is not public, ttsim refuses both"
        ),
        "In the core Gasket_srnd_en rounds the packers' first conversion stochastically. Each packer has a random number for each of 16 columns, which begins as that of the Vector unit's lane of this number; each Dst row that the packer reads steps them": chosen(
            "tt-llk's StochRndType: the gasket converts Dst's format to the packer's; TT-ISA SoftReset: the early conversion has PRNGs; seed, number and steps are not public"
        ),
        "Packer_srnd_en changes block floats alone, which the core refuses with it": documented(
            "TT-ISA Packers/FormatConversion: other late conversions truncate; tt-llk's StochRndType: from the packer's format to L1's"
        ),
        "DOTPV computes what MVMUL computes": documented(
            "TT-ISA DOTPV: MVMUL without row broadcast; ttsim does not run it"
        ),
        "FP16A_FORCE is style FP16 with 16-bit Dst": documented("TT-ISA MVMUL; ttsim does not run it"),
        "Formats with 5-bit and 8-bit exponents do not mix in one instruction": chosen(
            "ttsim refuses it; TT-ISA reads SrcB's bits by SrcA's style"
        ),
        "FP8 is e5m2": documented("TT-ISA Packers/FormatConversion, tt-metal and ttsim; TT-ISA SrcASrcB contradicts"),
        "ELWADD and ELWSUB run in fidelity phase 0 only": chosen(
            "TT-ISA divides by 32 and 128 in other phases, ttsim refuses them"
        ),
        "GMPOOL takes the exponent of one SrcB row": documented("TT-ISA GMPOOL; ttsim: scale 1.0 alone"),
        "With Zero_Flag_disabled_src ELWADD and ELWSUB read a SrcB zero as 0 where an instruction sets it, and as 1.0 at exponent 0 with the field zero_flag_disabled": chosen(
            "ttsim: +0 stays 0; tt-metal #54910 measured x + 0 = x + 2**-127 with the flag off"
        ),
        "INT16 packs the upper half of a 32-bit Dst word in the register's order, on both chips": _ttsim_choice(
            "TT-ISA Packers/FormatConversion has no such conversion"
        ),
        "E4M3 takes every other intermediate float by way of FP16; Round_10b with FP16 and a 32-bit Dst packs to formats of 5 exponent bits alone": chosen(
            "as E5M2 does; ttsim packs E4M3 from FP16 only, and refuses the rest"
        ),
        "A move with Fp32_enabled on Blackhole writes s, e8, m10 and zeros, whatever the format": chosen(
            "TT-ISA since 88d4bf9 gives the width; the layout is TF32's"
        ),
        "The integer zero-exponent rule holds for element-wise operations too": chosen("by analogy with MVMUL"),
        "BF16 accumulation in L1 reads an old NaN as the largest FP64 number and a new NaN as 1.m * 2**128: an old NaN gives the infinity of its sign unless the new value is infinite": _ttsim_choice(
            "v1.10.0 adds the two in FP64 and converts the sum; NaN plus infinity is that infinity"
        ),
        "FP32 accumulation in L1 gives the NaN 0x7FC00000; FP16 accumulation has no NaN and reads a zero exponent as zero": _ttsim_choice(
            "v1.10.0; integers and block floats are not accumulated"
        ),
        "FP16 is rounded to the 6 fraction bits of a BFP8A intermediate before denormals are flushed: 0x3F8 to 0x3FF become 0x400": _ttsim_choice(
            "v1.10.0; BF16 is flushed before it is rounded for BFP8"
        ),
        "FP32 and TF32 intermediates with a zero exponent become a BF16 zero of their sign; FP16 ones become an FP8 zero of their sign": documented(
            "TT-ISA Packers/FormatConversion: denormals are flushed where the mantissa narrows; the sign is chosen"
        ),
        "A word that GMPOOL's argmax returns with FP16 has the FP16 number in its upper half, in the order of a 16-bit Dst": chosen(
            "TT-ISA GMPOOL gives the physical order, for which a 32-bit Dst has no logical one"
        ),
        "The packers' edge mask writes minus infinity as 0xFF800000 or, with 5 exponent bits, as all ones": chosen(
            "TT-ISA EdgeMasking says infinity; FP16's is all ones"
        ),
        "The shift from INT32 to INT8 rounds as every rounding of the packers does, ties away from zero": chosen(
            "TT-ISA says that the shifted-out bits are used for rounding; ttsim refuses shifts"
        ),
        "On Blackhole infinity is an ordinary number of exponent 255: inf - inf and inf * 0 give 0, inf +- 1 and inf * 2 infinity": measured(
            "tt-metal #52141 on Blackhole (P300), BF16 in HiFi4; Wormhole by ttsim"
        ),
        "On Blackhole LoFi multiplies the hidden bit and 4 fraction bits of SrcA by the hidden bit and 6 of SrcB": measured(
            "tt-metal #47239 on Blackhole: a software model with these masks equals captured silicon; Wormhole by TT-ISA SrcASrcB"
        ),
        "An instruction names SrcA's format; on Blackhole the unpacker implies it": documented(
            "TT-ISA of Blackhole; golden and RTL take the format as an argument on both chips"
        ),
        "SFPLOADMACRO and LReg 16; stochastic rounding and rounding to zero; SFP_STOCH_RND to FP16A and of integers; indirect VA and VD; SFPMUL24 with a VC that is not 0": documented(
            "TT-ISA alone, of each instruction: ttsim v1.10.0 refuses these"
        ),
        "SFPLUT without the sign kept, SFPLUTFP32's modes but 2, SFPSHFT2's modes 0, 1, 2 and 6, SFPARECIP's modes from 1 on, changes of the stack's top by SFPPUSHC, SFPPOPC, SFPLE and SFPGT": documented(
            "TT-ISA alone, of each instruction: ttsim v1.10.0 refuses these"
        ),
        "SFPLOAD and SFPSTORE of INT8, INT16, HI16, LO16, INT32_ALL and ZERO beyond SFPSTORE's HI16 and LO16; ROW_MASK and the bits of LaneConfig but 2 and 8; SFPCONFIG by flags or a mask of columns": documented(
            "TT-ISA alone, of each instruction: ttsim v1.10.0 refuses these"
        ),
        "SFPLUTFP32 and SFPENCC read all bits of the modifier and the immediate": documented(
            "TT-ISA of Blackhole, as ttsim; the functional models of earlier pages test bits of other meaning"
        ),
        "SFP_STOCH_RND steps the random numbers of enabled lanes in every rounding": documented(
            "TT-ISA since 585749d, as ttsim; earlier pages step them in stochastic rounding alone"
        ),
        "SFPCONFIG's immediate puts 2**-9 in LReg 12": documented(
            "TT-ISA SFPCONFIG since f916ebc; earlier pages have 2**-16; ttsim v1.10.0 refuses the immediate"
        ),
        "LReg 11 to 14 have SFPCONFIG's defaults after reset": _ttsim_choice("v1.10.0; TT-ISA LReg does not say"),
        "A modifier that a page of the Vector unit calls reserved is refused, though the page says what silicon does with it": chosen(
            "TT-ISA: not architecturally guaranteed; SFPMUL24's adder and Wormhole's SFPSHFT2 are modelled, as they take no modifier of their own"
        ),
        "SFPLOAD reads an undefined row of Dst as 0, and SFPSTORE defines a row when it writes the last column": _ttsim_choice(
            "TT-ISA ZEROACC calls both undefined"
        ),
        "A word whose VD is 12 or more becomes a template in disabled lanes too": chosen(
            "TT-ISA SFPCONFIG does not say; ttsim refuses disabled lanes"
        ),
        "Between a language model's matmuls the kernels keep BF16 in L1 and FP32 in Dst, multiply in HiFi4, and take the accurate forms of exp, reciprocal, rsqrt and SiLU": chosen(
            "tt-metal: layernorm.cpp, softmax.cpp and rotary_embedding.cpp of ttnn have the steps; formats and forms are compile-time options"
        ),
        "A language model's softmax subtracts the row's maximum, and its mask adds -1e9 as BF16 to the scaled scores": chosen(
            "tt-metal: softmax.cpp with NUMERIC_STABLE and CAUSAL_MASK; the caller gives the mask"
        ),
        "Sums of rows are products with a column of scalers": documented(
            "tt-metal: reduce_helpers_common.hpp, SUM and AVG along rows"
        ),
        "In the core an instruction of the thread of an SFPLOADMACRO is a cycle, and cycles pass at the end of a run": chosen(
            "TT-ISA SFPLOADMACRO counts cycles of a clock, which the core has not"
        ),
        "A BFP2 or BFP4 datum whose truncated magnitude is 0 loses its sign": _ttsim_choice(
            "the sign is set only when the datum's own magnitude is not zero"
        ),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""


class Masking(Enum):
    """By which format the low fraction bits of a source are masked."""

    OWN_FORMAT = "own_format"  # each source by its own format
    SRCA_STYLE = "srca_style"  # both by the style, which follows SrcA's format


class BfpRange(Enum):
    """Treatment of a block floating-point datum whose exponent leaves the field during unpacking."""

    WRAP = "wrap"  # exponent modulo the field's range
    FLUSH = "flush"  # zero with the datum's sign


class GmpoolFp16(Enum):
    """Exponent of an FP16 maximum in a 32-bit Dst."""

    REBIAS = "rebias"  # that of FP32: the sum of both exponents + 97
    LITERAL = "literal"  # the sum of both exponents - 127, modulo 256


class StochasticCompare(Enum):
    """Comparison of d discarded bits D with 23 random bits P that rounds a magnitude up."""

    TOP_BITS = "top_bits"  # D >= P >> (23 - d)
    ALL_BITS = "all_bits"  # D << (23 - d) >= P


class MoveMasking(Enum):
    """Bits of a SrcB datum that MOVB2D and MOVB2A clear."""

    NONE = "none"
    OWN_FORMAT = "own_format"  # those that SrcB's format lacks


TIES = (Rounding.RNE, Rounding.RNA, Rounding.RNU)
"""Roundings that the machine may use; all round to nearest and differ in ties."""


@dataclass(frozen=True, kw_only=True)
class TensixNumerics:
    """Numerics of the Matrix unit, unpackers and packers that documents and simulators leave open.

    Attributes
    ----------
    minus_one_quirk : with a 32-bit Dst, a three-way sum of exactly -1 unit at exponent E is written as -2**(E + 4).
    masking : format by which sources are masked.
    group : products that share one maximum exponent, 4, 8 or 16 of consecutive index.
    product_guard_bits : fraction bits kept below the product's 10 when products are aligned, 0 to 13.
    product_tie : rounding of aligned products and of the smaller operand of ELWADD.
    sum_tie : rounding of a group's aligned sum.
    dst_tie : rounding of the aligned Dst operand.
    final_tie : rounding of the normalised result, and of the packer's roundings, which round magnitudes.
    pre_round : with a 16-bit Dst, round the three addends to 10 fraction bits before they are added.
    empty_terms_in_maximum : a product whose fidelity field is 0 though its operands are not takes part in the maximum
        exponent.
    zero_terms_keep_bias : a product of a zero operand has the exponent max(adj, 0), with adj the style's rebias less the
        phase's weight (else 0): 97 for FP16 style with 32-bit Dst in phase 0.
    int8_zero_exponent_flush : an integer datum whose exponent field is 0 is 0 whatever its magnitude bits.
    zero_flag_disabled : a SrcB datum of exponent 0 is read as the number 1.fraction * 2**-bias, its zeros too, and an integer
        as its magnitude; SrcA's datums of exponent 0 stay zeros. The field ALU_ACC_CTRL_Zero_Flag_disabled_src.
    row_broadcast_writes_all : MVMUL with row broadcast adds zero to Dst rows 1, 3 and 5, and so flushes them.
    bfp_range : 8-bit exponents of block floats below 0, when unpacked.
    bfp_a_range : 5-bit exponents of block floats below 0, when unpacked.
    l1_fp16_underflow_saturates : FP16 accumulation in L1 turns a biased exponent below 0, or an exact cancellation at
        exponents of 30 and above, into 0x7FFF (else zero).
    src_a_row_step : an MVMUL's SrcA start row must be a multiple of this, 8 or 16.
    fp8_all_ones : the E5M2 codes 0x7F and 0xFF unpack to FP16 codes of all ones, else to 0x7F00 and 0xFF00.
    fp8_e4m3 : unpackers and packers have a mode bit that makes FP8 E4M3.
    round_10b_fp16 : with Round_10b and the intermediate format FP16, the packers read Dst as FP32 or BF16 and narrow it.
    tilise_wide_rows : in tilise mode a row of an unpacker has 32 datums of formats of 16 and 32 bits, else 16 of all.
    gmpool_fp16 : exponent of GMPOOL's FP16 maximum in a 32-bit Dst.
    stochastic_compare : comparison of discarded and random bits in stochastic rounding.
    sfpu_round_to_zero : SFP_STOCH_RND has the rounding mode "zero".
    sfpstore_flush : SFPSTORE makes an FP32 denormal a zero of its sign, as it does with BF16.
    sfpabs_clears_infinity : SFPABS of FP32 makes -infinity +infinity; else it leaves it, as it leaves NaN.
    sfpu_reset_conditional : conditional execution is on at reset, and all flags are set; else it is off, and they are not.
    sfpu_sign_magnitude : SFPSTORE's modes 12 and 13 convert two's complement to sign and magnitude, and SFPLOAD's back;
        SFPLOAD's mode 5 reads 7 bits of an INT8 magnitude, else 8.
    move_masking : bits that MOVB2D and MOVB2A clear.
    moves_follow_fp32 : with Fp32_enabled, MOVA2D and MOVB2D write 32-bit Dst words whatever the format; else for TF32 alone.
    moves_widen_exponent : with Fp32_enabled or INT8_math_enabled, MOVA2D and MOVB2D write 8 exponent bits whatever the format;
        else 5 for formats of 5.
    low_half_shows_stale : MOVA2D and MOVB2D to the lower halves of an undefined row of 32-bit words bring back the upper halves
        that the row had; else these are 0.
    """

    minus_one_quirk: bool
    masking: Masking
    group: int
    product_guard_bits: int
    product_tie: Rounding
    sum_tie: Rounding
    dst_tie: Rounding
    final_tie: Rounding
    pre_round: bool
    empty_terms_in_maximum: bool
    zero_terms_keep_bias: bool
    int8_zero_exponent_flush: bool
    zero_flag_disabled: bool
    row_broadcast_writes_all: bool
    bfp_range: BfpRange
    bfp_a_range: BfpRange
    l1_fp16_underflow_saturates: bool
    src_a_row_step: int
    fp8_all_ones: bool
    fp8_e4m3: bool
    round_10b_fp16: bool
    tilise_wide_rows: bool
    gmpool_fp16: GmpoolFp16
    stochastic_compare: StochasticCompare
    sfpu_round_to_zero: bool
    sfpstore_flush: bool
    sfpabs_clears_infinity: bool
    sfpu_reset_conditional: bool
    sfpu_sign_magnitude: bool
    move_masking: MoveMasking
    moves_follow_fp32: bool
    moves_widen_exponent: bool
    low_half_shows_stale: bool

    def __post_init__(self) -> None:
        if self.group not in (4, 8, 16):
            raise ValueError(f"group must be 4, 8 or 16, not {self.group}")
        for name in ("product_tie", "sum_tie", "dst_tie", "final_tie"):
            if getattr(self, name) not in TIES:
                raise ValueError(f"{name} must be RNE, RNA or RNU, not {getattr(self, name).name}")
        if not 0 <= self.product_guard_bits <= 13:
            raise ValueError(f"product_guard_bits must be 0 to 13, not {self.product_guard_bits}")
        if self.src_a_row_step not in (8, 16):
            raise ValueError(f"src_a_row_step must be 8 or 16, not {self.src_a_row_step}")


def _ttsim(where: str) -> Source:
    return inferred(f"ttsim: {where}")


WORMHOLE = preset(
    "tensix_wormhole",
    TensixNumerics,
    minus_one_quirk=(
        True,
        measured("tt-metal #38306 confirms a Wormhole bug of this sign and shape; its exact form is ttsim's"),
    ),
    masking=(Masking.OWN_FORMAT, _ttsim("each source by its own format; TT-ISA MVMUL reads both by SrcA's style")),
    group=(8, _ttsim("two groups of eight by index")),
    product_guard_bits=(0, _ttsim("none")),
    product_tie=(
        Rounding.RNA,
        measured(
            "tt-metal #49944, all BF16 sums of opposite signs: 0.49 % off by one, none by more, as ties away from zero give; "
            "up gives 10.5 % more errors, even 21 % more (Wormhole or Blackhole, the thread does not say). As ttsim"
        ),
    ),
    sum_tie=(
        Rounding.RNU,
        measured(
            "tt-metal #33701, BF16 products in HiFi4: 72.10 % exact, 27.90 % off by one, 0.0031 % by two, as ties to +infinity "
            "give; away and even give 71.37, 28.62, 0.0061 (Wormhole or Blackhole, the thread does not say). As ttsim"
        ),
    ),
    dst_tie=(Rounding.RNA, _ttsim("magnitude, away from zero")),
    final_tie=(
        Rounding.RNA,
        measured(
            "tt-metal #46101 and #15889 on both chips: ties away from zero, as ttsim and TT-ISA Packers; #49944: 8,132,678 "
            "BF16 sums of equal sign are off by one, even gives 3.0 million; #33701 excludes up and even; #17018: FP32 1.00390625 "
            "packs to 1.0078125"
        ),
    ),
    pre_round=(
        True,
        measured(
            "tt-metal #46101 on both chips: 16-bit Dst rounds to 10 fraction bits, then to BF16; #33701: without it 73.60 % of "
            "the BF16 products were exact and none off by two"
        ),
    ),
    empty_terms_in_maximum=(
        True,
        _ttsim(
            "an operand with an empty field keeps its exponent; a vendor's document contradicts it for inf * inf, tt-metal "
            "tech_reports on special values: infinity, which the model gives in LoFi only"
        ),
    ),
    zero_terms_keep_bias=(True, _ttsim("FP16 style with 32-bit Dst rounds a Dst far below exponent 97")),
    int8_zero_exponent_flush=(True, _ttsim("exponent byte 0 counts as 0; TT-ISA is silent")),
    zero_flag_disabled=(
        False,
        documented(
            "TT-ISA MOVB2D and SrcASrcB: reset leaves the flag on, which makes exponent 0 a zero. Off: tt-metal #54910, #55016 "
            "measured on both chips that x + 0 gives x + 2**-127 for exponents of x to 10, rounded up at 11; that SrcA's zeros "
            "stay is ttsim's, products in MVMUL are chosen by analogy"
        ),
    ),
    row_broadcast_writes_all=(False, documented("TT-ISA MVMUL: the functional model leaves the other rows")),
    bfp_range=(BfpRange.WRAP, _ttsim("the exponent wraps modulo 256; its comments say that silicon does")),
    bfp_a_range=(BfpRange.WRAP, chosen("TT-ISA calls it undefined; wrapping is what the 8-bit variants do")),
    l1_fp16_underflow_saturates=(True, _ttsim("an FP16 sum with negative biased exponent becomes 0x7FFF")),
    src_a_row_step=(16, _ttsim("a multiple of 16; TT-ISA MVMUL masks with 0x38")),
    fp8_all_ones=(False, documented("TT-ISA UNPACR_Regular: FP8 to FP16 appends eight zero bits")),
    fp8_e4m3=(False, documented("TT-ISA Packers/FormatConversion: FP8 is e5m2; ttsim: the mode bit is Blackhole's")),
    round_10b_fp16=(False, _ttsim("FP16 from a 32-bit Dst is Blackhole's alone")),
    tilise_wide_rows=(False, documented("TT-ISA UNPACR_Regular: the row stride applies after 16 datums")),
    gmpool_fp16=(
        GmpoolFp16.REBIAS,
        chosen(
            "as MVMUL with FP16 style and a 32-bit Dst; the sum in TT-ISA GMPOOL reads back as 2**32 for 1.0; ttsim refuses"
        ),
    ),
    stochastic_compare=(
        StochasticCompare.TOP_BITS,
        documented("TT-ISA SFPSTOCHRND since 585749d; earlier pages compare D << (23 - d) with P"),
    ),
    sfpu_round_to_zero=(False, documented("TT-ISA SFPSTOCHRND: to nearest or stochastic")),
    sfpstore_flush=(True, _ttsim("flushes on both chips; TT-ISA SFPSTORE on Blackhole alone")),
    sfpabs_clears_infinity=(True, _ttsim("as the text of TT-ISA SFPABS; its functional model leaves -infinity")),
    sfpu_reset_conditional=(True, _ttsim("v1.10.0; TT-ISA VectorUnit starts with flags and their use false")),
    sfpu_sign_magnitude=(True, documented("TT-ISA SFPSTORE, SFPLOAD: INT32_SM and INT8_COMP; INT8 to 127")),
    move_masking=(MoveMasking.NONE, _ttsim("v1.10.0; TT-ISA MOVB2D since 88d4bf9 masks by SrcB's format")),
    moves_follow_fp32=(False, _ttsim("v1.10.0: TF32 alone makes 32-bit words")),
    moves_widen_exponent=(
        True,
        documented(
            "TT-ISA MOVA2D, MOVB2D since 88d4bf9: Use8bExponent; ttsim v1.10.0 goes by the format, and so do earlier pages"
        ),
    ),
    low_half_shows_stale=(
        False,
        _ttsim("v1.10.0 reads an undefined row as 0; tt-metal #45959: Blackhole alone does otherwise"),
    ),
)
"""The reference: Wormhole as ttsim v1.10.0 computes it, its renormalisation bug included."""

WORMHOLE_FIXED = WORMHOLE.variant(
    "tensix_wormhole_fixed",
    minus_one_quirk=(False, measured("tt-metal #38306: the next chip, Blackhole, has no such bug")),
)
"""The same without the renormalisation bug."""

WORMHOLE_DOCUMENTED = WORMHOLE.variant(
    "tensix_wormhole_documented",
    masking=(Masking.SRCA_STYLE, documented("TT-ISA MVMUL: both sources are read by SrcA's style")),
    src_a_row_step=(8, documented("TT-ISA MVMUL: the start row is masked with 0x38")),
    gmpool_fp16=(GmpoolFp16.LITERAL, documented("TT-ISA GMPOOL: the functional model adds the exponents and wraps")),
    sfpstore_flush=(False, documented("TT-ISA SFPSTORE: FP32 denormals are flushed on Blackhole alone")),
    sfpabs_clears_infinity=(False, documented("TT-ISA SFPABS: the functional model leaves codes from 0xFF800000 on")),
    sfpu_reset_conditional=(False, documented("TT-ISA VectorUnit: LaneFlags and UseLaneFlagsForLaneEnable are false")),
    move_masking=(MoveMasking.OWN_FORMAT, documented("TT-ISA MOVB2D, MOVB2A since 88d4bf9")),
)
"""The same where the vendor's documents contradict the simulator."""

_AS_WORMHOLE = {
    field.name: (getattr(WORMHOLE.numerics, field.name), inferred("as Wormhole")) for field in fields(TensixNumerics)
}
BLACKHOLE = WORMHOLE.variant(
    "tensix_blackhole",
    **_AS_WORMHOLE
    | {
        "minus_one_quirk": (False, measured("tt-metal #38306: chips after Wormhole compute the right value")),
        "final_tie": (
            Rounding.RNA,
            measured("tt-metal #46101 and #15889 on both chips: ties away from zero, none to even"),
        ),
        "pre_round": (
            True,
            measured("tt-metal #46101 on both chips: 16-bit Dst rounds to 10 fraction bits, then to BF16"),
        ),
        "fp8_all_ones": (True, _ttsim("Blackhole alone fills the low byte")),
        "fp8_e4m3": (True, _ttsim("Unp_LF8_4b_exp and Pac_LF8_4b_exp")),
        "round_10b_fp16": (True, _ttsim("FP32 or BF16 in Dst, FP16 or E4M3 in L1")),
        "tilise_wide_rows": (True, _ttsim("the row stride applies after 32 datums of 16 and 32 bits")),
        "sfpu_round_to_zero": (True, documented("TT-ISA of Blackhole SFPSTOCHRND: P is 0x7FFFFF")),
        "sfpstore_flush": (True, documented("TT-ISA of Blackhole SFPSTORE: FP32 denormals become zeros")),
        "sfpu_sign_magnitude": (
            False,
            documented("TT-ISA of Blackhole SFPSTORE, SFPLOAD: integers stay as they are; INT8 to 255"),
        ),
        "move_masking": (MoveMasking.NONE, documented("TT-ISA MOVB2D since 88d4bf9: Blackhole does not mask")),
        "moves_follow_fp32": (
            True,
            documented("TT-ISA MOVA2D, MOVB2D since 88d4bf9: Fp32_enabled decides; ttsim v1.10.0 writes 16-bit words"),
        ),
        "low_half_shows_stale": (
            True,
            measured("tt-metal #47311 on Blackhole: a low half on a cleared row brings back the stale upper half"),
        ),
    },
)
"""Blackhole: what was measured there, and for the rest Wormhole as ttsim computes it."""

PRESETS = {each.name: each for each in (WORMHOLE, WORMHOLE_FIXED, WORMHOLE_DOCUMENTED, BLACKHOLE)}
"""Presets by the names that the command line takes."""

CHIP_PRESETS = {Chip.WORMHOLE: WORMHOLE, Chip.BLACKHOLE: BLACKHOLE}
"""Presets that a `chip` argument stands for."""
