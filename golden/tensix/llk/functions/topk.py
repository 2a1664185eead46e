"""TopK: bitonic sorting, merging and sorting anew of 64 values in each column of two tiles, with their indices.

Two tiles hold 64 values in each of 32 columns; two more hold their indices, which SFPSWAP moves with them::

    local sort   sequences of 2, 4, 8, ... values, downwards and upwards in turns, up to 2^(end_phase + 1)
    merge        the larger values of two sequences of k, or the smaller ones, in the first
    rebuild      the merged sequences, sorted

The addresses are those that the published kernels count up.

Ref: tt-llk 36b092e, ckernel_sfpu_topk.h.
"""

from collections.abc import Callable, Iterator

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.tensix.llk.functions.function import TILE_ROWS, Function, Mode
from bitpath.golden.tensix.llk.functions.tiles import (
    EXCHANGED,
    INDEX_TRACKING,
    INT32,
    LOW,
    TRANSPOSE,
    accesses,
    configure,
    swap,
)
from bitpath.golden.tensix.sfpu.kernel import Kernel

VALUES = 64
"""Values of a column in two tiles."""
ALL, ROWS_01, ROWS_02, EXCHANGE = 1, 2, 3, 0
"""SFPSWAP's modes: rows in which the first register gets the maximum, in the others the minimum; EXCHANGE swaps."""
COLUMNS = (0, 2, 16, 18)
"""Addresses of the even and odd columns of the left and the right faces."""


def _sorted(stable: bool, mode: int, *pairs: tuple[int, int]) -> str:
    """Return swaps of pairs; a stable sort does them twice."""
    return "".join(swap(a, b, mode) for a, b in pairs) * (1 + stable)


def _phase_0(stable: bool) -> str:
    return TRANSPOSE + _sorted(stable, ALL, (0, 1), (3, 2)) + TRANSPOSE


def _phase_1(stable: bool) -> str:
    halves = _sorted(stable, ROWS_02, (0, 2), (1, 3)) + _sorted(stable, ROWS_02, (0, 1), (2, 3))
    return TRANSPOSE + halves + TRANSPOSE


def _phase_2(stable: bool) -> str:
    first = ((0, 1), (3, 2)) if stable else ((0, 1), (2, 3))
    turned = "" if stable else swap(2, 3, EXCHANGE)
    halves = _sorted(stable, ROWS_01, (0, 2), (1, 3)) + _sorted(stable, ROWS_01, (0, 1), (2, 3))
    return _sorted(stable, ALL, *first) + turned + TRANSPOSE + halves + TRANSPOSE


def _phase_3(stable: bool, upwards: bool) -> str:
    last = ((2, 3), (0, 1)) if stable else ((0, 1), (2, 3))
    half = _sorted(stable, ALL, (0, 2), (1, 3)) + _sorted(stable, ALL, *last) + TRANSPOSE
    if not upwards:
        return half * 2
    return configure(INDEX_TRACKING | EXCHANGED) + "SFPNOP\nSFPNOP\n" + half * 2 + configure(INDEX_TRACKING)


def _step(stable: bool, upwards: bool) -> str:
    return _sorted(stable, ALL, *(((2, 0), (3, 1)) if upwards else ((0, 2), (1, 3))))


def _around(mode: Mode, places: list[int], lines: str) -> str:
    """Return loads of values and indices, lines, and stores to the same places."""
    registers, access = range(len(places)), INT32 if mode.dst32 else LOW
    indices, behind = [4 + each for each in registers], [2 * TILE_ROWS + each for each in places]
    return (
        accesses("SFPLOAD", registers, places)
        + accesses("SFPLOAD", indices, behind, access)
        + lines
        + accesses("SFPSTORE", registers, places)
        + accesses("SFPSTORE", indices, behind, access)
    )


def _sixteen(mode: Mode, start: int, near: int, far: int, lines: str) -> str:
    return _around(mode, [start, start + near, start + far, start + far + near], lines)


def _far_steps(mode: Mode, column: int, upwards: bool, steps: range, stable: bool, length: int) -> Iterator[str]:
    """Yield the steps that compare values of different faces or tiles, of sequences of a length."""
    for step in steps:
        distance = 16 if step == 5 else 32
        start = kept = compared = offset = 0
        up = upwards
        while compared < VALUES:
            for inner in range(distance >> 3):
                yield _sixteen(mode, column + start, 4, 2 * distance, _step(stable, up))
                offset += 8
                if inner == (distance >> 3) - 1:
                    kept += 4 * distance
                    start, offset = kept, 2 * distance
                elif offset == 16:
                    kept += 32
                    start = kept
                else:
                    start += 8
                compared += 16
            up ^= compared == length


