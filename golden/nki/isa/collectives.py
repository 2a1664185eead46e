"""``nki.collectives``: what the ranks of a launch exchange, reduced or moved bit for bit.

All cores that take part meet, and the last one moves the data of all, so that the result does not depend on the threads. Both
cores of a rank meet for tensors in shared HBM, which they share; for tensors of their own, core k meets with core k of the other ranks.
A priority is checked as that of a DMA, and has no effect on the time.

Ref: ``nki.collectives`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08-21).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.declarations.errors import invalid
from bitpath.golden.nki.isa.dma import queue_of
from bitpath.golden.nki.isa.enums import operator_name
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.core import NeuronCore, present_core
from bitpath.golden.nki.machine.issue import Issue, instruction
from bitpath.golden.nki.machine.timeline import DMA_ENGINES
from bitpath.golden.nki.memory.dtypes import INTEGERS, is_float
from bitpath.golden.nki.memory.storage import VirtualRegister
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.dma import CHIP_CORES

__all__ = [
    "ReplicaGroup",
    "all_gather",
    "all_gather_v",
    "all_reduce",
    "all_to_all",
    "all_to_all_v",
    "collective_permute",
    "collective_permute_implicit",
    "collective_permute_implicit_current_processing_rank_id",
    "collective_permute_implicit_reduce",
    "rank_id",
    "reduce_scatter",
]
HBM = ("private_hbm", "shared_hbm")
ON_CHIP = ("sbuf",)
MOST_CHANNELS = 4
"""Channels of an implicit permute, in a group of all devices of a node."""
GATHER_RANKS = 4
"""Ranks of a group of all_gather_v."""
SEND_COUNT, SEND_DISPL, RECV_COUNT, RECV_DISPL = range(4)
"""Rows of a metadata tensor."""


# Ranks, and the groups that take part in a collective.


class ReplicaGroup:
    """Groups of ranks, such as ``[[0, 1], [2, 3]]``; each rank takes part in its own group."""

    def __init__(self, groups: Iterable[Sequence[int]]):
        try:
            self.groups = tuple(tuple(map(int, group)) for group in groups)
        except (TypeError, ValueError):
            raise invalid(f"a ReplicaGroup must be lists of ranks, as [[0, 1], [2, 3]], not {groups!r}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplicaGroup) and self.groups == other.groups

    __hash__ = object.__hash__


def rank_id(name: str | None = None) -> VirtualRegister:
    """Return a register with the number of this rank."""
    return VirtualRegister(present_core().machine.rank)


def collective_permute_implicit_current_processing_rank_id(
    iteration_id: int, replica_group: ReplicaGroup, channel_id: int = 0, name: str | None = None
) -> VirtualRegister:
    """Return a register with the rank whose data is here after that many permutes: each goes one place back in the group."""
    machine = present_core().machine
    if not 0 <= int(channel_id) < MOST_CHANNELS:
        raise invalid(f"channel_id must be 0 to {MOST_CHANNELS - 1}, not {channel_id}")
    group = _own_group(replica_group, machine.rank, machine.ranks)
    return VirtualRegister(group[(group.index(machine.rank) - int(iteration_id)) % len(group)])


def _own_group(replica_group: ReplicaGroup, rank: int, ranks: int) -> tuple[int, ...]:
    if not isinstance(replica_group, ReplicaGroup):
        raise invalid(f"replica_group must be a ReplicaGroup, not {type(replica_group).__name__}")
    groups = replica_group.groups
    shown = [list(group) for group in groups]
    listed = [each for group in groups for each in group]
    if len(set(listed)) < len(listed):
        raise invalid(f"replica_group must have each rank once, not {shown}")
    if any(not 0 <= each < ranks for each in listed):
        raise invalid(f"replica_group must have ranks below the launch's {ranks}, not {shown}")
    found = [group for group in groups if rank in group]
    if not found:
        raise invalid(f"replica_group must have a group with rank {rank}, not {shown}")
    return found[0]


# The meeting of a collective: tensors of all ranks, and the last core that moves their data.


@dataclass(frozen=True, eq=False)
class _Part:
    """A rank's operands: sources and destinations, and its core."""

    core: NeuronCore
    srcs: Sequence[NkiTensor]
    dsts: Sequence[NkiTensor]


