"""The kernel library's functions: their forms, the exact twin's bits, what published streams give, and their accuracy."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix import isa, llk, sfpu
from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST32, Chip, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.exact.sfpu import loaded, stored
from bitpath.golden.tensix.exact.sfpu_unit import default_mode, execute, reset
from bitpath.golden.tensix.operands.registers import from_physical, to_physical
from bitpath.golden.tensix.sfpu.explain import DATUM
from bitpath.sim.study.functions import REFERENCES, measure, modes
from bitpath.verif.tensix.program.programs import MATH, configure

CHIPS = {"wh": Chip.WORMHOLE, "bh": Chip.BLACKHOLE}
SAMPLE = np.array(
    [0, 0x80000000, 0x3FC00000, 0xC0A80000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00800000, 0xC2B00000], np.uint32
)
"""Zeros, 1.5, -5.25, infinities, NaN, the smallest normal number, -88."""


def every_mode():
    for name, function in llk.FUNCTIONS.items():
        for chip, dst32, form in itertools.product(Chip, (False, True), ("", "approximate", "fast")):
            if (not form or form in function.forms) and function.dst32 in (None, dst32):
                yield name, llk.Mode(chip=chip, dst32=dst32, approximate=bool(form), fast=form == "fast")


def test_every_form_has_words():
    """Every function in every form gives words; the shortest and the longest body are known."""
    lengths = {(name, mode): len(llk.FUNCTIONS[name].body_words(mode)) for name, mode in every_mode()}
    assert len(lengths) > 480
    assert min(lengths.values()) == 2
    assert max(lengths, key=lengths.get)[0] == "topk_local_sort"


def twin(function, mode, operands):
    """Return 32 datums that the exact twin stores over the first operand, in one iteration."""
    numerics, chip, tiles = CHIP_PRESETS[mode.chip].numerics, mode.chip, [each.tolist() for each in operands]
    unit = reset(numerics)
    for word in function.setup_words(mode) + function.body_words(mode):
        instruction = isa.decode(word, chip=chip)
        if instruction.name not in ("SFPLOAD", "SFPSTORE"):
            execute(unit, instruction, chip=chip, numerics=numerics)
            continue
        kind = instruction["mod"] or default_mode(fp32_enabled=mode.dst32, src_b_format=Format.BF16)
        tile = tiles[instruction["address"] // 64]
        for number, lane in enumerate(unit.lanes):
            if unit.enabled(number) and instruction.name == "SFPLOAD":
                old = lane.registers[instruction["vd"]]
                lane.registers[instruction["vd"]] = loaded(numerics, tile[number], kind, old=old, fp16_infinity=False)
            elif unit.enabled(number):
                tile[number] = stored(numerics, lane.registers[instruction["vd"]], kind)
    return tiles[0]


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.deep)])
def test_functions_equal_the_exact_twin(step, subtests):
    """Every form of every function without random numbers on each chip, or one in seven, on 32 datums."""
    rng = np.random.default_rng(7)
    near = rng.normal(size=32 - len(SAMPLE)).astype(np.float32).view(np.uint32) & 0xFFFF0000
    datums = np.concatenate([SAMPLE, near])
    for name, mode in list(every_mode())[::step]:
        function = llk.FUNCTIONS[name]
        if function.draws or function.once or function.writes_fp16:
            continue
        whole = [np.roll(datums, each) for each in range(function.operands)]
        operands = [each | rng.integers(0, 1 << 16, 32).astype(np.uint32) if function.dst32 else each for each in whole]
        operands = operands if mode.dst32 else [each >> 16 for each in operands]
        got = llk.apply(name, operands, dst32=mode.dst32, chip=mode.chip, approximate=mode.approximate, fast=mode.fast)
        with subtests.test(function=name, mode=mode):
            assert got.tolist() == twin(function, mode, operands)


def tiles_twin(function, mode, tiles):
    """Return the tiles, [n, 64, 16], that the exact twin leaves after a function of whole tiles."""
    numerics, chip, dst = CHIP_PRESETS[mode.chip].numerics, mode.chip, tiles.reshape(-1, 16).tolist()
    unit = reset(numerics)
    for word in function.words(mode):
        instruction = isa.decode(word, chip=chip)
        if instruction.name not in ("SFPLOAD", "SFPSTORE"):
            execute(unit, instruction, chip=chip, numerics=numerics)
            continue
        kind = instruction["mod"] or default_mode(fp32_enabled=mode.dst32, src_b_format=Format.BF16)
        first, odd = instruction["address"] & ~3, instruction["address"] >> 1 & 1
        for number, lane in enumerate(unit.lanes):
            row, column, vd = dst[first + number // 8], number % 8 * 2 + odd, instruction["vd"]
            if unit.enabled(number) and instruction.name == "SFPLOAD":
                old = lane.registers[vd]
                lane.registers[vd] = loaded(numerics, row[column], kind, old=old, fp16_infinity=False)
            elif unit.enabled(number):
                row[column] = stored(numerics, lane.registers[vd], kind)
    return np.array(dst, np.uint32).reshape(tiles.shape)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.deep)])
def test_functions_across_rows_equal_the_exact_twin(step, subtests):
    """Every function of whole tiles on each chip, or one in five."""
    rng = np.random.default_rng(11)
    whole = [(name, mode) for name, mode in every_mode() if llk.FUNCTIONS[name].once]
    assert len(whole) > 60
    for name, mode in whole[::step]:
        function = llk.FUNCTIONS[name]
        tiles = rng.normal(size=(function.tiles, 64, 16)).astype(np.float32).view(np.uint32)
        tiles[:, :4].reshape(-1)[: len(SAMPLE)] = SAMPLE
        tiles = tiles if mode.dst32 else tiles >> 16
        tiles[function.operands :] = 0
        got = llk.apply(name, list(tiles[: function.operands]), dst32=mode.dst32, chip=mode.chip)
        order = [number in function.indices and not mode.dst32 for number in range(function.tiles)]
        given = np.stack(
            [from_physical(tile, DST16_BF16) if each else tile for tile, each in zip(tiles, order, strict=True)]
        )
        left = tiles_twin(function, mode, given)
        expected = [to_physical(left[n], DST16_BF16) if order[n] else left[n] for n in function.results]
        with subtests.test(function=name, mode=mode):
            assert np.array_equal(got.reshape(-1, 64, 16), np.stack(expected))


UNCHANGED = {
    "log": ("log", {}),
    "abs": ("abs", {}),
    "tanh_lut": ("tanh", {}),
    "tanh_derivative_0": ("tanh_derivative", {}),
    "hardtanh": ("hardtanh", {}),
    "clamp": ("clamp", {"low": -1.5, "high": 2.25, "offset": 0.5}),
    "sign_a1": ("sign", {}),
    "power_2": ("square", {}),
    "exp_precise": ("exponential", {}),
}
"""Published streams whose function is computed the same way today, with its name and the streams' parameters."""


