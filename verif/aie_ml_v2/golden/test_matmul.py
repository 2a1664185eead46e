"""Matrices on native products, and cycles of the timing table and of Table 7."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import (
    CONTROL_REGISTERS,
    CONTROL_WORD,
    FLAGS_AFTER_WRITE,
    INTEGER_MODES,
    MODES,
    MULTIPLIERS,
    TIMINGS,
    VARIANTS,
    Datapath,
)
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, PRESETS, Mx4Path
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS, FORMATS
from bitpath.golden.arrays.codec import codes_of

# The timing table and Table 7, recomputed from the cycle model.


TIMING_TABLE = {
    # operand reads, accumulator read, post-add, compare and shift set-up, shift and add, write
    Datapath.INTEGER: ((1,), 4, 4, None, 5, 6),
    Datapath.MX6: ((1,), 3, 4, 4, 5, 6),
    Datapath.FLOAT: ((1,), 4, 5, 5, 6, 7),
    Datapath.MX9: ((1, 2), 4, 4, 5, 6, 7),
}
TABLE_7 = {
    # lanes, bits a lane, multiply-accumulates a cycle, depth, datapath
    "int8": (64, 32, 512, 8, Datapath.INTEGER),
    "int16": (64, 32, 128, 2, Datapath.INTEGER),
    "int16_64": (32, 64, 128, 4, Datapath.INTEGER),
    "int32x16": (32, 64, 64, 2, Datapath.INTEGER),
    "float16": (32, 32, 256, 8, Datapath.FLOAT),
    "float8": (64, 32, 512, 8, Datapath.FLOAT),
    "mx6": (64, 32, 1024, 16, Datapath.MX6),
    "mx9": (64, 32, 512, 8, Datapath.MX9),
}
FORWARDING = {Datapath.INTEGER: 2, Datapath.MX6: 3, Datapath.FLOAT: 3, Datapath.MX9: 3}
NO_BYPASS = replace(PRESETS["aie_ml_v2"].numerics, accumulator_bypass=False)


def chain(mode, count, accumulators):
    """Return ``count`` instructions that use ``accumulators`` accumulators in turn."""
    turns = (i % accumulators for i in range(count))
    return [aie.MacInstruction(mode=mode, destination=each, accumulators=(each,)) for each in turns]


def steady_rate(mode, accumulators):
    """Multiply-accumulates a cycle between the results of a long chain's halves."""
    halves = [aie.total_cycles(chain(mode, count, accumulators)) for count in (60, 120)]
    return 60 * MODES[mode].lanes * MODES[mode].depth / (halves[1] - halves[0])


@pytest.mark.parametrize("kind", TIMINGS)
def test_the_timing_table(kind):
    assert astuple(TIMINGS[kind]) == TIMING_TABLE[kind]
    assert TIMINGS[kind].forwarding == FORWARDING[kind]
    assert FLAGS_AFTER_WRITE == 1


