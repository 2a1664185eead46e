"""Times of descriptors and transfers, and the declarations behind them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bitpath.golden.trainium3 import TrafficClass, descriptor_cycles, transfer_cycles
from bitpath.golden.trainium3.declarations.dma import CHOICES, TRAINIUM3_DMA
from bitpath.golden.trainium3.dma.schedule import DEFAULT_CLASSES


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


def test_documented_examples():
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
def test_refuses(change, error, says):
    arguments = {"descriptors": copy_of(8, 64), "mode": "none", **change}
    with pytest.raises(error, match=f"^{says}$"):
        transfer_cycles(arguments.pop("descriptors"), **arguments)


def test_a_descriptor_has_1_to_65536_bytes():
    for size in (0, 65537):
        with pytest.raises(ValueError, match=f"^size must be 1 to 65536, not {size}$"):
            descriptor_cycles(size)
