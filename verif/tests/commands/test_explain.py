"""``bitpath explain``: one step, one output of a real layer, and a one-sentence error for every mistake."""

import numpy as np
import pytest
from click.testing import CliRunner

from bitpath.golden import tensix
from bitpath.golden.trainium3 import matmul
from bitpath.sim.commands.explain import command
from bitpath.sim.flows.operands import layer


def explain(*arguments):
    return CliRunner().invoke(command, ["trainium3", *arguments])


def explain_tensix(*arguments):
    return CliRunner().invoke(command, ["tensix", *arguments])


def results(text):
    return [line.split("= ")[1] for line in text.splitlines() if line.startswith("result ")]


def test_a_step_shows_its_bits():
    text = explain("--stationary", "38,39,b8,01", "--moving", "3c,3d,3c,7b", "--moving-format", "E5M2").output
    assert "   1  0x39 0.0111.001 = 1.125           0x3d 0.01111.01 = 1.25 " in text
    assert "rounding     RNE, last place 2**-17, 0 of it remain" in text


@pytest.mark.parametrize("format_name", ["mxfp8_e4m3", "mxfp4"])
def test_an_output_of_the_layer_ends_in_the_bits_of_the_golden_matmul(format_name):
    a, b = layer()
    weights = "mxfp4" if format_name == "mxfp4" else "mxfp8_e4m3"
    expected = matmul(a[:4], b[:, :8], b_format=weights)[3, 7]
    text = explain("--output", "3,7", "--format", format_name).output
    assert f"PSUM         {expected.view(np.uint32):#010x}" in text
    assert text.count("\n") > 96  # a line for each row


def test_a_row_of_an_output_is_shown_in_full():
    text = explain("--output", "3,7", "--row", "5", "--preset", "trainium3_quad_mx_aligned").output
    assert "alignment    largest exponent" in text


def test_a_contraction_of_two_instructions_shows_both(tmp_path):
    rng = np.random.default_rng(1)
    for name, shape in (("a", (2, 600)), ("b", (600, 3))):
        np.save(tmp_path / f"{name}.npy", rng.standard_normal(shape, dtype=np.float32))
    text = explain("--output", "1,2", "--a", str(tmp_path / "a.npy"), "--b", str(tmp_path / "b.npy")).output
    assert "nc_matmul_mx 2 of 2, 32 rows, output [1, 2]" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "nothing to explain; give --stationary and --moving, or --output"),
        (("--output", "128,0"), "--output must be M,N up to 127,511, not '128,0'"),
        (("--output", "0,0", "--row", "96"), "--row must be 0 to 95, not 96"),
        (("--output", "0,0", "--format", "fp9"), "format is 'fp9'; trainium3 has mxfp8_e4m3, mxfp8_e5m2, mxfp4"),
        (("--output", "0,0", "--a", "x.npy"), "--b is missing; --a and --b go together"),
        (
            ("--output", "0,0", "--preset", "x"),
            "unknown preset 'x', known are trainium3_quad_mx, trainium3_quad_mx_aligned, trainium3_quad_mx_e4m3",
        ),
        (("--output", "0,0", "--moving", "1"), "--output and --moving explain different things; give one of them"),
        (("--stationary", "0,0,0,0", "--moving", "0,0,0,0", "--row", "3"), "--row goes with --output"),
        (
            ("--stationary", "1,2,3,100", "--moving", "0,0,0,0"),
            "--stationary must be 4 hexadecimal codes of 8 bits each, not '1,2,3,100'",
        ),
        (
            ("--stationary", "1,2,3,4", "--moving", "0,0,0,0", "--moving-format", "E2M1"),
            "--moving-format must be E4M3FN or E5M2, not 'E2M1'",
        ),
    ],
)
def test_a_mistake_is_one_sentence(arguments, sentence):
    result = explain(*arguments)
    assert isinstance(result.exception, ValueError)
    assert str(result.exception) == sentence


