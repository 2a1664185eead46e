"""AMD AIE-ML v2: numerics of the vector unit that documents leave open, the presets, and the evidence for every choice.

The references are those of :mod:`bitpath.golden.aie_ml_v2.declarations.codes`.
"""

from dataclasses import dataclass
from enum import Enum

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.cycles import CYCLE_CHOICES
from bitpath.golden.aie_ml_v2.declarations.tile import TILE_CHOICES
from bitpath.golden.formats.presets import preset
from bitpath.golden.formats.sources import choices, chosen, documented, inferred, measured


class Mx4Path(Enum):
    """As which other format MX4 is multiplied."""

    MX6 = "mx6"  # codes times four in the registers of MX6; one cycle
    MX9 = "mx9"  # codes times 32; two cycles


@dataclass(frozen=True, kw_only=True)
class AieNumerics:
    """Numerics of conversions to MX and of the multiply-accumulate, and one choice of its cycles.

    A lane's terms are its products (floats) or the sum of its block pair (MX). Each has an exponent code p before it is
    computed: with biased exponents, at least 1 for floats, ``ea + eb + 1`` rebased to 127, for accumulators ``e + 128``.
    Terms and accumulators are rounded to the grid ``2**(largest p - 255 - align_fraction_bits)``, added exactly, and
    the sum is rounded once to FP32.

    Attributes
    ----------
    mx_flush : FP32 subnormals become zeros before they are converted to MX.
    mx_bump : a pair whose rounded code leaves the range takes the next higher exponent, of 254 at most: its shift bit is
        cleared, or the block's exponent grows by one (else the code is saturated). A block without shifts does so as one.
    mx_min_code : conversion may make the most negative code.
    mx_nan_block : exponent byte 255 makes a block NaN; else 255 is an ordinary exponent.
    mx_lossless_shift : products keep the bits that sub-tile shifts would lose; else they are floored. MX4's lose none, since
        its codes are multiplied with zeros below them.
    mx_post_add_first : the products of a block pair are summed before they are aligned; else each is rounded.
    mx9_split_round : the two halves of 8 MX9 products are rounded separately.
    mx_zero_term : a block pair whose sum is 0 takes part in the largest exponent, unless one of its exponents is 0.
    mx4_path : how MX4 is multiplied.
    float_zero_term : so does a product of a zero operand.
    align_fraction_bits : fraction bits of the grid, 20 to 26.
    align_rounding : rounding of terms onto the grid.
    accumulator_align_rounding : rounding of accumulators onto the grid.
    result_rounding : rounding of the sum to FP32.
    flushed_zero_keeps_sign : a result below FP32's normal numbers becomes a zero of its sign; else +0.
    accumulator_bypass : an accumulator is read in the cycle of its write, on the same path; else a cycle later.
    """

    mx_flush: bool
    mx_bump: bool
    mx_min_code: bool
    mx_nan_block: bool
    mx_lossless_shift: bool
    mx_post_add_first: bool
    mx9_split_round: bool
    mx_zero_term: bool
    mx4_path: Mx4Path
    float_zero_term: bool
    align_fraction_bits: int
    align_rounding: RoundingCode
    accumulator_align_rounding: RoundingCode
    result_rounding: RoundingCode
    flushed_zero_keeps_sign: bool
    accumulator_bypass: bool

    def __post_init__(self) -> None:
        if self.align_fraction_bits not in range(20, 27):
            raise ValueError(f"align_fraction_bits must be 20 to 26, not {self.align_fraction_bits}")
        if self.mx9_split_round and not self.mx_post_add_first:
            raise ValueError("mx9_split_round must be False with mx_post_add_first False, not True")


