"""Rules of Tensix that no field of its numerics switches, with their evidence.

The references are those of :mod:`bitpath.golden.tensix.declarations.formats`, which declares formats and layouts.
"""

from bitpath.golden.formats.sources import Source, choices, chosen, documented, inferred, measured


def _ttsim(where: str) -> Source:
    return inferred(f"ttsim: {where}")


CHOICES = choices(
    {
        "The packers' stochastic rounding compares as SFP_STOCH_RND does, with bits that the caller gives; the Matrix unit's is left out": chosen(
            "TT-ISA Packers/FormatConversion names the same bias; where the bits come from is not public, ttsim refuses both"
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
        "INT16 packs the upper half of a 32-bit Dst word in the register's order, on both chips": _ttsim(
            "TT-ISA Packers/FormatConversion has no such conversion"
        ),
        "E4M3 takes every other intermediate float by way of FP16; Round_10b with FP16 and a 32-bit Dst packs to formats of 5 exponent bits alone": chosen(
            "as E5M2 does; ttsim packs E4M3 from FP16 only, and refuses the rest"
        ),
        "A move with Fp32_enabled on Blackhole writes s, e8, m10 and zeros, whatever the format": chosen(
            "TT-ISA since 88d4bf9 gives the width; the layout is TF32's"
        ),
        "The integer zero-exponent rule holds for element-wise operations too": chosen("by analogy with MVMUL"),
        "BF16 accumulation in L1 reads an old NaN as the largest FP64 number and a new NaN as 1.m * 2**128: an old NaN gives the infinity of its sign unless the new value is infinite": _ttsim(
            "v1.10.0 adds the two in FP64 and converts the sum; NaN plus infinity is that infinity"
        ),
        "FP32 accumulation in L1 gives the NaN 0x7FC00000; FP16 accumulation has no NaN and reads a zero exponent as zero": _ttsim(
            "v1.10.0; integers and block floats are not accumulated"
        ),
        "FP16 is rounded to the 6 fraction bits of a BFP8A intermediate before denormals are flushed: 0x3F8 to 0x3FF become 0x400": _ttsim(
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
        "A BFP2 or BFP4 datum whose truncated magnitude is 0 loses its sign": _ttsim(
            "the sign is set only when the datum's own magnitude is not zero"
        ),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""
