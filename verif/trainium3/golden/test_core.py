"""The core: programs over its memories, layers from HBM to HBM, and TensorE's modes."""

from functools import partial

import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E4M3, FP16, FP32, MX_FORMATS
from bitpath.golden.trainium3 import AccessPattern, Compute, Core, HbmPattern, Operand, QueueConfig, Transfer
from bitpath.golden.trainium3.core.layer import LAYER
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.tensor.modes import DOUBLE_ROW, MODES, SPARSE, pruned
from bitpath.sim.flows.operands import normalised_layer

# The core: programs over its memories, orders that are missing, and times by engine.


F32 = np.dtype(np.float32)
COLUMNS = 4
LOAD = 2 * (720 + 1560 + 90)
"""Ticks of a short hwdge transfer: generation, start, one descriptor."""


def sbuf(offset=0, partitions=32, columns=COLUMNS):
    return Operand("sbuf", AccessPattern(F32, 0, partitions, offset, ((1, columns),), dma=True))


def psum(bank, offset=0):
    return Operand("psum", AccessPattern(F32, 0, 32, 512 * bank + offset, ((1, COLUMNS),)))


def hbm(offset=0, rows=32, columns=COLUMNS):
    return Operand("hbm", HbmPattern(F32, offset, ((columns, rows), (1, columns))))


def compute(name, reads=(), writes=(), engine="vector", function=lambda *values: values[0], **more):
    return Compute(name=name, engine=engine, reads=reads, writes=writes, compute=function, **{"cycles": 64} | more)


def constant(name, place, value=1.0, **more):
    return compute(name, (), (place,), function=partial(np.full, place.pattern.shape, np.float32(value)), **more)


load = partial(Transfer, name="load", destination=sbuf(), source=hbm())


def core(**more):
    made = Core(hbm_bytes=1 << 16, **more)
    made.write(hbm(), np.arange(32 * COLUMNS, dtype=F32).reshape(32, COLUMNS))
    return made


def times(report):
    return {span.name: (span.start, span.end) for span in report.spans}


def test_a_program_moves_computes_and_stores():
    machine = core()
    program = [
        load(),
        compute("double", (sbuf(),), (sbuf(8),), function=lambda x: x + x, after=("load",)),
        load(name="store", destination=hbm(256), source=sbuf(8), after=("double",)),
    ]
    report = machine.run(program)
    assert np.array_equal(machine.read(hbm(256)), 2 * machine.read(hbm()))
    descriptors = 8 * 90 * 2
    ends = [LOAD - 180 + descriptors, LOAD - 180 + descriptors + 128]
    ends.append(ends[1] + LOAD - 180 + descriptors)
    assert times(report) == {"load": (0, ends[0]), "double": (ends[0], ends[1]), "store": (ends[1], ends[2])}
    assert report.end == ends[2]
    assert report.busy == {"vector": 128, "dma": 2 * 4 * descriptors}
    assert report.stalls["vector"] == {"dma": ends[0]}
    (traffic,) = report.traffic.values()
    assert (traffic.transfers, traffic.descriptors, traffic.bytes) == (2, 64, 2 * 32 * 16)


def test_a_cast_takes_the_wider_side_and_an_add_keeps_its_place():
    machine = core()
    halves = Operand("sbuf", AccessPattern(np.dtype(np.float16), 0, 32, 64, ((1, COLUMNS),), dma=True))
    report = machine.run(
        [
            load(name="cast", destination=halves, engine="gpsimd"),
            constant("ones", sbuf()),
            load(name="add", add=True, after=("ones",)),
        ]
    )
    assert np.array_equal(machine.read(halves), machine.read(hbm()).astype(np.float16))
    assert np.array_equal(machine.read(sbuf()), machine.read(hbm()) + np.float32(1))
    assert report.traffic[0].bytes == 2 * 32 * 16