def _meet(
    issue: Issue,
    ranks: tuple[int, ...],
    what: tuple,
    srcs: Sequence[NkiTensor],
    dsts: Sequence[NkiTensor],
    move: Callable[[list[_Part]], None],
    *,
    computes: bool = False,
) -> None:
    """Let the last core of some ranks move the data of all; record the rank's own accesses and its time."""
    core = issue.core
    size = core.machine.size
    shared = size > 1 and any(each.allocation.buffer == "shared_hbm" for each in (*srcs, *dsts))
    places = range(size) if shared else (core.place,)
    cores = tuple(sorted(rank * size + place for rank in ranks for place in places))

    def work(parts: dict[int, _Part]) -> list[_Part]:
        own = [parts[rank * size + places[0]] for rank in ranks]
        for each in own if shared else ():
            each.core.machine.barriers += 1
        move(own)
        for each in own if shared else ():
            each.core.machine.barriers += 1
        return own

    given = _Part(core, srcs, dsts)
    parts = issue.join(cores, (issue.opcode, *what), given, work) if len(cores) > 1 else work({core.number: given})
    for each in srcs:
        issue.reads(
            each, *(other.box() for part in parts if part.core.machine is not core.machine for other in part.srcs)
        )
    for each in dsts:
        issue.writes(each)
    moved = max(sum(each.size * each.itemsize for each in some) for some in (srcs, dsts))
    loads = dict.fromkeys(range(DMA_ENGINES), -(-moved // DMA_ENGINES))
    issue.transfer(loads, factor=1 + computes)


def _operands(
    issue: Issue, memories: Sequence[str], most: int | None = None, **lists: Sequence[NkiTensor]
) -> list[list[NkiTensor]]:
    """Return lists of equally many tensors: of one dtype at each place, all in HBM or all in SBUF, there only one."""
    count = len(next(iter(lists.values())))
    for name, tensors in lists.items():
        if not isinstance(tensors, list | tuple) or not tensors:
            raise issue.fail(f"{name}: must be a list of tensors, not {tensors!r}")
        if len(tensors) != count or (most is not None and count > most):
            allowed = f"{most} tensor" if most is not None else f"{count} tensors, as the other list"
            raise issue.fail(f"{name}: must have {allowed}, not {len(tensors)}")
        for number, each in enumerate(tensors):
            issue.check(f"{name}[{number}]", each, memories, starts=False)
            issue.check_direct(f"{name}[{number}]", each)
    tensors = [each for some in lists.values() for each in some]
    if len({each.on_chip for each in tensors}) > 1:
        raise issue.fail("tensors: must all be in HBM or all in SBUF")
    if tensors[0].on_chip and count > 1:
        raise issue.fail(f"{next(iter(lists))}: must have 1 tensor in SBUF, not {count}")
    for name, some in lists.items():
        for each, first in zip(some, next(iter(lists.values())), strict=True):
            if each.dtype != first.dtype:
                raise issue.fail(f"{name}: dtype must be {first.dtype}, not {each.dtype}")
    return [list(some) for some in lists.values()]


def _check_shape(issue: Issue, name: str, tensor: NkiTensor, shape: Sequence[int]) -> None:
    if tensor.shape != tuple(shape):
        raise issue.fail(f"{name}: must have shape {tuple(shape)}, not {tensor.shape}")


def _check_ranks(issue: Issue, parts: Sequence[_Part]) -> None:
    """Raise unless the tensors of all ranks have the same shapes and dtypes."""
    shapes = [[(each.shape, each.dtype) for each in (*part.srcs, *part.dsts)] for part in parts]
    for part, own in zip(parts, shapes, strict=True):
        if own != shapes[0]:
            ranks = part.core.machine.rank, parts[0].core.machine.rank
            raise issue.fail(f"rank {ranks[0]} must have the tensors of rank {ranks[1]}, {shapes[0]}, not {own}")


def _dimension(issue: Issue, collective_dim: int, tensor: NkiTensor, most: int) -> int:
    """Return a collective's dimension: 0 in HBM, 0 to ``most`` in SBUF, where tensors have two."""
    if tensor.on_chip and tensor.ndim != 2:
        raise issue.fail(f"srcs: must have 2 dimensions in SBUF, not shape {tensor.shape}")
    allowed = range(most + 1 if tensor.on_chip else 1)
    if collective_dim not in allowed:
        raise issue.fail(f"collective_dim: must be {' or '.join(map(str, allowed))}, not {collective_dim}")
    return int(collective_dim)


def _scaled(shape: Sequence[int], dim: int, count: int) -> tuple[int, ...]:
    return tuple(num * count if each == dim else num for each, num in enumerate(shape))


# Reductions: all_reduce and reduce_scatter. The arithmetic is that of `bitpath.golden.trainium3.reduce_ranks`.


def _reduction(
    issue: Issue, op: Any, srcs: Sequence[NkiTensor]
) -> Callable[[Sequence[NkiTensor], Sequence[_Part]], np.ndarray]:
    """Return a function that reduces a tensor of each part."""
    name = operator_name(issue, "op", op)
    if name not in ("add", "min", "max"):
        raise issue.fail(f"op: must be nl.add, nl.minimum or nl.maximum, not {name}")
    for each in srcs:
        if not is_float(each.dtype) and each.dtype not in INTEGERS:
            raise issue.fail(f"srcs: dtype must be of numbers, not {each.dtype}")
    machine = issue.core.machine
    algorithm = machine.options.collectives
    if name == "add":
        issue.uses(f"collective.{algorithm.value}")

    def reduce(tensors: Sequence[NkiTensor], parts: Sequence[_Part]) -> np.ndarray:
        return trainium3.reduce_ranks(
            [access.load(part.core, each) for part, each in zip(parts, tensors, strict=True)],
            name,
            algorithm=algorithm,
            chip=CHIP_CORES // machine.size,
            ranks=[part.core.machine.rank for part in parts],
            source="tf32" if tensors[0].dtype == "tfloat32" else None,
        )

    return reduce


@instruction
def all_reduce(
    issue: Issue,
    srcs: Sequence[NkiTensor],
    dsts: Sequence[NkiTensor],
    replica_group: ReplicaGroup,
    op: Any,
    priority: int | None = None,
) -> None:
    """Reduce the tensors of all ranks of a group; each rank gets all of the result."""
    queue_of(issue, priority)
    srcs, dsts = _operands(issue, HBM + ON_CHIP, srcs=srcs, dsts=dsts)
    for src, dst in zip(srcs, dsts, strict=True):
        _check_shape(issue, "dsts", dst, src.shape)
    reduce = _reduction(issue, op, srcs)

    def move(parts: list[_Part]) -> None:
        _check_ranks(issue, parts)
        for number in range(len(srcs)):
            result = reduce([part.srcs[number] for part in parts], parts)
            for part in parts:
                access.store(part.core, part.dsts[number], result)

    group = _group(issue, replica_group)
    _meet(issue, group, (group, operator_name(issue, "op", op)), srcs, dsts, move, computes=True)


@instruction
def reduce_scatter(
    issue: Issue,
    srcs: Sequence[NkiTensor],
    dsts: Sequence[NkiTensor],
    replica_group: ReplicaGroup,
    collective_dim: int,
    op: Any,
    priority: int | None = None,
) -> None:
    """Reduce the tensors of all ranks of a group; the rank at place k gets part k of the result's dimension 0."""
    queue_of(issue, priority)
    srcs, dsts = _operands(issue, HBM + ON_CHIP, srcs=srcs, dsts=dsts)
    group = _group(issue, replica_group)
    for src, dst in zip(srcs, dsts, strict=True):
        dim = _dimension(issue, collective_dim, src, 0)
        _check_shape(issue, "srcs", src, _scaled(dst.shape, dim, len(group)))
    reduce = _reduction(issue, op, srcs)

    def move(parts: list[_Part]) -> None:
        _check_ranks(issue, parts)
        for number in range(len(srcs)):
            result = reduce([part.srcs[number] for part in parts], parts)
            for part, chunk in zip(parts, np.split(result, len(parts)), strict=True):
                access.store(part.core, part.dsts[number], chunk)

    _meet(issue, group, (group, operator_name(issue, "op", op)), srcs, dsts, move, computes=True)


def _group(issue: Issue, replica_group: ReplicaGroup) -> tuple[int, ...]:
    """Return the ranks of this rank's group."""
    machine = issue.core.machine
    try:
        return _own_group(replica_group, machine.rank, machine.ranks)
    except ValueError as error:
        raise type(error)(f"{issue.opcode} {error}") from None


# Moves: all_gather, all_to_all and the permutes.


@instruction
def all_gather(
    issue: Issue,
    srcs: Sequence[NkiTensor],
    dsts: Sequence[NkiTensor],
    replica_group: ReplicaGroup,
    collective_dim: int,
    priority: int | None = None,
) -> None:
    """Give each rank the tensors of all ranks of a group, one behind the other, in the group's order."""
    queue_of(issue, priority)
    srcs, dsts = _operands(issue, HBM + ON_CHIP, srcs=srcs, dsts=dsts)
    group = _group(issue, replica_group)
    dim = _dimension(issue, collective_dim, srcs[0], 1)
    for src, dst in zip(srcs, dsts, strict=True):
        _check_shape(issue, "dsts", dst, _scaled(src.shape, dim, len(group)))

    def move(parts: list[_Part]) -> None:
        _check_ranks(issue, parts)
        for number in range(len(srcs)):
            sent = [access.sent(part.core, part.srcs[number]) for part in parts]
            data, written = (np.concatenate(each, axis=dim) for each in zip(*sent, strict=True))
            for part in parts:
                access.received(part.core, part.dsts[number], data, written)

    _meet(issue, group, (group, dim), srcs, dsts, move)


@instruction
def all_to_all(
    issue: Issue,
    srcs: Sequence[NkiTensor],
    dsts: Sequence[NkiTensor],
    replica_group: ReplicaGroup,
    collective_dim: int,
    priority: int | None = None,
) -> None:
    """Send part r of a tensor's dimension 0 to the group's rank at place r, which puts it at the sender's place."""
    queue_of(issue, priority)
    srcs, dsts = _operands(issue, HBM, srcs=srcs, dsts=dsts)
    group = _group(issue, replica_group)
    for src, dst in zip(srcs, dsts, strict=True):
        _dimension(issue, collective_dim, src, 0)
        _check_shape(issue, "dsts", dst, src.shape)
        if src.shape[0] % len(group):
            raise issue.fail(
                f"srcs: dimension 0 must be a multiple of the group's {len(group)} ranks, not {src.shape[0]}"
            )

    def move(parts: list[_Part]) -> None:
        _check_ranks(issue, parts)
        for number in range(len(srcs)):
            sent = [access.sent(part.core, part.srcs[number]) for part in parts]
            chunks = [[np.split(each, len(parts)) for each in bits] for bits in sent]
            for place, part in enumerate(parts):
                data, written = (np.concatenate([each[kind][place] for each in chunks]) for kind in range(2))
                access.received(part.core, part.dsts[number], data, written)

    _meet(issue, group, (group,), srcs, dsts, move)


@instruction
def collective_permute(
    issue: Issue,
    srcs: Sequence[NkiTensor],
    dsts: Sequence[NkiTensor],
    source_target_pairs: Sequence[tuple[int, int]],
    priority: int | None = None,
) -> None:
    """Send a tensor from the source to the target of each pair; a rank that is no target keeps its destination."""
    queue_of(issue, priority)
    srcs, dsts = _operands(issue, HBM, 1, srcs=srcs, dsts=dsts)
    _check_shape(issue, "dsts", dsts[0], srcs[0].shape)
    pairs = tuple((int(source), int(target)) for source, target in source_target_pairs)
    machine = issue.core.machine
    for side in zip(*pairs, strict=True):
        if len(set(side)) < len(side) or not all(0 <= each < machine.ranks for each in side):
            shown = [*map(list, pairs)]
            raise issue.fail(
                f"source_target_pairs: sources and targets must be different ranks below {machine.ranks}, not {shown}"
            )
    ranks = tuple(sorted({each for pair in pairs for each in pair}))
    if machine.rank not in ranks:
        return

    def move(parts: list[_Part]) -> None:
        _check_ranks(issue, parts)
        of = {part.core.machine.rank: part for part in parts}
        sent = {source: access.sent(of[source].core, of[source].srcs[0]) for source, _ in pairs}
        for source, target in pairs:
            access.received(of[target].core, of[target].dsts[0], *sent[source])

    _meet(issue, ranks, (pairs,), srcs, dsts, move)


def _channels(
    issue: Issue, channel_ids: Sequence[int], **lists: Sequence[Sequence[NkiTensor]]
) -> list[list[NkiTensor]]:
    """Return the one tensor of each channel, for each list."""
    ids = list(channel_ids) if isinstance(channel_ids, Sequence) else []
    if ids != [*range(len(ids))] or not 1 <= len(ids) <= MOST_CHANNELS:
        raise issue.fail(f"channel_ids: must be 1 to {MOST_CHANNELS} numbers from 0 on, not {channel_ids}")
    for name, channels in lists.items():
        if len(channels) != len(ids):
            raise issue.fail(f"{name}: must have {len(ids)} channels, not {len(channels)}")
    rows = [
        [some[0] for some in _operands(issue, HBM + ON_CHIP, 1, **{name: each[k] for name, each in lists.items()})]
        for k in ids
    ]
    for row in rows:
        for name, each in zip(lists, row, strict=True):
            _check_shape(issue, name, each, row[0].shape)
    return [*map(list, zip(*rows, strict=True))]


@instruction
def collective_permute_implicit(
    issue: Issue,
    srcs_by_channel: Sequence[Sequence[NkiTensor]],
    dsts_by_channel: Sequence[Sequence[NkiTensor]],
    replica_group: ReplicaGroup,
    channel_ids: Sequence[int] = (0,),
    priority: int | None = None,
) -> None:
    """Send a tensor of each channel to the next rank of the group, and receive the previous one's."""
    queue_of(issue, priority)
    srcs, dsts = _channels(issue, channel_ids, srcs_by_channel=srcs_by_channel, dsts_by_channel=dsts_by_channel)

    def move(parts: list[_Part]) -> None:
        _check_ranks(issue, parts)
        sent = [[access.sent(part.core, each) for each in part.srcs] for part in parts]
        for place, part in enumerate(parts):
            for dst, bits in zip(part.dsts, sent[place - 1], strict=True):
                access.received(part.core, dst, *bits)

    issue.uses("collective.ring_order")
    group = _group(issue, replica_group)
    _meet(issue, group, (group,), srcs, dsts, move)


@instruction
def collective_permute_implicit_reduce(
    issue: Issue,
    srcs0_by_channel: Sequence[Sequence[NkiTensor]],
    srcs1_by_channel: Sequence[Sequence[NkiTensor]],
    dsts_by_channel: Sequence[Sequence[NkiTensor]],
    replica_group: ReplicaGroup,
    op: Any,
    channel_ids: Sequence[int] = (0,),
    priority: int | None = None,
) -> None:
    """Reduce two tensors of each channel, send the result to the next rank of the group, and receive the previous one's."""
    queue_of(issue, priority)
    lists = {
        "srcs0_by_channel": srcs0_by_channel,
        "srcs1_by_channel": srcs1_by_channel,
        "dsts_by_channel": dsts_by_channel,
    }
    left, right, dsts = _channels(issue, channel_ids, **lists)
    reduce = _reduction(issue, op, left)
    count = len(left)

    def move(parts: list[_Part]) -> None:
        _check_ranks(issue, parts)
        sent = [[reduce([part.srcs[k], part.srcs[count + k]], [part, part]) for k in range(count)] for part in parts]
        for place, part in enumerate(parts):
            for dst, values in zip(part.dsts, sent[place - 1], strict=True):
                access.store(part.core, dst, values)

    issue.uses("collective.ring_order")
    group = _group(issue, replica_group)
    _meet(issue, group, (group, operator_name(issue, "op", op)), [*left, *right], dsts, move, computes=True)


# Collectives with counts that a metadata tensor holds: tensors are flat lists of elements.


@instruction
def all_gather_v(
    issue: Issue,
    srcs: Sequence[NkiTensor],
    dsts: Sequence[NkiTensor],
    replica_group: ReplicaGroup,
    metadata_tensor: NkiTensor,
    recv_counts_known: bool = False,
    has_rdispls: bool = False,
    priority: int | None = None,
) -> None:
    """Send one chunk to every rank of the group, of a length that the metadata has; two cores a rank, four ranks."""
    group = _group(issue, replica_group)
    if has_rdispls:
        raise issue.fail("has_rdispls: must be False")
    if len(group) != GATHER_RANKS:
        raise issue.fail(f"replica_group: must have groups of {GATHER_RANKS} ranks, not {len(group)}")
    _variable(issue, group, srcs, dsts, metadata_tensor, recv_counts_known, has_rdispls, priority)


@instruction
def all_to_all_v(
    issue: Issue,
    srcs: Sequence[NkiTensor],
    dsts: Sequence[NkiTensor],
    replica_group: ReplicaGroup,
    metadata_tensor: NkiTensor,
    recv_counts_known: bool = False,
    has_rdispls: bool = False,
    priority: int | None = None,
) -> None:
    """Send a chunk to each rank of the group, of lengths that the metadata has; two cores a rank, all ranks of several chips."""
    issue.needs_gen4()
    group = _group(issue, replica_group)
    chip = CHIP_CORES // 2
    first, count = group[0], len(group)
    if count <= chip or count % chip or first % chip or group != tuple(range(first, first + count)):
        raise issue.fail(f"replica_group: must have groups of all {chip} ranks of several chips, not {[*group]}")
    _variable(issue, group, srcs, dsts, metadata_tensor, recv_counts_known, has_rdispls, priority)


def _variable(
    issue: Issue,
    group: tuple[int, ...],
    srcs: Sequence[NkiTensor],
    dsts: Sequence[NkiTensor],
    metadata: NkiTensor,
    recv_counts_known: bool,
    has_rdispls: bool,
    priority: int | None,
) -> None:
    """Exchange chunks: those of a rank are in the metadata's column of the receiver, or all in the first column."""
    queue_of(issue, priority)
    if issue.core.machine.size != 2:
        raise issue.fail("needs a launch of two cores for each rank")
    srcs, dsts = _operands(issue, HBM, 1, srcs=srcs, dsts=dsts)
    issue.check("metadata_tensor", metadata, HBM + ON_CHIP, ("uint32",), starts=False)
    leading = (1,) if metadata.on_chip else ()
    if metadata.shape not in [(*leading, rows, len(group)) for rows in ((4,) if has_rdispls else (3, 4))]:
        rows = 4 if has_rdispls else 3
        raise issue.fail(f"metadata_tensor: must have shape {(*leading, rows, len(group))}, not {metadata.shape}")
    one = issue.opcode == "all_gather_v"

    def row(part: _Part, number: int) -> NkiTensor:
        return part.srcs[1][0, number] if metadata.on_chip else part.srcs[1][number]

    def counts(part: _Part, number: int) -> list[int]:
        return [int(each) for each in access.load(part.core, row(part, number)).reshape(-1)]

    def move(parts: list[_Part]) -> None:
        sent = [
            [each.reshape(-1, part.srcs[0].itemsize) for each in access.sent(part.core, part.srcs[0])] for part in parts
        ]
        sizes, starts = ([counts(part, number) for part in parts] for number in (SEND_COUNT, SEND_DISPL))
        for place, part in enumerate(parts):
            dst = part.dsts[0]
            slot = dst.size // len(parts)
            places = counts(part, RECV_DISPL) if has_rdispls else [slot * each for each in range(len(parts))]
            kept = [each.reshape(-1, dst.itemsize) for each in access.sent(part.core, dst)]
            received = []
            for sender, bits in enumerate(sent):
                column = 0 if one else place
                size, start = sizes[sender][column], starts[sender][column]
                most = dst.size - places[sender] if has_rdispls else slot
                if start + size > len(bits[0]) or size > most:
                    raise issue.fail(
                        f"metadata_tensor: rank {group[sender]} sends {size} elements from {start} on of"
                        f" {len(bits[0])} to rank {group[place]}, which has room for {most}"
                    )
                for to, values in zip(kept, bits, strict=True):
                    to[places[sender] : places[sender] + size] = values[start : start + size]
                received.append(size)
            access.received(part.core, dst, *kept)
            if not recv_counts_known:
                access.store(part.core, row(part, RECV_COUNT), np.array(received, np.uint32))

    what = group, bool(recv_counts_known), bool(has_rdispls)
    _meet(issue, group, what, [*srcs, metadata], dsts, move)
