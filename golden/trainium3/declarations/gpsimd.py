"""GpSimd's instructions and the shuffle of partitions: limits, names, and the standing of every rule.

Ref: ``nki.isa`` reference pages, NKI 0.6 (here ISA) and Neuron 2.33 (here ISA07); the vendor's tests of these instructions in
aws-neuron-sdk, ``nki/test`` (here TEST); "Trainium/Inferentia2 Architecture Guide for NKI", AWS Neuron documentation, 2026-08
(here ARCH1).
"""

from bitpath.golden.formats.sources import choices, chosen, documented, inferred

CORE_PARTITIONS = 16
"""Consecutive SBUF partitions of a GpSimd core (ISA local_gather, nonzero_with_count)."""
MAX_AFFINE_PAIRS = 4
"""Most pairs of step and num in a pattern of iota and affine_select (ISA)."""
COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
"""Comparisons of affine_select's value with 0 (ISA)."""
CHOICES = choices(
    {
        "iota and affine_select compute their affine value in INT32, modulo 2**32": inferred(
            "ISA iota: 32-bit integer arithmetic; the wrap-around is a guess"
        ),
        "Steps of iota and affine_select are any INT32": chosen(
            "ISA gives that range for offset and channel_multiplier and none for steps"
        ),
        "iota writes INT32 and UINT32 as the word itself; other dtypes get it through FP32": chosen(
            "ISA iota: the integers are cast to the destination's dtype; the way is not said"
        ),
        "affine_select moves the bits of selected elements where the dtypes are equal, else it casts through FP32": documented(
            "ISA affine_select; that equal dtypes move bits is inferred from it"
        ),
        "affine_select rounds its number to FP32, then to the destination's dtype": documented(
            "ISA affine_select: the number is FP32; the roundings are those of every cast"
        ),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""
