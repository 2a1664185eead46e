"""Units of the core whose benches on Verilator are deep tests: `make test` runs them on Icarus."""

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
"""Units whose measured run has another size than the benches of `make test`."""
WIDE = ("engine_lane", "rand2_lane", "sparse_select")
"""Pipelines without memories, whose bench has many operands."""


def benches(names: Iterable[str]) -> list[Any]:
    """Return names "unit-simulator" of benches as parameters of a test."""
    deep = {f"{unit}-verilator" for unit in (*MEASURED, *WIDE)}
    # They take 20 s of processor time; `make test` runs tails and resets on Icarus.
    deep |= {"copy_lanes-verilator", "copy_lanes-machine-verilator"}
    return [pytest.param(name, marks=pytest.mark.deep) if name in deep else name for name in names]
