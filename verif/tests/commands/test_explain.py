"""``bitpath explain``: one step, an output of a real layer, every machine, and every mistake."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bitpath import golden
from bitpath.golden import aie_ml_v2, tensix
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS
from bitpath.golden.aie_ml_v2.matmul.explain import explain_chain
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS, FORMATS
from bitpath.golden.arrays.arguments import one_of
from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.sources import DOCUMENTS
from bitpath.golden.trainium3 import matmul
from bitpath.sim.commands.explain import explain_command
from bitpath.sim.engine.options import MACHINES as MACHINE_NAMES
from bitpath.sim.flows.operands import layer
from bitpath.sim.study.numerics import TEXTS

# ``bitpath numerics`` and ``bitpath rates``: one machine, one field, and the documents that sources name.


DECLARATIONS = Path(golden.__file__).parent.glob("*/declarations/*.py")


def test_every_abbreviation_of_the_declarations_is_spelt_out():
    named = {name for file in DECLARATIONS for name in re.findall(r"\bhere\s+([A-Z][A-Z0-9-]+)", file.read_text())}
    assert named
    assert named <= DOCUMENTS.keys() | {"OCP"}  # OCP MX has two words


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_a_machine_has_its_rows_alone(bitpath, machine):
    everything, own = (json.loads(bitpath("numerics", *chosen, "--json")[1]) for chosen in ((), (machine,)))
    assert own
    assert own == [row for row in everything if row["machine"] == machine]


def test_a_field_has_its_rows_and_their_documents(bitpath):
    status, out, err = bitpath("numerics", "trainium3", "accumulator_subnormals")
    assert (status, err) == (0, "")
    rows = [line for line in out.splitlines() if line.startswith("| trainium3_quad_mx")]
    assert len(rows) == 1
    assert "| accumulator_subnormals |" in rows[0]
    _, out, _ = bitpath("numerics", "trainium3", "terms")
    assert f"| ARCH3 | {DOCUMENTS['ARCH3']} |" in out.splitlines()
    assert "| SPEC |" not in out
    assert "| ISA |" not in bitpath("numerics", "tensix")[1]  # TT-ISA is another document


def test_a_text_finds_fixed_choices(bitpath):
    found = json.loads(bitpath("numerics", "trainium3", "ACTIVATE2 REDUCES", "--json")[1])
    assert [row["fixed choice"].startswith("activate2 reduces FP32 values") for row in found] == [True]


def test_an_unknown_field_is_one_sentence(bitpath):
    status, _, err = bitpath("numerics", "trainium3", "scale_nam")
    assert status == 2
    assert "FIELD must be a field or a text in a choice of trainium3, not 'scale_nam'; did you mean 'scale_nan'?" in err


def test_rates_name_their_documents(bitpath):
    _, out, _ = bitpath("rates", "trainium3")
    assert f"| ARCH3 | {DOCUMENTS['ARCH3']} |" in out.splitlines()


def explain(line):
    return CliRunner().invoke(explain_command, line).output


def results(text):
    return [line.split("= ")[1] for line in text.splitlines() if line.startswith("result ")]


def test_a_step_shows_its_bits():
    text = explain("trainium3 --stationary 38,39,b8,01 --moving 3c,3d,3c,7b --moving-format E5M2")
    assert "   1  0x39 0.0111.001 = 1.125           0x3d 0.01111.01 = 1.25 " in text
    assert "rounding     RNE, last place 2**-17, 0 of it remain" in text


def test_numbers_and_codes_of_a_step_are_the_same():
    codes = (
        "trainium3 --stationary 38,39,b8,01 --moving 3c,3d,3c,7b --moving-format E5M2 --scales 7f,80 --partial 3f800001"
    )
    numbers = (
        "trainium3 --stationary 1,1.125,-1,0x01 --moving 1.0,1.25,1,57344 --moving-format E5M2 --scales 1,2"
        " --partial 0x3f800001"
    )
    assert explain(codes) == explain(numbers) != ""


@pytest.mark.parametrize("format_name", ["mxfp8_e4m3", "mxfp4"])
def test_an_output_of_the_layer_ends_in_the_bits_of_the_golden_matmul(format_name):
    a, b = layer()
    weights = "mxfp4" if format_name == "mxfp4" else "mxfp8_e4m3"
    expected = matmul(a[:4], b[:, :8], b_format=weights)[3, 7]
    text = explain(f"trainium3 --output 3,7 --format {format_name}")
    assert f"PSUM         {expected.view(np.uint32):#010x}" in text
    assert text.count("\n") > 96  # a line for each row


def test_a_row_of_an_output_is_shown_in_full():
    text = explain("trainium3 --output 3,7 --row 5 --preset trainium3_quad_mx_aligned")
    assert "alignment    largest exponent" in text


def test_a_contraction_of_two_instructions_shows_both(saved):
    rng = np.random.default_rng(1)
    files = saved(*(rng.standard_normal(shape, dtype=np.float32) for shape in ((2, 600), (600, 3))))
    text = explain(f"trainium3 --output 1,2 {files}")
    assert "nc_matmul_mx 2 of 2, 32 rows, output [1, 2]" in text


@pytest.mark.parametrize(
    ("fidelity", "expected"), [("HiFi2", ["10.4375", "10.4375"]), ("HiFi4", ["10.4375", "10.4375", "10.5", "10.5"])]
)
def test_tt_metal_12923_runs_the_phases_in_turn(fidelity, expected):
    text = explain(f"tensix --src-a 1.3125 --src-b 7.96875 --dst16 --fidelity {fidelity}")
    assert results(text) == expected


@pytest.mark.parametrize(
    ("preset", "expected"), [("tensix_wormhole", "-16"), ("tensix_wormhole_fixed", "-1.1920929e-07")]
)
def test_tt_metal_38306_the_quirk_is_shown(preset, expected):
    text = explain(f"tensix --src-a 1 --src-b 0x1fc00 --dst 0xbf800001 --phase 0 --preset {preset}")
    assert results(text) == [expected]
    assert ("\nquirk " in text) == (expected == "-16")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("--style BF16", "0x5fd00 1.01111111.0100000000 = -1.25"),
        ("--style TF32", "0x5fd00 1.01111111.0100000000 = -1.25"),
        ("--srca-format BFP4", "0x5fd00 1.01111111.0100000000 = -1.25"),
        ("--style FP16", "0x43d00 1.01111.0100000000 = -1.25"),
        ("--style FP16 --srca-format FP8", "0x43d00 1.01111.0100000000 = -1.25"),
    ],
)
def test_a_number_becomes_a_word_of_the_format(options, word):
    assert word in explain(f"tensix --src-a 2,-1.25 --src-b 1 {options}")


@pytest.mark.parametrize(
    ("options", "word"), [("", "0xbfc00000"), ("--dst16", "0xbfc0"), ("--dst16 --style FP16", "0xbe00")]
)
def test_a_dst_number_becomes_a_word_of_its_width(options, word):
    assert f"Dst          {word} = -1.5" in explain(f"tensix --src-a 0 --src-b 0 --dst -1.5 --phase 0 {options}")


def test_integers():
    text = explain("tensix --style INT8 --src-a -100,3 --src-b 7,127 --dst -9")
    assert "0x44064 1.10000.0001100100 = -100" in text
    assert results(text)[-1] == str(-9 - 700 + 381)


@pytest.mark.parametrize(
    ("fmt", "fidelity", "instructions"),
    [("bf16", "HiFi4", 96), ("bf16", "LoFi", 24), ("bfp8", "HiFi2", 48), ("fp8", "LoFi", 24)],
)
@pytest.mark.parametrize("width", ["--dst32", "--dst16"])
def test_an_output_of_the_layer_ends_in_the_bits_of_the_golden_tensix_matmul(fmt, fidelity, instructions, width):
    a, b = layer()
    m, n = 83, 501
    program = tensix.matmul_program(a[64:96], b[:, 480:512], format=fmt, fidelity=fidelity, dst32=width == "--dst32")
    tile = tensix.run_program(program)[0, 0]
    # Face 3 of the tile: row 3 and column 5 of it.
    expected = tile[3 * 16 + 3, 5]
    text = explain(f"tensix --output {m},{n} --format {fmt} --fidelity {fidelity} {width}")
    assert f"{instructions} MVMULs of output [{m}, {n}], {fmt} {fidelity}" in text
    assert f"result       0x{expected:0{8 if width == '--dst32' else 4}x} = " in text
    reference = float(a[m].astype(np.float64) @ b[:, n].astype(np.float64))
    assert f"float64      {reference:.9g}," in text


def test_an_mvmul_of_an_output_is_shown_in_full():
    """The line and the full text of one instruction agree; the instructions follow the order of a tile product."""
    text = explain("tensix --output 3,7")
    lines = text.splitlines()
    assert [" ".join(line.split()[:5]) for line in lines[3:8]] == [
        f"{index} k {'16-31' if index % 2 else '0-15'} phase {index // 2}" for index in range(5)
    ]
    full = explain("tensix --output 3,7 --step 4")
    assert full.startswith("MVMUL    4  k    0-15    phase 2\nphase 2 ")
    (result,) = (line for line in full.splitlines() if line.startswith("result "))
    assert result.split()[1] in lines[7]


def test_a_format_has_the_name_that_a_run_gives_it():
    assert explain("tensix --output 3,7 --format bfp8_hifi2") == explain(
        "tensix --output 3,7 --format bfp8 --fidelity HiFi2"
    )


def test_int8_matrices_are_explained(saved):
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-127, 128, shape).astype(np.float32) for shape in ((40, 40), (40, 20)))
    text = explain(f"tensix --output 35,17 --format int8 {saved(a, b)}")
    assert results(text) == [str(int(a[35] @ b[:, 17]))]


def test_a_vector_lane_ends_in_the_bits_of_the_named_function(tmp_path):
    for chip, preset in (("wormhole", "tensix_wormhole"), ("blackhole", "tensix_blackhole")):
        x = np.array([0xBFC00000], np.uint32)
        text = explain(f"tensix --sfpu sigmoid --x -1.5 --preset {preset}")
        assert value_of(text, "result").startswith(f"{tensix.llk.apply('sigmoid', x, dst32=True, chip=chip)[0]:#010x}")
        assert sum("LReg" in line for line in text.splitlines()) > 30
        half = explain(f"tensix --sfpu sqrt --approximate --fast --x 0x40000000 --dst16 --preset {preset}")
        expected = tensix.llk.apply("sqrt", np.array([0x4000], np.uint32), approximate=True, fast=True, chip=chip)
        assert value_of(half, "result").startswith(f"{int(expected[0]) << 16:#010x}")
    file = tmp_path / "kernel.S"
    file.write_text(
        "kernel:\n\tSFPLOAD\tL0, 0, 0, 3\n\tSFPMAD\tL0, L0, L0, L10, 0\n\tSFPNOP\n\tSFPSTORE\t0, L0, 0, 3\n"
    )
    assert value_of(explain(f"tensix --sfpu {file} --x 3"), "result") == "0x41200000 = 10"


# ``bitpath explain aie_ml_v2``: a lane in every format, and an output of a real layer.


FLOAT_PAIRS = [(fmt, fmt) for fmt in FLOAT_FORMATS] + [("bf16", "fp16"), ("fp8_e4m3fn", "fp8_e5m2")]


def explain_aie_ml_v2(line):
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
    expected = aie_ml_v2.fused_dot(x, y, acc1, acc2, format=name, negate_products=True, negate_acc2=True)
    operands = [",".join(f"{code:#x}" for code in codes_of(each).tolist()) for each in (x, y)]
    formats = f"--format {x_format} --y-format {y_format}"
    lane = f"--x {operands[0]} --y {operands[1]} --acc1 {codes(acc1)} --acc2 {codes(acc2)}"
    text = explain_aie_ml_v2(f"{lane} {formats} --negate products --negate acc2")
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
    expected = aie_ml_v2.fused_dot(*blocks, acc, format=fmt, numerics=numerics)
    lane = f"--x {codes(x)} --y {codes(y)} --acc1 {codes(acc)}"
    text = explain_aie_ml_v2(f"--format {fmt} --preset {preset} --rounding 0 {lane}")
    assert f"result       {int(expected.view(np.uint32)):#010x} = " in text
    sums = [line for line in text.splitlines() if "  T " in line]
    assert len(sums) == (2 if fmt == "mx9" and preset == "aie_ml_v2_split" else 1)


def test_a_block_pair_shows_its_shifts_its_sum_and_the_alignment():
    """1.0 * 16 - 0.75 * 1.5, and 8 plus one unit below the grid, which is rounded away."""
    text = explain_aie_ml_v2("--x 7f/02/64,0,-96 --y 84/01/64,0,3 --acc1 0x41000001")
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
    text = explain_aie_ml_v2("--x b4/00/0 --y 7f/00/1 --acc1 1")
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
    assert value_of(explain_aie_ml_v2(f"--format bf16 {operands}"), name) == says


def test_a_nan_block_is_shown():
    text = explain_aie_ml_v2("--format mx6 --x ff/00/1 --y 7f/00/1")
    assert value_of(text, "block a") == "mx6, exponent 0xff: NaN"
    assert row_of(text, "T") == "T NaN"


def test_integers_wrap():
    numbers = "--format int16 --x 32767,32767 --y 32767,32767 --acc2 2147483647"
    text = explain_aie_ml_v2(f"{numbers} --negate products")
    assert row_of(text, "1") == f"1 32767 32767 {-(32767**2)}"
    assert value_of(text, "sum") == str(2147483647 - 2 * 32767**2)
    text = explain_aie_ml_v2(numbers)
    assert value_of(text, "sum") == f"{2147483647 + 2 * 32767**2}, wrapped to 32 bits"
    assert value_of(text, "result") == str(2147483647 + 2 * 32767**2 - (1 << 32))


@pytest.mark.parametrize("rounding", [0, 12])
@pytest.mark.parametrize("fmt", ["mx9", "mx6", "mx4", "bf16", "fp16", "fp8_e4m3fn"])
def test_an_output_of_the_layer_on_aie_ml_v2_ends_in_the_bits_of_the_golden_matmul(fmt, rounding):
    a, b = layer()
    m, n = 83, 501
    expected = aie_ml_v2.matmul(a[80:84], b[:, 496:512], format=fmt, rounding=rounding)[3, 5]
    text = explain_aie_ml_v2(f"--output {m},{n} --format {fmt} --rounding {rounding}")
    assert text.startswith(f"{24 if fmt in MX_FORMATS else 48} instructions of output [{m}, {n}], {fmt}, ")
    assert value_of(text, "result") == f"{int(expected.view(np.uint32)):#010x} = {float(expected):.9g}"
    reference = float(a[m].astype(np.float64) @ b[:, n].astype(np.float64))
    assert f"float64      {reference:.9g}," in text


@pytest.mark.parametrize("fmt", ["mx6", "fp16"])
def test_an_instruction_of_an_output_is_shown_in_full(fmt):
    """The line and the full text of one instruction agree, and each accumulates onto the one before."""
    lines = explain_aie_ml_v2(f"--output 3,7 --format {fmt}").splitlines()
    k = 16 if fmt == "mx6" else 8
    assert lines[5].split()[:3] == ["2", "k", f"{2 * k}-{3 * k - 1}"]
    full = explain_aie_ml_v2(f"--output 3,7 --format {fmt} --step 2")
    assert full.startswith(f"instruction    2  k   {2 * k}-")
    assert value_of(full, "result") in lines[5]
    before = lines[4].split(" = ")[0].split()[-1]
    assert row_of(full, "acc1").split()[1] == before


def test_an_output_with_an_infinity_has_no_error(saved):
    a = np.ones((2, 40), np.float32)
    a[1, 20] = np.inf
    files = saved(a, np.ones((40, 1), np.float32))
    text = explain_aie_ml_v2(f"--output 1,0 --format bf16 {files}")
    assert value_of(text, "result") == "0x7f800000 = infinity"
    assert value_of(text, "exact") == "none: a NaN or an infinity takes part"
    assert value_of(explain_aie_ml_v2(f"--output 0,0 --format bf16 {files}"), "error") == "0 ulp: exact"


@pytest.mark.parametrize("fmt", INTEGER_MODES)
def test_integer_matrices_are_explained(saved, fmt):
    rng = np.random.default_rng(43)
    a, b = (rng.integers(-100, 101, shape).astype(np.float32) for shape in ((3, 40), (40, 2)))
    text = explain_aie_ml_v2(f"--output 2,1 --format {fmt} {saved(a, b)}")
    assert value_of(text, "result") == str(int(a[2] @ b[:, 1]))


def test_an_empty_chain_is_refused():
    with pytest.raises(ValueError, match="steps must hold at least one instruction, not none"):
        explain_chain([])


def test_a_lane_of_bfp16ebs8_is_that_of_its_preset():
    """Eight numbers a block, no shifts; without --preset the format's own, whose infinity is a number."""
    rng = np.random.default_rng(44)
    x, y = rng.standard_normal((2, 8), dtype=np.float32)
    x[3] = np.inf
    expected = aie_ml_v2.fused_dot(*(aie_ml_v2.to_mx(each, "bfp16ebs8") for each in (x, y)), format="bfp16ebs8")
    text = explain_aie_ml_v2(f"--format bfp16ebs8 --x {codes(x)} --y {codes(y)}")
    assert value_of(text, "result").startswith(f"{int(expected.view(np.uint32)):#010x} = ")
    assert value_of(text, "block a") == "bfp16ebs8, exponent 0xff = 2**128"
    assert value_of(
        explain_aie_ml_v2(f"--format bfp16ebs8 --preset aie_ml_v2 --x {codes(x)} --y {codes(y)}"), "result"
    ).endswith("NaN")


