"""Copies between memories of partitions, by access patterns.

Ref: "NKI access patterns", AWS Neuron documentation, 2026-08; the order of an overlapping copy is in
`bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern
from bitpath.golden.trainium3.memory.memory import PartitionedMemory


@checked
def copy_elements(
    destination: PartitionedMemory, dst_ap: AccessPattern, source: PartitionedMemory, src_ap: AccessPattern
) -> None:
    """Copy bits: element i of `src_ap` to element i of `dst_ap`, i ascending, in every partition.

    Where both patterns overlap in one memory, an element that the copy itself has written is read anew: a copy by one
    element to the right repeats the first.

    Raises
    ------
    TypeError : other types.
    ValueError : dtypes, partition counts or element counts that differ; errors of `read` and `write`.
    """
    if dst_ap.dtype != src_ap.dtype:
        raise ValueError(f"dst_ap must have the dtype of src_ap, {src_ap.dtype}, not {dst_ap.dtype}")
    for what, of_dst, of_src in (
        ("partitions", dst_ap.partitions, src_ap.partitions),
        ("elements", dst_ap.size, src_ap.size),
    ):
        if of_dst != of_src:
            raise ValueError(f"dst_ap must have as many {what} as src_ap, {of_src}, not {of_dst}")
    values = source.read(src_ap).reshape(src_ap.partitions, -1)
    if destination is source:
        _repeat(values, dst_ap, src_ap)
    destination.write(dst_ap, values.reshape(dst_ap.shape))


def _repeat(values: np.ndarray, dst_ap: AccessPattern, src_ap: AccessPattern) -> None:
    """Put into `values` [partitions, elements] what the copy itself has written before it reads them."""
    shift = src_ap.start - dst_ap.start
    shared = range(max(0, -shift), min(dst_ap.partitions, dst_ap.partitions - shift))
    if not shared:
        return
    writer: dict[int, int] = {}
    for i, (read, written) in enumerate(
        zip(src_ap.byte_offsets().ravel().tolist(), dst_ap.byte_offsets().ravel().tolist(), strict=True)
    ):
        if read in writer:
            # Partition p of the source is partition p + shift of the destination.
            for p in shared:
                values[p, i] = values[p + shift, writer[read]]
        writer[written] = i
