"""Cycles of instructions by closed formulas, and the schedules of one core and of two."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.golden.nki.machine.timeline import CLOCK_MHZ, RATES, engine_mhz
from bitpath.sim.study.nki import events
from bitpath.verif.nki.machine.one_instruction import hbm, psum, sbuf

# The schedule of two cores: barriers, what they send each other, and latency between their engines.


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

F32 = "float32"
AT_ONCE = nki.Options(dma_start=0)


def test_a_core_waits_for_what_the_other_sends():
    """Core 1 takes 64 cycles to write its tile, core 0 takes 1024: both receive behind these and a latency of 64."""

    def kernel():
        core = nl.program_id()
        own, theirs = nl.ndarray((4, 2048), F32), nl.ndarray((4, 2048), F32)
        nisa.memset(own if core == 0 else own[:, 0:8], 1.0)
        nisa.sendrecv(own[:, 0:8], theirs[:, 0:8], 1 - core, 1 - core, 0)

    spans = nki.run(nki.jit(kernel)[2], options=AT_ONCE).cycles.spans
    assert [span.start for span in spans if span.instruction.opcode == "sendrecv"] == [1024 + 64] * 2


def on_two_cores(kernel):
    """Return (core, opcode, start) of each instruction of two cores."""
    return [
        (span.instruction.core, span.instruction.opcode, span.start)
        for span in nki.run(nki.jit(kernel)[2], options=AT_ONCE).cycles.spans
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

    first, second = nki.run(nki.jit(kernel)[2], options=AT_ONCE).cycles.spans
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

    run = nki.run(nki.jit(kernel)[2], options=AT_ONCE)
    spans = {(s.instruction.core, s.instruction.opcode): s for s in run.cycles.spans}
    sent = spans[0, "sendrecv"]
    assert sent.start == spans[1, "sendrecv"].start == 1024 + 64
    assert spans[0, "memset"].start == sent.end + 64


# Cycles of instructions by closed formulas, and the schedule: sums, order, waits and lanes.


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

    from bitpath.verif.nki import kernels

BF = "bfloat16"
RESET = nisa.reduce_cmd.reset_reduce


def matmul(m, n, dtype=BF, **more):
    nisa.nc_matmul(psum(m, n), sbuf(32, m, dtype=dtype), sbuf(32, n, dtype=dtype), **more)


def mx(m, n):
    scales = [sbuf(32, each, dtype="uint8") for each in (m, n)]
    nisa.nc_matmul_mx(psum(m, n), *(sbuf(32, each, dtype="float8_e5m2_x4") for each in (m, n)), *scales)


def double_row(m, n):
    left, right = (sbuf(32, 2, each, dtype="float8_e5m2") for each in (m, n))
    nisa.nc_matmul(psum(m, n), left, right, perf_mode=nisa.matmul_perf_mode.double_row)


def transpose(p, f, dtype=BF, where=psum):
    nisa.nc_transpose(where(f, p, dtype=dtype), sbuf(p, f, dtype=dtype))


def activation(n, dtype=F32, **more):
    nisa.activation(sbuf(4, n, dtype=dtype), nl.exp, sbuf(4, n, dtype=dtype), **more)


def reduced(n):
    nisa.activation_reduce(sbuf(4, n), nl.exp, sbuf(4, n), nl.add, sbuf(4, 1))


def copy(n, dtypes=(F32, F32), **more):
    nisa.tensor_copy(sbuf(4, n, dtype=dtypes[0]), sbuf(4, n, dtype=dtypes[1]), **more)


def tensors(n, dtype=F32, op=nl.add, where=sbuf, **more):
    nisa.tensor_tensor(sbuf(4, n, dtype=dtype), where(4, n, dtype=dtype), sbuf(4, n, dtype=dtype), op, **more)


def three(n, dtype=F32, ops=(nl.multiply, nl.add), operand=2.0):
    tiles = [sbuf(4, n, dtype=dtype) for _ in range(3)]
    nisa.scalar_tensor_tensor(tiles[0], tiles[1], ops[0], operand, ops[1], tiles[2])


def scalar_reduced(n):
    nisa.tensor_scalar_reduce(sbuf(4, n), sbuf(4, n), nl.multiply, 2.0, nl.add, sbuf(4, 1))


def row_sum(n, dtype=F32, op=nl.add):
    nisa.tensor_reduce(sbuf(4, 1, dtype=dtype), op, sbuf(4, n, dtype=dtype), axis=1)


def predicated(n, where=sbuf):
    nisa.tensor_copy_predicated(sbuf(4, n), where(4, n), sbuf(4, n, dtype="uint8"))


def scan(n):
    nisa.tensor_tensor_scan(sbuf(4, n), sbuf(4, n), sbuf(4, n), 0.0, nl.multiply, nl.add)


def exponential(n):
    nisa.exponential(sbuf(4, n), sbuf(4, n), reduce_res=sbuf(4, 1), reduce_cmd=RESET)


def quantize(n):
    nisa.quantize_mx(sbuf(32, n // 4, dtype="float8_e5m2_x4"), sbuf(32, n, dtype=BF), sbuf(32, n // 4, dtype="uint8"))


def stats(n):
    nisa.bn_stats(sbuf(4, 6), sbuf(4, n))


def aggregated(n):
    nisa.bn_aggr(sbuf(4, 2), sbuf(4, n, value=1))


def picked(n):
    nisa.nc_n_gather(sbuf(4, n), sbuf(4, n), sbuf(4, n, dtype="uint32"))


def over_partitions(n):
    nisa.tensor_partition_reduce(sbuf(1, n), nl.add, sbuf(4, n))


def gathered(count, run, dtype=F32):
    index = sbuf(16, count // 16, dtype="uint16")
    nisa.local_gather(sbuf(16, count * run, dtype=dtype), sbuf(16, 64, dtype=dtype), index, run)


def moved(p, n, dtype=F32):
    nisa.dma_copy(sbuf(p, n, dtype=dtype), hbm(p, n, dtype=dtype))


def turned():
    nisa.dma_transpose(sbuf(32, 64), hbm(64, 32))


def summed():
    nisa.dma_compute(sbuf(64, 32), [sbuf(64, 32), sbuf(64, 32)], nl.add)


# Cycles are of the engine's own clock; the rates: VectorE takes 2 elements a cycle, 4 of 16 bits, ScalarE 1 and 2.
CASES = [
    ("nc_matmul", "tensor", 512, lambda: matmul(64, 512)),
    ("nc_matmul", "tensor", 64, lambda: matmul(128, 16)),
    ("nc_matmul", "tensor", 16, lambda: matmul(8, 16)),
    ("nc_matmul", "tensor", 4 * 64, lambda: matmul(8, 64, F32)),
    ("nc_matmul", "tensor", 2 * 64, lambda: matmul(8, 64, F32, is_moving_onezero=True)),
    ("nc_matmul", "tensor", 256, lambda: double_row(64, 256)),
    ("nc_matmul_mx", "tensor", 512, lambda: mx(128, 512)),
    ("nc_transpose", "tensor", 64, lambda: transpose(16, 96)),
    ("nc_transpose", "tensor", 128, lambda: transpose(128, 32)),
    ("nc_transpose", "tensor", 2 * 64, lambda: transpose(64, 64, F32)),
    ("nc_transpose", "vector", 64, lambda: transpose(32, 32, F32, sbuf)),
    ("activation", "scalar", 512, lambda: activation(512)),
    ("activation", "scalar", 512, lambda: activation(512, BF)),
    ("activation", "scalar", 64, lambda: activation(10)),
    ("activation_reduce", "scalar", 512 + 64, lambda: reduced(512)),
    ("tensor_copy", "vector", 256, lambda: copy(512)),
    ("tensor_copy", "vector", 128, lambda: copy(512, (BF, BF))),
    ("tensor_copy", "vector", 256, lambda: copy(512, (BF, F32))),
    ("tensor_copy", "vector", 65, lambda: copy(129)),
    ("tensor_copy", "scalar", 512, lambda: copy(512, engine=nisa.engine.scalar)),
    ("tensor_copy", "gpsimd", 512, lambda: copy(512, engine=nisa.engine.gpsimd)),
    ("memset", "vector", 256, lambda: sbuf(4, 512)),
    ("tensor_tensor", "vector", 512, lambda: tensors(512)),
    ("tensor_tensor", "vector", 512, lambda: tensors(512, where=psum)),
    ("tensor_tensor", "vector", 512, lambda: tensors(512, BF)),
    ("tensor_tensor", "gpsimd", 2 * 512, lambda: tensors(512, "int32")),
    ("scalar_tensor_tensor", "vector", 512, lambda: three(512)),
    ("tensor_scalar_reduce", "vector", 256 + 64, lambda: scalar_reduced(512)),
    ("tensor_reduce", "vector", 256, lambda: row_sum(512)),
    ("tensor_copy_predicated", "vector", 512, lambda: predicated(512)),
    ("tensor_copy_predicated", "vector", 256, lambda: predicated(512, psum)),
    ("tensor_tensor_scan", "vector", 512, lambda: scan(512)),
    ("exponential", "vector", 128, lambda: exponential(512)),
    ("quantize_mx", "vector", 128, lambda: quantize(512)),
    ("reciprocal", "vector", 8 * 512, lambda: nisa.reciprocal(sbuf(4, 512), sbuf(4, 512, value=1))),
    ("bn_stats", "vector", 256, lambda: stats(512)),
    ("bn_aggr", "vector", 13 * 60 // 3, lambda: aggregated(60)),
    ("bn_aggr", "vector", 64, lambda: aggregated(6)),
    ("max8", "vector", 256, lambda: nisa.max8(sbuf(4, 8), sbuf(4, 512))),
    ("rng", "vector", 128, lambda: nisa.rng(sbuf(4, 512, dtype="uint32"))),
    ("iota", "gpsimd", 150 + 512, lambda: nisa.iota(sbuf(4, 512, dtype="int32"), [[1, 512]])),
    ("nc_n_gather", "gpsimd", 150 + 64, lambda: picked(64)),
    ("tensor_partition_reduce", "gpsimd", 150 + 8 * 64, lambda: over_partitions(64)),
    # 150 + n * e / C with C = ((28 + 4 e) / 4 e) / min(4 / bytes, e), for n indices of e elements.
    ("local_gather", "gpsimd", 150 + round(64 * 1 / (32 / 4 / 1)), lambda: gathered(64, 1)),
    ("local_gather", "gpsimd", 150 + round(64 * 4 / (44 / 16 / 2)), lambda: gathered(64, 4, BF)),
    # 8 partitions an engine, 27.5 bytes a cycle of 1.2 GHz.
    ("dma_copy", "dma", -(-8 * 64 * 4 * 10 // 275), lambda: moved(128, 64)),
    ("dma_copy", "dma", -(-3 * 64 * 4 * 10 // 275), lambda: moved(3, 64)),
    ("dma_copy", "dma", -(-64 * 4 * 10 // 275), lambda: nisa.dma_copy(hbm(16, 64), hbm(16, 64))),
    ("dma_transpose", "dma", -(-8 * 64 * 4 * 100 // 2475), turned),
    ("dma_transpose", "dma", -(-8 * 64 * 4 * 100 // 1375), lambda: nisa.dma_transpose(sbuf(32, 64), sbuf(64, 32))),
    ("dma_compute", "dma", 2 * -(-8 * 32 * 4 * 10 // 275), summed),
    ("core_barrier", "gpsimd", 64, lambda: nisa.core_barrier(hbm(1, 8), (0, 1))),
    ("register_move", "sync", 1, lambda: nisa.register_move(nisa.register_alloc(1), 5)),
]  # fmt: skip
OLDER = [
    ("tensor_copy", 512, lambda: copy(512, (BF, BF))),
    ("activation", 512, lambda: activation(512, BF)),
    ("memset", 512, lambda: sbuf(4, 512, dtype=BF, value=1)),
    ("memset", 256, lambda: sbuf(4, 512, dtype=BF)),
    ("memset", 512, lambda: sbuf(4, 512)),
    ("tensor_tensor", 2 * 512, lambda: tensors(512)),
    ("tensor_tensor", 512, lambda: tensors(512, BF)),
    ("tensor_tensor", 2 * 512, lambda: tensors(512, BF, nl.maximum)),
    ("scalar_tensor_tensor", 2 * 512, lambda: three(512, F32, (nl.subtract, nl.multiply))),
    ("scalar_tensor_tensor", 512, lambda: three(512, BF, (nl.subtract, nl.multiply))),
    ("scalar_tensor_tensor", 2 * 511, lambda: three(511, BF, (nl.subtract, nl.multiply))),
    ("scalar_tensor_tensor", 2 * 512, lambda: three(512, BF)),
    ("tensor_reduce", 256, lambda: row_sum(512, BF)),
    ("tensor_reduce", 256, lambda: row_sum(512, BF, nl.maximum)),
    ("tensor_reduce", 512, lambda: row_sum(512, BF, nl.minimum)),
    ("tensor_reduce", 512, lambda: row_sum(512)),
    ("exponential", 512, lambda: exponential(512)),
]


def last(kernel, opcode, **options):
    def run():
        kernel()

    return [each for each in nki.run(run, options=nki.Options(**options)).instructions if each.opcode == opcode][-1]


@pytest.mark.parametrize(
    ("opcode", "engine", "cycles", "kernel"), CASES, ids=[f"{k} {c[0]}" for k, c in enumerate(CASES)]
)
def test_cycles_by_the_formula(opcode, engine, cycles, kernel):
    found = last(kernel, opcode)
    assert (found.engine, found.cycles) == (engine, cycles)


@pytest.mark.parametrize(("opcode", "cycles", "kernel"), OLDER, ids=[f"{k} {c[0]}" for k, c in enumerate(OLDER)])
def test_cycles_as_printed_for_trainium2(opcode, cycles, kernel):
    """One element a cycle and lane; 16-bit data halve some instructions."""
    assert last(kernel, opcode, cycles="trn2_doc").cycles == cycles


def test_a_transfer_starts_behind_its_trigger():
    """1300 ns pass before the first byte, in which the DMA engines serve others: two transfers follow each other at once."""

    def kernel():
        for tile in [nl.ndarray((128, 64), F32) for _ in range(2)]:
            nisa.dma_copy(tile, nl.ndarray((128, 64), F32, nl.private_hbm))

    cycles = last(kernel, "dma_copy").cycles
    assert starts(kernel) == [("dma_copy", 1560), ("dma_copy", 1560 + cycles)]
    assert last(kernel, "dma_copy", dma_start=0).cycles == cycles


def numbers(*shape, dtype=np.float32):
    import ml_dtypes

    return np.random.default_rng(1).standard_normal(shape).astype(ml_dtypes.bfloat16 if dtype == BF else dtype)


RUNS = {
    "softmax": lambda: nki.run(kernels.softmax_by_exponential, numbers(64, 40)),
    "two cores": lambda: nki.run(kernels.softmax_by_activation[2], numbers(64, 40)),
    "all-reduce": lambda: nki.run(kernels.all_reduce[2], numbers(2, 32, 16)),
    "matmul": lambda: nki.run(kernels.tiled, numbers(256, 32, dtype=BF), numbers(256, 32, dtype=BF)),
    "attention": lambda: nki.run(kernels.attention, *[numbers(64, 32, dtype=BF)] * 3, 0.2),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_schedule_adds_up(name):
    """Sums are those of the instructions, and no engine but TensorE and DMA does two things at once."""
    run = RUNS[name]()
    sums, lanes = defaultdict(float), defaultdict(list)
    for each in run.instructions:
        sums[each.core, each.engine] += each.cycles * CLOCK_MHZ / engine_mhz(RATES["trainium3"], each.engine)
    for span in run.cycles.spans:
        lanes[span.instruction.core, span.instruction.engine].append(span)
    assert run.cycles.engines == pytest.approx(dict(sums))
    for own, spans in lanes.items():
        order = [each for each in run.instructions if (each.core, each.engine) == own]
        assert {span.instruction for span in spans} == set(order)
        if own[1] not in ("tensor", "dma"):
            assert all(a.end <= b.start for a, b in pairwise(sorted(spans, key=lambda span: span.start)))
            assert sum(span.end - span.start for span in spans) == pytest.approx(sums[own])
    cores = {core for core, _ in sums}
    assert run.cycles.serial == pytest.approx(
        max(sum(each for (own, _), each in sums.items() if own == core) for core in cores)
    )
    assert run.cycles.overlapped == max(span.end for span in run.cycles.spans)
    assert run.cycles.overlapped <= sum(sums.values()) + (1560 + 64) * len(run.instructions)


def starts(kernel):
    return [(span.instruction.opcode, span.start) for span in nki.run(kernel).cycles.spans]


def test_an_instruction_waits_for_another_engines_bytes():
    """memset on VectorE takes 64 cycles, and 64 pass before ScalarE reads; an independent GpSimd starts at once."""

    def kernel():
        tile = sbuf(4, 8)
        nisa.iota(nl.ndarray((4, 8), "int32"), [[1, 8]])
        nisa.activation(tile, nl.exp, tile)
        nisa.tensor_copy(nl.ndarray((4, 8), F32), tile)

    assert starts(kernel) == [("memset", 0), ("iota", 0), ("activation", 128), ("tensor_copy", 256)]


def test_an_engine_does_not_wait_for_its_own_latency():
    def kernel():
        tile = sbuf(4, 8)
        nisa.tensor_copy(tile, tile)

    assert starts(kernel) == [("memset", 0), ("tensor_copy", 64)]


def test_a_writer_waits_for_readers():
    def kernel():
        tile = sbuf(4, 8)
        nisa.activation(nl.ndarray((4, 8), F32), nl.exp, tile)
        nisa.memset(tile, 1.0)

    assert starts(kernel) == [("memset", 0), ("activation", 128), ("memset", 128 + 64 + 64)]


def test_an_instruction_follows_what_it_depends_on():
    def kernel(depends):
        tiles = nl.ndarray((4, 8), "int32"), nl.ndarray((4, 8), F32)
        first = nisa.iota(tiles[0], [[1, 8]], name="numbers")
        second = nisa.memset(tiles[1], 0.0)
        assert (first.name, second.name) == ("numbers", "")
        if depends:
            assert second.depends_on(first) is second

    assert [each[1] for each in starts(lambda: kernel(False))] == [0, 0]
    assert [each[1] for each in starts(lambda: kernel(True))] == [0, 158 + 64]


def test_tensor_engine_has_twice_the_clock():
    run = nki.run(lambda: matmul(64, 512))
    assert run.cycles.engines[0, "tensor"] == 256


# TensorE's issue rule: background transposes and tiles side by side.


def bank(*shape, dtype=F32):
    """Return a tile in PSUM that no instruction has written, for the first to write it."""
    return nl.ndarray(shape, dtype, nl.psum)


def transposes(count, **options):
    """Return the cycles of 2.4 GHz from the first of ``count`` transposes to the end of the last, four banks by turns."""

    def kernel():
        tile, banks = sbuf(128, 128, dtype=BF), [bank(128, 128, dtype=BF) for _ in range(4)]
        for k in range(count):
            nisa.nc_transpose(banks[k % 4], tile)

    spans = [
        span
        for span in nki.run(kernel, options=nki.Options(**options)).cycles.spans
        if span.instruction.opcode == "nc_transpose"
    ]
    return 2 * (max(span.end for span in spans) - spans[0].start)


def test_transposes_run_two_by_two():
    """As `bitpath.golden.trainium3.issue`: half the time, and one cycle for the second slot; Trainium2 has one slot."""
    slots = trainium3.issue(
        [trainium3.TensorInstruction(cycles=128, banks=(k % 4,), transpose=True) for k in range(42)]
    )
    assert transposes(42) == slots[-1].end == 21 * 128 + 1
    assert transposes(42, target="trn2") == 42 * 128


def test_a_trace_has_a_lane_for_the_background():
    """No lane of a trace does two things at once; TensorE has two."""

    def kernel():
        tile, banks = sbuf(128, 128, dtype=BF), [bank(128, 128, dtype=BF) for _ in range(4)]
        for each in banks:
            nisa.nc_transpose(each, tile)

    lanes = defaultdict(list)
    for each in events(nki.run(kernel)):
        if each["ph"] == "X":
            lanes[each["cat"], each["tid"]].append(each)
    assert [len(own) for (engine, _), own in lanes.items() if engine == "tensor"] == [2, 2]
    assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-9 for own in lanes.values() for a, b in pairwise(own))


def test_a_transpose_runs_behind_a_matmul():
    """The transposes take the background slot of a matmul of 512 cycles; one into its bank waits."""

    def kernel(number):
        left, right = sbuf(128, 128, dtype=BF), sbuf(128, 512, dtype=BF)
        nisa.nc_matmul(nl.ndarray((128, 512), F32, nl.psum, address=(0, 0)), left, right)
        nisa.nc_transpose(nl.ndarray((128, 128), BF, nl.psum, address=(0, 2048 * number)), left)

    def wait(number):
        spans = {span.instruction.opcode: span for span in nki.run(lambda: kernel(number)).cycles.spans}
        return 2 * (spans["nc_transpose"].start - spans["nc_matmul"].start)

    assert (wait(1), wait(0)) == (1, 512)


def test_row_tiles_run_side_by_side():
    """Four matmuls of 32 rows take 515 cycles on four tiles, as `bitpath.golden.trainium3.issue` says, and 2048 without."""

    def kernel(tiled):
        left, right = sbuf(128, 128, dtype=BF), sbuf(128, 512, dtype=BF)
        banks = [bank(128, 512) for _ in range(4)]
        for k, place in enumerate(banks):
            rows = slice(32 * k, 32 * k + 32)
            more = {"tile_position": (32 * k, 0), "tile_size": (32, 128)} if tiled else {}
            nisa.nc_matmul(place, left[rows], right[rows], **more)

    def length_of(tiled):
        spans = [s for s in nki.run(lambda: kernel(tiled)).cycles.spans if s.instruction.opcode == "nc_matmul"]
        return 2 * (max(span.end for span in spans) - spans[0].start)

    tiles = [trainium3.TensorInstruction(cycles=512, banks=(k,), tile=(32 * k, 0, 32, 128)) for k in range(4)]
    assert length_of(True) == trainium3.issue(tiles)[-1].end == 515
    assert length_of(False) == 2048


# The schedule's freedom: an instruction takes the first gap of its engine, but in a block of no_reorder.


@pytest.mark.parametrize(("ordered", "start"), [(False, 64), (True, 158 + 64 + 64)])
def test_an_independent_instruction_goes_first(ordered, start):
    """The second memset needs nothing of iota's; only a block of no_reorder keeps it behind the copy that waits for iota."""

    def body(numbers, copies, zeros):
        nisa.iota(numbers, [[1, 8]])
        nisa.tensor_copy(copies, numbers)
        nisa.memset(zeros, 1.0)

    def kernel():
        tiles = [nl.ndarray((4, 8), dtype) for dtype in ("int32", "int32", F32)]
        first, last = (nl.ndarray((4, 8), F32) for _ in range(2))
        nisa.memset(first, 0.0)
        if not ordered:
            return body(*tiles)
        with nl.no_reorder(), nl.no_reorder():
            body(*tiles)
        nisa.memset(last, 2.0)  # outside the block it finds the gap in front
        return None

    found = starts(kernel)
    memsets = [at for opcode, at in found if opcode == "memset"]
    assert memsets == ([0, start, 64] if ordered else [0, start])
    assert ("tensor_copy", 158 + 64) in found


