"""GpSimd's instructions and the shuffle of partitions: limits, names, and the standing of every rule.

Ref: ``nki.isa`` reference pages, NKI 0.6 (here ISA) and Neuron 2.33 (here ISA07); the vendor's tests of these instructions in
aws-neuron-sdk, ``nki/test`` (here TEST); "Trainium/Inferentia2 Architecture Guide for NKI", AWS Neuron documentation, 2026-08
(here ARCH1).
"""

from bitpath.golden.formats.sources import choices, chosen, documented, inferred

CORE_PARTITIONS = 16
"""Consecutive SBUF partitions of a GpSimd core (ISA local_gather, nonzero_with_count)."""
INT32_RANGE = range(-(1 << 31), 1 << 31)
"""Numbers that iota, affine_select and nonzero_with_count take (ISA)."""
MAX_AFFINE_PAIRS = 4
"""Most pairs of step and num in a pattern of iota and affine_select (ISA)."""
COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
"""Comparisons of affine_select's value with 0 (ISA)."""
UNCHANGED = 255
"""Entry of nc_stream_shuffle's mask that leaves a partition as it is (ISA)."""
RUNS = (1, 2, 4, 8, 16, 32)
"""Elements that local_gather takes at each index (ISA)."""
MAX_LOCAL_INDICES = 4096
"""Most indices of a core in local_gather (ISA)."""
PARTITION_REDUCTIONS = ("add", "average", "max", "bitwise_and", "bitwise_or")
"""Operators of tensor_partition_reduce (ISA)."""
TOPK_SOURCES = range(8, 65536)
"""Numbers of elements that topk takes (ISA)."""
TOPK_MOST = 32767
"""Most results of topk (ISA)."""
GPSIMD_CHOICES = choices(
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
        "affine_select moves the bits of selected elements where the dtypes are equal, else it casts through FP32": inferred(
            "ISA affine_select: elements of another dtype go through FP32; so those of the same do not"
        ),
        "affine_select rounds its number to FP32, then to the destination's dtype": documented(
            "ISA affine_select: the number is FP32; the roundings are those of every cast"
        ),
        "An entry of nc_stream_shuffle's mask counts partitions from the quadrant's first in src's tile; one that src lacks is an "
        "error, one that dst lacks is not used": chosen("ISA's text counts from the start of each quadrant of 32"),
        "nc_stream_shuffle reads all of src before it writes": chosen("ISA allows dst to be src and gives no order"),
        "local_gather's index is the first element of a run, in elements": inferred(
            "TEST of local_gather multiplies its indices by the run's length beforehand; ISA says partition offsets"
        ),
        "local_gather takes a core's indices down its 16 partitions, then along the columns": documented(
            "ISA local_gather: flattened along the partition dimension first; TEST: column-major order"
        ),
        "A gather beyond the operand's last element is an error": chosen(
            "ISA local_gather: undefined; nc_n_gather: not allowed"
        ),
        "nonzero_with_count reads and writes rows 0, 16, ... 112 of the tile alone": documented(
            "ISA nonzero_with_count"
        ),
        "Indices of nonzero_with_count are modulo 2**32": chosen("ISA makes them INT32 and does not speak of overflow"),
        "For nonzero_with_count NaN and subnormals are nonzero, and zeros of both signs are zero": chosen(
            "ISA compares with 0 by !=; IEEE 754 without flushing"
        ),
        "tensor_partition_reduce computes in FP32 from partition 0 on, each sum rounded, and casts once": chosen(
            "ISA names the operators alone"
        ),
        "tensor_partition_reduce's average is the sum divided by the number of partitions, rounded once more": chosen(
            "ISA names the operator alone"
        ),
        "topk reads 16 partitions as one sequence, down each column, and writes its results in the same order": documented(
            "ISA07 topk; ISA speaks of each partition by itself"
        ),
        "topk's results are in ascending order": documented(
            "ISA topk; ISA07 has an option for sorted results, so the order without it may be open"
        ),
        "topk leaves destination bytes behind the last result": chosen(
            "ISA07: whole columns are written; what the rest of the last one holds is not known"
        ),
        "topk puts NaN above infinity, and of equal numbers the one of the smaller place above": chosen(
            "no document says"
        ),
        "sequence_bounds gives runs of equal neighbours, so a segment number that comes again begins a new segment": documented(
            "TEST of sequence_bounds, its numpy reference"
        ),
        "A segment number below 0 or not whole is an error": chosen("ISA sequence_bounds: not allowed"),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""
