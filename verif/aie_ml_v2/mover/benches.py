"""Runs that the benches of all mover units share: requests at ``i``, results at ``o``, one pipeline stage."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bitpath.rtl.common.pipeline.pipeline_registers import Registered
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.pipeline import Pipeline, Request

LIMIT = {"timeout_time": 20, "timeout_unit": "ms"}


async def sweep(
    dut: Any, unit: Registered, requests: list[Request], bins: Sequence[str] = (), hit: Iterable[str] = ()
) -> None:
    """Send a request a cycle; they hit these bins."""
    async with bench(dut, unit.signature, drain=False) as frame:
        coverage = frame.coverage(bins)
        for name in hit:
            coverage.hit(name)
        await Pipeline(frame, unit.latency).sweep(requests)


async def exchange(
    dut: Any, unit: Registered, requests: list[Request], pace: str, bins: Sequence[str], hit: Iterable[str]
) -> None:
    """Send requests at a pace; they hit these bins."""
    async with bench(dut, unit.signature) as frame:
        coverage = frame.coverage(bins)
        for name in hit:
            coverage.hit(name)
        await Pipeline(frame, unit.latency).exchange(requests, pace)


async def one_at_a_time(dut: Any, unit: Registered, requests: list[Request]) -> None:
    async with bench(dut, unit.signature, drain=False) as frame:
        await Pipeline(frame, unit.latency).one_at_a_time(requests)


async def resets(dut: Any, unit: Registered, batch: Callable[[], list[Request]]) -> None:
    async with bench(dut, unit.signature, drain=False) as frame:
        await Pipeline(frame, unit.latency).resets(batch)


def row_bits(rows: np.ndarray) -> list[int]:
    """Return each row of bytes, uint8 [n, size], as an integer, byte 0 lowest."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.ascontiguousarray(rows)]
