"""Runs that the benches of all mover units share: requests at ``i``, results at ``o``, one pipeline stage."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from amaranth.lib import wiring

from bitpath.rtl.aie_ml_v2.mover.result_register import LATENCY
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.pipeline import Pipeline, Request

LIMIT = {"timeout_time": 20, "timeout_unit": "ms"}
Signature = wiring.Signature


async def sweep(dut: Any, signature: Signature, requests: list[Request]) -> None:
    """Send a request a cycle."""
    async with bench(dut, signature, drain=False) as frame:
        await Pipeline(frame, LATENCY).sweep(requests)


async def exchange(
    dut: Any, signature: Signature, requests: list[Request], pace: str, bins: Sequence[str], hit: Iterable[str]
) -> None:
    """Send requests at a pace; they hit these bins."""
    async with bench(dut, signature) as frame:
        coverage = frame.coverage(bins)
        for name in hit:
            coverage.hit(name)
        await Pipeline(frame, LATENCY).exchange(requests, pace)


async def one_at_a_time(dut: Any, signature: Signature, requests: list[Request]) -> None:
    async with bench(dut, signature, drain=False) as frame:
        await Pipeline(frame, LATENCY).one_at_a_time(requests)


async def resets(dut: Any, signature: Signature, batch: Callable[[], list[Request]]) -> None:
    async with bench(dut, signature, drain=False) as frame:
        await Pipeline(frame, LATENCY).resets(batch)


def row_bits(rows: np.ndarray) -> list[int]:
    """Return each row of bytes, uint8 [n, size], as an integer, byte 0 lowest."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.ascontiguousarray(rows)]
