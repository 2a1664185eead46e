"""The bench of the RMSNorm-Quant row unit on both simulators, and runs of whole arrays."""

from dataclasses import asdict

import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.trainium3.declarations.vector import MAX_HIDDEN
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig
from bitpath.sim.engine.runner import build, run, run_bench
from bitpath.verif.kit.exchange import read_input, write_input
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant import CORNERS, MODES
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows, lower

SEED = 20251124
DEFAULT = RmsNormQuantConfig()
LONG = RmsNormQuantConfig(lanes=8, max_row_length=1024)
CORNER_BYTES = sum(corner.expected.shape[1] for corner in CORNERS)
CYCLE_BYTES = len(MODES) * (1 + DEFAULT.max_row_length)


def bench(config, simulator, **checks):
    run_bench("rmsnorm_quant", config, simulator, seed=SEED, **checks)


MOST = 4 * 8 + DEFAULT.max_row_length + CORNER_BYTES + 6 * 8 * DEFAULT.max_row_length + CYCLE_BYTES + 6
"""Bytes of every mode at every pace, every length, stated corners, cycles, reset."""


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("config", "simulator", "cases", "tests", "ran", "compared"),
    [
        (DEFAULT, "verilator", 8, "^(?!.*one_bit)", 11, MOST),
        pytest.param(
            *(DEFAULT, "icarus", 16, "pace=both|stated_corners|reset", 3, 16 + CORNER_BYTES + 6), marks=pytest.mark.deep
        ),
        pytest.param(
            *(RmsNormQuantConfig(lanes=1, max_row_length=1), "icarus", 20, "every_mode.*both|every_length", 2, 20),
            marks=pytest.mark.deep,
        ),
    ],
    ids=["verilator", "icarus", "one lane of one element on icarus"],
)
def test_bench(config, simulator, cases, tests, ran, compared):
    bench(config, simulator, cases=cases, tests=tests, min_tests=ran, min_compared=compared)


@covers("rmsnorm_quant.cast")
@pytest.mark.deep
@pytest.mark.simulator
def test_every_code():
    """Every BF16 and FP16 code in the rows of each mode, beside the random and stated ones of `make test`."""
    commands = -(-(1 << 16) // (LONG.lanes * LONG.max_row_length))
    compared = 6 * commands * LONG.max_row_length
    bench(LONG, "verilator", cases=commands, tests="hidden_codes", min_tests=3, min_compared=compared)


@covers("rmsnorm_quant.host", "Surplus lanes and the order of static scales are the host's business")
@pytest.mark.simulator
def test_a_run_gives_golden_s_bytes(tmp_path):
    """An array of any row count through the unit and back, by way of the files of a run; rows longer than the memory
    are refused."""
    rng = np.random.default_rng(SEED)
    hidden = rng.normal(size=(5, 31)).astype(DTYPES[BF16])
    gamma = rng.normal(1, 0.3, size=31).astype(DTYPES[BF16])
    in_scale = np.exp2(rng.uniform(-9, -5, (128, 1))).astype(np.float32)
    rows = Rows(hidden=hidden, gamma=gamma, in_scale=in_scale, options=Options(quant_type="static"))
    files = write_input(tmp_path, rows)
    run(
        build("rmsnorm_quant", DEFAULT, "verilator"),
        "bitpath.verif.runs.tb_trainium3",
        seed=SEED,
        min_compared=0,
        env={name: str(file) for name, file in files.items()},
    )
    expected = trainium3.rmsnorm_quant(hidden, gamma, in_scale=in_scale, **asdict(rows.options))
    with np.load(files["BITPATH_RESULT"]) as result:
        assert np.array_equal(result["output"], expected)
        assert result["cycles"] == 3 * (3 * 31 + 68)
    assert len(np.unique(expected)) > 50


def test_a_file_gives_the_rows_back(tmp_path, monkeypatch):
    rows = Rows(
        hidden=np.arange(6, dtype=np.float32).reshape(2, 3).astype(DTYPES[BF16]),
        gamma=np.ones(3, np.float16),
        in_scale=None,
        options=Options(eps=1e-3, eps_placement="golden", lower_bound=0.25),
    )
    monkeypatch.setenv("BITPATH_INPUT", str(write_input(tmp_path, rows)["BITPATH_INPUT"]))
    back = read_input()
    assert back.options == rows.options
    assert back.in_scale is None
    for name in ("hidden", "gamma"):
        given, got = getattr(rows, name), getattr(back, name)
        assert given.dtype == got.dtype
        assert np.array_equal(given, got)
    assert lower(DEFAULT, back) == lower(DEFAULT, rows)


@pytest.mark.parametrize("number", [np.float32(0.5), np.float16(0.5), np.uint8(5), np.int64(5), np.longdouble(0.5)])
def test_numbers_of_numpy_are_options(number):
    plain, numpys = (Options(eps=each, lower_bound=each) for each in (float(number), number))
    rows = [
        Rows(hidden=np.ones((1, 3), DTYPES[BF16]), gamma=np.ones(3, DTYPES[BF16]), in_scale=None, options=each)
        for each in (plain, numpys)
    ]
    assert numpys.bounded
    assert numpys == plain
    assert lower(DEFAULT, rows[1]) == lower(DEFAULT, rows[0])


@covers("rmsnorm_quant.host")
@pytest.mark.parametrize("length", [0, DEFAULT.max_row_length + 1])
def test_the_host_refuses_rows_that_do_not_fit(length):
    hidden = np.zeros((2, length), DTYPES[BF16])
    rows = Rows(hidden=hidden, gamma=None, in_scale=None, options=Options(quant_only=True))
    with pytest.raises(ValueError, match=f"rows have {length} elements, row memory holds 1 to 32"):
        lower(DEFAULT, rows)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"lanes": 0}, "lanes must be 1 to 128, not 0"),
        ({"lanes": 129}, "lanes must be 1 to 128, not 129"),
        ({"max_row_length": 0}, "max_row_length must be 1 to 16384, not 0"),
        ({"max_row_length": MAX_HIDDEN + 1}, "max_row_length must be 1 to 16384, not 16385"),
    ],
)
def test_a_unit_out_of_range_is_refused(fields, says):
    with pytest.raises(ValueError, match=f"rmsnorm_quant: {says}"):
        RmsNormQuantConfig(**fields)


@covers("rmsnorm_quant.lengths")
@pytest.mark.deep
@pytest.mark.simulator
def test_the_longest_rows():
    """One element, all that a row may have, and a few lengths between."""
    config = RmsNormQuantConfig(lanes=2, max_row_length=MAX_HIDDEN)
    bench(config, "verilator", cases=4, tests="every_length", min_tests=1, min_compared=2 * MAX_HIDDEN)


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("config", [RmsNormQuantConfig(lanes=8, max_row_length=100), RmsNormQuantConfig(lanes=3)])
def test_volume(config):
    bench(config, "verilator", cases=1000, tests="every_mode|every_length|reset", min_tests=6, min_compared=50_000)