@pytest.mark.parametrize("prefix", CHIPS)
def test_sfpu_functions_known_answers(kat, prefix, subtests):
    """Bodies built here leave in Dst what the published compiler's streams leave, with the streams' constants."""
    archive = kat("sfpu_compiled").part(f"{prefix}_")
    chip, names = CHIPS[prefix], [str(each) for each in archive["name"]]
    rows = list(archive.lists("program", "fp32"))
    for stream, (name, parameters) in UNCHANGED.items():
        function = llk.FUNCTIONS[name]
        runs = [number for number, (program, _) in enumerate(rows) if names[program] == stream]
        assert runs
        for number in runs:
            dst32 = bool(rows[number][1])
            mode = llk.Mode(chip=chip, dst32=dst32, approximate=name == "tanh")
            lanes = sfpu.Lanes()
            lanes.lreg[:8], lanes.lreg[11:15] = archive["lreg"][number], archive["lprog"][number][:, np.newaxis]
            lanes.flags[:], lanes.use_flags[:] = True, True
            before, after = (archive[each][number].astype(np.uint32) for each in ("din", "dout"))
            before, after = (each if dst32 else each >> 16 for each in (before, after))
            words = [*function.body_words(mode, **parameters), isa.encode("INCRWC", dst=2, chip=chip)] * 8
            with subtests.test(stream=stream, run=number):
                got = sfpu.run(words, before, fp32=dst32, lanes=lanes, chip=chip)
                # A negative operand's exponential ends in a reciprocal, which has changed.
                same = before >> (31 if dst32 else 15) == 0 if name == "exponential" else np.full(got.shape, True)
                assert np.array_equal(got[same], after[same])
                assert same.sum() > 50


