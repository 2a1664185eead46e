"""NKI instructions of TensorE: matmuls without and with scales, and transposes."""

from collections.abc import Callable, Mapping

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.nki.declarations.errors import NkiValidationError
from bitpath.golden.nki.isa.enums import engine as engines
from bitpath.golden.nki.isa.enums import engine_name, matmul_perf_mode, word
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.core import nc_version
from bitpath.golden.nki.machine.issue import CHIP, PSUM, SBUF, Issue, instruction
from bitpath.golden.nki.machine.timeline import matmul_cycles, transpose_cycles
from bitpath.golden.nki.memory.dtypes import STORED, X4
from bitpath.golden.nki.memory.storage import MATMUL_LAST
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT, SCALE_PARTITIONS, AccumulateFlag
from bitpath.golden.trainium3.matmul.instruction import accumulates

# nc_matmul and nc_matmul_mx: TensorE's products, accumulated in PSUM.
#
# ``accumulate``: True adds to what PSUM holds, False overwrites. With None each element is overwritten by the first matmul
# that writes it since its tensor was allocated, and added to by later ones. Ref: ``nki.isa`` reference page, NKI 0.6; that the
# state belongs to the element of an allocation is inferred from kernels that allocate tiles at one address. The release decides
# whether ``psum_accumulate_flag`` stands at accumulate's place.


FLOATS = ("float32", "tfloat32", "bfloat16", "float16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")
RESULTS = ("float32", "bfloat16")
SCALE_ROWS = QUADRANT // SCALE_PARTITIONS
"""Partitions of a quadrant that hold its scales."""
OVERWRITE = int(AccumulateFlag.FIRST_OVERWRITE | AccumulateFlag.LAST)
ACCUMULATE = int(AccumulateFlag.FIRST_ACCUMULATE | AccumulateFlag.LAST)


@instruction
def nc_matmul(
    issue: Issue,
    dst: NkiTensor,
    stationary: NkiTensor,
    moving: NkiTensor,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    accumulate: bool | None = None,
    tile_position: tuple[int, ...] = (),
    tile_size: tuple[int, ...] = (),
    perf_mode: matmul_perf_mode = matmul_perf_mode.none,
    *,
    psum_accumulate_flag: int | None = None,
) -> None:
    """Multiply: ``dst[m, n] = sum over p of stationary[p, m] * moving[p, n]``, in PSUM.

    Operands are [P, M] and [P, N] in SBUF, with ``double_row`` [P, 2, M] and [P, 2, N] of FP8; dst is [M, N], FP32 or BF16, of
    any free dimensions with as many elements. Bits as `bitpath.golden.trainium3.nc_matmul`.
    """
    issue.check("dst", dst, PSUM)
    left, right = (
        issue.tile(name, each, SBUF, FLOATS, moves=moves)
        for name, each, moves in (("stationary", stationary, is_transpose), ("moving", moving, False))
    )
    if "float8_e4m3fn" in (stationary.dtype, moving.dtype):
        issue.needs_gen4("stationary and moving: float8_e4m3fn")
        if not issue.release.matmul_e4m3fn:
            raise issue.fail(f"stationary and moving: must not be float8_e4m3fn in release {issue.release.sdk}")
    double = perf_mode is matmul_perf_mode.double_row
    position, size = _pair(tile_position), _pair(tile_size)
    adds = _accumulation(issue, accumulate, psum_accumulate_flag)
    if is_transpose:
        words = trainium3.nc_matmul(
            left,
            right,
            is_transpose=True,
            psum_accumulate_flag=ACCUMULATE if adds else OVERWRITE,
            perf_mode=word(perf_mode.value),
            tile_position=position,
            tile_size=size,
        )
        known = access.written(issue.core, stationary).T
        _put_bits(issue, dst, words)
        access.set_written(issue.core, dst, known)
        cycles = transpose_cycles(len(left), left.shape[1], fp32=stationary.itemsize == 4)
        issue.on("tensor", cycles, transpose=True, tile=_tile(position, size))
        return
    if double:
        left, right = (each.reshape(len(each), 2, -1) for each in (left, right))
    _check_columns(issue, dst, right.shape[-1], issue.release.most_moving)
    promised = is_stationary_onezero or is_moving_onezero

    def multiply(flag: int, present: np.ndarray | None) -> np.ndarray:
        return trainium3.nc_matmul(
            left,
            right,
            dst=present,
            dst_dtype=STORED[dst.dtype],
            psum_accumulate_flag=flag,
            stationary_tf32=stationary.dtype == "tfloat32",
            moving_tf32=moving.dtype == "tfloat32",
            perf_mode=word(perf_mode.value),
            is_stationary_onezero=is_stationary_onezero,
            is_moving_onezero=is_moving_onezero,
            multi_bank=True,
            tile_position=position,
            tile_size=size,
        )

    _accumulate(issue, dst, (left.shape[-1], right.shape[-1]), adds, multiply)
    passes = 1 if stationary.itemsize < 4 else 2 if promised else 4
    issue.uses(
        "matmul.order",
        "matmul.rounding",
        *(["matmul.double_row"] if double else []),
        *(["matmul.fp32"] if passes > 1 else []),
    )
    issue.on("tensor", matmul_cycles(left.shape[-1], right.shape[-1], passes), tile=_tile(position, size))


