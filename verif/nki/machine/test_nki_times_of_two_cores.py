"""The schedule of two cores: barriers, what they send each other, and latency between their engines."""

import pytest

from bitpath.golden import nki

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

F32 = "float32"


def test_a_core_waits_for_what_the_other_sends():
    """Core 1 takes 64 cycles to write its tile, core 0 takes 1024: both receive behind these and a latency of 64."""

    def kernel():
        core = nl.program_id()
        own, theirs = nl.ndarray((4, 2048), F32), nl.ndarray((4, 2048), F32)
        nisa.memset(own if core == 0 else own[:, 0:8], 1.0)
        nisa.sendrecv(own[:, 0:8], theirs[:, 0:8], 1 - core, 1 - core, 0)

    spans = nki.run(nki.jit(kernel)[2]).cycles.spans
    assert [span.start for span in spans if span.instruction.opcode == "sendrecv"] == [1024 + 64] * 2


def on_two_cores(kernel):
    """Return (core, opcode, start) of each instruction of two cores."""
    return [
        (span.instruction.core, span.instruction.opcode, span.start)
        for span in nki.run(nki.jit(kernel)[2]).cycles.spans
    ]


@pytest.mark.parametrize("slow", [0, 1])
def test_both_cores_leave_a_barrier_with_the_slower(slow):
    """The slower core's copy ends at 1024 + 64 + 9 cycles; the barriers follow 64 later, and the readers 64 behind them."""

    def kernel():
        core = nl.program_id()
        out = nl.ndarray((2, 4, 8), F32, nl.shared_hbm)
        own = nl.ndarray((4, 2048), F32)
        nisa.memset(own if core == slow else own[:, 0:8], 1.0)
        nisa.dma_copy(out[core], own[:, 0:8])
        nisa.core_barrier(out, (0, 1))
        nisa.dma_copy(own[:, 0:8], out[1 - core])
        nisa.iota(nl.ndarray((4, 8), "int32"), [[1, 8]])

    found = on_two_cores(kernel)
    copies = {core: [start for at, opcode, start in found if (at, opcode) == (core, "dma_copy")] for core in (0, 1)}
    assert copies[slow][0] == 1024 + 64
    assert copies[1 - slow][0] == 64 + 64
    length = next(
        each.cycles for each in nki.run(nki.jit(kernel)[2]).instructions if each.opcode == "dma_copy"
    )  # fmt: skip
    barrier = 1024 + 64 + length + 64
    assert [start for _, opcode, start in found if opcode == "core_barrier"] == [barrier] * 2
    assert [copies[core][1] for core in (0, 1)] == [barrier + 64 + 64] * 2
    assert [start for _, opcode, start in found if opcode == "iota"] == [barrier + 64] * 2


def test_a_barrier_on_one_core_only_takes_time():
    def kernel():
        nisa.core_barrier(nl.ndarray((4, 8), F32, nl.shared_hbm), (0, 1))

    assert [(each.instruction.opcode, each.start) for each in nki.run(kernel).cycles.spans] == [("core_barrier", 0)]


def test_the_same_engine_of_two_cores_has_latency():
    """Core 1's DMA overwrites what core 0's DMA wrote: 64 cycles later, though both are DMA."""

    def kernel():
        out = nl.ndarray((4, 8), F32, nl.shared_hbm)
        nisa.dma_copy(out, nl.ndarray((4, 8), F32))

    first, second = nki.run(nki.jit(kernel)[2]).cycles.spans
    assert (first.start, second.start) == (0, first.end + 64)


def test_a_core_keeps_a_tile_until_the_other_has_received_it():
    """Core 0 overwrites the sent bytes only after the transfer, which waits for core 1."""

    def kernel():
        core = nl.program_id()
        own, theirs = nl.ndarray((4, 2048), F32), nl.ndarray((4, 8), F32)
        nisa.memset(own if core == 1 else own[:, 0:8], 1.0)
        nisa.sendrecv(own[:, 0:8], theirs, 1 - core, 1 - core, 0)
        if core == 0:
            nisa.memset(own[:, 0:8], 2.0)

    spans = {(s.instruction.core, s.instruction.opcode): s for s in nki.run(nki.jit(kernel)[2]).cycles.spans}
    sent = spans[0, "sendrecv"]
    assert sent.start == spans[1, "sendrecv"].start == 1024 + 64
    assert spans[0, "memset"].start == sent.end + 64
