"""AMD AIE-ML v2: rules that no field of the presets switches, with the evidence for each.

The references are those of :mod:`bitpath.golden.aie_ml_v2.declarations.codes`.
"""

from bitpath.golden.aie_ml_v2.declarations.tile import CYCLE_CHOICES, TILE_CHOICES
from bitpath.golden.formats.sources import choices, chosen, documented, inferred, measured

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