@pytest.mark.parametrize("prefix", CHIPS)
def test_published_sfpu_texts_give_known_answers(kat, prefix):
    """The published exponential, GELU and reciprocal run from their text and give ttsim's bits."""
    folder = os.environ.get("BITPATH_SFPI_DIR")
    if folder is None:
        pytest.skip("BITPATH_SFPI_DIR is not set: no compiled texts to run")
    chip = CHIPS[prefix]
    text = (Path(folder) / f"tests/{chip.value}/sfpi/gold/ckernel.S").read_text()
    replay = isa.ReplayExpander()
    streams = {
        tuple(each for word in words for each in replay.feed(word)): words
        for words in isa.functions(text, chip=chip).values()
    }
    archive = kat("sfpu_compiled").part(f"{prefix}_")
    wanted = [
        number for number, name in enumerate(archive["name"]) if str(name).startswith(("exp", "gelu", "reciprocal"))
    ]
    known = {
        number: tuple(each.tolist()) for number, each in enumerate(np.split(archive["word"], archive["offset"][1:-1]))
    }
    compared = 0
    for number, (program, fp32) in enumerate(archive.lists("program", "fp32")):
        if program in wanted and known[program] in streams:
            lanes = sfpu.Lanes()
            lanes.lreg[:8], lanes.lreg[11:15] = archive["lreg"][number], archive["lprog"][number][:, np.newaxis]
            lanes.flags[:], lanes.use_flags[:] = True, True
            before, after = (archive[each][number].astype(np.uint32) >> (0 if fp32 else 16) for each in ("din", "dout"))
            got = sfpu.run(streams[known[program]], before, fp32=bool(fp32), lanes=lanes, chip=chip)
            assert np.array_equal(got, after)
            compared += 1
    assert compared >= 20


LARGEST = {
    ("exp", False): 0.95,
    ("exp", True): 0.74,
    ("reciprocal", False): 0.52,
    ("rsqrt", True): 0.87,
    ("sigmoid", True): 2.5,
    ("silu", False): 0.92,
    ("tanh", False): 0.82,
    ("tanh", True): 4.4,
    ("log1p", True): 1.8,
    ("softplus", False): 0.78,
    ("mul", True): 0,
    ("floor", True): 0,
}
"""Largest error in units in the last place, by name and whether Dst has 32 bits."""


def test_accuracy_over_every_bf16_operand():
    measured = [(name, mode) for name, mode in modes() if (name, mode.dst32) in LARGEST and not mode.approximate]
    assert len(measured) == 2 * len(LARGEST)
    for name, mode in measured:
        assert measure(name, mode).largest <= LARGEST[name, mode.dst32], (name, mode)
    assert {*REFERENCES} <= {*llk.FUNCTIONS}


