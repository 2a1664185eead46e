"""Casts, and the DMA engines' additions, times and schedules against known answers."""

from itertools import count, product

import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3 import descriptor_cycles, dma_compute, dma_schedule, exact, read_add_write
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES
from bitpath.verif.trainium3.dma.schedules import known_schedule
from bitpath.verif.trainium3.dtype_words import array_of, cast_words, codes_of


def test_casts_are_the_known_answers(kat):
    archive = kat("trn_core_rmw.npz")
    names = archive["cast_names"].tolist()
    assert sorted(names) == sorted(FORMATS)
    compared = 0
    for source, destination in product(names, repeat=2):
        codes, expected = archive[f"cast_{source}"], archive[f"cast_{source}_{destination}"]
        assert codes.shape == expected.shape
        assert np.array_equal(cast_words(codes, source, destination), expected), (source, destination)
        assert [exact.cast(code, source, destination) for code in codes.tolist()] == expected.tolist()
        compared += expected.size
    assert compared == sum(archive[f"cast_{name}"].size for name in names) * len(names) > 0


def test_read_add_write_is_the_known_answers(kat):
    archive = kat("trn_core_rmw.npz")
    for name, fmt in (("bf16", BF16), ("fp32", FP32)):
        b, a, total = (archive[f"raw_{name}_{part}"] for part in ("b", "a", "sum"))
        assert a.size > 0
        assert np.array_equal(codes_of(read_add_write(array_of(b, name), array_of(a, name))), total)
        assert [exact.read_add_write(x, y, fmt) for x, y in zip(b.tolist(), a.tolist(), strict=True)] == total.tolist()


def test_dma_compute_is_the_known_answers(kat):
    archive = kat("trn_core_rmw.npz")
    cases = sum(key.endswith("_formats") for key in archive)
    assert cases > 0
    for case in range(cases):
        *sources, destination = archive[f"cmp{case}_formats"].tolist()
        codes, expected = [archive[f"cmp{case}_src{j}"] for j in range(len(sources))], archive[f"cmp{case}_dst"]
        arrays = [array_of(code, name) for code, name in zip(codes, sources, strict=True)]
        assert expected.size > 0
        assert np.array_equal(codes_of(dma_compute(arrays, CAST_DTYPES[destination])), expected)
        elements = zip(*(code.tolist() for code in codes), strict=True)
        assert [exact.dma_compute(each, sources, destination) for each in elements] == expected.tolist()


def test_durations_are_the_known_answers(kat):
    archive = kat("trn_core_dma.npz")
    assert archive["duration_bytes"].size > 0
    assert [descriptor_cycles(size) for size in archive["duration_bytes"].tolist()] == archive[
        "duration_cycles"
    ].tolist()


def test_schedules_are_the_known_answers(kat):
    archive = kat("trn_core_dma.npz")
    for number in count():
        if f"q{number}_trace" not in archive:
            break
        schedule, trace = known_schedule(archive, number)
        grants = dma_schedule(schedule.queues, schedule.classes, schedule.descriptors)
        assert [(each.queue, each.number, each.grant, each.end) for each in grants] == trace
        walked = exact.dma_schedule(
            *(archive[f"q{number}_{part}"].tolist() for part in ("priority", "class")),
            [None if rate < 0 else rate for rate in archive[f"q{number}_rate256"].tolist()],
            archive[f"q{number}_burst"].tolist(),
            [(each.queue, each.arrival, each.bytes, descriptor_cycles(each.bytes)) for each in schedule.descriptors],
            trace[-1][3],
        )
        assert walked == trace
    assert number == sum(key.endswith("_trace") for key in archive) > 0