def test_a_block_of_bfp16ebs8_is_an_exponent_and_codes():
    text = explain_aie_ml_v2("--format bfp16ebs8 --x 7f/64,-128 --y 80/1")
    assert row_of(text, "0") == "0 0 64 = 1 0 1 = 0.03125 0 64 256"
    assert value_of(text, "result") == "0x3d000000 = 0.03125"


def test_an_output_of_the_layer_in_bfp16ebs8_ends_in_the_bits_of_the_golden_matmul():
    a, b = layer()
    expected = aie_ml_v2.matmul(a[80:84], b[:, 496:512], format="bfp16ebs8")[3, 5]
    text = explain_aie_ml_v2("--output 83,501 --format bfp16ebs8")
    assert text.startswith("48 instructions of output [83, 501], bfp16ebs8, 8x8x8 in mode bfp16ebs8")
    assert value_of(text, "result") == f"{int(expected.view(np.uint32)):#010x} = {float(expected):.9g}"


# ``bitpath explain``: a one-sentence error for every mistake.


def no_word(option, name, width, text):
    return f"{option} must be a number that {name} holds, or a word of {width} bits that begins with 0x, not {text!r}"


NOTHING = {"trainium3": "--stationary and --moving", "tensix": "--src-a and --src-b", "aie_ml_v2": "--x and --y"}
LIKE_MXFP4 = (
    "format must be a machine's, such as tensix's bfp4_hifi4, fp8_hifi4, fp16_hifi4; not 'mxfp4_hifi4'; "
    "did you mean 'bfp4_hifi4'?"
)
MISTAKES = [
    *((machine, f"nothing to explain; give {operands}, or --output") for machine, operands in NOTHING.items()),
    ("tensix --x 1", "--x goes with --sfpu"),
    ("tensix --sfpu exp", "--x must be given with --sfpu"),
    (
        "tensix --sfpu expo --x 1",
        "--sfpu must be a function of tensix.llk or a file of assembly, not 'expo'; did you mean 'exp'?",
    ),
    ("tensix --sfpu exp --x 1 --phase 1", "--phase does not go with --sfpu"),
    ("tensix --sfpu exp --x 1 --output 0,0", "--output does not go with --sfpu"),
    (
        "tensix --sfpu cumsum --x 1",
        "--sfpu must be a function of single datums, not cumsum, which works on a whole tile",
    ),
    ("tensix --sfpu exp --x 1,2", "operands of --x must be 1 with --sfpu exp, not 2"),
    ("tensix --sfpu exp --x 1 --fast", "fast must be False with exp, not True"),
    ("tensix --sfpu exp --x 1,2,3,4", "--x must have up to 3 operands, not 4"),
    ("tensix --sfpu exp --x 1.3", no_word("--x", "FP32", 32, "1.3")),
    ("tensix --src-a 1", "nothing to explain; give --src-a and --src-b, or --output"),
    ("aie_ml_v2 --x 1", "nothing to explain; give --x and --y, or --output"),
    *(
        (f"{machine} --output 0,0 --preset x", f"--preset must be {one_of(map(repr, record.presets))}, not 'x'")
        for machine, record in TEXTS.items()
    ),
    ("trainium3 --output 128,0", "--output must be M,N up to 127,511, not '128,0'"),
    ("tensix --output 0,512", "--output must be M,N up to 127,511, not '0,512'"),
    ("aie_ml_v2 --output 128,0", "--output must be M,N up to 127,511, not '128,0'"),
    ("trainium3 --output 0,0 --row 96", "step must be 0 to 95, not 96"),
    ("tensix --output 0,0 --step 96", "step must be 0 to 95, not 96"),
    ("aie_ml_v2 --output 0,0 --step 24", "step must be 0 to 23, not 24"),
    ("trainium3 --output 0,0 --moving 1", "--output and --moving explain different things; give one of them"),
    ("tensix --output 0,0 --phase 1", "--output and --phase explain different things; give one of them"),
    ("aie_ml_v2 --output 0,0 --acc1 1", "--output and --acc1 explain different things; give one of them"),
    ("aie_ml_v2 --output 0,0 --negate acc1", "--output and --negate explain different things; give one of them"),
    ("trainium3 --stationary 0,0,0,0 --moving 0,0,0,0 --row 3", "--row goes with --output"),
    ("tensix --src-a 1 --src-b 1 --step 0", "--step goes with --output"),
    ("aie_ml_v2 --x 1 --y 1 --step 0", "--step goes with --output"),
    ("trainium3 --output 0,0 --a x.npy", "--b is missing; --a and --b go together"),
    ("tensix --output 0,0 --b x.npy", "--a is missing; --a and --b go together"),
    ("aie_ml_v2 --output 0,0 --a x.npy", "--b is missing; --a and --b go together"),
    (
        "trainium3 --output 0,0 --format fp9",
        "format must be a machine's, such as trainium3's fp16, fp32, mxfp4; not 'fp9'",
    ),
    (
        "tensix --output 0,0 --format mxfp4",
        LIKE_MXFP4,
    ),
    ("tensix --output 0,0 --format int8", "--a and --b must be matrices of whole numbers with --format int8_hifi4"),
    ("aie_ml_v2 --output 0,0 --format int8", "--a and --b must be matrices of whole numbers with --format int8"),
    ("trainium3 --stationary 1,2,3,100 --moving 0,0,0,0", no_word("--stationary", "E4M3FN", 8, "100")),
    ("trainium3 --stationary 1,2,3 --moving 0,0,0,0", "--stationary must have 4 codes or numbers, not 3"),
    ("trainium3 --stationary 1,2,3,4 --moving 0,0,0,0 --scales 3,1", no_word("--scales", "E8M0", 8, "3")),
    (
        "trainium3 --stationary 1,2,3,4 --moving 0,0,0,0 --moving-format E2M1",
        "--moving-format must be E4M3FN or E5M2, not 'E2M1'",
    ),
    ("tensix --src-a 1 --src-b 1 --phase 4", "phase must be 0 to 3, not 4"),
    (
        "tensix --src-a 1 --src-b 1 --phase 0 --fidelity LoFi",
        "--fidelity and --phase say the same; give one of them",
    ),
    ("tensix --src-a 1.3 --src-b 1", no_word("--src-a", "BF16", 19, "1.3")),
    ("tensix --src-a 1 --src-b 1fc00", no_word("--src-b", "BF16", 19, "1fc00")),
    ("tensix --src-a 0x80000 --src-b 1", no_word("--src-a", "BF16", 19, "0x80000")),
    ("tensix --src-a 1e-40 --src-b 1", no_word("--src-a", "BF16", 19, "1e-40")),
    ("tensix --src-a 1 --src-b 1 --srca-format INT16", no_word("--src-a", "INT16", 19, "1")),
    ("tensix --style INT8 --src-a 1.5 --src-b 1", no_word("--src-a", "INT8", 19, "1.5")),
    (
        "tensix --style FP16 --src-a 0x8000 --src-b 1",
        "--src-a must hold exponents of 5 bits with FP16, not exponents above 31",
    ),
    (f"tensix --src-a 1{16 * ',1'} --src-b 1", "--src-a must have up to 16 words, not 17"),
    ("tensix --src-a 1 --src-b 1 --style x", "--style must be 'BF16', 'FP16', 'TF32' or 'INT8', not 'x'"),
    ("tensix --src-a 1 --src-b 1 --style INT8 --dst16", "dst32 must be True with style INT8, not False"),
    ("aie_ml_v2 --x 1 --y 1 --format fp8", f"--format must be {one_of(map(repr, FORMATS))}, not 'fp8'"),
    (
        "aie_ml_v2 --x 1 --y 1 --format bf16 --y-format mx9",
        "--y-format must be bf16 or fp16 with --format bf16, not 'mx9'",
    ),
    ("aie_ml_v2 --x 1.3 --y 1 --format bf16", no_word("--x", "BF16", 16, "1.3")),
    ("aie_ml_v2 --x 1 --y 500 --format fp8_e4m3fn", no_word("--y", "E4M3FN", 8, "500")),
    (f"aie_ml_v2 --x 1{8 * ',1'} --y 1 --format fp16", "--x must have up to 8 operands, not 9"),
    (f"aie_ml_v2 --x 1{16 * ',1'} --y 1", "--x must have up to 16 operands, not 17"),
    (
        "aie_ml_v2 --format bfp16ebs8 --x 7f/00/64 --y 7f/1",
        "--x must be a hexadecimal byte and codes, as 7f/64,-3, not '7f/00/64'",
    ),
    ("aie_ml_v2 --x 7f/ --y 1", "--x must be two hexadecimal bytes and codes, as 7f/01/64,-3, not '7f/'"),
    ("aie_ml_v2 --x 7f/00/1 --y 7f/00/1,4 --format mx4", "--y must be -4 to 3, not '4'"),
    ("aie_ml_v2 --x 128 --y 1 --format int8", "--x must be -128 to 127, not '128'"),
    ("aie_ml_v2 --x 1 --y 1 --rounding 4", "--rounding must be 0, 1, 2, 3, 8, 9, 10, 11, 12 or 13, not 4"),
]


@pytest.mark.parametrize(("line", "sentence"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_sentence(line, sentence):
    result = CliRunner().invoke(explain_command, line)
    assert isinstance(result.exception, ValueError)
    assert str(result.exception) == sentence