def test_integers_wrap_shift_and_convert():
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-(1 << 31), 1 << 31, 1024).astype(np.int32) for _ in range(2))
    shift = rng.integers(0, 32, 1024).astype(np.int32)
    for chip in Chip:
        with np.errstate(over="ignore"):
            for name, right, expected in (
                ("add_int32", b, a + b),
                ("sub_int32", b, a - b),
                ("bitwise_xor", b, a ^ b),
                ("max_int32", b, np.maximum(a, b)),
                ("min_int32", b, np.minimum(a, b)),
                ("left_shift", shift, a << shift),
                ("right_shift", shift, a >> shift),
                ("logical_right_shift", shift, (a.view(np.uint32) >> shift.view(np.uint32)).view(np.int32)),
            ):
                got = llk.apply(name, [a.view(np.uint32), right.view(np.uint32)], dst32=True, chip=chip)
                assert np.array_equal(got.view(np.int32), expected), name
        half, other = (each.view(np.uint32) & 0xFFFF for each in (a, b))
        assert np.array_equal(llk.apply("mul_uint16", [half, other], chip=chip), half * other & 0xFFFF)
        whole = llk.apply(
            "typecast_fp32_to_int32", (a / 65536).astype(np.float32).view(np.uint32), dst32=True, chip=chip
        )
        assert np.array_equal(whole.view(np.int32), np.trunc((a / 65536).astype(np.float32)))
        back = llk.apply("typecast_int32_to_fp32", whole, dst32=True, chip=chip)
        assert np.array_equal(back.view(np.float32), whole.view(np.int32).astype(np.float32))
        narrow = llk.apply("cast_fp32_to_fp16a", np.array([0x3FC0, 0xC2AA], np.uint32), chip=chip)
        assert narrow.astype(np.uint16).view(np.float16).tolist() == [1.5, -85.0]


def test_a_ternary_function_and_one_that_draws():
    ones, rng = np.full(2048, 0x3F80, np.uint32), np.random.default_rng(1)
    chosen = rng.integers(0, 2, 2048).astype(np.uint32) * 0x3F80
    result = llk.apply("where", [chosen, ones + 1, ones + 2])
    assert np.array_equal(result, np.where(chosen, ones + 1, ones + 2))
    kept = llk.apply("dropout", ones, seed=5, parameters={"probability": 0.25})
    assert set(kept.tolist()) == {0, 0x4000}
    assert 0.70 < np.mean(kept != 0) < 0.80
    assert not np.array_equal(kept[:1024], kept[1024:])
    between = np.full(4096, 0x3F804000, np.uint32)
    rounded = llk.apply("stochastic_round", between, dst32=True, seed=3)
    assert set(rounded.tolist()) == {0x3F800000, 0x3F810000}
    assert 0.1 < np.mean(rounded == 0x3F810000) < 0.4


def rows_of(tiles):
    """Return tiles' words, [..., 64, 16], as rows and columns, [..., 32, 32]."""
    faces = tiles.reshape(*tiles.shape[:-2], 2, 2, 16, 16)
    return faces.swapaxes(-3, -2).reshape(*tiles.shape[:-2], 32, 32)


@pytest.mark.parametrize("chip", Chip)
def test_functions_across_rows(chip):
    """Sums in the published order give the bits of numpy's FP32 sums in that order; extremes are exact."""
    rng = np.random.default_rng(8)
    tiles = rng.normal(size=(2, 64, 16)).astype(np.float32)
    x, words = rows_of(tiles), tiles.view(np.uint32)

    def applied(name, operands, **parameters):
        return rows_of(llk.apply(name, operands, dst32=True, chip=chip, parameters=parameters or None))

    running = np.zeros((65, 32), np.float32)
    for number, row in enumerate(x.reshape(64, 32)):
        running[number + 1] = running[number] + row
    assert np.array_equal(applied("cumsum", words).view(np.float32).reshape(64, 32), running[1:])
    average, previous = applied("ema", words, alpha=0.5, beta=0.5).view(np.float32).reshape(64, 32), np.zeros(32)
    for got, row in zip(average, x.reshape(64, 32), strict=True):
        previous = 0.5 * previous + 0.5 * row
        assert np.allclose(got, previous, rtol=0, atol=1e-6)
    for rows in (32, 11):
        mean, variance = applied("welfords", words[0], rows=rows).view(np.float32)[:, 0]
        assert np.allclose(mean, x[0, :rows].mean(axis=0), rtol=0, atol=1e-6)
        assert np.allclose(variance, x[0, :rows].var(axis=0), rtol=0, atol=1e-6)
    for name, place, expected in (
        ("reduce_sum_columns", (0,), x[0].astype(np.float64).sum(axis=0)),
        ("reduce_average_columns", (0,), x[0].astype(np.float64).mean(axis=0)),
        ("reduce_sum_rows", (slice(None), 0), x[0].astype(np.float64).sum(axis=1)),
    ):
        assert np.allclose(applied(name, words[0]).view(np.float32)[place], expected, rtol=0, atol=4e-6), name
    for name, place, expected in (
        ("reduce_max_columns", (0,), x[0].max(axis=0)),
        ("reduce_min_columns", (0,), x[0].min(axis=0)),
        ("reduce_max_rows", (slice(None), 0), x[0].max(axis=1)),
    ):
        assert np.array_equal(applied(name, words[0]).view(np.float32)[place], expected), name
    whole = rng.integers(-1000, 1000, (64, 16)).astype(np.int32)
    n, codes = rows_of(whole), whole.view(np.uint32)
    for name, place, expected in (
        ("reduce_max_columns_int32", (0,), n.max(axis=0)),
        ("reduce_min_columns_int32", (0,), n.min(axis=0)),
        ("reduce_sum_columns_int32", (0,), n.sum(axis=0)),
        ("reduce_average_columns_int32", (0,), np.trunc(n.sum(axis=0) / 32)),
        ("reduce_sum_rows_int32", (slice(None), 0), n.sum(axis=1)),
    ):
        assert np.array_equal(applied(name, codes).view(np.int32)[place], expected), name
    positive = codes & 0xFFFF
    assert np.array_equal(applied("reduce_max_rows_int32", positive)[:, 0], rows_of(positive).max(axis=1))
    for name in ("add_top_row_int32", "add_top_row_uint32"):
        assert np.array_equal(applied(name, [positive, positive])[0], 2 * rows_of(positive)[0]), name


