"""Units of the core whose measured run is a test of its own: benches of another size on Verilator are deep tests."""

from collections.abc import Iterable
from typing import Any

import pytest

MEASURED = (
    "access_walker",
    "dge",
    "psum_memory",
    "sbuf",
    "indirect_offsets",
    "dma_cast",
    "read_add_write",
    "dma_queues",
    "dma_mover",
    "dma_engine",
    "dma_transpose",
    "fp32_passes",
    "background_transpose",
    "tensor_issue",
    "core_pe",
    "weight_load",
    "activation2_lane",
)
AGAIN = ("activation2_lane", "engine_lane", "rand2_lane", "dma_cast", "sparse_select", "core_pe")
"""Pipelines without memories, whose bench on Icarus repeats the one on Verilator: a deep test."""


def benches(names: Iterable[str]) -> list[Any]:
    """Return names "unit-simulator" of benches as parameters of a test."""
    deep = {f"{unit}-verilator" for unit in MEASURED} | {f"{unit}-icarus" for unit in AGAIN}
    return [pytest.param(name, marks=pytest.mark.deep) if name in deep else name for name in names]
