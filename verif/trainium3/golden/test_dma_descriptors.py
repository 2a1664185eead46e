"""DMA descriptors, queues and times: a walk byte by byte, the exact twin's schedule, and declarations."""

import re
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import (
    AccessPattern,
    Descriptor,
    HbmPattern,
    QueueConfig,
    QueuedDescriptor,
    TrafficClass,
    choose_mode,
    descriptor_cycles,
    descriptors,
    dma_schedule,
    exact,
    generation_time,
    transfer_cycles,
)
from bitpath.golden.trainium3.declarations.dma import CHOICES, TRAINIUM3_DMA
from bitpath.golden.trainium3.declarations.memory import SBUF_ADDRESS
from bitpath.golden.trainium3.dma.schedule import DEFAULT_CLASSES, DEFAULT_QUEUES
from bitpath.verif.trainium3.dma.dma_queues import random_schedule

# Descriptors against a walk byte by byte, by hand, by the archive; who generates them, and for what time.


BFLOAT = np.dtype(ml_dtypes.bfloat16)


def sbuf(dtype, start, partitions, offset, pattern):
    return AccessPattern(dtype, start, partitions, offset, pattern, dma=True)


def address(partition, byte):
    return SBUF_ADDRESS + 262144 * partition + byte


def elements(ap):
    """Address and partition of each element, in order; None for HBM's partition."""
    offsets = ap.byte_offsets().ravel().tolist()
    if isinstance(ap, HbmPattern):
        return [(byte, None) for byte in offsets]
    return [(address(p, byte), p) for p in range(ap.start, ap.start + ap.partitions) for byte in offsets]