@pytest.mark.parametrize(
    ("fidelity", "expected"), [("HiFi2", ["10.4375", "10.4375"]), ("HiFi4", ["10.4375", "10.4375", "10.5", "10.5"])]
)
def test_tt_metal_12923_runs_the_phases_in_turn(fidelity, expected):
    text = explain_tensix("--src-a", "1.3125", "--src-b", "7.96875", "--dst16", "--fidelity", fidelity).output
    assert results(text) == expected


@pytest.mark.parametrize(
    ("preset", "expected"), [("tensix_wormhole", "-16"), ("tensix_wormhole_fixed", "-1.1920929e-07")]
)
def test_tt_metal_38306_the_quirk_is_shown(preset, expected):
    arguments = "--src-a", "1", "--src-b", "0x1fc00", "--dst", "0xbf800001", "--phase", "0", "--preset", preset
    text = explain_tensix(*arguments).output
    assert results(text) == [expected]
    assert ("\nquirk " in text) == (expected == "-16")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--style", "BF16"), "0x5fd00 1.01111111.0100000000 = -1.25"),
        (("--style", "TF32"), "0x5fd00 1.01111111.0100000000 = -1.25"),
        (("--srca-format", "BFP4"), "0x5fd00 1.01111111.0100000000 = -1.25"),
        (("--style", "FP16"), "0x43d00 1.01111.0100000000 = -1.25"),
        (("--style", "FP16", "--srca-format", "FP8"), "0x43d00 1.01111.0100000000 = -1.25"),
    ],
)
def test_a_number_becomes_a_word_of_the_format(arguments, word):
    assert word in explain_tensix("--src-a", "2,-1.25", "--src-b", "1", *arguments).output


def test_a_dst_number_becomes_a_word_of_its_width():
    for arguments, shown in (((), "0xbfc00000"), (("--dst16",), "0xbfc0"), (("--dst16", "--style", "FP16"), "0xbe00")):
        text = explain_tensix("--src-a", "0", "--src-b", "0", "--dst", "-1.5", "--phase", "0", *arguments).output
        assert f"Dst          {shown} = -1.5" in text


def test_integers():
    text = explain_tensix("--style", "INT8", "--src-a", "-100,3", "--src-b", "7,127", "--dst", "-9").output
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
    program = tensix.matmul_program(a[64:96], b[:, 480:512], fmt=fmt, fidelity=fidelity, dst32=width == "--dst32")
    tile = tensix.run_program(program)[0, 0]
    # Face 3 of the tile: row 3 and column 5 of it.
    expected = tile[3 * 16 + 3, 5]
    text = explain_tensix("--output", f"{m},{n}", "--format", fmt, "--fidelity", fidelity, width).output
    assert f"{instructions} MVMULs of output [{m}, {n}], {fmt} {fidelity}" in text
    assert f"result       0x{expected:0{8 if width == '--dst32' else 4}x} = " in text
    reference = float(a[m].astype(np.float64) @ b[:, n].astype(np.float64))
    assert f"float64      {reference:.9g}," in text


def test_an_mvmul_of_an_output_is_shown_in_full():
    """The line and the full text of one instruction agree; the instructions follow the order of a tile product."""
    text = explain_tensix("--output", "3,7").output
    lines = text.splitlines()
    first = [" ".join(line.split()[:5]) for line in lines[3:8]]
    assert first == [
        "0 k 0-15 phase 0",
        "1 k 16-31 phase 0",
        "2 k 0-15 phase 1",
        "3 k 16-31 phase 1",
        "4 k 0-15 phase 2",
    ]
    full = explain_tensix("--output", "3,7", "--step", "4").output
    assert full.startswith("MVMUL    4  k    0-15    phase 2\nphase 2 ")
    (result,) = (line for line in full.splitlines() if line.startswith("result "))
    assert result.split()[1] in lines[7]


