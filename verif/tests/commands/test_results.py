"""What ``bitpath run`` prints of a record, to the blank, and the file of its results."""

from io import StringIO

import ml_dtypes
import numpy as np
import pytest
from rich.console import Console

from bitpath.sim.flows import outcome
from bitpath.sim.flows.outcome import Outcome

FULL = {
    "machine": "aie_ml_v2",
    "format": "fp8_e4m3fnuz",
    "sim": "verilator",
    "quantized_compared": 123456789,
    "staged_compared": 123456789,
    "outputs_compared": 12345678,
    "mismatches": 1234567890,
    "sqnr_db": None,
    "max_rel_error": 0.0123456,
    "cycles": 1234567,
    "time_us": 12345.6,
    "mac_per_cycle": 123456.78,
    "peak_mac_per_cycle": 1234567,
    "elements_per_cycle": 123456.789012,
    "wall_seconds": 12345.6,
}
"""A record whose every field fills its column."""
HEADING = (
    "machine   format         simulator quantized in stages compared mismatches SQNR dB max error  cycles      us MAC/cycle"
    "    peak elements/cycle seconds"
)
ROW = (
    "aie_ml_v2 fp8_e4m3fnuz   verilator 123456789 123456789 12345678 1234567890       - 0.0123456 1234567 12345.6 123456.78"
    " 1234567  123456.789012 12345.6"
)
STAGES = [{"name": "a", "cycles": 1, "share_of": None}, {"name": "bb", "cycles": 22, "share_of": 0.5}]
TABLE = ["", "stages", "name  cycles  share of", "a          1         -", "bb        22       0.5"]


def shown(record, *, first):
    console = Console(file=StringIO(), width=160)
    outcome.show(console, record, first=first)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_rows_stand_below_one_heading():
    assert shown(FULL, first=True) == [HEADING, ROW]
    assert shown(FULL, first=False) == [ROW]


@pytest.mark.parametrize("name", outcome.TABLES)
def test_a_table_follows_its_record_and_the_next_row_has_a_heading(name):
    table = [name if line == "stages" else line for line in TABLE]
    for first in (True, False):
        assert shown(FULL | {name: STAGES}, first=first) == [HEADING, ROW, *table]
    assert shown(FULL | {name: []}, first=False) == [ROW]


def test_a_format_has_its_scale_rule_unless_it_is_the_default():
    record = {"machine": "tensix", "format": "bf16", "mismatches": 0}
    for rule, name in (("nki05", "bf16 nki05"), ("ocp", "bf16"), (None, "bf16")):
        _, row = shown(record | {"config": {"scale_rule": rule}}, first=True)
        assert row == f"tensix    {name:14}          0"


def test_without_a_terminal_no_table_is_squeezed():
    assert outcome.console().width == outcome.WIDTH
    assert not outcome.console().quiet
    assert outcome.console(quiet=True).quiet


@pytest.mark.parametrize(
    ("dtype", "kept"), [(np.uint32, np.uint32), (np.float16, np.float16), (ml_dtypes.bfloat16, np.float32)]
)
def test_results_are_saved_in_a_dtype_that_numpy_reads(tmp_path, dtype, kept):
    rtl, golden = np.array([[1, 2]], dtype), np.array([[1, 3]], dtype)
    outcome.save(tmp_path / "out.npz", Outcome(rtl, golden, {}))
    with np.load(tmp_path / "out.npz") as found:
        assert (found["result"].dtype, found["golden"].dtype) == (kept, kept)
        assert (found["result"].tolist(), found["golden"].tolist()) == ([[1, 2]], [[1, 3]])


def test_a_time_has_its_cycle():
    assert [outcome.moment_text(time) for time in (635_000, 639_999, 640_000)] == [
        "at 635 ns, cycle 63",
        "at 639.999 ns, cycle 63",
        "at 640 ns, cycle 64",
    ]