def test_users_of_registers_keep_their_order():
    """The second exponential adds to the first one's sum, and the third starts a sum anew: neither goes in front."""

    def kernel():
        tiles = [sbuf(4, 8) for _ in range(3)]
        nisa.iota(tiles[0].view("int32"), [[1, 8]])
        commands = RESET, nisa.reduce_cmd.reduce, RESET
        for tile, command in zip(tiles, commands, strict=True):
            nisa.exponential(tile, tile, reduce_cmd=command)

    found = [at for opcode, at in starts(kernel) if opcode == "exponential"]
    assert found == sorted(found)
    assert found[1] >= found[0] + 64


def test_draws_keep_their_order():
    """The second tile of random words is free first, and still gets the second words."""

    def kernel():
        tiles = [sbuf(4, 8, dtype="uint32") for _ in range(2)]
        nisa.iota(tiles[0], [[1, 8]])
        for tile in tiles:
            nisa.rng(tile)

    found = [at for opcode, at in starts(kernel) if opcode == "rng"]
    assert found[1] >= found[0] + 64


def test_no_gap_behind_a_barrier_is_filled_in_front_of_it():
    """GpSimd runs nothing in front of a barrier that the kernel has behind it."""

    def kernel():
        core = nl.program_id()
        own = nl.ndarray((4, 2048), F32)
        out = nl.ndarray((2, 4, 8), F32, nl.shared_hbm)
        nisa.memset(own if core == 0 else own[:, 0:8], 1.0)
        nisa.dma_copy(out[core], own[:, 0:8])
        nisa.core_barrier(out, (0, 1))
        nisa.iota(nl.ndarray((4, 8), "int32"), [[1, 8]])

    found = on_two_cores(kernel)
    (barrier,) = {start for _, opcode, start in found if opcode == "core_barrier"}
    assert [start for _, opcode, start in found if opcode == "iota"] == [barrier + 64] * 2


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_matmuls_do_not_wait_for_the_tiles_before(target):
    """Tiles of PSUM are set to 0, filled by eight matmuls and copied out: TensorE is busy from its first matmul to its last.

    In the kernel's order VectorE would set the next tile to 0 behind the copy of the one before.
    """

    def kernel():
        left, right = sbuf(128, 128, dtype=BF), sbuf(128, 512, dtype=BF)
        banks, out = [bank(128, 512) for _ in range(2)], [nl.ndarray((128, 512), BF) for _ in range(2)]
        for k in range(4):
            nisa.memset(banks[k % 2], 0.0)
            for step in range(8):
                nisa.nc_matmul(banks[k % 2], left, right, accumulate=step > 0)
            nisa.tensor_copy(out[k % 2], banks[k % 2])

    spans = nki.run(kernel, options=nki.Options(target=target)).cycles.spans
    matmuls = [span for span in spans if span.instruction.engine == "tensor"]
    assert matmuls[-1].end - matmuls[0].start == 32 * 512 / 2


