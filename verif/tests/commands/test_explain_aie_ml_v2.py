"""``bitpath explain aie_ml_v2``: a lane in every format, and an output of a real layer."""

import numpy as np
import pytest
from click.testing import CliRunner

from bitpath.golden import aie_ml_v2
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS
from bitpath.golden.aie_ml_v2.matmul.explain import explain_chain
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS
from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.sim.commands.explain import explain_command
from bitpath.sim.flows.operands import layer

FLOAT_PAIRS = [(fmt, fmt) for fmt in FLOAT_FORMATS] + [("bf16", "fp16"), ("fp8_e4m3fn", "fp8_e5m2")]


def explain(line):
    return CliRunner().invoke(explain_command, f"aie_ml_v2 {line}").output


def codes(array):
    """Return the bits of float32 numbers as an operand of the command line."""
    return ",".join(f"{code:#x}" for code in np.atleast_1d(array).view(np.uint32).tolist())


def value_of(text, name):
    """Return the text after a name at the start of a line."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return line.removeprefix(name).strip()


def row_of(text, name):
    (cells,) = (line.split() for line in text.splitlines() if line.split()[:1] == [name])
    return " ".join(cells)


@pytest.mark.parametrize(("x_format", "y_format"), FLOAT_PAIRS)
def test_a_lane_of_floats_ends_in_the_bits_of_fused_dot(x_format, y_format):
    rng = np.random.default_rng(41)
    x, y = (rng.standard_normal(8).astype(DTYPES[FLOAT_FORMATS[fmt]]) for fmt in (x_format, y_format))
    acc1, acc2 = (np.array(each, np.float32) for each in rng.standard_normal(2))
    name = "fp8" if x_format.startswith("fp8") else x_format
    expected = aie_ml_v2.fused_dot(x, y, acc1, acc2, fmt=name, negate_products=True, negate_acc2=True)
    operands = [",".join(f"{code:#x}" for code in codes_of(each).tolist()) for each in (x, y)]
    formats = f"--format {x_format} --y-format {y_format}"
    lane = f"--x {operands[0]} --y {operands[1]} --acc1 {codes(acc1)} --acc2 {codes(acc2)}"
    text = explain(f"{lane} {formats} --negate products --negate acc2")
    assert value_of(text, "operation") == "-products + acc1 - acc2"
    assert value_of(text, "result") == f"{int(expected.view(np.uint32)):#010x} = {float(expected):.9g}"


@pytest.mark.parametrize("fmt", MX_FORMATS)
@pytest.mark.parametrize("preset", ["aie_ml_v2", "aie_ml_v2_split"])
def test_a_lane_of_blocks_ends_in_the_bits_of_fused_dot(fmt, preset):
    """Numbers are converted as `to_mx` does, in the rounding code given."""
    numerics = PRESETS[preset].numerics
    rng = np.random.default_rng(42)
    x, y = rng.standard_normal((2, 16), dtype=np.float32)
    blocks = [aie_ml_v2.to_mx(each, fmt, rounding=0, numerics=numerics) for each in (x, y)]
    acc = np.array(-300.7, np.float32)
    expected = aie_ml_v2.fused_dot(*blocks, acc, fmt=fmt, numerics=numerics)
    lane = f"--x {codes(x)} --y {codes(y)} --acc1 {codes(acc)}"
    text = explain(f"--format {fmt} --preset {preset} --rounding 0 {lane}")
    assert f"result       {int(expected.view(np.uint32)):#010x} = " in text
    sums = [line for line in text.splitlines() if "  T " in line]
    assert len(sums) == (2 if fmt == "mx9" and preset == "aie_ml_v2_split" else 1)


def test_a_block_pair_shows_its_shifts_its_sum_and_the_alignment():
    """1.0 * 16 - 0.75 * 1.5, and 8 plus one unit below the grid, which is rounded away."""
    text = explain("--x 7f/02/64,0,-96 --y 84/01/64,0,3 --acc1 0x41000001")
    assert value_of(text, "block a") == "mx9, exponent 0x7f = 2**0, shifts 00000010 (pair 0 last)"
    assert value_of(text, "block b") == "mx9, exponent 0x84 = 2**5, shifts 00000001 (pair 0 last)"
    assert row_of(text, "0") == "0 0 64 = 1 1 64 = 16 1 2048 8192"
    assert row_of(text, "2") == "2 1 -96 = -0.75 0 3 = 1.5 1 -144 -576"
    assert row_of(text, "3-15") == "3-15 codes 0"
    assert "product in units of 2**-7, T in quarters of them; T << 9 is on the grid of its code" in text
    # T = 8192 - 576; 14.875 has the code 127 + 132 + 1, the accumulator 130 + 128.
    assert row_of(text, "0-15") == f"0-15 T 7616 14.875 260 0 {7616 << 9}"
    assert row_of(text, "acc1").endswith(f" 8.00000095 258 2 {1 << 21} rounded off +0.25")
    assert value_of(text, "maximum") == "code 260: the grid is 2**-18"
    assert value_of(text, "sum") == f"{(7616 << 9) + (1 << 21)} = 22.875"
    assert value_of(text, "result") == "0x41b70000 = 22.875"
    assert value_of(text, "error") == "-0.5 ulp"


def test_zero_codes_that_erase_an_accumulator_are_shown():
    text = explain("--x b4/00/0 --y 7f/00/1 --acc1 1")
    assert row_of(text, "0-15") == "0-15 T 0 0 308 0 0"
    assert row_of(text, "acc1").endswith(" 255 53 0 rounded off +9.31323e-10")
    assert value_of(text, "result") == "0x00000000 = 0"


ONE_BIT_OFF = "leading one at bit 24, exponent field 128, 1 bits rounded off (CONV_EVEN): 0.5 of the last place"


@pytest.mark.parametrize(
    ("operands", "name", "says"),
    [
        ("--x 0x7f80,1 --y 1,1 --acc1 0xff800000", "sum", "a NaN or an infinity decides"),
        ("--x 0,1 --y 0x7f80,1", "result", "0x7fc00000 = NaN"),
        ("--x 0x7f80 --y -1", "result", "0xff800000 = -infinity"),
        ("--x 0,0 --y 0,1", "sum", "no term that is not 0"),
        ("--x 0,0 --y 0,1", "result", "0x00000000 = 0"),
        ("--x 1,1 --y 1,-1", "sum", "0 = 0"),
        ("--x 1,1 --y 1,-1", "result", "0x00000000 = 0"),
        ("--x 0x0080 --y -0.5", "normalise", "leading one at bit 23, exponent field 0; below the normal numbers, zero"),
        ("--x 0x0080 --y -0.5", "result", "0x80000000 = -0"),
        ("--x 0x7f00 --y 2", "normalise", "leading one at bit 23, exponent field 255; overflow"),
        ("--x 0x7f00 --y 2", "error", "none: the result or a term is not finite"),
        ("--x 1 --y 1 --acc1 0x3f800001 --acc2 -0", "normalise", ONE_BIT_OFF),
        ("--x 1 --y 1 --acc1 0x3f800001 --acc2 -0", "error", "-0.5 ulp"),
    ],
)
def test_the_deciding_bits_are_shown(operands, name, says):
    assert value_of(explain(f"--format bf16 {operands}"), name) == says


def test_a_nan_block_is_shown():
    text = explain("--format mx6 --x ff/00/1 --y 7f/00/1")
    assert value_of(text, "block a") == "mx6, exponent 0xff: NaN"
    assert row_of(text, "T") == "T NaN"


def test_integers_wrap():
    numbers = "--format int16 --x 32767,32767 --y 32767,32767 --acc2 2147483647"
    text = explain(f"{numbers} --negate products")
    assert row_of(text, "1") == f"1 32767 32767 {-(32767**2)}"
    assert value_of(text, "sum") == str(2147483647 - 2 * 32767**2)
    text = explain(numbers)
    assert value_of(text, "sum") == f"{2147483647 + 2 * 32767**2}, wrapped to 32 bits"
    assert value_of(text, "result") == str(2147483647 + 2 * 32767**2 - (1 << 32))


@pytest.mark.parametrize("rounding", [0, 12])
@pytest.mark.parametrize("fmt", ["mx9", "mx6", "mx4", "bf16", "fp16", "fp8_e4m3fn"])
def test_an_output_of_the_layer_ends_in_the_bits_of_the_golden_matmul(fmt, rounding):
    a, b = layer()
    m, n = 83, 501
    expected = aie_ml_v2.matmul(a[80:84], b[:, 496:512], fmt=fmt, rounding=rounding)[3, 5]
    text = explain(f"--output {m},{n} --format {fmt} --rounding {rounding}")
    assert text.startswith(f"{24 if fmt in MX_FORMATS else 48} instructions of output [{m}, {n}], {fmt}, ")
    assert value_of(text, "result") == f"{int(expected.view(np.uint32)):#010x} = {float(expected):.9g}"
    reference = float(a[m].astype(np.float64) @ b[:, n].astype(np.float64))
    assert f"float64      {reference:.9g}," in text


@pytest.mark.parametrize("fmt", ["mx6", "fp16"])
def test_an_instruction_of_an_output_is_shown_in_full(fmt):
    """The line and the full text of one instruction agree, and each accumulates onto the one before."""
    lines = explain(f"--output 3,7 --format {fmt}").splitlines()
    k = 16 if fmt == "mx6" else 8
    assert lines[5].split()[:3] == ["2", "k", f"{2 * k}-{3 * k - 1}"]
    full = explain(f"--output 3,7 --format {fmt} --step 2")
    assert full.startswith(f"instruction    2  k   {2 * k}-")
    assert value_of(full, "result") in lines[5]
    before = lines[4].split(" = ")[0].split()[-1]
    assert row_of(full, "acc1").split()[1] == before


def test_an_output_with_an_infinity_has_no_error(saved):
    a = np.ones((2, 40), np.float32)
    a[1, 20] = np.inf
    files = saved(a, np.ones((40, 1), np.float32))
    text = explain(f"--output 1,0 --format bf16 {files}")
    assert value_of(text, "result") == "0x7f800000 = infinity"
    assert value_of(text, "exact") == "none: a NaN or an infinity takes part"
    assert value_of(explain(f"--output 0,0 --format bf16 {files}"), "error") == "0 ulp: exact"


@pytest.mark.parametrize("fmt", INTEGER_MODES)
def test_integer_matrices_are_explained(saved, fmt):
    rng = np.random.default_rng(43)
    a, b = (rng.integers(-100, 101, shape).astype(np.float32) for shape in ((3, 40), (40, 2)))
    text = explain(f"--output 2,1 --format {fmt} {saved(a, b)}")
    assert value_of(text, "result") == str(int(a[2] @ b[:, 1]))


def test_an_empty_chain_is_refused():
    with pytest.raises(ValueError, match="steps must hold at least one instruction, not none"):
        explain_chain([])


def test_a_lane_of_bfp16ebs8_is_that_of_its_preset():
    """Eight numbers a block, no shifts; without --preset the format's own, whose infinity is a number."""
    rng = np.random.default_rng(44)
    x, y = rng.standard_normal((2, 8), dtype=np.float32)
    x[3] = np.inf
    expected = aie_ml_v2.fused_dot(*(aie_ml_v2.to_mx(each, "bfp16ebs8") for each in (x, y)), fmt="bfp16ebs8")
    text = explain(f"--format bfp16ebs8 --x {codes(x)} --y {codes(y)}")
    assert value_of(text, "result").startswith(f"{int(expected.view(np.uint32)):#010x} = ")
    assert value_of(text, "block a") == "bfp16ebs8, exponent 0xff = 2**128"
    assert value_of(explain(f"--format bfp16ebs8 --preset aie_ml_v2 --x {codes(x)} --y {codes(y)}"), "result").endswith(
        "NaN"
    )


def test_a_block_of_bfp16ebs8_is_an_exponent_and_codes():
    text = explain("--format bfp16ebs8 --x 7f/64,-128 --y 80/1")
    assert row_of(text, "0") == "0 0 64 = 1 0 1 = 0.03125 0 64 256"
    assert value_of(text, "result") == "0x3d000000 = 0.03125"


def test_an_output_of_the_layer_in_bfp16ebs8_ends_in_the_bits_of_the_golden_matmul():
    a, b = layer()
    expected = aie_ml_v2.matmul(a[80:84], b[:, 496:512], fmt="bfp16ebs8")[3, 5]
    text = explain("--output 83,501 --format bfp16ebs8")
    assert text.startswith("48 instructions of output [83, 501], bfp16ebs8, 8x8x8 in mode bfp16ebs8")
    assert value_of(text, "result") == f"{int(expected.view(np.uint32)):#010x} = {float(expected):.9g}"
