"""Exact twins of the additions of the DMA engines, on one element.

The rules are in `bitpath.golden.trainium3.declarations.dma.CHOICES`.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import TypeVar

from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.scalar.checked import check_choice, check_length, checked, integer
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.fp32 import add, convert, maximum, minimum
from bitpath.golden.scalar.rounding import round_to_format, special_sum, term
from bitpath.golden.trainium3.declarations.dma import (
    CHIP_CORES,
    DMA_QUEUES,
    PRIORITIES,
    TOKENS_PER_BYTE,
    TRAFFIC_CLASSES,
    CollectiveAlgorithm,
)
from bitpath.golden.trainium3.exact.conversions import cast, from_fp32, to_fp32


@checked
def read_add_write(b: int, a: int, fmt: FloatFormat) -> int:
    """Return the code of ``b + a``, the exact sum rounded once to nearest even.

    Parameters
    ----------
    b, a : codes of `fmt`.
    fmt : BF16 or FP32.

    Raises
    ------
    ValueError : another format.
    """
    if fmt not in (BF16, FP32):
        raise ValueError(f"fmt must be BF16 or FP32, not {fmt.name}")
    terms = [term(decode(fmt, code)) for code in (b, a)]
    special = special_sum(terms)
    if special is not None:
        return convert(special, FP32, fmt)
    return round_to_format(terms[0].value + terms[1].value, fmt, zero_sign=terms[0].sign & terms[1].sign)


@checked
def dma_compute(codes: Sequence[int], sources: Sequence[str], destination: str) -> int:
    """Return the code of the sum of elements: FP32 sums in the order of the list, each rounded, then a cast.

    Parameters
    ----------
    codes : at least 1, an element of each source.
    sources, destination : names of dtypes, as `cast` takes them.
    """
    check_length("codes", codes)
    check_length("sources", sources, len(codes), ", one for each of codes")
    return from_fp32(reduce(add, map(to_fp32, codes, sources)), destination)


RANK_OPERATORS = {"add": add, "max": maximum, "min": minimum}


@checked
def reduce_ranks(
    codes: Sequence[int],
    dtype: str,
    op: str,
    algorithm: CollectiveAlgorithm,
    chip: int,
    chunk: int,
    ranks: Sequence[int] | None = None,
) -> int:
    """Return the code that a collective makes of an element of each rank.

    Parameters
    ----------
    codes : at least 1, an element of each rank.
    dtype : name of their dtype, as `cast` takes it.
    op : "add", "max" or "min".
    algorithm : order of the operations.
    chip : ranks of a chip.
    chunk : number of the element's chunk.
    ranks : number of each rank, which is on chip ``number // chip``; from 0 on by default.
    """
    check_length("codes", codes)
    ranks = range(len(codes)) if ranks is None else ranks
    check_length("ranks", ranks, len(codes), ", one for each of codes")
    check_choice("op", op, RANK_OPERATORS)
    integer("chip", chip, range(1, CHIP_CORES + 1))
    integer("chunk", chunk, range(len(codes)))

    def combined(some: Sequence[int]) -> int:
        return from_fp32(reduce(RANK_OPERATORS[op], [to_fp32(code, dtype) for code in some]), dtype)

    if algorithm is CollectiveAlgorithm.MESH:
        chips = list(dict.fromkeys(rank // chip for rank in ranks))
        return combined(
            [combined([code for rank, code in zip(ranks, codes, strict=True) if rank // chip == one]) for one in chips]
        )
    order = [codes[(chunk + 1 + step) % len(codes)] for step in range(len(codes))]
    return reduce(lambda received, own: combined([received, own]), order)


# Exact twins of DMA copies, row gathers and scatters, and transposes, on codes.
#
# The rules are in `bitpath.golden.trainium3.declarations.dma.CHOICES` and those of memory.


Item = TypeVar("Item")


@checked
def dma_copy(codes: Sequence[int], source: str, destination: str) -> list[int]:
    """Return the codes of a copy: those of a source in row-major order, each cast.

    Parameters
    ----------
    codes : of the source.
    source, destination : names of dtypes, as `cast` takes them.
    """
    return [cast(code, source, destination) for code in codes]


@checked
def dma_gather(
    dst: Sequence[Sequence[int]],
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    source: str,
    destination: str,
    *,
    skip: bool = False,
) -> list[list[int]]:
    """Return the rows of a destination after ``dst[p] = table[indices[p]]``.

    Parameters
    ----------
    dst, table : codes of each row.
    indices : a row of the table for each of dst's.
    source, destination : names of the table's dtype and dst's.
    skip : True to leave a row of dst as it is where its index is outside the table.

    Raises
    ------
    ValueError : another number of indices, or an index outside the table without `skip`.
    """
    result = [[*row] for row in dst]
    for p, i in _pairs(dst, table, indices, skip):
        result[p] = dma_copy(table[i], source, destination)
    return result


@checked
def dma_scatter(
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    src: Sequence[Sequence[int]],
    source: str,
    destination: str,
    *,
    skip: bool = False,
) -> list[list[int]]:
    """Return the rows of a table after ``table[indices[p]] = src[p]``, p ascending.

    Parameters, errors: as `dma_gather`, with `source` the dtype of src and `destination` that of the table.
    """
    result = [[*row] for row in table]
    for p, i in _pairs(src, table, indices, skip):
        result[i] = dma_copy(src[p], source, destination)
    return result


@checked
def dma_gather_add(
    dst: Sequence[Sequence[int]],
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    source: str,
    destination: str,
    *,
    skip: bool = False,
) -> list[list[int]]:
    """Return the rows of a destination after ``dst[p] += table[indices[p]]``; parameters, errors: as `dma_gather`."""
    result = [[*row] for row in dst]
    for p, i in _pairs(dst, table, indices, skip, unique=True):
        result[p] = _sums(dst[p], destination, table[i], source)
    return result


@checked
def dma_scatter_add(
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    src: Sequence[Sequence[int]],
    source: str,
    destination: str,
    *,
    skip: bool = False,
) -> list[list[int]]:
    """Return the rows of a table after ``table[indices[p]] += src[p]``; parameters, errors: as `dma_scatter`."""
    result = [[*row] for row in table]
    for p, i in _pairs(src, table, indices, skip, unique=True):
        result[i] = _sums(table[i], destination, src[p], source)
    return result


@checked
def dma_transpose(codes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Return codes after the first and the last axis have changed places, in row-major order before and after.

    Parameters
    ----------
    codes : of the source.
    shape : sizes of its axes, at least 2.

    Raises
    ------
    ValueError : another number of codes, or fewer axes.
    """
    return _exchanged(codes, shape)


