"""Queues, classes and descriptors of a DMA engine, from known answers or at random."""

from dataclasses import dataclass

import numpy as np

from bitpath.golden.trainium3 import QueueConfig, QueuedDescriptor, TrafficClass
from bitpath.golden.trainium3.declarations.dma import DMA_QUEUES


@dataclass(frozen=True)
class Schedule:
    """The arguments of `dma_schedule`."""

    queues: tuple[QueueConfig, ...]
    classes: tuple[TrafficClass, ...]
    descriptors: tuple[QueuedDescriptor, ...]


def known_schedule(archive, number):
    """Return a schedule of the archive, and its trace as rows (queue, number, grant, end)."""
    part = {key.removeprefix(f"q{number}_"): array for key, array in archive.items() if key.startswith(f"q{number}_")}
    queues = zip(part["priority"].tolist(), part["class"].tolist(), strict=True)
    classes = zip(part["rate256"].tolist(), part["burst"].tolist(), strict=True)
    return Schedule(
        tuple(QueueConfig(priority=priority, traffic_class=kind) for priority, kind in queues),
        tuple(TrafficClass(rate256=None if rate < 0 else rate, burst=burst) for rate, burst in classes),
        tuple(
            QueuedDescriptor(queue=queue, arrival=arrival, bytes=size)
            for queue, _, arrival, size in part["descriptors"].tolist()
        ),
    ), [tuple(row) for row in part["trace"].tolist()]


def random_schedule(rng: np.random.Generator, count: int, queues_used: int = DMA_QUEUES) -> Schedule:
    """Return `count` descriptors in some queues; classes are unlimited, tight, stopped or never open."""
    used = rng.choice(queues_used, rng.integers(1, min(7, queues_used + 1)), replace=False).tolist()
    levels = rng.integers(0, 4, rng.integers(1, 5)).tolist()
    queues = [
        QueueConfig(priority=int(rng.choice(levels)), traffic_class=int(rng.integers(0, 4))) for _ in range(DMA_QUEUES)
    ]
    classes = []
    for _ in range(4):
        rate = None if rng.random() < 0.3 else int(rng.choice([0, 1, 300, 1760, 5000, 65535]))
        classes.append(TrafficClass(rate256=rate, burst=int(rng.choice([0, 1, 64, 512, 4096, 70000]))))
    spread = int(rng.choice([1, 300, 4000]))
    descriptors = sorted(
        (
            QueuedDescriptor(
                queue=int(rng.choice(used)),
                arrival=int(rng.integers(0, spread)),
                bytes=int(rng.choice([1, 64, 2464, 2465, 4096, int(rng.integers(1, 6000))])),
            )
            for _ in range(count)
        ),
        key=lambda each: (each.queue, each.arrival if rng.random() < 0.9 else 0),
    )
    return Schedule(tuple(queues), tuple(classes), tuple(descriptors))
