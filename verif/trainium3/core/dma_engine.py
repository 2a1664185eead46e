"""Moves in the queues of a DMA engine, and the memories at its ends."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from bitpath.golden.trainium3 import Grant, QueueConfig, QueuedDescriptor, TrafficClass, dma_schedule
from bitpath.golden.trainium3.declarations.dma import TRAFFIC_CLASSES, TRAINIUM3_DMA
from bitpath.rtl.trainium3.core.config import DmaEngineConfig
from bitpath.rtl.trainium3.core.dma_engine import queues_config
from bitpath.verif.kit.unit_bench import Bench, resolved
from bitpath.verif.trainium3.dma.dma_mover import Memories, Move
from bitpath.verif.trainium3.dma.dma_queues import LEAD, Feeder, Schedule


@dataclass(frozen=True)
class QueuedMove:
    """A move that enters a queue at a cycle."""

    queue: int
    arrival: int
    move: Move


def grants(config: DmaEngineConfig, schedule: Schedule, moves: Sequence[QueuedMove]) -> list[tuple[Grant, Move]]:
    """Return golden's grants of moves in the queues and classes of a schedule, at the pace of the mover."""
    waiting = [QueuedDescriptor(queue=each.queue, arrival=each.arrival, bytes=each.move.size) for each in moves]
    pace = {"beat_bytes": config.mover.beat_bytes, "descriptor_cycles": config.mover.descriptor_cycles}
    times = replace(TRAINIUM3_DMA.numerics, **pace)
    queues: dict[int, list[Move]] = {}
    for each in moves:
        queues.setdefault(each.queue, []).append(each.move)
    granted = dma_schedule(schedule.queues, schedule.classes, waiting, times=times)
    return [(each, queues[each.queue][each.number]) for each in granted]


class Host:
    """Feeds moves to an engine, and has the memories at its ends; parameters as of `Memories`."""

    def __init__(
        self,
        frame: Bench,
        config: DmaEngineConfig,
        rng: Random,
        gap: float = 0.0,
        stall: float = 0.0,
        *,
        compares: bool = True,
    ):
        self.frame, self.config = frame, config
        self.feeder = Feeder(frame, queues_config(config), rng)
        self.memories = Memories(frame, config.mover, self._takes, rng, gap, stall, compares=compares)
        self.queues: list[int] = []
        self._since, self._zero = 0, 0

    @property
    def granted(self) -> list[tuple[int, int]]:
        """Queue and cycle of the grants since `start`."""
        return list(zip(self.queues, (each - self._zero for each in self.memories.taken[self._since :]), strict=True))

    def start(self, schedule: Schedule, moves: Sequence[QueuedMove]) -> None:
        """Set queues and classes, and start to feed moves; to be called behind a reset."""
        self.feeder.settle(
            [each.priority for each in schedule.queues],
            [each.traffic_class for each in schedule.queues],
            [each.rate256 for each in schedule.classes],
            [each.burst for each in schedule.classes],
        )
        self.feeder.feed([(each.queue, each.arrival, each.move.payload(self.config.mover)) for each in moves])
        self.queues.clear()
        self._since, self._zero = len(self.memories.taken), self.frame.elapsed + LEAD

    async def reset(self) -> None:
        """Reset the engine, and forget all waiting work and all work in flight."""
        self.memories.answers = False
        self.memories.drop()
        await self.feeder.reset()
        self.memories.answers = True

    def _takes(self) -> int:
        granted = resolved(self.frame.dut.granted)
        if granted:
            self.queues.append(resolved(self.frame.dut.granted_queue))
        return granted


# Loads of one move, in a small memory of its own.


@dataclass(frozen=True, eq=False)
class Load:
    """Load of one DMA engine: ``source`` and the words of ``target`` are its memories.

    Nothing writes from byte ``used`` of the target on.
    """

    schedule: Schedule
    moves: tuple[QueuedMove, ...]
    source: bytes
    target: tuple[bytes, ...]
    used: int

    def end(self, grants: Sequence[tuple[int, int]], config: DmaEngineConfig) -> int:
        """Return the cycle in which the mover could take a descriptor behind the last of these grants, (queue, cycle)."""
        queue, cycle = max(grants, key=lambda each: each[1])
        last = [each.move for each in self.moves if each.queue == queue][-1]
        return cycle + last.cycles(config.mover)


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
        source=source.ljust(room, b"\0"),
        target=_words(target.ljust(room, b"\0"), beat),
        used=used,
    )


def _words(memory: bytes, beat: int) -> tuple[bytes, ...]:
    return tuple(memory[at : at + beat] for at in range(0, len(memory), beat))