@checked
def dma_gather_transpose(
    rows: Sequence[Sequence[int]],
    inner: Sequence[int],
    indices: Sequence[Sequence[int]],
    count: int,
    dst: Sequence[int] | None = None,
) -> list[int]:
    """Return the codes of a transpose of gathered rows, in row-major order.

    Parameters
    ----------
    rows : codes of each row of the source.
    inner : sizes of a row's axes.
    indices : rows of the index tile, read down its columns.
    count : rows to gather.
    dst : present codes of the destination, in row-major order, which an index outside the source leaves; None makes such an
        index an error.

    Raises
    ------
    ValueError : an index that is not there, one outside the source without `dst`, or another number of codes.
    """
    check_length("indices", indices)
    check_length("rows", rows)
    gathered: list[int | None] = []
    for i in range(count):
        column, line = divmod(i, len(indices))
        check_length(f"indices[{line}]", indices[line])
        row = indices[line][integer("column of indices", column, range(len(indices[line])))]
        if dst is None or 0 <= row < len(rows):
            gathered += rows[integer("indices", row, range(len(rows)))]
        else:
            gathered += [None] * prod(inner)
    moved = _exchanged(gathered, (count, *inner))
    kept = [0] * len(moved) if dst is None else dst
    check_length("dst", kept, len(moved))
    return [old if code is None else code for code, old in zip(moved, kept, strict=True)]