@instruction
def nc_matmul_mx(
    issue: Issue,
    dst: NkiTensor,
    stationary: NkiTensor,
    moving: NkiTensor,
    stationary_scale: NkiTensor,
    moving_scale: NkiTensor,
    tile_position: tuple[int, ...] | None = None,
    tile_size: tuple[int, ...] | None = None,
    accumulate: bool | None = None,
    *,
    psum_accumulate_flag: int | None = None,
) -> None:
    """Multiply MX operands: [P, M] and [P, N] words of four elements, their scales spread over the quadrants' first rows.

    Bits as `bitpath.golden.trainium3.nc_matmul_mx`. A scale view's own start in its quadrant, 0, 4, 8 or 12, is its offset.
    """
    issue.needs_gen4()
    issue.check("dst", dst, PSUM)
    sides = []
    for name, data, scale in (("stationary", stationary, stationary_scale), ("moving", moving, moving_scale)):
        words = issue.tile(name, data, SBUF, tuple(X4))
        elements = trainium3.unpack_x4(words, DTYPES[X4[data.dtype]])
        sides.append(
            (elements.reshape(len(words), -1, 4), *_scales(issue, f"{name}_scale", scale, len(words), words.shape[1]))
        )
    (left, left_scale, left_offset), (right, right_scale, right_offset) = sides
    _check_columns(issue, dst, right.shape[1], issue.release.most_moving_mx)

    def multiply(flag: int, present: np.ndarray | None) -> np.ndarray:
        return trainium3.nc_matmul_mx(
            left,
            right,
            left_scale,
            right_scale,
            stationary_scale_offset=left_offset,
            moving_scale_offset=right_offset,
            dst=present,
            dst_dtype=STORED[dst.dtype],
            tile_position=_pair(tile_position),
            tile_size=_pair(tile_size),
            psum_accumulate_flag=flag,
            multi_bank=True,
        )

    adds = _accumulation(issue, accumulate, psum_accumulate_flag)
    _accumulate(issue, dst, (left.shape[1], right.shape[1]), adds, multiply)
    issue.uses("matmul.order", "matmul.rounding")
    tile = _tile(_pair(tile_position), _pair(tile_size))
    issue.on("tensor", matmul_cycles(left.shape[1], right.shape[1]), tile=tile)


def _pair(values: tuple[int, ...] | None) -> tuple[int, int] | None:
    """Return two numbers, or None where a kernel gives none."""
    if not values:
        return None
    first, second = values
    return int(first), int(second)