# DMA: each engine for its bytes, and B += A of SBUF.


def test_transfers_of_other_engines_run_side_by_side():
    """Partitions 0 to 7 and 8 to 15 have engines of their own; two transfers of partitions 0 to 7 share one."""

    def kernel(first):
        tiles = nl.ndarray((8, 512), F32, address=(0, 0)), nl.ndarray((8, 512), F32, address=(first, 8192))
        for tile in tiles:
            nisa.dma_copy(tile, nl.ndarray((8, 512), F32, nl.private_hbm))

    assert starts(lambda: kernel(8)) == [("dma_copy", 1560), ("dma_copy", 1560)]
    cycles = last(lambda: kernel(0), "dma_copy").cycles
    assert starts(lambda: kernel(0)) == [("dma_copy", 1560), ("dma_copy", 1560 + cycles)]


def added(dtype=F32, other=None, place=sbuf, swapped=False, **options):
    """Return the cycles of a DMA that adds A to B, in those of a copy of A to B."""

    def kernel():
        b, a = place(64, 32, dtype=dtype), sbuf(64, 32, dtype=other or dtype)
        nisa.dma_copy(b, sbuf(64, 32, dtype=dtype), name="copy")
        nisa.dma_compute(b, [a, b] if swapped else [b, a], nl.add)

    found = nki.run(kernel, options=nki.Options(**options)).instructions
    return found[-1].cycles / next(each.cycles for each in found if each.name == "copy")