AIE_ML_V2 = preset(
    "aie_ml_v2",
    AieNumerics,
    mx_flush=(
        True,
        inferred("QUARK, which says that the hardware does. XDNA2 silicon agrees for bfp16ebs8 (A8)"),
    ),
    mx_bump=(
        False,
        inferred(
            "QUARK saturates MX; its kernel for plain BFP16 that is to match AMD's compiler bumps. "
            "XDNA2 silicon contradicts it for bfp16ebs8 (A5)"
        ),
    ),
    mx_min_code=(
        False,
        inferred(
            "QUARK clamps MX to plus and minus 2**m - 1; its kernel for plain BFP16 does not. "
            "XDNA2 silicon contradicts it for bfp16ebs8 (A6)"
        ),
    ),
    mx_nan_block=(
        True,
        inferred(
            "QUARK's ONNX kernel; its torch code passes specials through. "
            "XDNA2 silicon contradicts it for bfp16ebs8 (A9)"
        ),
    ),
    mx_lossless_shift=(True, inferred("16 products of a block pair fit 22 bits exactly; no document says")),
    mx_post_add_first=(
        True,
        inferred(
            "AM027's figure has post-add before the shifter; the pair shares one exponent. "
            "XDNA2 silicon agrees for bfp16ebs8 (A13)"
        ),
    ),
    mx9_split_round=(False, inferred("LLVM's itinerary reads and writes the accumulator once for both halves")),
    mx_zero_term=(
        True,
        inferred("exponents are compared as they come from the E registers, beside the multiplication"),
    ),
    mx4_path=(Mx4Path.MX6, documented("UG1639, LLVM and API; AM027 contradicts: MX4 is emulated using MX9")),
    float_zero_term=(False, chosen("SIL does not decide")),
    align_fraction_bits=(
        23,
        documented("AM027; SIL: 22 and 24 fail measured lanes, as they do on XDNA2 (A13, A14)"),
    ),
    align_rounding=(
        RoundingCode.CONV_EVEN,
        measured(
            "SIL: floor fails 73 of 864 lanes, truncation 9, ties away 2, ties up 1. "
            "XDNA2, a second chip: none of the others fits A13, A14 and A16"
        ),
    ),
    accumulator_align_rounding=(RoundingCode.CONV_EVEN, chosen("as the products; SIL's accumulators are zero")),
    result_rounding=(
        RoundingCode.CONV_EVEN,
        measured("SIL: truncation fails 7 of 864 lanes; LLVM: no multiplication reads crRnd"),
    ),
    flushed_zero_keeps_sign=(True, chosen("SIL does not decide")),
    accumulator_bypass=(
        True,
        inferred(
            "LLVM's itinerary has a bypass on accumulator writes and on both accumulators, and its rule takes one cycle off; "
            "its test of moves shows the rule at work on the sister bypass. Its reach is chosen: integers, MX6, floats with MX9"
        ),
    ),
)
"""The reference: QUARK's blocks and the alignment measured on the first generation."""

AIE_ML_V2_BUMP = AIE_ML_V2.variant(
    "aie_ml_v2_bump",
    mx_bump=(True, inferred("what XDNA2 silicon does for bfp16ebs8 (A5), carried over to MX")),
    mx_min_code=(True, inferred("what XDNA2 silicon does for bfp16ebs8 (A6), carried over to MX")),
    mx_nan_block=(False, inferred("what XDNA2 silicon does for bfp16ebs8 (A9), carried over to MX")),
)
"""The same with XDNA2's handling of rounding overflow, infinity and NaN."""

AIE_ML_V2_SPLIT = AIE_ML_V2.variant(
    "aie_ml_v2_split",
    mx9_split_round=(True, chosen("the two cycles of MX9, each aligned by itself")),
    mx_zero_term=(False, chosen("as zero products of floats")),
)
"""For hardware study: the alternatives to the inferred numerics of MX sums."""

AIE_ML_V2_DOCUMENTED = AIE_ML_V2.variant(
    "aie_ml_v2_documented",
    mx4_path=(Mx4Path.MX9, documented("AM027: MX4 multiplication is emulated using MX9")),
)
"""The same where the architecture manual contradicts compiler and intrinsics guide: values are equal, cycles are not."""

XDNA2_BFP16EBS8 = preset(
    "xdna2_bfp16ebs8",
    AieNumerics,
    mx_flush=(True, measured("XDNA2 A8: a block of subnormals has exponent and codes 0")),
    mx_bump=(
        True,
        measured(
            "XDNA2 A5: all of a block with 127.5 is converted with the next exponent in the modes that round it up; "
            "past exponent 254 no probe says"
        ),
    ),
    mx_min_code=(
        True,
        measured("XDNA2 A6: floor makes -128 of -127.5; no probe of conv even has -127.5 without 127.5"),
    ),
    mx_nan_block=(False, measured("XDNA2 A9: exponent 255, infinities plus and minus 64, NaN plus and minus 96")),
    mx_lossless_shift=(True, chosen("no effect: blocks have no shifts")),
    mx_post_add_first=(True, measured("XDNA2 A13, A14: no and one lane off the FP32 chain; else 52 and 54 would be")),
    mx9_split_round=(False, chosen("no effect: a product adds eight terms")),
    mx_zero_term=(True, inferred("as AIE-ML v2; no row of XDNA2 decides")),
    mx4_path=(Mx4Path.MX6, chosen("no effect: XDNA2 has no MX4")),
    float_zero_term=(False, chosen("as AIE-ML v2; no effect on blocks, and no row of XDNA2 decides")),
    align_fraction_bits=(
        23,
        measured(
            "XDNA2 A13, A14: 22 would put 52 and 53 lanes off the FP32 chain, 24 54 and 53; silicon has none and one"
        ),
    ),
    align_rounding=(
        RoundingCode.CONV_EVEN,
        measured("XDNA2 A13, A14, A16: each other rounding misses a lane; ties to zero miss only the odd lane of A14"),
    ),
    accumulator_align_rounding=(RoundingCode.CONV_EVEN, chosen("as the products; no row of XDNA2 decides")),
    result_rounding=(
        RoundingCode.CONV_EVEN,
        inferred("SIL, carried over from the first generation; no row of XDNA2 decides"),
    ),
    flushed_zero_keeps_sign=(True, chosen("as AIE-ML v2; no row of XDNA2 decides")),
    accumulator_bypass=(
        False,
        inferred(
            "LLVM's itinerary of aie2p has none on the result of float products; no source gives bfp16ebs8's cycles"
        ),
    ),
)
"""XDNA2 (AIE2P) with bfp16ebs8, the reference of this format; AIE-ML v2 lacks it."""

