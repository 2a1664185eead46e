"""Two cores: the grid, what they share, races, and meetings that never happen."""

import re

import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.machine.one_instruction import hbm, sbuf

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

BOTH = (0, 1)


def two(kernel, *args, **options):
    return nki.run(nki.jit(kernel)[2], *args, options=nki.Options(**options))


def writes_and_reads(barrier, writer=0):
    """Let one core write shared HBM, and the other read it; return a kernel."""

    def kernel():
        out = nl.ndarray((4, 8), "float32", nl.shared_hbm)
        core = nl.program_id()
        if core == writer:
            nisa.dma_copy(out, sbuf(4, 8, value=5))
        if barrier:
            nisa.core_barrier(out, BOTH)
        if core != writer:
            tile = sbuf(4, 8)
            nisa.dma_copy(tile, out)
        return out

    return kernel


@pytest.mark.parametrize(("cores", "expected"), [(None, (0, 1, 0)), (1, (1, 1, 0)), (2, (1, 2, 0))])
def test_the_grid(cores, expected):
    found = []

    def kernel():
        found.append((nl.program_ndim(), nl.num_programs(), nl.program_id()))

    made = nki.jit(mode="simulation", platform_target="trn2")(kernel)
    nki.run(made if cores is None else made[cores])
    assert found[0] == expected
    assert [each[2] for each in found] == list(range(cores or 1))


@pytest.mark.parametrize("grid", [0, 3, (2, 1), True, "2", None])
def test_another_grid_is_refused(grid):
    with pytest.raises(nki.NkiValidationError, match=re.escape(f"a grid must be 1 or 2 cores, not {grid!r}")):
        nki.jit(lambda: None)[grid]


def test_a_shared_tensor_is_one_and_a_private_one_is_each_cores():
    def kernel():
        core = nl.program_id()
        shared, private = nl.ndarray((2, 8), "float32", nl.shared_hbm), nl.ndarray((2, 8), "float32", nl.private_hbm)
        nisa.dma_copy(shared[core], sbuf(1, 8, value=core + 1))
        nisa.dma_copy(private[core], sbuf(1, 8, value=core + 1))
        tile = sbuf(1, 8)
        nisa.dma_copy(tile, private[core])
        out = nl.ndarray((2, 8), "float32", nl.shared_hbm)
        nisa.dma_copy(out[core], tile)
        return shared, out

    shared, out = two(kernel, strict=True).outputs
    assert (shared == [[1.0], [2.0]]).all()
    assert (out == shared).all()


def test_shared_tensors_of_two_shapes():
    def kernel():
        nl.ndarray((4, 8 + nl.program_id()), "float32", nl.shared_hbm)

    with pytest.raises(
        nki.NkiValidationError, match=r"both cores must allocate the same shared tensor, not \(4, 9\) after"
    ):
        two(kernel)


def test_arguments_are_shared():
    def kernel(x):
        assert x.buffer is (nl.shared_hbm if nl.num_programs() > 1 else nl.hbm)
        nisa.dma_copy(x[nl.program_id()], sbuf(1, 8, value=3))

    x = np.zeros((2, 8), np.float32)
    two(kernel, x)
    assert (x == 3).all()


@pytest.mark.parametrize("writer", [0, 1])
def test_a_barrier_prevents_a_race(writer):
    assert two(writes_and_reads(True, writer), strict=True).warnings == ()


def test_a_read_without_a_barrier_is_a_race():
    sentence = "bytes are read that the other core wrote since the last barrier"
    with pytest.warns(nki.NkiWarning, match=sentence):
        run = two(writes_and_reads(False))
    assert sentence in run.warnings[0]
    with pytest.raises(nki.NkiValidationError, match=sentence):
        two(writes_and_reads(False), strict=True)


def test_sendrecv_swaps_bits():
    def kernel(x):
        core = nl.program_id()
        own, theirs = nl.load(x[core]), sbuf(4, 8, dtype="uint32")
        nisa.sendrecv(own, theirs, 1 - core, 1 - core, 3)
        out = nl.ndarray((2, 4, 8), "uint32", nl.shared_hbm)
        nisa.dma_copy(out[core], theirs)
        return out

    x = np.random.default_rng(1).integers(0, 2**32, (2, 4, 8), np.uint32)
    assert (two(kernel, x, strict=True).outputs == x[::-1]).all()


def barrier():
    nisa.core_barrier(hbm(4, 8), BOTH)


def send(pipe=0, columns=8, dtype="float32", **more):
    other = 1 - nl.program_id()
    nisa.sendrecv(sbuf(4, columns, dtype=dtype), sbuf(4, columns, dtype=dtype), other, other, pipe, **more)


def nothing():
    return None


def at(pair):
    """Return a kernel that runs one of two functions on each core."""

    def kernel():
        pair[nl.program_id()]()

    return kernel


DEADLOCKS = {
    "barrier of core 0": (barrier, nothing, "core_barrier: core 0 waits in core_barrier(), and core 1 has ended"),
    "barrier of core 1": (nothing, barrier, "core_barrier: core 1 waits in core_barrier(), and core 0 has ended"),
    "send of core 0": (send, nothing, "sendrecv: core 0 waits in sendrecv(0), and core 1 has ended"),
    "barrier and send": (
        barrier,
        send,
        "sendrecv: core 1 waits in sendrecv(0) while core 0 waits in core_barrier()",
    ),
    "two pipes": (
        send,
        lambda: send(1),
        "sendrecv: core 1 waits in sendrecv(1) while core 0 waits in sendrecv(0)",
    ),
}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_deadlock_is_an_error(name):
    *pair, sentence = DEADLOCKS[name]
    with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
        two(at(pair))


def test_cores_meet_again_and_again():
    def kernel():
        for pipe in range(3):
            send(pipe)
            barrier()

    run = two(kernel, strict=True)
    counts = [sum(each.opcode == name for each in run.instructions) for name in ("sendrecv", "core_barrier")]
    assert counts == [6, 6]


def test_an_error_of_one_core_stops_the_other():
    def kernel():
        if nl.program_id():
            raise KeyError("core 1 fails")
        barrier()

    with pytest.raises(KeyError, match="core 1 fails"):
        two(kernel)


MISTAKES = {
    "shapes of the two cores": (
        lambda: send(columns=8 + nl.program_id()),
        r"the other core sends shape \(4, [89]\), not \(4, [89]\)",
    ),
    "shapes of one core": (
        lambda: nisa.sendrecv(sbuf(4, 8), sbuf(4, 9), 1, 1, 0),
        r"dst: must have src's shape \(4, 8\) and dtype float32, not \(4, 9\) and float32",
    ),
    "its own rank": (
        lambda: nisa.sendrecv(sbuf(4, 8), sbuf(4, 8), 0, 0, 0),
        "send_to_rank and recv_from_rank: must be 1, not 0 and 0",
    ),
    "FP32 by GpSimd": (
        lambda: send(columns=257, dma_engine=nisa.dma_engine.gpsimd_dma),
        "src: at most 1024 bytes a partition with gpsimd_dma, not 1028",
    ),
    "BF16 by GpSimd": (
        lambda: send(columns=257, dtype="bfloat16", dma_engine=nisa.dma_engine.gpsimd_dma),
        "src: at most 512 bytes a partition with gpsimd_dma, not 514",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_broken_rule_of_sendrecv(name):
    kernel, sentence = MISTAKES[name]
    with pytest.raises(nki.NkiValidationError, match=sentence):
        two(kernel)


def test_what_gpsimd_just_sends():
    two(lambda: send(columns=256, dma_engine=nisa.dma_engine.gpsimd_dma), strict=True)