def _near_steps(mode: Mode, column: int, upwards: bool, stable: bool, length: int, count: int) -> Iterator[str]:
    """Yield the last four steps, each of 16 values of a face, in order of sequences of a length."""
    for number in range(count // 16):
        yield _sixteen(mode, column + 32 * number, 4, 8, _phase_3(stable, upwards))
        upwards ^= 16 * (number + 1) == length


def _local_sort(mode: Mode, column: int, upwards: bool, stable: bool, first: int, last: int) -> Iterator[str]:
    """Yield the phases from the first to the last one."""
    plain: list[Callable[[bool], str]] = [_phase_0, _phase_1, _phase_2]
    for phase in range(first, last + 1):
        length = 2 << phase
        if phase < 3:
            for face in range(4):
                yield _sixteen(mode, column + 32 * face, 4, 8, plain[phase](stable))
        elif phase == 3:
            for face in range(4):
                yield _sixteen(mode, column + 32 * face, 4, 8, _phase_3(stable, upwards ^ bool(face % 2)))
        else:
            yield from _far_steps(mode, column, upwards, range(phase + 1, 4, -1), stable, length)
            yield from _near_steps(mode, column, upwards, stable, length, VALUES)


def _local_sort_body(k: Kernel, mode: Mode, *, upwards: bool, stable: bool, start_phase: int, end_phase: int) -> None:
    first = integer("start_phase", start_phase, range(6))
    last = integer("end_phase", end_phase, range(first, 6))
    k.text(configure(INDEX_TRACKING))
    for column in COLUMNS:
        k.text("".join(_local_sort(mode, column, bool(upwards), bool(stable), first, last)))


def _iteration(iteration: int, k: int) -> tuple[int, int]:
    """Return the number of earlier merges, and k, checked: a power of 2 from 4 to 64."""
    if k not in (4, 8, 16, 32, 64):
        raise ValueError(f"k must be 4, 8, 16, 32 or 64, not {k}")
    return integer("iteration", iteration, range(6)), int(k)


def _merge_body(kernel: Kernel, mode: Mode, *, iteration: int, k: int, smallest: bool, stable: bool) -> None:
    iteration, k = _iteration(iteration, k)
    kept = min(k, 32)
    distance, total = min(kept << iteration, 32), max(2 * kept, VALUES >> iteration)
    apart = distance if distance < 16 else 2 * distance
    kernel.text(configure(INDEX_TRACKING))
    for column in COLUMNS:
        compared = sequence = 0
        while compared < total:
            for inner in range(kept >> 2):
                offset = sequence + 4 * inner
                place = column + (offset & 15) + (offset >> 4) * 32
                lines = _sorted(bool(stable), ALL, (1, 0) if smallest else (0, 1))
                kernel.text(_around(mode, [place, place + apart], lines))
                compared += 8
            sequence += 2 * distance


def _rebuild(mode: Mode, column: int, iteration: int, k: int, upwards: bool, stable: bool, half: bool) -> Iterator[str]:
    merged = iteration + 1
    total = max(2 * k, VALUES >> merged) >> half
    distance = min(k << merged, 32)
    apart = (distance >> 4) * 32 + (distance & 15)
    groups = range(-(-total // 16))
    match k:
        case 4 if iteration >= 2:
            yield from (
                _around(mode, [column + 64 * each, column + 64 * each + apart], _phase_1(stable)) for each in groups
            )
        case 4:
            far = 4 * apart if apart < 16 else 2 * apart
            yield from (_sixteen(mode, column + 64 * each, apart, far, _phase_1(stable)) for each in groups)
        case 8:
            yield from (_sixteen(mode, column + 64 * each, 4, apart, _phase_2(stable)) for each in groups)
        case 16:
            for each in groups:
                yield _sixteen(mode, column + 64 * each, 4, 8, _phase_3(stable, upwards ^ bool(each % 2)))
        case _:
            yield from _far_steps(mode, column, upwards, range(k.bit_length() - 1, 4, -1), stable, k)
            yield from _near_steps(mode, column, upwards, stable, k, VALUES)


def _rebuild_body(
    kernel: Kernel, mode: Mode, *, iteration: int, k: int, upwards: bool, stable: bool, skip_second: bool
) -> None:
    iteration, k = _iteration(iteration, k)
    kernel.text(configure(INDEX_TRACKING))
    for column in COLUMNS:
        lines = _rebuild(mode, column, iteration, k, bool(upwards), bool(stable), bool(skip_second))
        kernel.text("".join(lines))


def _topk(name: str, body: Callable[..., None], **parameters: int | bool) -> Function:
    tiles = tuple(range(4))
    return Function(
        name=name, body=body, operands=4, results=tiles, indices=tiles[2:], parameters=parameters, once=True
    )


FUNCTIONS = (
    _topk("topk_local_sort", _local_sort_body, upwards=False, stable=False, start_phase=0, end_phase=5),
    _topk("topk_merge", _merge_body, iteration=0, k=32, smallest=False, stable=False),
    _topk("topk_rebuild", _rebuild_body, iteration=0, k=32, upwards=False, stable=False, skip_second=False),
)
