"""Deep runs of a core, and known answers of the DMA units through their benches."""

from dataclasses import replace

import pytest

from bitpath.rtl.trainium3.dma.dma_queues import DmaQueuesConfig
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTransposeConfig
from bitpath.rtl.trainium3.dma.read_add_write import ReadAddWriteConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.coverage import SEED as MEASURED_SEED
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = [pytest.mark.simulator, pytest.mark.deep]
DMA_SEED = 20260821
TRANSPOSE = DmaTransposeConfig(columns=8, elements=16, address_bits=16, count_bits=8, row_bits=8, depth=16)
"""As in the machine's engines."""


@covers("read_add_write.known_answers")
def test_read_add_write_known_answers(kat, replay):
    """Every sum of both formats, a beat of eight words or sixteen halves at a time."""
    archive, config = kat("trn_core_rmw.npz"), ReadAddWriteConfig(beat_bytes=32)
    beats = sum(-(-archive[f"raw_{name}_sum"].nbytes // 32) for name in ("bf16", "fp32"))
    bench = "trainium3.dma.tb_read_add_write"
    replay("read_add_write", config, bench, seed=DMA_SEED, tests="known_answers", min_tests=2, min_compared=beats)


@covers("dma_queues.known_answers")
def test_dma_queues_known_answers(kat, replay):
    """Every grant of every trace, in its cycle."""
    grants = sum(len(array) for name, array in kat("trn_core_dma.npz").items() if name.endswith("_trace"))
    config, bench = DmaQueuesConfig(queues=16, depth=4), "trainium3.dma.tb_dma_queues"
    replay("dma_queues", config, bench, seed=DMA_SEED, tests="known_answers", min_tests=1, min_compared=grants)


@covers("dma_transpose.known_answers")
def test_dma_transpose_known_answers(kat, replay):
    """Every array, eight partitions at a time."""
    archive, config = kat("trn_core_transpose.npz"), replace(TRANSPOSE, address_bits=17)
    bytes_ = sum(array.nbytes for name, array in archive.items() if name.startswith("dma") and name.endswith("_dst"))
    bench = "trainium3.dma.tb_dma_transpose"
    results = bytes_ // config.row_bytes
    replay("dma_transpose", config, bench, seed=DMA_SEED, tests="known_answers", min_tests=1, min_compared=results)


def test_the_measured_run_of_a_core():
    measured = UNITS["core"].covered
    run_bench("core", measured.config, "verilator", seed=MEASURED_SEED, cases=measured.cases, min_tests=15)
