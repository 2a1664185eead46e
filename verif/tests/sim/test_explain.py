"""``bitpath explain trainium3``: one step, one output of the real layer, and a sentence for every mistake."""

import numpy as np
import pytest
from click.testing import CliRunner

from bitpath.golden.trainium3 import matmul
from bitpath.sim.commands.explain import command
from bitpath.sim.flows.operands import layer


def explain(*arguments):
    return CliRunner().invoke(command, ["trainium3", *arguments])


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
        (("--output", "128,0"), "--output is '128,0'; M,N up to 127,511 is allowed"),
        (("--output", "0,0", "--row", "96"), "--row is 96; 0 to 95 are allowed"),
        (("--output", "0,0", "--format", "fp9"), "format is 'fp9'; mxfp8_e4m3, mxfp8_e5m2, mxfp4 are allowed"),
        (("--output", "0,0", "--a", "x.npy"), "--b is missing; --a and --b go together"),
        (
            ("--output", "0,0", "--preset", "x"),
            "unknown preset 'x', known are trainium3_quad_mx, trainium3_quad_mx_aligned",
        ),
        (("--output", "0,0", "--moving", "1"), "--output and --moving explain different things; give one of them"),
        (("--stationary", "0,0,0,0", "--moving", "0,0,0,0", "--row", "3"), "--row goes with --output"),
        (
            ("--stationary", "1,2,3,100", "--moving", "0,0,0,0"),
            "--stationary is '1,2,3,100'; 4 hexadecimal codes of 8 bits each is allowed",
        ),
        (
            ("--stationary", "1,2,3,4", "--moving", "0,0,0,0", "--moving-format", "E2M1"),
            "--moving-format is 'E2M1'; E4M3FN, E5M2 are allowed",
        ),
    ],
)
def test_a_mistake_is_one_sentence(arguments, sentence):
    result = explain(*arguments)
    assert isinstance(result.exception, ValueError)
    assert str(result.exception) == sentence