def _tile(position: tuple[int, int] | None, size: tuple[int, int] | None) -> tuple[int, int, int, int] | None:
    """Return (row, column, rows, columns) of the array; None for all of it."""
    return None if size is None or size == (PARTITIONS, PARTITIONS) else (*(position or (0, 0)), *size)


def _accumulation(issue: Issue, accumulate: bool | None, flag: int | None) -> bool | None:
    """Return accumulate, also from the flag of older kernels, which golden's `accumulates` reads or refuses."""
    if accumulate is not None and not isinstance(accumulate, bool | np.bool_):
        sentence = f"accumulate: must be True, False or None, not {accumulate!r}"
        raise issue.fail(f"{sentence}; a flag is psum_accumulate_flag of release 2.27")
    if flag is None and accumulate is None:
        flag = issue.release.psum_accumulate_flag
    if flag is None:
        return accumulate
    if accumulate is not None:
        raise issue.fail("accumulate: must be None with psum_accumulate_flag")
    return accumulates(flag)


def _check_columns(issue: Issue, dst: NkiTensor, columns: int, most: Mapping[int, int]) -> None:
    if dst.dtype not in RESULTS:
        raise issue.fail(f"dst: dtype must be {' or '.join(RESULTS)}, not {dst.dtype}")
    if dst.dtype == "bfloat16":
        issue.needs_gen4("dst: bfloat16")
    limits = issue.core.options.limits
    allowed = (limits.most_moving or most)[dst.itemsize]
    if columns > allowed:
        where = f"on {limits.version.name}" if limits.most_moving else f"in release {issue.release.sdk}"
        raise issue.fail(f"moving: {columns} columns into {dst.dtype} results; {allowed} are allowed {where}")


def _accumulate(
    issue: Issue, dst: NkiTensor, shape: tuple[int, int], accumulate: bool | None, multiply: Callable
) -> None:
    """Write a product over, or add it to, the elements that an earlier matmul has written."""
    issue.check_direct("dst", dst)
    if dst.shape[0] != shape[0] or dst.size != shape[0] * shape[1]:
        raise issue.fail(f"dst: must have {shape[0]} partitions of {shape[1]} elements, not shape {dst.shape}")
    seen = dst.matmul_written()
    last = np.array(seen).reshape(shape)
    adds = last > 0 if accumulate is None else np.full(shape, accumulate)
    _check_present(issue, dst, adds, last)
    if adds.any():
        present = access.load(issue.core, dst, moves=True).reshape(shape)
        issue.reads(dst)
        if adds.all():
            issue.show("dst", present)
        values = multiply(ACCUMULATE, np.where(adds, present, np.zeros_like(present)))
        if not adds.all():
            values = np.where(adds, values, multiply(OVERWRITE, None))
    else:
        values = multiply(OVERWRITE, None)
    issue.put("dst", dst, values)
    seen[...] = MATMUL_LAST


def _check_present(issue: Issue, dst: NkiTensor, adds: np.ndarray, last: np.ndarray) -> None:
    """Warn of elements that are added to and that nothing has written, before gen4 also of those that no matmul wrote last.

    Ref: ``nki.isa.nc_matmul``, NKI 0.6: the former is undefined on all targets, the latter on NeuronCore-v2 and v3.
    """
    machine = issue.core.machine
    if not access.written(issue.core, dst).reshape(adds.shape)[adds].all():
        machine.warn("accumulate", f"{issue.opcode} dst: accumulate is True where nothing has written")
    elif issue.core.options.limits.version < nc_version.gen4 and (last[adds] != MATMUL_LAST).any():
        machine.warn(
            "accumulate",
            f"{issue.opcode} dst: must not be added to on gen3 where an instruction other than a matmul has written",
        )


