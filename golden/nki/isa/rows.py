"""VectorE's instructions along a row: scans, statistics, and the largest elements."""

from collections.abc import Callable

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import reduce_cmd as commands
from bitpath.golden.nki.isa.enums import word
from bitpath.golden.nki.isa.operators import operator_name
from bitpath.golden.nki.machine.issue import Issue, instruction
from bitpath.golden.nki.memory.dtypes import STORED
from bitpath.golden.nki.memory.tensor import NkiTensor

INDICES = ("uint16", "uint32")


@instruction
def tensor_tensor_scan(
    issue: Issue,
    dst: NkiTensor,
    data0: NkiTensor,
    data1: NkiTensor,
    initial: float | NkiTensor,
    op0: Callable,
    op1: Callable,
    reverse0: bool = False,
    reverse1: bool = False,
) -> None:
    """Write the states ``s = (data0[i] op0 s) op1 data1[i]`` of a row, which stay FP32."""
    issue.check("dst", dst)
    issue.not_both_psum(data0=data0, data1=data1)
    values = issue.tile("data0", data0)
    made = trainium3.tensor_tensor_scan(
        values,
        issue.tile("data1", data1),
        issue.scalar("initial", initial, len(values)),
        operator_name(issue, "op0", op0),
        operator_name(issue, "op1", op1),
        reverse0=reverse0,
        reverse1=reverse1,
        dtype=issue.result(dst),
    )
    issue.put("dst", dst, made)
    issue.uses("scan.rounding")
    issue.elementwise("vector", dst, data0, data1, factor=2)


@instruction
def tensor_scalar_cumulative(
    issue: Issue,
    dst: NkiTensor,
    src: NkiTensor,
    op0: Callable,
    op1: Callable,
    imm0: float | NkiTensor,
    imm1: float | NkiTensor | None = None,
    reduce_cmd: commands = commands.reset_reduce,
) -> None:
    """Write the states ``r = (src[i] op0 imm0) op1 r`` of a row; VectorE's registers keep the last one."""
    issue.check("dst", dst)
    values = issue.tile("src", src)
    made, after = trainium3.tensor_scalar_cumulative(
        values,
        operator_name(issue, "op0", op0),
        operator_name(issue, "op1", op1),
        issue.scalar("imm0", imm0, len(values)),
        None if imm1 is None else issue.scalar("imm1", imm1, len(values)),
        reduce_cmd=word(reduce_cmd.name),
        accumulators=issue.registers("vector", src) if reduce_cmd is commands.reduce else None,
        dtype=issue.result(dst),
    )
    issue.put("dst", dst, made)
    issue.accumulated("vector", src, after, None)
    issue.uses("scan.rounding")
    issue.elementwise("vector", dst, src, factor=2)


@instruction
def bn_stats(issue: Issue, dst: NkiTensor, data: NkiTensor) -> None:
    """Write count, mean and variance times count of the elements at even places, then of those at odd ones."""
    issue.check("dst", dst)
    issue.put("dst", dst, trainium3.bn_stats(issue.tile("data", data), dtype=issue.result(dst)))
    issue.uses("bn_stats")
    issue.elementwise("vector", dst, data)


@instruction
def bn_aggr(issue: Issue, dst: NkiTensor, data: NkiTensor) -> None:
    """Combine triples of count, mean and variance times count to one mean and variance."""
    issue.check("dst", dst)
    values = issue.tile("data", data)
    issue.put("dst", dst, trainium3.bn_aggr(values, dtype=issue.result(dst)))
    issue.uses("bn_stats")
    issue.on("vector", max(64, 13 * values.shape[1] // 3))


@instruction
def max8(issue: Issue, dst: NkiTensor, src: NkiTensor) -> None:
    """Write the eight largest elements of a row, the largest first."""
    issue.check("dst", dst)
    issue.put("dst", dst, trainium3.max8(issue.tile("src", src), dtype=issue.result(dst)))
    issue.elementwise("vector", dst, src)


@instruction
def nc_find_index8(issue: Issue, dst: NkiTensor, data: NkiTensor, vals: NkiTensor) -> None:
    """Write the places of eight values in a row; equal values take one place after the other."""
    issue.check("dst", dst, dtypes=INDICES)
    found = trainium3.nc_find_index8(issue.tile("data", data), issue.tile("vals", vals), dtype=STORED[dst.dtype])
    issue.put("dst", dst, found)
    issue.elementwise("vector", dst, data)


@instruction
def nc_match_replace8(
    issue: Issue, dst: NkiTensor, data: NkiTensor, vals: NkiTensor, imm: float, dst_idx: NkiTensor | None = None
) -> None:
    """Replace an element for each of eight values, the last value first; dst_idx takes the places."""
    issue.check("dst", dst)
    index_dtype = STORED["uint32"] if dst_idx is None else STORED[issue.check("dst_idx", dst_idx, dtypes=INDICES).dtype]
    made, found = trainium3.nc_match_replace8(
        issue.tile("data", data), issue.tile("vals", vals), imm, dtype=issue.result(dst), index_dtype=index_dtype
    )
    issue.put("dst", dst, made)
    if dst_idx is not None:
        issue.put("dst_idx", dst_idx, found)
    issue.elementwise("vector", dst, data)
