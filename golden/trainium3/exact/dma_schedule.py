"""Exact twin of the queues of a DMA engine: each cycle by itself.

The rules are in `bitpath.golden.trainium3.declarations.dma.CHOICES`.
"""

from collections.abc import Sequence

from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.declarations.dma import DMA_QUEUES, PRIORITIES, TOKENS_PER_BYTE, TRAFFIC_CLASSES


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