@pytest.mark.parametrize("name", MODES)
def test_table_7(name):
    """Lanes, bits a lane, multiply-accumulates a cycle, and the depth that follows: MX9's 16 take two cycles."""
    mode, steps = MODES[name], aie.timing(name)
    lanes, bits, macs, depth, datapath = TABLE_7[name]
    assert (mode.lanes, mode.lane_bits, mode.macs_per_cycle, mode.datapath) == (lanes, bits, macs, datapath)
    assert steps is TIMINGS[datapath]
    assert mode.depth == depth * steps.issue_interval
    assert aie.macs_per_cycle(name) == macs
    assert mode.multipliers * macs == MULTIPLIERS
    for shape in mode.shapes:
        assert shape.m * shape.n <= 64
        products = shape.k // (2 if shape.sparse else 1)
        assert shape.m * shape.n * products in (mode.lanes * mode.depth, mode.lanes * mode.depth // 2)
        assert shape.m * shape.n in (mode.lanes, mode.lanes // 2)
        is_mx = mode.datapath in (Datapath.MX6, Datapath.MX9)
        assert not (shape.sparse and is_mx)
        assert shape.transposed is (shape.sparse or is_mx)
    for outputs, depth_each in mode.elementwise:
        assert outputs * depth_each <= mode.lanes * mode.depth


@pytest.mark.parametrize("mode", MODES)
def test_cycles_of_one_mode(mode):
    """Alone, chained through one accumulator, and over enough accumulators not to wait, which gives Table 7's figure."""
    *_, macs, _, kind = TABLE_7[mode]
    (reads, *_, latency), forwarding = TIMING_TABLE[kind], FORWARDING[kind]
    assert aie.total_cycles(chain(mode, 1, 1)) == latency
    assert aie.issue_cycles(chain(mode, 3, 1)) == [0, forwarding, 2 * forwarding]
    late = forwarding + 1
    assert aie.issue_cycles(chain(mode, 3, 1), numerics=NO_BYPASS) == [0, late, 2 * late]
    assert aie.total_cycles(chain(mode, 3, 1), numerics=NO_BYPASS) == 2 * late + latency
    assert aie.issue_cycles(chain(mode, 6, 4)) == [len(reads) * i for i in range(6)]
    assert steady_rate(mode, 4) == macs
    assert steady_rate(mode, 1) == MODES[mode].lanes * MODES[mode].depth / forwarding


@pytest.mark.parametrize(
    ("first", "second", "gap"), [("int8", "int16", 2), ("float16", "mx9", 3), ("mx9", "float8", 3)]
)
def test_the_bypass_joins_modes_of_one_path(first, second, gap):
    pair = [aie.MacInstruction(mode=each, destination=0, accumulators=(0,)) for each in (first, second)]
    assert aie.issue_cycles(pair) == [0, gap]
    assert aie.issue_cycles(pair, numerics=NO_BYPASS) == [0, gap + 1]


@pytest.mark.parametrize(("first", "second", "gap"), [("int8", "mx6", 4), ("mx6", "int8", 3), ("float16", "int8", 4)])
def test_paths_wait_for_each_others_writes(first, second, gap):
    pair = [aie.MacInstruction(mode=each, destination=0, accumulators=(0,)) for each in (first, second)]
    assert aie.issue_cycles(pair) == aie.issue_cycles(pair, numerics=NO_BYPASS) == [0, gap]


def test_one_write_port():
    """A float writes in its seventh cycle, an MX6 product in its sixth: an MX6 product issued one cycle later stalls."""
    pair = [aie.MacInstruction(mode=mode, destination=i) for i, mode in enumerate(("float16", "mx6"))]
    assert aie.issue_cycles(pair) == [0, 2]
    assert aie.issue_cycles(pair[::-1]) == [0, 1]
    after_mx9 = [aie.MacInstruction(mode=mode, destination=i) for i, mode in enumerate(("mx9", "mx6", "mx6"))]
    assert aie.issue_cycles(after_mx9) == [0, 2, 3]
    assert aie.total_cycles([]) == 0


@pytest.mark.parametrize("first", MODES)
@pytest.mark.parametrize("second", MODES)
def test_no_two_results_are_written_in_one_cycle(first, second):
    """Any two kinds in turn, on accumulators of their own: in order, one write a cycle, no cycle lost without reason."""
    names = [first, second] * 4
    issued = aie.issue_cycles([aie.MacInstruction(mode=name, destination=i) for i, name in enumerate(names)])
    writes = [cycle + aie.timing(name).write for cycle, name in zip(issued, names, strict=True)]
    assert len(set(writes)) == len(writes)
    gaps = np.diff(issued)
    least = [aie.timing(name).issue_interval for name in names[:-1]]
    assert all(gap >= interval for gap, interval in zip(gaps, least, strict=True))
    for i, (gap, interval) in enumerate(zip(gaps, least, strict=True), 1):
        # Each cycle of waiting has another instruction's write.
        assert all(writes[i] - waited in writes[:i] for waited in range(1, gap - interval + 1))


@pytest.mark.parametrize(
    ("fmt", "instructions", "cycles"),
    [
        ("mx9", 24 * 1024, 49_157),
        ("mx6", 24 * 1024, 24_581),
        ("bf16", 48 * 2048, 98_310),
        ("fp8_e4m3fn", 48 * 1024, 49_158),
    ],
)
def test_cycles_of_the_layer(fmt, instructions, cycles):
    """[128, 384] @ [384, 512] on one core without accumulator stalls takes the issue intervals and one latency."""
    program = aie.matmul_program(np.zeros((128, 384), np.float32), np.zeros((384, 512), np.float32), format=fmt)
    assert program.instruction_count == instructions
    assert program.mac_count == 128 * 384 * 512
    assert aie.total_cycles(chain(program.mode.name, instructions, 4)) == cycles
    steps = aie.timing(program.mode.name)
    assert cycles == (instructions - 1) * steps.issue_interval + steps.write


def test_the_path_of_mx4_halves_its_rate():
    """The contradiction of manual and compiler: 1024 a cycle as MX6, 512 as MX9."""
    assert aie.mx_mode("mx4") is MODES["mx6"]
    assert aie.mx_mode("mx4", PRESETS["aie_ml_v2_documented"].numerics) is MODES["mx9"]
    assert [aie.mx_mode(fmt).name for fmt in ("mx9", "mx6")] == ["mx9", "mx6"]


# Matrices on native products.


BASE = AIE_ML_V2.numerics
SPARSE = ("bf16", "fp16", "fp8_e4m3", "fp8_e5m2fnuz", "int8", "int16_64")


def matrices(rng, fmt, m, k, n):
    if fmt in INTEGER_MODES:
        mode = INTEGER_MODES[fmt]
        return tuple(
            rng.integers(-(1 << bits - 1), 1 << bits - 1, shape)
            for bits, shape in ((mode.a_bits, (m, k)), (mode.b_bits, (k, n)))
        )
    scale = [np.exp2(rng.integers(-4, 5, shape)) for shape in ((m, k), (k, n))]
    return tuple((rng.standard_normal(each.shape) * each).astype(np.float32) for each in scale)


def scalar_element(a, b, fmt, code, k_step):
    """One element from a row and a column, by the scalar tier: K in steps, the first without an accumulator."""
    padding = -len(a) % k_step
    a, b = (np.pad(each, (0, padding)) for each in (a, b))
    acc = None
    for start in range(0, len(a), k_step):
        x, y = (each[start : start + k_step].view(np.uint32).tolist() for each in (a, b))
        if fmt in MX_FORMATS:
            blocks = [exact.to_mx(BASE, each, MX_FORMATS[fmt], code) for each in (x, y)]
            acc = exact.trace_mx_lane(BASE, *blocks, acc).result
        else:
            target = FLOAT_FORMATS[fmt]
            saturate = target.width == 8
            sides = [[(exact.narrow(each, target, code, saturate=saturate), target) for each in s] for s in (x, y)]
            acc = exact.trace_float_lane(BASE, *sides, acc).result
    return acc


@pytest.mark.parametrize("code", [RoundingCode.FLOOR, RoundingCode.CONV_EVEN], ids=lambda code: code.name)
@pytest.mark.parametrize("fmt", [*MX_FORMATS, *FLOAT_FORMATS])
def test_elements_are_the_scalar_tiers(fmt, code):
    """Sizes are no multiples of the native shape; a row and a column are zero, one element is infinite."""
    rng = np.random.default_rng(24)
    a, b = matrices(rng, fmt, 7, 37, 19)
    a[3], b[:, 5] = 0, 0
    a[5, 20] = np.inf
    inputs = a.copy(), b.copy()
    got = aie.matmul(a, b, format=fmt, rounding=code)
    assert (got.shape, got.dtype) == ((7, 19), np.float32)
    assert all(np.array_equal(x, y) for x, y in zip(inputs, (a, b), strict=True))
    depth = aie.matmul_program(a, b, format=fmt).tile.k
    cells = {(3, 0), (0, 5), (5, 6), *(divmod(int(each), 19) for each in rng.choice(7 * 19, 12, replace=False))}
    for i, j in cells:
        expected = scalar_element(a[i], np.ascontiguousarray(b[:, j]), fmt, code, depth)
        assert got[i, j].view(np.uint32) == expected


@pytest.mark.parametrize("fmt", INTEGER_MODES)
def test_integers_wrap(fmt):
    rng = np.random.default_rng(25)
    a, b = matrices(rng, fmt, 9, 70, 11)
    got = aie.matmul(a, b, format=fmt)
    bits = INTEGER_MODES[fmt].lane_bits
    exact_sums = [
        [sum(x * y for x, y in zip(row, column, strict=True)) for column in b.T.tolist()] for row in a.tolist()
    ]
    assert got.tolist() == [[exact.wrap(each, bits) for each in row] for row in exact_sums]


@pytest.mark.parametrize("fmt", SPARSE)
def test_sparse_matrices(fmt):
    """B has two of four elements along K: the result is the exact product, and a step takes twice the depth."""
    rng = np.random.default_rng(26)
    if fmt in INTEGER_MODES:
        a, b = rng.integers(-100, 100, (5, 40)), rng.integers(-100, 100, (40, 9))
    else:
        a, b = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((5, 40), (40, 9)))
    keep = np.argsort(rng.random((10, 4, 9)), axis=1) < 2
    b = np.where(keep.reshape(40, 9), b, 0).astype(b.dtype)
    got = aie.matmul(a, b, format=fmt, sparse=True)
    assert np.array_equal(got, a.astype(float) @ b)
    program = aie.matmul_program(a, b, format=fmt, sparse=True)
    assert program.tile.sparse
    assert program.tile.k == 2 * program.mode.depth


@pytest.mark.parametrize("fmt", ["bf16", "fp8_e4m3fn"])
def test_minus_zeros_are_no_entities_of_a_sparse_matrix(fmt):
    """Pruning by a mask leaves -0 of negative weights."""
    rng = np.random.default_rng(31)
    a, weights = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((3, 32), (32, 5)))
    b = weights * np.tile(np.array([1, 0, 1, 0], np.float32), 8)[:, np.newaxis]
    assert np.signbit(b[b == 0]).any()
    assert np.array_equal(aie.matmul(a, b, format=fmt, sparse=True), a @ b)