COLUMN = np.arange(64, dtype=np.uint32).reshape(2, 32, 1).repeat(32, axis=2)
"""Rows' numbers in two tiles."""


def tiles_of(rows):
    """Return the opposite of `rows_of`."""
    halves = rows.reshape(*rows.shape[:-2], 2, 16, 2, 16)
    return halves.swapaxes(-3, -2).reshape(*rows.shape[:-2], 64, 16)


@pytest.mark.parametrize(("chip", "dst32"), [*zip(Chip, (False, True), strict=True)])
def test_topk_and_pooling_move_values_with_their_indices(chip, dst32):
    rng = np.random.default_rng(9)
    bits = rng.permuted(np.tile(np.arange(0x3F00, 0x3F40, dtype=np.uint32)[:, np.newaxis], 32), axis=0)
    values = (bits << 16 if dst32 else bits).reshape(2, 32, 32)
    options = {"dst32": dst32, "chip": chip}

    def applied(name, tiles, **parameters):
        return llk.apply(name, list(tiles), parameters=parameters, **options)

    def check(tiles, count, expected):
        found, places = rows_of(tiles).reshape(2, 64, 32)[:, :count]
        assert np.array_equal(found, expected[:count])
        assert np.array_equal(np.take_along_axis(values.reshape(64, 32), places.astype(np.int64), axis=0), found)

    start = tiles_of(np.concatenate([values, COLUMN]))
    upwards = np.sort(values.reshape(64, 32), axis=0)
    check(applied("topk_local_sort", start, upwards=1), 64, upwards)
    check(applied("topk_local_sort", start, stable=1), 64, upwards[::-1])
    for k, merges in ((4, 4), (8, 3), (16, 2), (32, 1), (64, 1)):
        tiles = applied("topk_local_sort", start, end_phase=k.bit_length() - 2)
        for iteration in range(merges):
            tiles = applied("topk_merge", tiles, iteration=iteration, k=k)
            tiles = applied("topk_rebuild", tiles, iteration=iteration, k=k)
        check(tiles, k, upwards[::-1])
    largest, places = rows_of(applied("max_pool_indices", start[::2]))[:, 0]
    assert np.array_equal(largest, values[0, :9].max(axis=0))
    assert np.array_equal(places, values[0, :9].argmax(axis=0))
    plain = np.stack([values[0], COLUMN[0]]).reshape(2, 64, 16)
    largest, places = applied("max_pool_indices_row_major", plain).reshape(2, 32, 32)[:, 0]
    assert np.array_equal(largest, values[0, :9].max(axis=0))
    assert np.array_equal(places, values[0, :9].argmax(axis=0))