def test_int8_matrices_are_explained(tmp_path):
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-127, 128, shape).astype(np.float32) for shape in ((40, 40), (40, 20)))
    for name, matrix in (("a", a), ("b", b)):
        np.save(tmp_path / f"{name}.npy", matrix)
    files = "--a", str(tmp_path / "a.npy"), "--b", str(tmp_path / "b.npy")
    text = explain_tensix("--output", "35,17", "--format", "int8", *files).output
    assert results(text) == [str(int(a[35] @ b[:, 17]))]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "nothing to explain; give --src-a and --src-b, or --output"),
        (("--src-a", "1"), "nothing to explain; give --src-a and --src-b, or --output"),
        (("--output", "0,512"), "--output must be M,N up to 127,511, not '0,512'"),
        (("--output", "0,0", "--step", "96"), "--step must be 0 to 95, not 96"),
        (
            ("--output", "0,0", "--format", "mxfp4"),
            "fmt must be 'bf16', 'tf32', 'fp16', 'fp8', 'bfp8', 'bfp4', 'bfp2' or 'int8', not 'mxfp4'",
        ),
        (
            ("--output", "0,0", "--format", "int8"),
            "--a and --b must be matrices of whole numbers with --format int8",
        ),
        (("--output", "0,0", "--phase", "1"), "--output and --phase explain different things; give one of them"),
        (("--output", "0,0", "--b", "x.npy"), "--a is missing; --a and --b go together"),
        (("--src-a", "1", "--src-b", "1", "--step", "0"), "--step goes with --output"),
        (("--src-a", "1", "--src-b", "1", "--phase", "4"), "phase must be 0 to 3, not 4"),
        (
            ("--src-a", "1", "--src-b", "1", "--phase", "0", "--fidelity", "LoFi"),
            "--fidelity and --phase say the same; give one of them",
        ),
        (
            ("--src-a", "1", "--src-b", "1", "--preset", "x"),
            "unknown preset 'x', known are tensix_wormhole, tensix_wormhole_fixed, tensix_wormhole_documented",
        ),
        (
            ("--src-a", "1.3", "--src-b", "1"),
            "--src-a must be a number that BF16 holds, or a word of 19 bits that begins with 0x, not '1.3'",
        ),
        (
            ("--src-a", "1", "--src-b", "1fc00"),
            "--src-b must be a number that BF16 holds, or a word of 19 bits that begins with 0x, not '1fc00'",
        ),
        (
            ("--src-a", "0x80000", "--src-b", "1"),
            "--src-a must be a number that BF16 holds, or a word of 19 bits that begins with 0x, not '0x80000'",
        ),
        (
            ("--src-a", "1e-40", "--src-b", "1"),
            "--src-a must be a number that BF16 holds, or a word of 19 bits that begins with 0x, not '1e-40'",
        ),
        (
            ("--src-a", "1", "--src-b", "1", "--srca-format", "INT16"),
            "--src-a must be a number that INT16 holds, or a word of 19 bits that begins with 0x, not '1'",
        ),
        (
            ("--style", "INT8", "--src-a", "1.5", "--src-b", "1"),
            "--src-a must be a number that INT8 holds, or a word of 19 bits that begins with 0x, not '1.5'",
        ),
        (
            ("--style", "FP16", "--src-a", "0x8000", "--src-b", "1"),
            "--src-a must hold exponents of 5 bits with FP16, not exponents above 31",
        ),
        (("--src-a", ",".join("1" * 17), "--src-b", "1"), "--src-a must have up to 16 words, not 17"),
        (
            ("--src-a", "1", "--src-b", "1", "--style", "x"),
            "--style must be 'BF16', 'FP16', 'TF32' or 'INT8', not 'x'",
        ),
        (
            ("--src-a", "1", "--src-b", "1", "--style", "INT8", "--dst16"),
            "dst32 must be True with style INT8, not False",
        ),
    ],
)
def test_a_tensix_mistake_is_one_sentence(arguments, sentence):
    result = explain_tensix(*arguments)
    assert isinstance(result.exception, ValueError)
    assert str(result.exception) == sentence
