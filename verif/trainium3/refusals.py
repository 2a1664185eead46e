"""Beats that a unit refuses among those that it takes: each fault shows in the cycle of its transfer, and nothing comes of it."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from random import Random
from typing import Any

import pytest
from amaranth import Shape
from cocotb.triggers import FallingEdge, ValueChange

from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.unit_bench import Bench, Request, changed, pauses, resolved, unpack

# Units of the core whose benches on Verilator are deep tests: `make test` runs them on Icarus.


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


Changes = tuple[Fault, Mapping[str, Any]]
"""A fault, and the fields of a payload that have it."""


def unknown(codes: type[Enum]) -> list[int]:
    """Return the codes of a field that its enumeration lacks."""
    return [code for code in range(1 << Shape.cast(codes).width) if code not in {each.value for each in codes}]


class Faults:
    """Compares the fault that a unit shows with each transfer of a stream; in other cycles there must be none."""

    def __init__(self, frame: Bench, stream: str = "i"):
        self._dut, self._stream = frame.dut, stream
        self._board = frame.scoreboard("fault", Fault)
        frame.start("faults", self._watch())

    def expect(self, fault: Fault, what: object = "") -> None:
        """Expect the fault of the next transfer."""
        self._board.expect(fault.value, str(what))

    async def _watch(self) -> None:
        valid, ready = (getattr(self._dut, f"{self._stream}__{name}", None) for name in ("valid", "ready"))
        while True:
            await FallingEdge(self._dut.clk)
            fault = resolved(self._dut.fault)
            if resolved(valid) and (ready is None or resolved(ready)):
                self._board.got(fault)
            else:
                assert fault == Fault.NONE.value


async def refuse_among(frame: Bench, requests: Sequence[Request], wrong: Sequence[Changes], rng: Random) -> None:
    """Send requests, and before each of them up to two payloads with each of the changes, at a halting pace.

    Every change must find a request; the caller gives enough of them.
    """
    coverage = frame.coverage({fault.name for fault, _ in wrong})
    driver = frame.driver("i", pauses.scattered(0.2, pauses.rng("i")))
    board = frame.check_stream("o", stalls=pauses.scattered(0.3, pauses.rng("o")))
    faults, waiting = Faults(frame), rng.sample(list(wrong), len(wrong))
    layout = frame.payload_shape("i")
    for request in requests:
        for _ in range(rng.choice((1, 2))):
            if waiting:
                fault, fields = waiting.pop()
                driver.send_bits(changed(layout, request.payload, fields))
                faults.expect(fault, fields)
                coverage.hit(fault.name)
        driver.send_bits(request.payload)
        faults.expect(Fault.NONE, unpack(layout, request.payload))
        board.expect(request.expected, request.shown)
    assert not waiting, f"{len(waiting)} of {len(wrong)} changes found no request"
    await driver.drained()


async def no_fault(dut: Any, unit: str) -> None:
    """Fail with a sentence once a unit refuses anything, for a host that waits for results; runs until cancelled."""
    while True:
        await ValueChange(dut.fault)
        fault = Fault(resolved(dut.fault))
        number = f"instruction {resolved(dut.fault_number)}" if hasattr(dut, "fault_number") else "an instruction"
        assert fault is Fault.NONE, f"{unit} refuses {number}: {fault.name}"