@pytest.mark.parametrize("chip", Chip)
def test_quantisation_and_comparisons(chip):
    rng = np.random.default_rng(10)
    x = np.round(rng.normal(size=1024) * 20 * 256).astype(np.float32) / 256
    scale = np.full(1024, 3, np.float32).view(np.uint32)

    def applied(name, left, **parameters):
        operands = [left, scale] if name.endswith("quant_int32") else left
        return llk.apply(name, operands, dst32=True, chip=chip, parameters=parameters or None)

    def nearest(y):
        return np.clip(np.sign(y) * np.floor(np.abs(y) + 0.5), -127, 127)

    whole = applied("quant_int32", x.view(np.uint32), zero_point=5.0)
    assert np.array_equal(whole.view(np.int32), nearest(x * 3 + 5))
    again = applied("requant_int32", whole, zero_point=1.0)
    assert np.array_equal(again.view(np.int32), nearest(whole.view(np.int32) * 3 + 1))
    back = applied("dequant_int32", whole, zero_point=-5.0)
    assert np.array_equal(back.view(np.float32), (whole.view(np.int32) - 5) * 3)
    signed = applied("quant_int32", x.view(np.uint32), zero_point=5.0, sign_magnitude=1)
    assert np.array_equal(signed & 0x7FFFFFFF, np.abs(nearest(x * 3 + 5)))
    bound = float(x[7])
    for name, test in (
        ("eq", np.equal), ("ne", np.not_equal), ("gt", np.greater), ("lt", np.less), ("ge", np.greater_equal), ("le", np.less_equal),
    ):  # fmt: skip
        assert np.array_equal(applied(f"unary_{name}", x.view(np.uint32), value=bound).view(np.float32), test(x, bound))
    for name, test in (
        ("equal", np.equal), ("not_equal", np.not_equal), ("greater_than", np.greater), ("less_than", np.less),
        ("greater_than_equal", np.greater_equal), ("less_than_equal", np.less_equal),
    ):  # fmt: skip
        assert np.array_equal(applied(f"{name}_zero_int32", again), test(again.view(np.int32), 0))
    codes = (
        again if chip is Chip.BLACKHOLE else applied("quant_int32", x.view(np.uint32), zero_point=1.0, sign_magnitude=1)
    )
    numbers = again.view(np.int32) if chip is Chip.BLACKHOLE else nearest(x * 3 + 1).astype(np.int32)
    for value, (name, test) in itertools.product(
        (0, 3, int(numbers[5]), -7, -5000),
        (("eq", np.equal), ("ne", np.not_equal), ("gt", np.greater), ("lt", np.less), ("ge", np.greater_equal), ("le", np.less_equal)),
    ):  # fmt: skip
        got = applied(f"unary_{name}_int32", codes, value=value)
        assert np.array_equal(got, test(numbers, value)), (name, value)
    negated = applied("neg_int32", again)
    assert np.array_equal(negated, -again if chip is Chip.BLACKHOLE else np.where(again, again ^ 0x80000000, 0))
    one, two, three = (np.full(64, code, np.uint32) for code in (0x3F800000, 0x40000000, 0x40400000))
    sums = llk.apply("addcmul", [one, two, three], dst32=True, chip=chip, parameters={"value": 0.5})
    assert np.array_equal(sums.view(np.float32), np.full(64, 4.0))


def test_a_function_of_ones_own():
    mine = llk.Function(
        name="mine", body=lambda k, mode, factor: k.store(k.load() * factor), parameters={"factor": 3.0}
    )
    x = np.array([[1.5, -2.0]], np.float32).view(np.uint32)
    assert llk.apply(mine, x, dst32=True).view(np.float32).tolist() == [[4.5, -6.0]]
    assert llk.apply(mine, x, dst32=True, parameters={"factor": 0.5}).view(np.float32).tolist() == [[0.75, -1.0]]


