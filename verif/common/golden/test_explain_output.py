"""`explain` for all machines: its result is the matmul's, and text, HTML and JSON show the same steps."""

import html
import json
import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from bitpath.golden.explain.explanation import Explanation
from bitpath.golden.explain_output import explain
from bitpath.golden.machines import MACHINES, find_machine
from bitpath.golden.matmul import matmul

NAMES = [name for record in MACHINES.values() for name in record.formats]
SHAPES = (35, 70), (70, 20)
PLACE = 33, 17


@dataclass(frozen=True)
class Trace:
    """The smallest trace of a step."""

    result: int


@pytest.fixture(scope="module")
def matrices():
    rng = np.random.default_rng(20261125)
    floats = [rng.normal(size=shape).astype(np.float32) for shape in SHAPES]
    integers = [rng.integers(-100, 100, shape) for shape in SHAPES]
    return lambda name: integers if name in find_machine(None, name).integers else floats


def code(name, number):
    """The code of a result as the machine holds it."""
    if number.dtype == np.float32:
        return int(number.view(np.uint32))
    if name.startswith("int8_"):  # Tensix has sign and magnitude
        return abs(int(number)) | (int(number) < 0) << 31
    return int(number)


@pytest.mark.parametrize("name", NAMES)
def test_the_result_is_the_matmuls(name, matrices):
    a, b = matrices(name)
    found = explain(a, b, format=name, output=PLACE)
    assert found.result == code(name, matmul(a, b, format=name)[PLACE])
    assert explain(a, b, format=name, output=(20, 5)).result == code(name, matmul(a, b, format=name)[20, 5])
    # A row of `a` or a column of `b` alone gives the same bits, except that the blocks of Tensix run along rows.
    assert explain(a[33], b, format=name, output=(0, 17)).result == found.result
    if not name.startswith("bfp"):
        assert explain(a[33], b[:, 17].tolist(), format=name).result == found.result


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "bf16_hifi4", "int8_hifi4", "mx9", "bf16", "int8"])
def test_text_html_and_json_show_the_same_steps(name, matrices):
    found = explain(*matrices(name), format=name, output=PLACE)
    assert str(found) == found.text
    shown = found._repr_html_()
    assert html.unescape(re.sub("<[^>]*>", "", shown.replace("<br>", "\n"))) == found.text
    assert "<b>result " in shown
    steps = json.loads(found.to_json())
    assert [each["name"] for each in steps] == [each.strip() for each, _ in found.steps]
    assert [each["result"] for each in steps] == [trace.result for _, trace in found.steps]
    if name == "mxfp8_e4m3":
        assert [Fraction(each["exact"]) for each in steps] == [trace.exact for _, trace in found.steps]
        assert steps[0]["stationary_format"] == "E4M3FN"
    for index in (0, len(steps) - 1):
        one = explain(*matrices(name), format=name, output=PLACE, step=index)
        assert one.steps == found.steps[index : index + 1]
        assert one.result == steps[index]["result"]


def test_steps_of_tensix_have_their_range_of_k_and_their_phase():
    found = explain(np.ones((1, 64)), np.ones((64, 1)), format="bf16_hifi2")
    assert [" ".join(name.split()) for name, _ in found.steps] == [
        "0 k 0-15 phase 0",
        "1 k 16-31 phase 0",
        "2 k 0-15 phase 1",
        "3 k 16-31 phase 1",
        "4 k 32-47 phase 0",
        "5 k 48-63 phase 0",
        "6 k 32-47 phase 1",
        "7 k 48-63 phase 1",
    ]


def test_instructions_of_trainium3_are_numbered_from_1():
    text = str(explain(np.ones((1, 1024)), np.ones((1024, 1)), format="mxfp8_e4m3"))
    assert re.findall(r"nc_matmul_mx (\d+) of (\d+)", text) == [("1", "2"), ("2", "2")]


def test_labels_are_bold_and_steps_are_indented():
    lines = ["result       1", "a            b", "1a           c", "  0          d", "no label of 13 columns"]
    shown = Explanation("\n".join(lines), (("step ", Trace(3)),), 1)
    inside = re.fullmatch(r'<pre style="line-height: 1\.3">(.*)</pre>', shown._repr_html_())[1]
    assert inside.split("<br>") == ["<b>result       </b>1", "<b>a            </b>b", *lines[2:]]
    assert shown.to_json() == '[\n  {\n    "name": "step",\n    "result": 3\n  }\n]'


def test_options_and_numerics_are_the_machines_own():
    a, b = np.ones((1, 32), np.float32), np.ones((32, 1), np.float32)
    text = str(explain(a, b, format="bf16_lofi", dst32=False, numerics="tensix_wormhole_fixed"))
    assert "result       0x4200 = 32" in text
    fixed = str(explain(a, b, format="bf16_lofi", numerics="tensix_wormhole_fixed"))
    assert "quirk off" in fixed


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"output": (35, 0)}, ValueError, r"output\[0\] must be 0 to 34, not 35"),
        ({"output": (0, -1)}, ValueError, r"output\[1\] must be 0 to 19, not -1"),
        ({"output": (0, 1.0)}, TypeError, r"output\[1\] must be an integer, not 1.0"),
        ({"output": 3}, TypeError, "output must be a pair of integers, not 3"),
        ({"step": 100}, ValueError, "step must be 0 to .*, not 100"),
        ({"step": "first"}, TypeError, "step must be an integer, not 'first'"),
        ({"numerics": "x"}, ValueError, "numerics must be .*, not 'x'"),
    ],
)
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "bf16_lofi", "mx9"])
def test_refused_arguments(name, options, error, text, matrices):
    with pytest.raises(error, match=text):
        explain(*matrices(name), format=name, **options)


def test_refused_shapes(matrices):
    a, b = matrices("mx9")
    with pytest.raises(ValueError, match="b must have 70 rows, as many as a has columns, not 35"):
        explain(a, a, format="mx9")
    with pytest.raises(ValueError, match=r"a must have one or two dimensions, not shape \(1, 35, 70\)"):
        explain(a[np.newaxis], b, format="mx9")
