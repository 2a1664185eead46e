"""Moves of a core's DMA engines as loads for their RTL: each run of bytes at a place of its own in a small memory.

A place keeps the byte in its beat, on which the aligners of both ends depend.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bitpath.golden.arrays.codec import format_of
from bitpath.golden.trainium3 import QueueConfig, TrafficClass
from bitpath.golden.trainium3.core.program import Move as Moved
from bitpath.golden.trainium3.core.program import Transfer
from bitpath.golden.trainium3.declarations.dma import DMA_ENGINES, TRAFFIC_CLASSES
from bitpath.golden.trainium3.dma.descriptors import descriptors
from bitpath.rtl.trainium3.core.config import DmaEngineConfig
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.verif.trainium3.core.dma_engine import QueuedMove
from bitpath.verif.trainium3.dma.dma_mover import COPY, Move
from bitpath.verif.trainium3.dma.schedules import Schedule

ADDS = {2: WriteMode.ADD_BF16, 4: WriteMode.ADD_FP32}
"""How a read-add-write adds elements of so many bytes."""


@dataclass(frozen=True, eq=False)
class Images:
    """Raw bytes of a transfer's elements: of its source, and of its destination before and after."""

    source: bytes
    before: bytes
    after: bytes


@dataclass(frozen=True, eq=False)
class Load:
    """What one DMA engine moves: ``source`` and the words of ``target`` are its memories, ``expected`` the target after.

    Nothing writes from byte ``used`` of the target on.
    """

    schedule: Schedule
    moves: tuple[QueuedMove, ...]
    grants: tuple[tuple[int, int], ...]
    source: bytes
    target: tuple[bytes, ...]
    expected: bytes
    used: int

    def end(self, grants: Sequence[tuple[int, int]], config: DmaEngineConfig) -> int:
        """Return the cycle in which the mover could take a descriptor behind the last of these grants, (queue, cycle)."""
        queue, cycle = max(grants, key=lambda each: each[1])
        last = [each.move for each in self.moves if each.queue == queue][-1]
        return cycle + last.cycles(config.mover)


def dma_loads(
    config: DmaEngineConfig,
    schedule: Schedule,
    transfers: Mapping[str, Transfer],
    moved: Sequence[Moved],
    images: Mapping[str, Images],
) -> list[Load]:
    """Return the load of each engine; arrivals and grants count from its first arrival on.

    Parameters
    ----------
    schedule : queues and classes of each engine.
    moved, images : the core's moves, and the bytes of its transfers.
    """
    firsts = {name: _first_elements(transfer) for name, transfer in transfers.items()}
    return [
        _load(config, schedule, transfers, [each for each in moved if each.descriptor.engine == number], firsts, images)
        for number in range(DMA_ENGINES)
    ]


def single_load(config: DmaEngineConfig, source: bytes, move: Move, target: bytes = b"") -> Load:
    """Return the load of one move from byte 0 to byte 0, which any queue may grant at any time; the target begins with bytes."""
    room, beat = 1 << config.mover.address_bits, config.mover.beat_bytes
    used = move.count * move.sizes[1]
    if max(len(source), used) > room:
        raise ValueError(f"a DMA engine moves {max(len(source), used)} bytes, its memories here hold {room}")
    schedule = Schedule((QueueConfig(),) * config.queues, (TrafficClass(),) * TRAFFIC_CLASSES, ())
    return Load(
        schedule=schedule,
        moves=(QueuedMove(0, 0, move),),
        grants=(),
        source=source.ljust(room, b"\0"),
        target=_words(target.ljust(room, b"\0"), beat),
        expected=b"",
        used=used,
    )


def _first_elements(transfer: Transfer) -> dict[tuple[int, int], int]:
    """Return the number of the first element of each descriptor, by its addresses."""
    width = max(each.pattern.dtype.itemsize for each in (transfer.source, transfer.destination))
    found, first = {}, 0
    for each in descriptors(transfer.destination.pattern, transfer.source.pattern):
        found[each.source, each.destination] = first
        first += each.bytes // width
    return found


def _load(
    config: DmaEngineConfig,
    schedule: Schedule,
    transfers: Mapping[str, Transfer],
    moved: Sequence[Moved],
    firsts: Mapping[str, Mapping[tuple[int, int], int]],
    images: Mapping[str, Images],
) -> Load:
    beat = config.mover.beat_bytes
    room = 1 << config.mover.address_bits
    source, target, expected = (bytearray(room) for _ in range(3))
    zero = min(each.arrival for each in moved)
    # Moves of a queue in the order of their grants, which is that of the queue.
    moves: dict[int, list[QueuedMove]] = {}
    ends = [0, 0]
    for each in moved:
        transfer, descriptor = transfers[each.transfer], each.descriptor
        sizes = [side.pattern.dtype.itemsize for side in (transfer.source, transfer.destination)]
        count, first = descriptor.bytes // max(sizes), firsts[each.transfer][descriptor.source, descriptor.destination]
        image, places = images[each.transfer], []
        for side, address in enumerate((descriptor.source, descriptor.destination)):
            place = -(-ends[side] // beat) * beat + address % beat
            places.append(place)
            ends[side] = place + count * sizes[side]
        for memory, raw, end in ((source, image.source, 0), (target, image.before, 1), (expected, image.after, 1)):
            size = sizes[end]
            memory[places[end] : places[end] + count * size] = raw[first * size : (first + count) * size]
        pair = COPY
        if transfer.casts:
            pair = tuple(format_of(side.pattern.dtype).name.lower() for side in (transfer.source, transfer.destination))
        elements = count if transfer.casts or transfer.add else descriptor.bytes
        if transfer.add:
            name = format_of(transfer.source.pattern.dtype).name.lower()
            pair = (name, name)
        mode = ADDS[sizes[1]] if transfer.add else WriteMode.STORE
        move = Move(*places, elements, pair, mode)
        moves.setdefault(each.queue, []).append(QueuedMove(each.queue, each.arrival - zero, move))
    if max(ends) > room:
        raise ValueError(f"a DMA engine moves {max(ends)} bytes, its memories here hold {room}")
    return Load(
        schedule=schedule,
        moves=tuple(move for own in moves.values() for move in own),
        grants=tuple((each.queue, each.grant - zero) for each in moved),
        source=bytes(source),
        target=_words(bytes(target), beat),
        expected=bytes(expected),
        used=ends[1],
    )


def _words(memory: bytes, beat: int) -> tuple[bytes, ...]:
    return tuple(memory[at : at + beat] for at in range(0, len(memory), beat))