def test_steps_of_k_come_in_order():
    """2**24, then 1 twice, each in a step of its own: the ties go to even, in the other order nothing is lost."""
    a = np.ones((1, 24), np.float32)
    b = np.zeros((24, 1), np.float32)
    b[[0, 8, 16], 0] = [2.0**24, 1, 1]
    assert aie.matmul(a, b, format="bf16")[0, 0] == 2.0**24
    assert aie.matmul(a, b[::-1].copy(), format="bf16")[0, 0] == 2.0**24 + 2


def test_blocks_run_along_k_and_not_across_rows():
    """DeepWok/mase#321: a large number raises its own block's exponent, in A's row and in B's column."""
    a, b = np.ones((2, 32), np.float32), np.ones((32, 2), np.float32)
    a[0, 3], b[17, 1] = 2.0**10, 2.0**10
    program = aie.matmul_program(a, b, format="mx9")
    assert program.a.exponent[0, :, :2, 0].tolist() == [[137, 127], [127, 127]]
    assert program.b.exponent[:, 0, :2, 0].tolist() == [[127, 127], [127, 137]]


@pytest.mark.parametrize("fmt", FORMATS)
def test_plans(fmt):
    rng = np.random.default_rng(27)
    a, b = matrices(rng, fmt, 10, 33, 20)
    program = aie.matmul_program(a, b, format=fmt)
    m, k, n = program.tile.m, program.tile.k, program.tile.n
    assert program.tiles == (-(-10 // m), -(-33 // k), -(-20 // n))
    assert program.instruction_count == np.prod(program.tiles)
    assert program.mac_count == program.instruction_count * m * k * n
    assert program.output_count == 200
    tiles = aie.run_program(program)
    assert tiles.shape == (program.tiles[0], program.tiles[2], m, n)
    assert np.array_equal(aie.result_matrix(program, tiles), aie.matmul(a, b, format=fmt))
    if fmt in FLOAT_FORMATS:
        assert codes_of(program.a).shape == (*program.tiles[:2], m, k)


EACH_PRODUCT = replace(PRESETS["xdna2_bfp16ebs8"].numerics, mx_post_add_first=False)
CEILING = replace(AIE_ML_V2.numerics, align_rounding=RoundingCode.CEIL, float_zero_term=True)


@pytest.mark.parametrize(
    ("fmt", "options"),
    [
        *(pytest.param(fmt, {}, id=fmt) for fmt in FORMATS),
        pytest.param("mx6", {"rounding": RoundingCode.FLOOR}, id="floor"),
        pytest.param("mx9", {"numerics": PRESETS["aie_ml_v2_split"].numerics}, id="split"),
        pytest.param("bfp16ebs8", {"numerics": EACH_PRODUCT}, id="each product"),
        pytest.param("fp16", {"numerics": CEILING}, id="ceiling"),
        *(pytest.param(fmt, {"sparse": True}, id=f"sparse {fmt}") for fmt in ("bf16", "fp8_e5m2", "int8", "int16_64")),
    ],
)
def test_prepared_operands_give_the_bits_of_the_program(fmt, options):
    """A batch, one row and many, and a second use."""
    rng = np.random.default_rng(32)
    pairs = [matrices(rng, fmt, 70, 44, 131) for _ in range(3)]
    a, b = (np.stack(sides) for sides in zip(*pairs, strict=True))
    if options.get("sparse"):
        b[:, 1::4], b[:, 2::4] = 0, 0
    right = aie.prepare(b, format=fmt, **options)
    for rows in (1, 70):
        got = aie.multiply(a[:, :rows], right)
        assert got.tobytes() == aie.multiply(a[:, :rows], right).tobytes()
        for own, x, y in zip(got, a, b, strict=True):
            program = aie.matmul_program(x[:rows], y, format=fmt, **options)
            assert own.tobytes() == aie.result_matrix(program, aie.run_program(program)).tobytes()


@pytest.mark.parametrize(
    ("fmt", "a", "sentence"),
    [
        ("mx9", np.zeros((2, 4), np.float32), r"a must have three dimensions of at least 1, not shape \(2, 4\)"),
        (
            "mx9",
            np.zeros((1, 2, 4), np.float32),
            r"a must have shape \[2, M, 4\] for this right operand, not \(1, 2, 4\)",
        ),
        ("int8", np.full((2, 1, 4), 128), "a must be -128 to 127, not 128 to 128"),
    ],
)
def test_errors_of_prepared_operands(fmt, a, sentence):
    right = aie.prepare(np.ones((2, 4, 3), np.int64 if fmt == "int8" else np.float32), format=fmt)
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        aie.multiply(a, right)


@pytest.mark.parametrize(("fmt", "lowest"), [("mx9", 36), ("mx6", 20), ("mx4", 9), ("bf16", 45), ("fp8_e4m3fn", 26)])
def test_accuracy_of_a_layer(fmt, lowest):
    """The SQNR of random matrices in dB would reveal swapped formats."""
    rng = np.random.default_rng(28)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((16, 128), (128, 32)))
    wanted = a.astype(float) @ b
    error = aie.matmul(a, b, format=fmt) - wanted
    assert lowest < 10 * np.log10((wanted**2).mean() / (error**2).mean()) < lowest + 12


def test_presets_are_used():
    """Bumping changes blocks, halves of small products round otherwise; mx4's path does not change values."""
    rng = np.random.default_rng(29)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((8, 64), (64, 32)))
    a[:, 16:] *= np.float32(2.0**-12)
    results = {
        name: [aie.matmul(a, b, format=fmt, numerics=preset.numerics).tobytes() for fmt in ("mx9", "mx4")]
        for name, preset in PRESETS.items()
    }
    reference = results["aie_ml_v2"]
    assert results["aie_ml_v2_documented"] == reference
    assert results["aie_ml_v2_bump"][1] != reference[1]
    assert results["aie_ml_v2_split"][0] != reference[0]