PRESETS = {
    each.name: each for each in (AIE_ML_V2, AIE_ML_V2_BUMP, AIE_ML_V2_SPLIT, AIE_ML_V2_DOCUMENTED, XDNA2_BFP16EBS8)
}
"""Presets by the names that the command line takes."""

CHOICES = choices(
    {
        "The shared exponent has bias 127, and exponent 0 is an ordinary one (2**-127)": inferred(
            "API's identity block has exponent byte 127 + shift; QUARK; exponent 0 is chosen"
        ),
        "A block in memory is exponent byte, shift byte (bit j = pair j), then codes as a little-endian bit stream, element 0 lowest": inferred(
            "UG1639's order of mention; QUARK's shift bits; the bit stream is chosen"
        ),
        "A block of bfp16ebs8 is eight elements with one exponent byte and no shifts; an element is code * 2**(exponent - 133)": measured(
            "XDNA2 A1, A11, A12"
        ),
        "In memory 64 elements of bfp16ebs8 are 64 bytes of codes, then 8 exponent bytes": measured("XDNA2 A2"),
        "Products of eight of bfp16ebs8 are added in order of K, each with one rounding to FP32": measured(
            "XDNA2 A13 to A15, A17"
        ),
        "In registers an MX9 block's exponent stands twice, once for each half; the low nibbles of its two G bytes hold four shift bits each": inferred(
            "register widths of LLVM and API's constants; the nibbles are chosen"
        ),
        "MX4 in MX6 registers has its codes times four": inferred(
            "UG1639: as MX6 with zero padding; API uses the same nibble for 1.0"
        ),
        "MX to FP32 is exact but flushes below FP32's normal numbers to +0 or -0; 2**128, from code -2**m at exponent 254, is infinity": chosen(
            "API multiplies by an identity block, whose results flush"
        ),
        "Biased exponents of floats count as 1 at least; subnormal operands are kept, without hidden bit, not normalised": inferred(
            "LLVM's names of the units; SIL's lanes agree, without deciding it"
        ),
        "FP16 and 8-bit floats are aligned like BF16, their exponents rebased to 127": inferred(
            "LLVM's common internal formats BF20 and BF9, known by name only"
        ),
        "A sum of 0 is +0; a result is flushed after its rounding carry; from 2**128 on it is infinity": chosen(
            "SIL decides none of them"
        ),
        "NaN results are 0x7FC00000; 0 * infinity and infinity - infinity are NaN; negation turns infinities": chosen(
            "measured NaN payloads depend on the datapath"
        ),
        "Integer lanes wrap": inferred("LLVM: no multiplication reads crSat"),
        "Representation 0 of 8-bit floats is IEEE-like, 1 is OFP8 (FN for e4m3), 2 is FNUZ": chosen(
            "AM027 speaks of different infinities, NaNs and zeros; LLVM names the codes IEEE, EXT1, EXT2"
        ),
        "FP32 to narrower floats rounds with unbounded exponent, then overflows to infinity (NaN where there is none)": inferred(
            "SIL for BF16, where the rounding carry runs into infinity; the rest carries it on"
        ),
        "Bit 0 of crFPConvSat replaces finite numbers beyond the range by the largest finite one, bit 1 infinite inputs": inferred(
            "AM029 has two bits; LLVM's FP8 offsets HUGE 0 and INF 1, with values NAN 0 and SAT 1"
        ),
        "A float is tiny or huge by its result rounded with unbounded exponent; a flushed one is tiny and zero, an exact 0 zero alone, an infinity of an infinite operand infinity alone": chosen(
            "AM029 names the flags"
        ),
        "BF16 to integers is tiny for a result of 0 from another number, huge out of range after rounding, infinities too": chosen(
            "AM029 names the flags"
        ),
        "Conversions are invalid for NaN, not for an infinity that the format cannot hold; a MAC is invalid where its result is NaN": chosen(
            "AM029 names the flags"
        ),
        "SRS and UPS overflow where saturation changes a lane, or without it where high bits are lost": chosen(
            "AM029 names the flags; the second half has no source"
        ),
        "FP32 NaN keeps sign and high fraction bits, 1 where these are 0; all ones in E4M3FN, 0x80 in FNUZ": measured(
            "SIL for BF16; the others are chosen"
        ),
        "The shift operand of a conversion to 8-bit floats multiplies by 2**shift, -32 to 31": chosen(
            "LLVM has a 6-bit operand, its sign is not documented"
        ),
        "SRS rounds, then saturates; shifts -4 to -1 go left exactly before it": chosen(
            "UG1583 has the other order, which differs only where rounding carries past the limit"
        ),
        "FP32 is split into the BF16 nearest to what the pieces before left over; after a piece that is not finite all are 0; the smallest products come first within each step of K": documented(
            "LLVM for the order; the pieces are chosen"
        ),
        'A group with more than two nonzero entities is refused; with overfull "drop" neither of its slots multiplies': inferred(
            "xdna-emu, from AMD's model of AIE2; UG1603 calls it invalid, UG1583 lists one such mask, 0111 -> (C, B)"
        ),
        "Slot 2g of a sparse operand is the low one of group g; groups follow each other along K, then along the columns": chosen(
            "no document gives the order of the slots; xdna-emu's notes have the high one first"
        ),
        "Complex products: bits 2k, 2k + 1, 4 + 2k and 5 + 2k of the control word's negation turn re*re, im*im, re*im and im*re of product k": inferred(
            "LLVM's six named masks decode to their names this way; its headers leave the complex forms out"
        ),
        "In cint32x16 the negation bits of both products must be equal, since its halves of 16 bits carry one sign": chosen(
            "no document says"
        ),
        "int32x16 takes the low 8 of the 16 elements of X": inferred("4 x 2 elements are eight"),
        "An empty slot of a sparse group multiplies nothing, whatever A holds there": chosen(
            "UG1583 puts a zero into the slot and says nothing of A"
        ),
        "Comparisons with NaN are false; minimum and maximum with NaN give the other operand; of equal zeros minimum gives the second, maximum the first": chosen(
            "no document says"
        ),
        "Shuffles of MX move one byte of E and of G (and 16 bits of F) with each 64 bits of data, so that fields are of 64 bits at least": inferred(
            "LLVM's VSHUFFLE on BFP640 and BFP768, and the registers' widths"
        ),
        "A shuffle whose matrix is smaller than the register repeats over it block by block": measured(
            "AIE2's routes of the seven such codes, published in FIM43-Redeye/xdna-emu"
        ),
        "Insert, extract and extract-and-broadcast take the lane's number modulo the number of lanes": chosen(
            "no document says what a larger number does"
        ),
        "exp2 rounds 2**(k + f / 2048) to nearest even, and clamps to +0 below the normal numbers, to the largest finite number above": chosen(
            "UG1639 and LLVM give the 11 index bits, not the approximation"
        ),
        "exp2 to FP32 has BF20's 11 fraction bits, rounded to nearest even, and zeros below": chosen(
            "LLVM names the result bf20, 20 bits with FP32's exponent range"
        ),
        "tanh is the BF16 nearest to the exact value, ties to even": chosen(
            "UG1639 says only that it is not IEEE-accurate"
        ),
        "Inverse, root and inverse root of the scalar unit are rounded to nearest even, with subnormals on both sides; NaN is 0x7FC00000": chosen(
            "the hardware's bits are not public"
        ),
        "Integers to FP32 and back are rounded to nearest even; FP32 saturates, NaN to 2**31 - 1": chosen(
            "no document says; NaN as in BF16 to integers"
        ),
        "Of NaN the conversion to integers sets inexact, the scalar functions do not; an infinity from a zero or an infinity is not huge": chosen(
            "AM029 names the flags and does not define them"
        ),
        "PACK with its sign bit 0 reads and writes unsigned elements, so that crSat 1 and 3 are one": chosen(
            "LLVM: PACK reads crSat and a sign"
        ),
        "The carry of a scalar difference is a borrow; the absolute value of -2**31 stays and sets the carry, others clear it": chosen(
            "no document says"
        ),
        "Scalar shifts by more than 31 give 0 or the sign": chosen(
            "AM027: a positive amount goes left; FIM43-Redeye/xdna-emu takes it modulo 32"
        ),
        "A division step compares 33 bits of the rest and keeps 32": chosen(
            "divides by numbers above 2**31; FIM43-Redeye/xdna-emu for the step"
        ),
        "The selections of the scalar unit are named seleqz and selnez and take a where r27 is 0, or is not": chosen(
            "AM027 and LLVM have a selection by r27; its name here follows LLVM's"
        ),
        "Of two instructions whose results would be written in one cycle the later one stalls": chosen(
            "LLVM's itinerary makes the compiler avoid it"
        ),
    }
    | TILE_CHOICES
    | CYCLE_CHOICES
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""