def test_engines_of_two_clocks_and_two_slots():
    """A transpose runs beside a matmul in TensorE's background; VectorE's cycle is two of TensorE's."""
    tensor = partial(constant, engine="tensor")
    report = Core(hbm_bytes=64).run(
        [
            tensor("matmul", psum(0), cycles=512),
            tensor("transpose", psum(1), cycles=128, transpose=True),
            tensor("same bank", psum(0, 8), cycles=128, transpose=True),
            compute("evict", (psum(1),), (sbuf(),), cycles=100, after=("transpose",)),
        ]
    )
    # VectorE starts with a cycle of its own, an even tick.
    assert times(report) == {
        "matmul": (0, 512),
        "transpose": (1, 129),
        "same bank": (512, 640),
        "evict": (130, 330),
    }
    assert report.banks == (0, 1)
    assert report.busy["tensor"] == 640


def test_a_transfer_of_a_higher_priority_delays_one_that_came_first():
    """Each span ends when the engines have served all of its descriptors, also those behind a later transfer's."""
    queues = (QueueConfig(priority=1), QueueConfig(priority=0), *(QueueConfig(),) * 14)
    long = load(name="long", destination=sbuf(0, 8, 1 << 12), source=hbm(1 << 13, 8, 1 << 12), mode="none")
    short = load(name="short", destination=sbuf(1 << 13, 8), source=hbm(0, 8), queue=1, mode="none", engine="scalar")
    machine = Core(hbm_bytes=1 << 18, queues=queues)
    machine.write(hbm(1 << 13, 8, 1 << 12), np.ones((8, 1 << 12), F32))
    machine.write(hbm(0, 8), np.ones((8, COLUMNS), F32))
    alone = times(machine.run([long]))["long"][1]
    wait = constant("wait", sbuf(1 << 14), cycles=100)
    together = machine.run([long, wait, Transfer(**{**vars(short), "after": ("wait",)})])
    assert times(together)["long"][1] == alone + 2 * 8 * 90


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (
            [load(), compute("read", (sbuf(),), (sbuf(8),))],
            "after of read must lead to load, since both use the same bytes of SBUF",
        ),
        (
            [constant("one", sbuf()), constant("two", sbuf(2), engine="gpsimd")],
            "after of two must lead to one, since both use the same bytes of SBUF",
        ),
        (
            [constant("a", sbuf()), load(name="b", add=True, after=("a",)), load(name="c", add=True, queue=1, after=("a",))],
            "after of c must lead to b, since both use the same bytes of SBUF",
        ),
        ([constant("a", sbuf()), constant("a", sbuf())], "name must be unique in its program, not 'a' again"),
        ([constant("a", sbuf(), after=("b",))], "after of a must name earlier instructions, not 'b'"),
        (
            [compute("read", (sbuf(),), (sbuf(8),))],
            "SBUF must be written before it is read, not be read at byte 0 of partition 0",
        ),
        (
            [compute("wide", (), (sbuf(),), function=lambda: np.zeros(4, F32))],
            "a result of wide must be 128 elements of float32, not 4 of float32",
        ),
    ],
)  # fmt: skip
def test_mistakes_of_a_program(program, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        core().run(program)


def test_adds_in_one_queue_keep_their_order():
    machine = core()
    program = [constant("a", sbuf()), *(load(name=name, add=True, after=("a",)) for name in "bc")]
    machine.run(program)
    assert np.array_equal(machine.read(sbuf()), 1 + 2 * machine.read(hbm()))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Operand("hbm", sbuf().pattern), TypeError, "pattern must be HbmPattern in hbm, not AccessPattern"),
        (lambda: Operand("sram", sbuf().pattern), ValueError, "memory must be 'sbuf', 'psum' or 'hbm', not 'sram'"),
        (lambda: constant("a", sbuf(), cycles=0), ValueError, "cycles of a must be 1 or more, not 0"),
        (
            lambda: compute("a", (hbm(),), (sbuf(),)),
            ValueError,
            "operands of a must lie in SBUF or PSUM, since only the DMA reaches HBM",
        ),
        (
            lambda: constant("a", psum(0), engine="gpsimd"),
            ValueError,
            "operands of a must lie in SBUF, since GpSimd does not reach PSUM",
        ),
        (
            lambda: load(source=psum(0)),
            ValueError,
            "operands of load must lie in SBUF or HBM, since the DMA does not reach PSUM",
        ),
        (
            lambda: load(destination=hbm(256), add=True),
            ValueError,
            "a read-add-write, load, must go to SBUF without a cast",
        ),
        (lambda: core().run(["load"]), TypeError, "program must hold Compute and Transfer instructions, not str"),
    ],
)
def test_mistakes_of_an_instruction(make, error, sentence):
    with pytest.raises(error, match=f"^{sentence}$"):
        make()


