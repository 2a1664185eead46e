"""GpSimd's instructions, and nc_stream_shuffle: numbers of places, and elements moved between places and partitions."""

from collections.abc import Sequence

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.issue import SBUF, Issue, free_size, instruction
from bitpath.golden.nki.machine.timeline import gpsimd_cycles
from bitpath.golden.nki.memory.dtypes import STORED
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.vector import CORE_PARTITIONS


def _present(issue: Issue, dst: NkiTensor) -> np.ndarray:
    """Return the elements of a destination, [P, N], written or not."""
    return access.present(issue.core, dst).reshape(dst.shape[0], -1)


@instruction
def iota(
    issue: Issue, dst: NkiTensor, pattern: Sequence[Sequence[int]], offset: int = 0, channel_multiplier: int = 0
) -> None:
    """Write ``offset + partition * channel_multiplier + sum of step * index``, an int32, as dst's dtype."""
    issue.check("dst", dst, SBUF)
    pairs = [(int(step), int(num)) for step, num in pattern]
    made = trainium3.iota(
        pairs, dst.shape[0], offset=int(offset), channel_multiplier=int(channel_multiplier), dtype=issue.result(dst)
    )
    issue.put("dst", dst, made)
    issue.on("gpsimd", gpsimd_cycles(free_size(dst)))


@instruction
def nc_stream_shuffle(issue: Issue, dst: NkiTensor, src: NkiTensor, shuffle_mask: Sequence[int]) -> None:
    """Give partition i of each quadrant that of src which the mask names; 255 leaves it.

    What is known of bytes moves along.
    """
    issue.check("dst", dst)
    values = issue.tile("src", src, dtypes=tuple(STORED), moves=True)
    if dst.dtype != src.dtype:
        raise issue.fail(f"dst: dtype must be src's {src.dtype}, not {dst.dtype}")
    mask = [int(each) for each in shuffle_mask]
    known = trainium3.nc_stream_shuffle(access.written(issue.core, dst), access.written(issue.core, src), mask)
    issue.put("dst", dst, trainium3.nc_stream_shuffle(_present(issue, dst), values, mask))
    access.set_written(issue.core, dst, known)
    issue.elementwise("vector", dst, src)


@instruction
def local_gather(
    issue: Issue,
    dst: NkiTensor,
    src_buffer: NkiTensor,
    index: NkiTensor,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
) -> None:
    """Gather runs of elements in each 16 partitions, which share their indices. What is known of elements moves along.

    Ref: ``nki.isa.local_gather``, NKI 0.6: no dtype casting is allowed; here it is a warning, and goes through FP32.
    """
    issue.check("dst", dst, SBUF)
    if dst.dtype != src_buffer.dtype:
        issue.core.machine.warn(
            "cast", f"local_gather dst: dtype must be src_buffer's {src_buffer.dtype}, not {dst.dtype}"
        )
    values, index_words = issue.tile("src_buffer", src_buffer, SBUF, moves=True), issue.tile("index", index, SBUF)
    runs = index_words, int(num_elem_per_idx), num_valid_indices
    made = trainium3.cast(trainium3.local_gather(values, *runs), issue.result(dst))
    present, known = _present(issue, dst), access.written(issue.core, dst)
    present[:, : made.shape[1]] = made
    known[:, : made.shape[1]] = trainium3.local_gather(access.written(issue.core, src_buffer), *runs)
    issue.put("dst", dst, present)
    access.set_written(issue.core, dst, known)
    size = int(num_elem_per_idx)
    rate = ((28 + 4 * size) / (4 * size)) / min(4 / src_buffer.itemsize, size)
    issue.on("gpsimd", gpsimd_cycles(round(made.shape[1] / rate)))


@instruction
def nc_n_gather(issue: Issue, dst: NkiTensor, data: NkiTensor, indices: NkiTensor) -> None:
    """Write ``data[indices[i]]`` of each partition. What is known of elements moves along."""
    issue.check("dst", dst, SBUF, (data.dtype,))
    values, places = issue.tile("data", data, SBUF, moves=True), issue.tile("indices", indices, SBUF, ("uint32",))
    known = trainium3.nc_n_gather(access.written(issue.core, data), places)
    issue.put("dst", dst, trainium3.nc_n_gather(values, places))
    access.set_written(issue.core, dst, known)
    issue.on("gpsimd", gpsimd_cycles(free_size(dst)))


@instruction
def nonzero_with_count(
    issue: Issue, dst: NkiTensor, src: NkiTensor, index_offset: int = 0, padding_val: int = -1
) -> None:
    """Write the places of the elements that are not 0, padding, and their number, in partitions 0, 16, .. 112.

    Results of a partition count as written if its elements do.
    """
    issue.check("dst", dst, SBUF, ("int32",))
    values = issue.tile("src", src, SBUF, moves=True)
    made = trainium3.nonzero_with_count(
        _present(issue, dst), values, index_offset=int(index_offset), padding_val=int(padding_val)
    )
    known = access.written(issue.core, dst)
    known[::CORE_PARTITIONS] = access.written(issue.core, src)[::CORE_PARTITIONS].all(axis=1, keepdims=True)
    issue.put("dst", dst, made)
    access.set_written(issue.core, dst, known)
    issue.on("gpsimd", gpsimd_cycles(free_size(dst, src)))


@instruction
def topk(issue: Issue, val_dst: NkiTensor, idx_dst: NkiTensor, src: NkiTensor, n: int) -> None:
    """Write the largest elements of each 16 partitions in ascending order, and their places."""
    issue.check("val_dst", val_dst, SBUF, ("bfloat16",))
    issue.check("idx_dst", idx_dst, SBUF, ("uint32",))
    values, found = trainium3.topk(
        _present(issue, val_dst), _present(issue, idx_dst), issue.tile("src", src, SBUF), int(n)
    )
    # Result j lies in partition j % 16 of its core, column j // 16.
    columns = values.shape[1]
    results = (np.arange(len(values))[:, np.newaxis] % CORE_PARTITIONS + CORE_PARTITIONS * np.arange(columns)) < columns
    for name, dst, made in (("val_dst", val_dst, values), ("idx_dst", idx_dst, found)):
        known = access.written(issue.core, dst)
        issue.put(name, dst, made)
        access.set_written(issue.core, dst, known | results)
    issue.on("gpsimd", 4 * int(n) + free_size(val_dst))


@instruction
def sequence_bounds(issue: Issue, dst: NkiTensor, segment_ids: NkiTensor) -> None:
    """Write where the segment of each element begins and ends."""
    issue.check("dst", dst, SBUF)
    made = trainium3.sequence_bounds(issue.tile("segment_ids", segment_ids, SBUF), dtype=issue.result(dst))
    issue.put("dst", dst, made.reshape(dst.shape[0], -1))
    issue.on("gpsimd", gpsimd_cycles(free_size(dst)))