def _pairs(
    rows: Sequence[Sequence[int]],
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    skip: bool,
    unique: bool = False,
) -> list[tuple[int, int]]:
    """Return the row and the table's row of each pair, in the order of the rows."""
    check_length("indices", indices, len(rows), ", one for each row")
    check_length("table", table)
    pairs = [
        (p, i if skip else integer("indices", i, range(len(table))))
        for p, i in enumerate(indices)
        if not skip or 0 <= i < len(table)
    ]
    if unique and len({i for _, i in pairs}) != len(pairs):
        raise ValueError(f"indices must be unique, not {[i for _, i in pairs]}")
    return pairs


def _sums(first: Sequence[int], destination: str, second: Sequence[int], source: str) -> list[int]:
    """Return the sums of two rows' elements, in the dtype of the first."""
    check_length("row", second, len(first), ", as the row that it is added to")
    return [dma_compute(pair, (destination, source), destination) for pair in zip(first, second, strict=True)]


def _exchanged(values: Sequence[Item], shape: Sequence[int]) -> list[Item]:
    check_length("codes", values, prod(shape), ", as shape says")
    if len(shape) < 2:
        raise ValueError(f"shape must have at least 2 axes, not {len(shape)}")
    first, *middle, last = shape
    result = []
    for place in product(*map(range, (last, *middle, first))):
        offset = 0
        for size, i in zip(shape, (place[-1], *place[1:-1], place[0]), strict=True):
            offset = offset * size + i
        result.append(values[offset])
    return result


# Exact twin of the queues of a DMA engine: each cycle by itself.
#
# The rules are in `bitpath.golden.trainium3.declarations.dma.CHOICES`.


@checked
def dma_schedule(
    priorities: Sequence[int],
    classes: Sequence[int],
    rates: Sequence[int | None],
    bursts: Sequence[int],
    descriptors: Sequence[tuple[int, int, int, int]],
    cycles: int,
) -> list[tuple[int, int, int, int]]:
    """Return the grants of an engine in the first `cycles` cycles, as (queue, number in the queue, cycle, end).

    Parameters
    ----------
    priorities, classes : of each of 16 queues.
    rates, bursts : of each of 4 traffic classes: 1/256 byte a cycle or None for unlimited, and bytes.
    descriptors : (queue, cycle of arrival, bytes, duration in cycles), those of a queue in its order.
    """
    for name, given, count in (
        ("priorities", priorities, DMA_QUEUES),
        ("classes", classes, DMA_QUEUES),
        ("rates", rates, TRAFFIC_CLASSES),
        ("bursts", bursts, TRAFFIC_CLASSES),
    ):
        check_length(name, given, count)
    waiting = [[each for each in descriptors if each[0] == queue] for queue in range(DMA_QUEUES)]
    numbers = [0] * DMA_QUEUES
    next_queue = [0] * PRIORITIES
    tokens = [TOKENS_PER_BYTE * burst for burst in bursts]
    grants: list[tuple[int, int, int, int]] = []
    free = 0
    for cycle in range(cycles):
        for kind in range(TRAFFIC_CLASSES):
            if cycle and rates[kind] is not None:
                tokens[kind] = min(tokens[kind] + (rates[kind] or 0), TOKENS_PER_BYTE * bursts[kind])
        if cycle < free:
            continue
        ranks = []
        for queue in range(DMA_QUEUES):
            heads = waiting[queue][:1]
            open_class = rates[classes[queue]] is None or tokens[classes[queue]] > 0
            if heads and heads[0][1] <= cycle and open_class:
                priority = priorities[queue]
                ranks.append((priority, (queue - next_queue[priority]) % DMA_QUEUES, queue))
        if ranks:
            priority, _, queue = min(ranks)
            _, _, size, duration = waiting[queue].pop(0)
            free = cycle + duration
            grants.append((queue, numbers[queue], cycle, free))
            numbers[queue] += 1
            next_queue[priority] = (queue + 1) % DMA_QUEUES
            tokens[classes[queue]] -= TOKENS_PER_BYTE * size
    return grants