def _scales(issue: Issue, name: str, scale: NkiTensor, partitions: int, columns: int) -> tuple[np.ndarray, int]:
    """Return scales as they lie in the quadrants from the view's quadrant on, [P, columns], and their offset in each."""
    view = issue.check(name, scale, SBUF, issue.release.scale_dtypes, starts=False)
    issue.check_direct(name, view)
    issue.reads(view)
    first = view.partition
    offset = first % QUADRANT
    if view.size // view.shape[0] != columns or not view.is_contiguous() or (view.shape[0] > 1 and view.steps[0] != 1):
        raise issue.fail(f"{name}: must have {columns} scales in each partition, not shape {view.shape}")
    quadrant = first - offset
    if quadrant + partitions > PARTITIONS:
        raise issue.fail(
            f"{name}: {partitions} partitions from quadrant {quadrant // QUADRANT} on end beyond {PARTITIONS}"
        )
    found = np.zeros((partitions, columns), np.uint8)
    for p in range(offset, partitions, QUADRANT):
        count = min(SCALE_ROWS, partitions - p)
        row = quadrant + p - view.allocation.partition
        if not 0 <= row <= view.allocation.partitions - count:
            raise issue.fail(
                f"{name}: partitions {quadrant + p} to {quadrant + p + count - 1}, which hold scales of rows {p - offset} on,"
                " must be in its tensor"
            )
        rows = NkiTensor(view.allocation, view.dtype, row, view.start, (count, columns), (1, 1))
        found[p : p + count] = access.load(issue.core, rows)
    issue.show(name, found)
    return found, offset


def _put_bits(issue: Issue, dst: NkiTensor, words: np.ndarray) -> None:
    """Write the words that a transpose moved, as they are."""
    if dst.itemsize != words.dtype.itemsize:
        raise NkiValidationError(
            f"{issue.opcode} dst: must have elements of {words.dtype.itemsize} bytes, not {dst.dtype}"
        )
    issue.put("dst", dst, words.view(STORED[dst.dtype]))


# nc_transpose: a tile transposed by TensorE or VectorE, bit for bit.


TRANSPOSED_DTYPES = tuple(name for name in STORED if name not in X4)


@instruction
def nc_transpose(issue: Issue, dst: NkiTensor, data: NkiTensor, engine: engines = engines.unknown) -> None:
    """Transpose [P, F] to [F, P]: TensorE up to 128 x 128 from SBUF to PSUM, VectorE up to 32 x 32 in any memory.

    Without an engine the destination decides: PSUM means TensorE. FP8 codes on TensorE lie in the low bytes of 16-bit words,
    so that dst must step over two bytes; the upper ones become 0. What is known of elements moves along.
    """
    issue.check("dst", dst)
    own = engine_name(engine, "tensor" if dst.allocation.buffer == "psum" else "vector")
    if own not in ("tensor", "vector"):
        raise issue.fail(f"engine: must be tensor or vector, not {own}")
    tensor = own == "tensor"
    if tensor:
        issue.core.lists = "tensor"
        issue.check("dst", dst, PSUM)
    values = issue.tile("data", data, SBUF if tensor else CHIP, TRANSPOSED_DTYPES, moves=True)
    known = access.written(issue.core, data).T
    if dst.dtype != data.dtype:
        raise issue.fail(f"dst: dtype must be data's {data.dtype}, not {dst.dtype}")
    moved = trainium3.nc_transpose(values, engine=word(own))
    if moved.dtype.itemsize != dst.itemsize:
        if dst.steps[-1] != 2:
            raise issue.fail("dst: 8-bit elements must lie in every second byte of PSUM")
        moved = moved.astype("u1")
    issue.put("dst", dst, moved.view(STORED[dst.dtype]))
    access.set_written(issue.core, dst, known)
    if tensor:
        issue.on("tensor", transpose_cycles(*values.shape, fp32=data.itemsize == 4), transpose=True)
    else:
        issue.elementwise("vector", dst, data)