def test_nothing_runs_where_an_order_is_missing():
    machine = core()
    with pytest.raises(ValueError, match="must lead to"):
        machine.run([constant("one", sbuf()), constant("two", sbuf(), engine="gpsimd")])
    with pytest.raises(ValueError, match="must be written"):
        machine.read(sbuf())


def test_the_spans_are_those_of_the_single_transfer():
    """The core adds nothing to `transfer_cycles` of an idle machine."""
    report = core().run([load()])
    alone = trainium3.transfer_cycles(trainium3.descriptors(sbuf().pattern, hbm().pattern), mode="hwdge", hbm_sides=1)
    assert report.end == 2 * alone.total


# The layer from HBM back to HBM: its stages against the operations on their own, and its times.


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.fixture(scope="module")
def layer():
    hidden, gamma, weight = normalised_layer()
    return trainium3.round_to_bfloat16(hidden), trainium3.round_to_bfloat16(gamma), weight


@pytest.mark.parametrize(("fmt", "rule"), [("mxfp8_e4m3", "ocp"), ("mxfp8_e5m2", "nki05")])
def test_every_stage_is_the_operation_on_its_own(layer, fmt, rule):
    """Without memories or DMA: RMSNorm, then each part quantised and multiplied, the sum rounded to BF16."""
    hidden, gamma, weight = layer
    result = trainium3.run_layer(*layer, format=fmt, scale_rule=rule)
    normalised = trainium3.rmsnorm(hidden, gamma)
    assert same(result.normalised, normalised)
    dtype = DTYPES[MX_FORMATS[fmt].element]
    parts, scales = [], []
    for part in LAYER.parts:
        first, partitions, start = part.first, part.partitions, part.start
        each = slice(first, first + 4 * partitions)
        tiles = [trainium3.to_partitions(np.ascontiguousarray(x)) for x in (normalised.T[each], weight[each])]
        x, w = (tile.reshape(partitions, -1) for tile in tiles)
        data, scale = trainium3.quantize_mx(x, dtype, scale_rule=rule)
        codes, weight_scale = trainium3.quantize_offline(w, dtype, scale_rule=rule)
        assert same(result.words[start : start + partitions], trainium3.pack_x4(data))
        operands = (each.reshape(partitions, -1, 4) for each in (data, codes))
        parts.append(trainium3.nc_matmul_mx(*operands, scale, weight_scale))
        scales.append(scale)
    assert same(result.scales, np.vstack(scales))
    assert same(result.parts, np.stack(parts))
    total = trainium3.read_add_write(*parts)
    assert same(result.output, trainium3.cast(total, DTYPES[BF16]))


def test_priorities_and_classes_change_times_alone(layer):
    free, fair = (trainium3.run_layer(*layer, shaping=False, qos=qos) for qos in (True, False))
    shaped = trainium3.run_layer(*layer)
    assert same(free.output, shaped.output)
    assert same(free.output, fair.output)
    moved = [each.report.traffic[3] for each in (shaped, free, fair)]
    assert len({traffic.bytes for traffic in moved}) == 1
    # A quarter of an engine's 27.5 bytes a cycle of 1.2 GHz, on 16 engines, is 132 GB/s; the burst and the start count, too.
    assert moved[0].gb_per_s < 132 < moved[1].gb_per_s
    # Without priorities the copy within HBM takes turns with the loads, so that the first instruction starts later.
    first = [next(span.start for span in each.report.spans if span.name == "sum of squares") for each in (free, fair)]
    assert first[0] < first[1]