def test_what_the_presets_change():
    changes = {
        name: {
            field: value
            for field, value in vars(preset.numerics).items()
            if value != getattr(AIE_ML_V2.numerics, field)
        }
        for name, preset in PRESETS.items()
    }
    assert changes == {
        "aie_ml_v2": {},
        "aie_ml_v2_bump": {"mx_bump": True, "mx_min_code": True, "mx_nan_block": False},
        "aie_ml_v2_split": {"mx9_split_round": True, "mx_zero_term": False},
        "aie_ml_v2_documented": {"mx4_path": Mx4Path.MX9},
        "xdna2_bfp16ebs8": {
            "mx_bump": True,
            "mx_min_code": True,
            "mx_nan_block": False,
            "accumulator_bypass": False,
        },
    }


def test_declared_codes():
    """mlir-aie#2987: the index of the rounding-mode register was wrong; it is 1 on this generation."""
    assert (CONTROL_REGISTERS["crSat"], CONTROL_REGISTERS["crRnd"], CONTROL_REGISTERS["crF2FMask"]) == (0, 1, 10)
    assert [code.value for code in RoundingCode] == [0, 1, 2, 3, 8, 9, 10, 11, 12, 13]
    taken = [bit for field in CONTROL_WORD.values() for bit in range(field.low, field.low + field.width)]
    assert len(taken) == len(set(taken)) == 24
    assert (VARIANTS["mx9", "matrix"], VARIANTS["mx6", "matrix"]) == (6, 0)
