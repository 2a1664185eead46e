"""Queues of one DMA engine: strict priorities, round robin among equals, and a bucket of tokens for each traffic class.

The engine serves one descriptor at a time. In the cycle in which it is free, a queue is eligible if its head descriptor has
arrived and its class has more than 0 tokens; of the eligible the lowest priority number is served, among equals the next
queue number behind the one served last at that priority. Identical to `bitpath.golden.trainium3.exact.dma`,
which steps through every cycle; here time jumps to the next cycle in which a queue can become eligible.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bitpath.golden.arrays.arguments import check_length, checked, integer, numerics_of
from bitpath.golden.trainium3.declarations.dma import (
    DMA_QUEUES,
    MAX_BURST,
    MAX_DESCRIPTOR_BYTES,
    MAX_RATE,
    PRIORITIES,
    TOKENS_PER_BYTE,
    TRAFFIC_CLASSES,
    TRAINIUM3_DMA,
    DmaTimes,
)

# Time of a DMA descriptor, in cycles of the DMA engines' clock.


@checked
def descriptor_cycles(size: int, *, computes: bool = False, times: DmaTimes | None = None) -> int:
    """Return the cycles of a descriptor: ``max(90, ceil(ceil(size / 32) * 64 / 55))``, twice that if it computes.

    Parameters
    ----------
    size : bytes, 1 to 65,536.
    computes : True for `dma_compute`, `dma_scatter_add` and `dma_gather_add`; a read-add-write is a copy.
    times : `TRAINIUM3_DMA` by default.

    Raises
    ------
    ValueError : another size.
    """
    times = numerics_of(times, TRAINIUM3_DMA)
    integer("size", size, range(1, MAX_DESCRIPTOR_BYTES + 1))
    beats = -(-size // times.beat_bytes)
    cycles = max(times.descriptor_cycles, -(-beats * times.beat_price // times.beat_gain))
    return cycles * times.compute_factor if computes else cycles


@checked
@dataclass(frozen=True, kw_only=True)
class QueueConfig:
    """Priority of a queue, 0 to 3, the lower one served first, and its traffic class, 0 to 3."""

    priority: int = PRIORITIES - 1
    traffic_class: int = 0

    def __post_init__(self) -> None:
        integer("priority", self.priority, range(PRIORITIES))
        integer("traffic_class", self.traffic_class, range(TRAFFIC_CLASSES))


@checked
@dataclass(frozen=True, kw_only=True)
class TrafficClass:
    """Rate of a class in 1/256 byte a cycle, None for unlimited, and burst in bytes, which an unlimited class ignores."""

    rate256: int | None = None
    burst: int = 0

    def __post_init__(self) -> None:
        if self.rate256 is not None:
            integer("rate256", self.rate256, range(MAX_RATE + 1))
        integer("burst", self.burst, range(MAX_BURST + 1))


@checked
@dataclass(frozen=True, kw_only=True)
class QueuedDescriptor:
    """A descriptor of `bytes` bytes that enters a queue at a cycle; one that computes takes twice the time."""

    queue: int
    arrival: int
    bytes: int
    computes: bool = False

    def __post_init__(self) -> None:
        integer("queue", self.queue, range(DMA_QUEUES))
        integer("bytes", self.bytes, range(1, MAX_DESCRIPTOR_BYTES + 1))
        if integer("arrival", self.arrival) < 0:
            raise ValueError(f"arrival must be 0 or more, not {self.arrival}")


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Descriptor `number` of a queue, served from cycle `grant` on; the engine is free in cycle `end`."""

    queue: int
    number: int
    grant: int
    end: int


DEFAULT_QUEUES = (QueueConfig(),) * DMA_QUEUES
DEFAULT_CLASSES = (TrafficClass(),) * TRAFFIC_CLASSES


@checked
def dma_schedule(
    queues: Sequence[QueueConfig],
    classes: Sequence[TrafficClass],
    descriptors: Sequence[QueuedDescriptor],
    *,
    times: DmaTimes | None = None,
) -> tuple[Grant, ...]:
    """Return the grants of an engine in their order.

    Parameters
    ----------
    queues : 16 configurations, by queue number.
    classes : 4 traffic classes, by number.
    descriptors : those of one queue in the order in which it serves them.
    times : `TRAINIUM3_DMA` by default.

    Returns
    -------
    A grant for each descriptor, but for those that a class without tokens stops for good.

    Raises
    ------
    TypeError, ValueError : another number of queues or classes, or a field out of range.
    """
    times = numerics_of(times, TRAINIUM3_DMA)
    check_length("queues", queues, DMA_QUEUES)
    check_length("classes", classes, TRAFFIC_CLASSES)
    waiting = [[each for each in descriptors if each.queue == queue] for queue in range(DMA_QUEUES)]
    served = [0] * DMA_QUEUES
    last = [DMA_QUEUES - 1] * PRIORITIES
    buckets = [_Bucket(each) for each in classes]
    grants: list[Grant] = []
    cycle: int | None = 0
    while True:
        ready = {
            queue: max(waiting[queue][number].arrival, opens)
            for queue, number in enumerate(served)
            if number < len(waiting[queue]) and (opens := buckets[queues[queue].traffic_class].opens(cycle)) is not None
        }
        if not ready:
            return tuple(grants)
        cycle = max(cycle, min(ready.values()))
        eligible = [queue for queue, since in ready.items() if since <= cycle]
        priority = min(queues[queue].priority for queue in eligible)
        equals = [queue for queue in eligible if queues[queue].priority == priority]
        queue = min(equals, key=lambda each: (each - last[priority] - 1) % DMA_QUEUES)
        head = waiting[queue][served[queue]]
        end = cycle + descriptor_cycles(head.bytes, computes=head.computes, times=times)
        grants.append(Grant(queue=queue, number=served[queue], grant=cycle, end=end))
        buckets[queues[queue].traffic_class].take(cycle, head.bytes)
        served[queue], last[priority], cycle = served[queue] + 1, queue, end


class _Bucket:
    """Tokens of one class: full at cycle 0, then `rate` more in each cycle, up to the depth."""

    def __init__(self, limits: TrafficClass):
        self.rate, self.depth = limits.rate256, limits.burst * TOKENS_PER_BYTE
        self.tokens, self.since = self.depth, 0

    def opens(self, cycle: int) -> int | None:
        """The first cycle from `cycle` on with more than 0 tokens if none are taken; None if no such cycle exists."""
        if self.rate is None or self._at(cycle) > 0:
            return cycle
        return cycle + -self._at(cycle) // self.rate + 1 if self.rate and self.depth else None

    def take(self, cycle: int, size: int) -> None:
        self.tokens, self.since = self._at(cycle) - size * TOKENS_PER_BYTE, cycle

    def _at(self, cycle: int) -> int:
        return min(self.depth, self.tokens + (self.rate or 0) * (cycle - self.since))