def test_the_engines_are_busy_for_the_cycles_of_their_rules(layer):
    report = trainium3.run_layer(*layer).report
    spans = {span.name: span for span in report.spans}
    # Eight transposes of 128 cycles in two slots, one cycle apart.
    assert spans["transpose 7"].end - spans["transpose 0"].start == 4 * 128 + 1
    assert spans["multiply 0"].end - spans["multiply 0"].start == 512
    assert spans["quantise"].end - spans["quantise"].start == 2 * 128
    assert spans["normalise"].end - spans["normalise"].start == 2 * 384
    # 8 descriptors of 2048 bytes on each engine, there and back.
    assert spans["add part"].end - spans["add part"].start == 2 * (720 + 1560 + 8 * 90)
    assert report.banks == (0, 1, 2, 5, 6)
    assert sum(span.engine == "dma" for span in report.spans) == 11


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (
            {"format": "mxfp4"},
            ValueError,
            "format must be 'mxfp8_e4m3' or 'mxfp8_e5m2', not 'mxfp4'; did you mean 'mxfp8_e4m3'.",
        ),
        ({"gamma": np.ones(3, DTYPES[BF16])}, ValueError, r"gamma must have shape \(384,\), not \(3,\)"),
        ({"weight": np.ones((384, 512))}, TypeError, "weight must be float32, not float64"),
    ],
)
def test_mistakes_of_layer(layer, change, error, sentence):
    names = ("hidden", "gamma", "weight")
    with pytest.raises(error, match=f"^{sentence}$"):
        trainium3.run_layer(**dict(zip(names, layer, strict=True)) | change)


# Matrices in TensorE's modes beside quad MX: each against instructions of slices that are written out.


NARROW = {
    "bf16": DTYPES[BF16],
    "fp16": DTYPES[FP16],
    "tf32": DTYPES[FP32],
    "fp32": DTYPES[FP32],
    DOUBLE_ROW: DTYPES[E4M3],
}


def matrices(m, k, n, seed=5):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))


def same_bits(x, y):
    return x.dtype == y.dtype and np.array_equal(x.view(np.uint32), y.view(np.uint32))


@pytest.mark.parametrize("mode", ["bf16", "fp16", "tf32", "fp32"])
def test_parts_of_k_accumulate_in_psum(mode):
    """K of 300 is 128, 128 and 44; 130 rows are two instructions, 520 columns two."""
    a, b = matrices(130, 300, 520)
    program = trainium3.mode_program(a, b, mode)
    assert [each.psum_accumulate_flag for each in program] == 4 * [1, 0, 2]
    tf32 = {"stationary_tf32": mode == "tf32", "moving_tf32": mode == "tf32"}
    x, y = (trainium3.cast(each, NARROW[mode]) for each in (np.ascontiguousarray(a.T), b))
    total = None
    for k in (slice(0, 128), slice(128, 256), slice(256, 300)):
        part = trainium3.nc_matmul(x[k, 128:], np.ascontiguousarray(y[k, 512:]), **tf32)
        total = part if total is None else fp32.add(total, part)
    assert same_bits(np.ascontiguousarray(trainium3.run_mode_program(program)[128:, 512:]), total)


