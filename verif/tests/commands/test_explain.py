"""``bitpath explain``: one step, and one output of a real layer."""

import numpy as np
import pytest
from click.testing import CliRunner

from bitpath.golden import tensix
from bitpath.golden.trainium3 import matmul
from bitpath.sim.commands.explain import explain_command
from bitpath.sim.flows.operands import layer


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
    program = tensix.matmul_program(a[64:96], b[:, 480:512], fmt=fmt, fidelity=fidelity, dst32=width == "--dst32")
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