def test_errors_of_apply():
    x = np.zeros(4, np.uint32)
    for function, operands, options, says in (
        ("expp", x, {}, "function must be .*, not 'expp'; did you mean 'exp'"),
        ("reshuffle_rows", x, {}, "function must be .*FUNCTIONS, not reshuffle_rows, which moves rows by indices"),
        ("topk_merge", [x] * 4, {"parameters": {"k": 5}}, "k must be 4, 8, 16, 32 or 64, not 5"),
        ("welfords", x, {"parameters": {"rows": 33}}, "rows must be 1 to 32, not 33"),
        ("exp", x, {"approximate": True}, "approximate must be False with exp, not True"),
        ("sqrt", x, {"fast": True}, "fast must be False without approximate, not True with sqrt"),
        ("add_int32", [x, x], {}, "dst32 must be True with add_int32, not False"),
        ("exp", [x, x], {}, "operands of exp must be 1 arrays, not 2"),
        ("exp", x, {"parameters": {"slope": 1.0}}, "parameters must be left out with exp, not slope"),
        ("elu", x, {"parameters": {"slope": 1.0}}, "a parameter of elu must be 'alpha', not 'slope'"),
        ("add", [x, x[:2]], {}, r"operands\[1\] must have shape"),
        ("lrelu", x, {"parameters": {"slope": 1e39}}, "a literal must be a number that FP32 holds, not 1e"),
        ("dropout", x, {"parameters": {"probability": -1}}, "probability must be 0 to 1, not -1"),
        ("round", x, {"parameters": {"decimals": 38}}, "decimals must be -37 to 37, not 38"),
        ("exp", x + 0x10000, {}, r"operands\[0\] must hold words of 16 bits"),
    ):
        with pytest.raises(ValueError, match=says):
            llk.apply(function, operands, **options)


def test_explain_names_registers_flags_and_the_datum():
    words = isa.assemble(
        "SFPENCC imm=3, mod=10\nSFPLOAD\nSFPSETCC\nSFPLOADI vd=1, imm=0x4000\nSFPSTORE vd=1\nINCRWC dst=2"
    )
    found = sfpu.explain_lane(words, [0xBF800000])
    steps = [step for _, step in found.steps]
    assert steps[4].changes == ((DATUM, 0xBF800000, 0x40000000),)
    assert found.result == 0x40000000
    off = sfpu.explain_lane(words, [0x3F800000])
    assert [step.flag for _, step in off.steps] == [True, True, False, False, False, False]
    assert "disabled" in off.text
    assert off.result == 0x3F800000
    with pytest.raises(
        ValueError, match=r"words\[0\] must be an instruction of the Vector unit, INCRWC or NOP, not MVMUL"
    ):
        sfpu.explain_lane(isa.assemble("MVMUL"), [0])
    with pytest.raises(ValueError, match="the number of operands must be 1 to 3, not 0"):
        sfpu.explain_lane([], [])
    with pytest.raises(ValueError, match="words must hold at least one instruction"):
        sfpu.explain_lane([], [0])


@pytest.mark.parametrize("chip", Chip)
def test_the_core_runs_a_functions_words(chip):
    """A tile in the core's Dst ends in the words that `apply` gives, and Dst's counter at the next tile."""
    rng = np.random.default_rng(4)
    tile = rng.normal(size=(64, 16)).astype(np.float32).view(np.uint32)
    for name, dst32 in (("silu", True), ("gelu", False)):
        words = tile if dst32 else tile >> 16
        core = tensix.Core(chip, l1_bytes=64)
        configure(core, MATH, sfpu_fp32=int(dst32), src_b_format=Format.BF16.value)
        layout = DST32 if dst32 else DST16_BF16
        core.state.dst.write(0, words, layout)
        core.push(MATH, llk.FUNCTIONS[name].words(llk.Mode(chip=chip, dst32=dst32)))
        core.run()
        assert np.array_equal(core.state.dst.read(0, 64, layout), llk.apply(name, words, dst32=dst32, chip=chip))
        assert core.rwc[MATH].dst == 64