def test_double_row_takes_256_places_of_k():
    """The second half of an instruction's K is its second row; the last instruction has a quadrant of 64 places."""
    a, b = matrices(3, 259, 5)
    program = trainium3.mode_program(a, b, DOUBLE_ROW)
    assert [each.stationary.shape for each in program] == [(128, 2, 3), (32, 2, 3)]
    x, y = (trainium3.cast(each, NARROW[DOUBLE_ROW]) for each in (np.ascontiguousarray(a.T), b))
    assert np.array_equal(program[0].moving[7].view(np.uint8), y[[7, 135]].view(np.uint8))
    last = program[1].stationary.view(np.uint8)
    assert np.array_equal(last[:3, 0], x[256:].view(np.uint8))
    assert not last[3:].any()
    assert not last[:, 1].any()
    parts = [trainium3.nc_matmul(each.stationary, each.moving, perf_mode="double_row") for each in program]
    assert same_bits(trainium3.run_mode_program(program), fp32.add(*parts))


@pytest.mark.parametrize("mode", SPARSE)
def test_a_sparse_product_is_the_dense_one_of_pruned_weights(mode):
    """A group of K keeps its largest magnitudes; K of 100 and N of 6 are padded."""
    a, b = matrices(5, 100, 6)
    pattern = trainium3_pattern(mode)
    program = trainium3.mode_program(a, b, mode)
    kept, group = pattern
    once = pruned(b, mode)
    weights = np.pad(trainium3.cast(b, DTYPES[BF16]).astype(np.float32), ((0, -100 % group), (0, 0)))
    grouped = weights.reshape(-1, group, 6)
    order = np.argsort(-np.abs(grouped), axis=1, kind="stable")[:, kept:]
    np.put_along_axis(grouped, order, 0, axis=1)
    x = np.pad(trainium3.cast(np.ascontiguousarray(a.T), DTYPES[BF16]), ((0, -100 % group), (0, 0)))
    assert same_bits(once, weights[:100])
    weights = trainium3.cast(weights, DTYPES[BF16])
    assert same_bits(np.ascontiguousarray(trainium3.run_mode_program(program)[:, :6]), trainium3.nc_matmul(x, weights))


@pytest.mark.parametrize("mode", SPARSE)
def test_pruning_keeps_groups_whole(mode):
    """K of 300 is pruned as each of its groups alone."""
    (b, _), group = matrices(300, 3, 1), trainium3_pattern(mode)[1]
    alone = [pruned(b[first : first + group], mode) for first in range(0, 300, group)]
    assert same_bits(pruned(b, mode), np.concatenate(alone))


def trainium3_pattern(mode):
    return tuple(int(number) for number in SPARSE[mode].split(":"))


@pytest.mark.parametrize("mode", MODES)
def test_a_single_element(mode):
    a, b = np.full((1, 1), 1.5, np.float32), np.full((1, 1), -2.0, np.float32)
    assert trainium3.run_mode_program(trainium3.mode_program(a, b, mode))[0, 0] == -3


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"mode": "fp9"}, ValueError, "mode must be .bf16., .fp16., .tf32., .fp32."),
        ({"a": np.ones((2, 3), np.float64)}, TypeError, "a must be float32, not float64"),
        ({"b": np.ones((4, 2), np.float32)}, ValueError, "b must have 3 rows, as many as a has columns, not 4"),
        ({"a": np.ones(3, np.float32)}, ValueError, r"a must have two dimensions of at least 1, not shape \(3,\)"),
        ({"b": np.ones(3, np.float32)}, ValueError, r"b must have two dimensions of at least 1, not shape \(3,\)"),
    ],
)
def test_mistakes_of_modes(change, error, sentence):
    given = {"a": np.ones((2, 3), np.float32), "b": np.ones((3, 2), np.float32), "mode": "bf16"} | change
    with pytest.raises(error, match=sentence):
        trainium3.mode_program(**given)


def test_mistakes_beside_a_program():
    with pytest.raises(ValueError, match=r"^program must have at least 1 element, not 0$"):
        trainium3.run_mode_program([])
    with pytest.raises(ValueError, match=r"^matrix must have shape \[K, N\], not \(4,\)$"):
        pruned(np.ones(4, np.float32), "sparse_2_4")
