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


def benches(names: Iterable[str]) -> list[Any]:
    """Return names "unit-simulator" of benches as parameters of a test."""
    deep = {f"{unit}-verilator" for unit in MEASURED}
    return [pytest.param(name, marks=pytest.mark.deep) if name in deep else name for name in names]