def walk(dst_ap, src_ap):
    """The definition: one element after the other, joined to the run before it where both sides continue."""
    wide = max(dst_ap.dtype.itemsize, src_ap.dtype.itemsize)
    runs, follows = [], None
    for (to, p), (of, q) in zip(elements(dst_ap), elements(src_ap), strict=True):
        if (to, of, p, q) == follows and runs[-1][3] + wide <= 65536:
            runs[-1][3] += wide
        else:
            row = q if p is None else p
            runs.append([len(runs) % 16 if row is None else row // 8, of, to, wide])
        follows = to + dst_ap.dtype.itemsize, of + src_ap.dtype.itemsize, p, q
    return tuple(Descriptor(*run) for run in runs)


def test_by_hand():
    hidden = HbmPattern(BFLOAT, 0, [(384, 128), (1, 384)])
    rows = descriptors(sbuf(BFLOAT, 0, 128, 0, [(1, 384)]), hidden)
    assert rows == tuple(Descriptor(p // 8, 768 * p, address(p, 0), 768) for p in range(128))
    assert {row.hbm_bytes for row in rows} == {768}
    spread = descriptors(sbuf(BFLOAT, 0, 128, 0, [(2, 384)]), hidden)
    assert len(spread) == 49_152
    assert {row.bytes for row in spread} == {2}
    four = descriptors(sbuf(BFLOAT, 0, 4, 0, [(1, 4096)]), HbmPattern(BFLOAT, 0, [(4096, 4), (1, 4096)]))
    assert [(row.engine, row.bytes) for row in four] == [(0, 8192)] * 4


def test_known_answers(kat):
    archive = kat("trn_core_dma.npz")
    compared = 0
    for name in (key for key in archive if re.fullmatch(r"e\d+_command", key)):
        case = name.removesuffix("_command")
        size, hbm_offset, start, sbuf_offset = archive[name].tolist()
        hbm_pattern, sbuf_pattern = (archive[f"{case}_{side}_pattern"].tolist() for side in ("hbm", "sbuf"))
        dtype = {1: np.uint8, 2: BFLOAT, 4: np.float32}[size]
        hbm = HbmPattern(dtype, hbm_offset, hbm_pattern)
        there = sbuf(dtype, start, hbm_pattern[0][1], sbuf_offset, sbuf_pattern)
        expected = archive[f"{case}_descriptors"].tolist()
        rows = [(e, of, address(p, byte), count) for e, of, p, byte, count in expected]
        assert descriptors(there, hbm) == tuple(Descriptor(*row) for row in rows)
        back = [Descriptor(e, to, of, count) for e, of, to, count in rows]
        assert descriptors(hbm, there) == tuple(back)
        compared += len(rows)
    assert compared == sum(len(archive[key]) for key in archive if re.fullmatch(r"e\d+_descriptors", key)) > 1000


def random_pairs(rng, count):
    """Pairs whose nums multiply to a number of elements, from contiguous to scattered."""
    nums, rest = [], count
    while rest > 1 and len(nums) < 3:
        factor = rng.choice([each for each in range(2, rest + 1) if rest % each == 0])
        nums.append(factor)
        rest //= factor
    nums[-1:] = [nums[-1] * rest] if nums else [rest]
    pairs, step = [], 1
    for num in reversed(nums):
        pairs.append((step if rng.random() < 0.7 else rng.choice((-1, 0, 1, 3)), num))
        step = pairs[-1][0] * num
    return pairs[::-1]


def test_random_transfers():
    rng = Random(11)
    kinds, merged = {(a, b): 0 for a in "hs" for b in "hs"}, 0
    for _ in range(200):
        count, partitions = rng.choice((1, 4, 6, 12, 24)), rng.choice((1, 2, 5))
        dtypes = [rng.choice((np.uint8, BFLOAT, np.float32)) for _ in range(2)]
        if rng.random() < 0.7:
            dtypes[1] = dtypes[0]
        sides, kind = [], ""
        for dtype in dtypes:
            kind += rng.choice("hs")
            pairs, offset = random_pairs(rng, count), rng.randint(80, 90)
            if kind[-1] == "s":
                sides.append(sbuf(dtype, rng.choice((0, 7, 123)), partitions, offset, pairs))
            else:
                step = rng.choice((count, count + 1, 0))
                sides.append(HbmPattern(dtype, offset, [(step, partitions), *pairs]))
        got = descriptors(*sides)
        assert got == walk(*sides)
        kinds[*kind] += 1
        merged += len(got) < partitions * count
        assert len({row.engine for row in got}) <= 16
    assert min(kinds.values()) > 20
    assert merged > 40


def test_runs_end_with_the_partition_and_at_64_kib():
    whole = sbuf(np.uint8, 0, 2, 0, [(1, 262144)])
    rows = descriptors(whole, HbmPattern(np.uint8, 0, [(262144, 2), (1, 262144)]))
    assert rows == tuple(Descriptor(0, 65536 * i, SBUF_ADDRESS + 65536 * i, 65536) for i in range(8))
    there, back = HbmPattern(np.uint8, 0, [(1, 200_000)]), HbmPattern(np.uint8, 1 << 20, [(1, 200_000)])
    assert [(row.engine, row.bytes) for row in descriptors(back, there)] == [
        (0, 65536),
        (1, 65536),
        (2, 65536),
        (3, 3392),
    ]
    assert {row.hbm_bytes for row in descriptors(back, there)[:3]} == {131072}
    # A cast counts the wider side: 40,000 elements of 4 bytes.
    wide = HbmPattern(np.float32, 1 << 20, [(1, 40_000)])
    rows = descriptors(wide, HbmPattern(np.uint8, 3, [(1, 40_000)]))
    assert [(row.source, row.destination - (1 << 22), row.bytes) for row in rows] == [
        (3, 0, 65536),
        (3 + 16384, 65536, 65536),
        (3 + 32768, 131072, 28928),
    ]


@pytest.mark.parametrize(
    ("dst", "src", "sentence"),
    [
        (
            HbmPattern(np.uint8, 0, [(1, 3)]),
            HbmPattern(np.uint8, 0, [(1, 4)]),
            "dst_ap must have as many elements as src_ap, 4, not 3",
        ),
        (
            sbuf(np.uint8, 0, 2, 0, [(1, 2)]),
            HbmPattern(np.uint8, 0, [(1, 4)]),
            "dst_ap must have as many partitions as src_ap, 4, not 2",
        ),
        (
            HbmPattern(np.uint8, 144 << 30, [(1, 1)]),
            HbmPattern(np.uint8, 0, [(1, 1)]),
            f"dst_ap must stay below byte {144 << 30} of HBM, not reach byte {144 << 30}",
        ),
        (
            HbmPattern(np.uint8, 0, [(1, 1)]),
            sbuf(np.uint8, 0, 1, 262144, [(1, 1)]),
            "src_ap must stay below byte 262144 of an SBUF partition, not reach byte 262144",
        ),
    ],
)
def test_transfers_refuse(dst, src, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        descriptors(dst, src)


def test_a_transfer_has_patterns():
    with pytest.raises(TypeError, match=r"^src_ap must be an AccessPattern or an HbmPattern, not list$"):
        descriptors(HbmPattern(np.uint8, 0, [(1, 1)]), [])


def test_who_generates():
    assert choose_mode() == choose_mode(engine="scalar") == "hwdge"
    assert choose_mode(indirect=True) == choose_mode(cast=True) == choose_mode("swdge") == "swdge"
    assert choose_mode(engine="gpsimd") == choose_mode("none", cast=True) == "none"
    assert choose_mode(engine="vector", runtime_address=True) == "swdge"
    assert choose_mode("hwdge", runtime_address=True) == "hwdge"
    for arguments, what in (
        ({"dge_mode": "hwdge", "indirect": True}, "an index, not 'hwdge'"),
        ({"dge_mode": "hwdge", "cast": True}, "a cast, not 'hwdge'"),
        ({"dge_mode": "hwdge", "engine": "tensor"}, "engine 'tensor', not 'hwdge'"),
        ({"dge_mode": "none", "indirect": True}, "an index, not 'none'"),
        ({"dge_mode": "none", "runtime_address": True}, "a runtime address, not 'none'"),
    ):
        with pytest.raises(ValueError, match=f"^dge_mode must be one that takes {what}$"):
            choose_mode(**arguments)
    with pytest.raises(
        ValueError, match=r"^engine must be 'tensor', 'vector', 'scalar', 'gpsimd' or 'sync', not 'pe'$"
    ):
        choose_mode(engine="pe")


def test_times_of_generation():
    rows = {mode: generation_time(mode, 128) for mode in ("hwdge", "swdge", "none")}
    assert [each.cycles for each in rows.values()] == [720, 278, 0]
    assert [each.gpsimd_cycles for each in rows.values()] == [0, 278, 0]
    assert [each.hbm_bytes for each in rows.values()] == [0, 0, 4096]
    with pytest.raises(ValueError, match=r"^descriptors must be 0 or more, not -1$"):
        generation_time("none", -1)
    with pytest.raises(ValueError, match=r"^dge_mode must be 'hwdge', 'swdge' or 'none', not 'unknown'$"):
        generation_time("unknown", 1)


# Priorities and traffic classes of a DMA engine's queues, against the exact twin's walk through every cycle.


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


def test_documented_examples_of_schedule():
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
def test_refuses_of_schedule(call, error, says):
    with pytest.raises(error, match=f"^{says}$"):
        call()


# Times of descriptors and transfers, and the declarations behind them.


def copy_of(rows, size):
    """Descriptors of a copy of rows between HBM and SBUF: eight partitions an engine."""
    return [SimpleNamespace(engine=row // 8, bytes=size) for row in range(rows)]


def test_a_descriptor_takes_what_a_counter_of_its_beats_takes():
    """The counter gains 55 a cycle and gives a beat of 32 bytes for 64."""
    for size in (1, 32, 33, 2464, 2465, 2496, 2497, 3072, 4096, 8192, 65535, 65536):
        beats, counter, cycles = (size + 31) // 32, 0, 0
        while beats:
            cycles, counter = cycles + 1, counter + 55
            if counter >= 64:
                counter, beats = counter - 64, beats - 1
        assert descriptor_cycles(size) == max(90, cycles)
        assert descriptor_cycles(size, computes=True) == 2 * max(90, cycles)


def test_documented_examples_of_time():
    time = transfer_cycles(copy_of(128, 768), mode="hwdge")
    assert (time.generation, time.start, set(time.engines), time.total) == (720, 1560, {720}, 3000)
    time = transfer_cycles(copy_of(128, 4096), mode="none")
    assert set(time.engines) == {1192}
    assert round(128 * 4096 / (1192 / TRAINIUM3_DMA.numerics.ghz)) == 528
    assert transfer_cycles(copy_of(4, 8192), mode="none").engines == (4 * 298, *[0] * 15)


def test_generation_by_software_costs_each_descriptor():
    assert transfer_cycles(copy_of(100, 64), mode="swdge").generation == 150 + 100
    assert transfer_cycles(copy_of(100, 64), mode="none").generation == 0
    assert transfer_cycles([], mode="swdge").total == 150 + 1560


def test_the_hbm_bounds_a_transfer_of_many_cores():
    descriptors = [SimpleNamespace(engine=engine, bytes=65536) for engine in range(16)]
    alone = transfer_cycles(descriptors, mode="hwdge", hbm_sides=2)
    assert alone.hbm == np.ceil(2 * 16 * 65536 / (4.7e12 / 1.2e9))
    assert alone.total == 720 + 1560 + 2384
    shared = transfer_cycles(descriptors, mode="hwdge", hbm_sides=2, cores=8)
    assert shared.total == 720 + 1560 + shared.hbm > alone.total
    assert transfer_cycles(descriptors, mode="hwdge", hbm_sides=0).hbm == 0
    by_host = transfer_cycles(descriptors * 400, mode="none")
    assert by_host.hbm == -(-400 * 16 * (65536 + 32) * 3 // 11750)


def test_classes_and_times_can_be_turned():
    classes = (TrafficClass(rate256=1760, burst=4096), *DEFAULT_CLASSES[1:])
    assert transfer_cycles(copy_of(8, 4096)[:5], mode="none", classes=classes).engines[0] == 1788 + 149
    slower = replace(TRAINIUM3_DMA.numerics, descriptor_cycles=200, start_cycles=0)
    assert transfer_cycles(copy_of(8, 768), mode="none", times=slower).total == 1600
    assert transfer_cycles(copy_of(8, 768), mode="none", computes=True).engines[0] == 1440


def test_choices_are_stated_once():
    assert len({choice.statement for choice in CHOICES}) == len(CHOICES)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"mode": "fast"}, ValueError, "dge_mode must be 'hwdge', 'swdge' or 'none', not 'fast'"),
        ({"queue": 16}, ValueError, "queue must be 0 to 15, not 16"),
        ({"hbm_sides": 3}, ValueError, "hbm_sides must be 0 to 2, not 3"),
        ({"cores": 0}, ValueError, "cores must be 1 or more, not 0"),
        (
            {"descriptors": [SimpleNamespace(engine=16, bytes=1)]},
            ValueError,
            "engine must be 0 to 15, not 16",
        ),
        (
            {"classes": (TrafficClass(rate256=0, burst=1), *DEFAULT_CLASSES[1:])},
            ValueError,
            r"classes\[0\] must have a rate and a burst for all of a transfer; it stops engine 0 after 1 of 8 descriptors",
        ),
    ],
)
def test_refuses_of_time(change, error, says):
    arguments = {"descriptors": copy_of(8, 64), "mode": "none", **change}
    with pytest.raises(error, match=f"^{says}$"):
        transfer_cycles(arguments.pop("descriptors"), **arguments)


def test_a_descriptor_has_1_to_65536_bytes():
    for size in (0, 65537):
        with pytest.raises(ValueError, match=f"^size must be 1 to 65536, not {size}$"):
            descriptor_cycles(size)