@pytest.mark.parametrize(
    ("call", "factor"),
    [
        ({}, 1),
        ({"dtype": BF}, 1),
        ({"swapped": True}, 1),
        ({"dtype": "float16"}, 2),
        ({"other": BF}, 2),
        ({"place": hbm}, 2),
        ({"target": "trn2"}, 2),
    ],
)
def test_read_add_write_at_the_rate_of_a_copy(call, factor):
    """Trainium3's SBUF adds BF16 to BF16 and FP32 to FP32; everything else runs at half the rate."""
    assert added(**call) == factor


# Trainium2: its clocks and its performance modes.


@pytest.mark.parametrize(
    ("opcode", "cycles", "kernel"),
    [
        ("tensor_copy", 128, lambda: copy(512, (BF, BF))),
        ("tensor_copy", 256, lambda: nisa.tensor_copy(sbuf(4, 512, dtype=BF), psum(4, 512, dtype=BF))),
        ("tensor_copy", 512, lambda: copy(512, (BF, F32))),
        ("tensor_scalar", 128, lambda: nisa.tensor_scalar(*(sbuf(4, 512, dtype=BF) for _ in range(2)), nl.add, 1.0)),
        ("tensor_copy", 512, lambda: copy(512, (BF, BF), engine=nisa.engine.scalar)),
        ("tensor_tensor", 512, lambda: tensors(512, BF)),
        ("tensor_tensor", 2 * 512, lambda: tensors(512)),
        ("max8", 512, lambda: nisa.max8(sbuf(4, 8, dtype=BF), sbuf(4, 512, dtype=BF))),
        ("dma_copy", -(-8 * 64 * 4 * 12 // 230), lambda: moved(128, 64)),
    ],
)
def test_cycles_of_trainium2(opcode, cycles, kernel):
    """ARCH2's performance modes, COST's cycles for everything else, and 23 bytes a nanosecond of a DMA engine."""
    assert last(kernel, opcode, target="trn2").cycles == cycles


def test_vector_engine_of_trainium2_runs_at_960_mhz():
    run = nki.run(lambda: copy(960), options=nki.Options(target="trn2"))
    spans = {span.instruction.opcode: span.end - span.start for span in run.cycles.spans}
    assert (spans["tensor_copy"], run.instructions[-1].cycles) == (1200, 960)


def test_rates_by_name():
    assert nki.Options().rates is RATES["trainium3"]
    assert nki.Options(target="gen3").rates is RATES["trainium2"]
    assert nki.Options(target="trn2", cycles="trn2_doc").rates is RATES["trn2_doc"]
    with pytest.raises(ValueError, match=r"^cycles must be trainium3, trainium2, trn2_doc, not 'trn1'$"):
        nki.Options(cycles="trn1")
