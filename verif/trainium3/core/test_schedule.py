"""Priorities and traffic classes of a DMA engine's queues, against the exact twin's walk through every cycle."""

import numpy as np
import pytest

from bitpath.golden.trainium3 import QueueConfig, QueuedDescriptor, TrafficClass, descriptor_cycles, dma_schedule, exact
from bitpath.golden.trainium3.dma.schedule import DEFAULT_CLASSES, DEFAULT_QUEUES
from bitpath.verif.trainium3.dma.schedules import random_schedule

CYCLES = 6000
"""Cycles that the exact twin walks."""


def rows(grants):
    return [(each.queue, each.number, each.grant, each.end) for each in grants]


def queues_with(**priorities):
    """Queues by name, "q3" is queue 3, with a priority each or a pair of priority and class; others have the defaults."""
    queues = list(DEFAULT_QUEUES)
    for name, config in priorities.items():
        priority, kind = config if isinstance(config, tuple) else (config, 0)
        queues[int(name[1:])] = QueueConfig(priority=priority, traffic_class=kind)
    return queues


def full(queue, count, size=4096, arrival=0):
    return [QueuedDescriptor(queue=queue, arrival=arrival, bytes=size)] * count


@pytest.mark.parametrize("seed", range(60))
def test_jumps_are_the_exact_twin(seed):
    schedule = random_schedule(np.random.default_rng(seed), 25)
    granted = rows(dma_schedule(schedule.queues, schedule.classes, schedule.descriptors))
    expected = exact.dma_schedule(
        [each.priority for each in schedule.queues],
        [each.traffic_class for each in schedule.queues],
        [each.rate256 for each in schedule.classes],
        [each.burst for each in schedule.classes],
        [(each.queue, each.arrival, each.bytes, descriptor_cycles(each.bytes)) for each in schedule.descriptors],
        CYCLES,
    )
    assert [row for row in granted if row[2] < CYCLES] == expected


def test_documented_examples():
    descriptors = full(3, 2) + full(5, 2) + full(7, 1)
    trace = rows(dma_schedule(queues_with(q3=0, q5=1, q7=1), DEFAULT_CLASSES, descriptors))
    assert [(row[0], row[2]) for row in trace] == [(3, 0), (3, 149), (5, 298), (7, 447), (5, 596)]
    assert trace[-1][3] == 745
    limited = (TrafficClass(rate256=1760, burst=4096), *DEFAULT_CLASSES[1:])
    trace = rows(dma_schedule(DEFAULT_QUEUES, limited, full(0, 5)))
    assert [row[2] for row in trace] == [0, 149, 596, 1192, 1788]


def test_a_busy_queue_starves_those_behind_it():
    descriptors = full(9, 200) + full(2, 1)
    trace = rows(dma_schedule(queues_with(q9=0, q2=1), DEFAULT_CLASSES, descriptors))
    assert trace[-1][0] == 2
    assert trace[-1][2] == 200 * descriptor_cycles(4096)


def test_equal_queues_take_turns_and_each_priority_remembers_its_own():
    late = full(15, 1, arrival=400)
    descriptors = [*full(0, 3), *full(4, 3), *full(15, 3), *full(8, 1, arrival=200)]
    trace = rows(dma_schedule(queues_with(q0=2, q4=2, q15=2, q8=1), DEFAULT_CLASSES, descriptors))
    assert [row[0] for row in trace] == [0, 4, 8, 15, 0, 4, 15, 0, 4, 15]
    assert [row[0] for row in rows(dma_schedule(DEFAULT_QUEUES, DEFAULT_CLASSES, late + full(1, 1)))] == [1, 15]


@pytest.mark.parametrize(("rate", "sizes"), [(1760, (4096,)), (997, (64, 8192, 2048)), (5000, (65536, 64))])
def test_the_rate_of_a_class_is_exact_in_the_long_run(rate, sizes):
    """Bytes granted in 10**5 cycles are those of the rate and the burst, to one descriptor."""
    burst, cycles = 4096, 10**5
    count = 2 * cycles * rate // 256 // sum(sizes)
    waiting = [QueuedDescriptor(queue=1, arrival=0, bytes=size) for _ in range(count) for size in sizes]
    others = full(2, 2 * cycles // descriptor_cycles(4096))
    classes = (DEFAULT_CLASSES[0], TrafficClass(rate256=rate, burst=burst), *DEFAULT_CLASSES[2:])
    grants = dma_schedule(queues_with(q1=(0, 1), q2=(3, 0)), classes, waiting + others)
    granted = sum(waiting[each.number].bytes for each in grants if each.queue == 1 and each.grant < cycles)
    # The class waits for the other queue's descriptor at the end, and is in debt of its last one.
    slack = rate * descriptor_cycles(max(*sizes, 4096)) / 256
    assert -slack <= granted - rate * cycles / 256 <= burst + max(sizes)
    assert any(each.queue == 2 for each in grants)


def test_a_class_without_rate_stops_after_its_burst():
    for burst, expected in ((0, 0), (1, 1), (4096, 1), (4097, 2)):
        classes = (TrafficClass(rate256=0, burst=burst), *DEFAULT_CLASSES[1:])
        assert len(dma_schedule(DEFAULT_QUEUES, classes, full(0, 5))) == expected
    assert len(dma_schedule(DEFAULT_QUEUES, (TrafficClass(rate256=9), *DEFAULT_CLASSES[1:]), full(0, 2))) == 0


def test_a_computing_descriptor_takes_twice_the_time():
    descriptor = QueuedDescriptor(queue=0, arrival=7, bytes=4096, computes=True)
    assert rows(dma_schedule(DEFAULT_QUEUES, DEFAULT_CLASSES, [descriptor])) == [(0, 0, 7, 7 + 298)]
    assert dma_schedule(DEFAULT_QUEUES, DEFAULT_CLASSES, []) == ()


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: QueueConfig(priority=4), ValueError, "priority must be 0 to 3, not 4"),
        (lambda: QueueConfig(traffic_class=-1), ValueError, "traffic_class must be 0 to 3, not -1"),
        (lambda: TrafficClass(rate256=1.5), TypeError, "rate256 must be an integer, not 1.5"),
        (lambda: TrafficClass(rate256=65536), ValueError, "rate256 must be 0 to 65535, not 65536"),
        (lambda: TrafficClass(burst=-1), ValueError, "burst must be 0 to 1048575, not -1"),
        (lambda: full(16, 1), ValueError, "queue must be 0 to 15, not 16"),
        (lambda: full(0, 1, size=0), ValueError, "bytes must be 1 to 65536, not 0"),
        (lambda: full(0, 1, arrival=-1), ValueError, "arrival must be 0 or more, not -1"),
        (
            lambda: dma_schedule(DEFAULT_QUEUES[1:], DEFAULT_CLASSES, []),
            ValueError,
            "queues must have 16 elements, not 15",
        ),
        (
            lambda: dma_schedule(DEFAULT_QUEUES, DEFAULT_CLASSES[1:], []),
            ValueError,
            "classes must have 4 elements, not 3",
        ),
    ],
)
def test_refuses(call, error, says):
    with pytest.raises(error, match=f"^{says}$"):
        call()
