"""`matmul` and `explain` for all machines: names, kinds of arrays, refused arguments, and three forms of one explanation."""

import html
import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import tensix, trainium3
from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.arrays.arguments import operand
from bitpath.golden.comparison import compare
from bitpath.golden.explain.explanation import Explanation
from bitpath.golden.explain_output import explain
from bitpath.golden.formats.dot import MX_DOT_PRODUCT
from bitpath.golden.formats.records import to_dict
from bitpath.golden.machines import AIE_ML_V2, FURTHER, MACHINES, find_machine
from bitpath.golden.matmul import find_arguments, matmul, prepare
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import WORMHOLE_FIXED
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.golden.trainium3.tensor.modes import MODES

# `explain` for all machines: its result is the matmul's, and text, HTML and JSON show the same steps.


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
def test_explain_refuses(name, options, error, text, matrices):
    with pytest.raises(error, match=text):
        explain(*matrices(name), format=name, **options)


def test_refused_shapes(matrices):
    a, b = matrices("mx9")
    with pytest.raises(ValueError, match="b must have 70 rows, as many as a has columns, not 35"):
        explain(a, a, format="mx9")
    with pytest.raises(ValueError, match=r"a must have one or two dimensions, not shape \(1, 35, 70\)"):
        explain(a[np.newaxis], b, format="mx9")


# `matmul` for all machines: names, kinds of arrays, leading axes, and refused arguments.


PAIRS = [(machine, name) for machine, record in MACHINES.items() for name in record.formats]
A = np.array([[1.5, -2.25, 3.0], [0.75, 0.0, -1.0]], np.float32)
B = np.array([[1.0, 2.0], [-0.5, 4.0], [8.0, 0.25]], np.float32)
WANTED = A @ B  # exact in float32, and in TF32 with all phases


@pytest.fixture
def rng():
    return np.random.default_rng(20261125)


def operands(name, rng, *leading):
    """Random operands [..., 5, 40] and [..., 40, 6] of a format."""
    shapes = (*leading, 5, 40), (*leading, 40, 6)
    if name in find_machine(None, name).integers:
        return [rng.integers(-100, 100, shape) for shape in shapes]
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def test_a_format_name_belongs_to_one_machine():
    names = [name for _, name in PAIRS]
    assert len(names) == len(set(names)) == 50


@pytest.mark.parametrize(("machine", "name"), PAIRS)
def test_every_format_is_the_machines_own(machine, name, rng):
    a, b = operands(name, rng)
    record = MACHINES[machine]
    assert same(matmul(a, b, machine=machine, format=name), record.matmul(a, b, **record.formats[name]))
    assert same(matmul(a, b, format=name), matmul(a, b, machine=machine, format=name))


class GivesArray:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


class GivesDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnDevice:
    """A tensor whose numbers come out step by step, as those of torch and cupy do."""

    def __init__(self, array, *steps, dtype="", **fields):
        self.array, self.steps, self.dtype = array, steps, dtype
        vars(self).update(fields)

    def __getattr__(self, name):
        if not self.steps or name != self.steps[0]:
            raise AttributeError(name)
        rest = self.steps[1:]
        return lambda: OnDevice(self.array, *rest, dtype=self.dtype) if rest else GivesArray(self.array)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(np.asarray, id="float32"),
        pytest.param(np.asfortranarray, id="fortran order"),
        pytest.param(lambda x: x.astype(">f4"), id="other byte order"),
        pytest.param(lambda x: x.astype(np.float64), id="float64"),
        pytest.param(lambda x: x.astype(np.float16), id="float16"),
        pytest.param(lambda x: x.astype(ml_dtypes.bfloat16), id="bfloat16"),
        pytest.param(lambda x: x.tolist(), id="list"),
        pytest.param(lambda x: [tuple(row) for row in x], id="list of tuples"),
        pytest.param(GivesArray, id="__array__"),
        pytest.param(GivesDlpack, id="__dlpack__"),
        pytest.param(lambda x: OnDevice(x, "detach", "cpu"), id="torch"),
        pytest.param(lambda x: OnDevice(x, "detach", "cpu", "float", dtype="torch.bfloat16"), id="torch bfloat16"),
        pytest.param(lambda x: OnDevice(x, "get", __cuda_array_interface__={}), id="cupy"),
    ],
)
def test_operands_may_be_of_many_kinds(kind):
    assert same(matmul(kind(A), kind(B), format="tf32_hifi4"), WANTED)


class TracedError(TypeError):
    """Like jax's, made of the array that was asked for its numbers, with a text of several lines."""

    def __init__(self, tracer):
        super().__init__(f"{tracer.name} is traced.\nSee the manual.")


@pytest.mark.parametrize("method", ["__array__", "detach"])
@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (TracedError, TypeError, "x is traced"),
        (lambda _: UnicodeDecodeError("utf-8", b"x", 0, 1, "odd"), ValueError, "'utf-8' codec can't decode .*: odd"),
        (lambda _: RuntimeError("no storage"), ValueError, "no storage"),
        (lambda _: BufferError(), ValueError, "BufferError"),
    ],
)
def test_an_operand_that_does_not_give_its_numbers(method, error, kind, reason):
    """Whatever it raises becomes one sentence."""

    def refuse(self, *_, **__):
        raise error(self)

    tracer = type("Tracer", (), {method: refuse, "name": "x"})()
    with pytest.raises(kind, match=f"^a must be an array or a list of rows, not a Tracer: {reason}$") as caught:
        matmul(tracer, B, format="mx9")
    assert type(caught.value) is kind


def test_float64_is_rounded_to_float32():
    """Ties go to even; numbers beyond float32 are infinities."""
    x = np.array([[1 + 2.0**-24], [1 + 2.0**-24 + 2.0**-40], [1e300]])
    assert same(operand("x", x, False), np.array([[1], [1 + 2.0**-23], [np.inf]], np.float32))


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "bf16_lofi", "mx9", "int8"])
def test_leading_axes_broadcast(name, rng):
    a, b = operands(name, rng, 2, 3)
    each = np.array(
        [[matmul(x, y, format=name) for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]
    )
    assert same(matmul(a, b, format=name), each)
    assert same(matmul(a, b[0, 0], format=name)[1, 2], matmul(a[1, 2], b[0, 0], format=name))
    assert same(matmul(a[0, 0], b, format=name)[1, 2], matmul(a[0, 0], b[1, 2], format=name))
    assert same(matmul(a[:, :1], b[0], format=name)[1, 2], matmul(a[1, 0], b[0, 2], format=name))
    # Three groups of two left operands share a right one each.
    shared = matmul(a, b[:, :1], format=name)
    assert same(shared[1, 2], matmul(a[1, 2], b[1, 0], format=name))
    assert same(matmul(a.swapaxes(0, 1), b[:, 0], format=name)[2, 1], shared[1, 2])


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp4", "bf16_lofi", "bfp8_hifi2", "mx9", "bf16", "int8"])
def test_a_prepared_operand_gives_the_same_bits(name, rng):
    a, b = operands(name, rng, 2)
    prepared = prepare(b, format=name)
    assert (prepared.machine, prepared.shape) == (find_machine(None, name).name, b.shape)
    assert same(matmul(a, prepared), matmul(a, b, format=name))
    assert same(matmul(a[:1], prepared, format=name)[0], matmul(a[0], b[0], format=name))


def test_vectors_are_rows_and_columns_as_in_numpy(rng):
    a, b = operands("mx9", rng, 2)
    product = matmul(a, b, format="mx9")
    assert same(matmul(a[0, 0], b, format="mx9"), np.stack([product[0, 0], matmul(a[0], b[1], format="mx9")[0]]))
    assert same(
        matmul(a, b[0, :, 3], format="mx9"), np.stack([product[0, :, 3], matmul(a[1], b[0], format="mx9")[:, 3]])
    )
    assert matmul(a[0, 0], b[0, :, 3], format="mx9").shape == ()


def test_a_choice_may_be_named(rng):
    a, b = operands("mx9", rng)
    floor = matmul(a, b, format="mx9", rounding=RoundingCode.FLOOR)
    assert same(matmul(a, b, format="mx9", rounding="floor"), floor)
    assert not same(matmul(a, b, format="mx9"), floor)


def test_numerics_may_be_named(rng):
    a, b = -np.ones((2, 2, 32), np.float32)
    fixed = matmul(a, b.T, format="bf16_hifi4", numerics="tensix_wormhole_fixed")
    assert same(fixed, matmul(a, b.T, format="bf16_hifi4", numerics=WORMHOLE_FIXED.numerics))


def test_numerics_may_be_a_file(rng, tmp_path):
    """Every door computes with the record of a JSON file, or of a unit's configuration, as with the record itself."""
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 512), (512, 2)))
    record = replace(TRAINIUM3_QUAD_MX_ALIGNED.numerics, align_fraction_bits=5)
    file, config = tmp_path / "mine.json", tmp_path / "config.json"
    file.write_text(json.dumps({"preset": "trainium3_quad_mx_aligned", "align_fraction_bits": 5}))
    config.write_text(json.dumps({"numerics": to_dict(record), "pipeline": {"stages": 2}}))
    expected = matmul(a, b, format="mxfp8_e4m3", numerics=record)
    assert not same(expected, matmul(a, b, format="mxfp8_e4m3"))
    for given in (file, str(file), config):
        assert same(matmul(a, b, format="mxfp8_e4m3", numerics=given), expected)
    assert "aligned to 5 fraction bits" in str(explain(a, b, format="mxfp8_e4m3", numerics=file))
    found = compare(a, b, formats=["mxfp8_e4m3"], numerics={"trainium3": file}, reference=expected)
    assert found.errors["mxfp8_e4m3"].max_abs == 0
    for text, says in {
        "[1]": "must hold an object",
        '{"preset": "x"}': "preset must be",
        '{"x": 1}': "fields: x",
    }.items():
        file.write_text(text)
        with pytest.raises(ValueError, match=says):
            matmul(a, b, format="mxfp8_e4m3", numerics=file)


def test_a_dot_products_record_is_of_no_machine(rng):
    a = rng.standard_normal((2, 512)).astype(np.float32)
    numerics = replace(MX_DOT_PRODUCT.numerics, terms=4)
    with pytest.raises(
        TypeError, match=r"numerics must be a DotNumerics \(preset.numerics\), not a DotProductNumerics"
    ):
        matmul(a, a.T.copy(), format="mxfp8_e4m3", numerics=numerics)


def test_options_are_the_machines_own():
    assert same(matmul(A, B, format="bf16_hifi4", dst32=False), tensix.matmul(A, B, format="bf16", dst32=False))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((A, B, {"format": "mx10"}), ValueError, r"format must be a machine's, such as trainium3's .*; tensix's .*; aie_ml_v2's mx9, mx6, mx4; not 'mx10'"),
        ((A, B, {"format": "fp8"}), ValueError, r"tensix's fp8_lofi, fp8_hifi2, fp8_hifi3; aie_ml_v2's fp8_e4m3, fp8_e5m2, fp8_e"),
        ((A, B, {}), TypeError, r"format must be given, unless b is prepared"),
        ((A, B, {"machine": "tpu", "format": "mx9"}), ValueError, r"machine must be 'trainium3', .*, not 'tpu'"),
        ((A, B, {"machine": "tensix", "format": "mx9"}), ValueError, r"^format must be a machine's, such as tensix's [^;]*; not 'mx9'"),
        ((A, B, {"format": "mx9", "numerics": "tensix"}), ValueError, r"numerics must be 'aie_ml_v2', .*, not 'tensix'"),
        ((A, B, {"format": "mx9", "numerics": 3}), TypeError, r"numerics must be an AieNumerics"),
        ((A, A, {"format": "mx9"}), ValueError, r"b must have 3 rows, as many as a has columns, not 2"),
        ((A, B[0], {"format": "mx9"}), ValueError, r"b must have 3 rows, as many as a has columns, not 2"),
        ((A, prepare(B, format="mx9"), {"format": "mx6"}), ValueError, r"format must not be given with a prepared b, .* mx9"),
        ((A, prepare(B, format="mx9"), {"rounding": 0}), ValueError, r"rounding must not be given with a prepared b"),
        ((A, B, {"format": "mx9", "rounding": "x"}), ValueError, r"rounding must be 'floor', .*, not 'x'"),
        ((A[:0], B, {"format": "mx9"}), ValueError, r"a must have two dimensions or more .* not shape \(0, 3\)"),
        ((A, B, {"format": "int8"}), TypeError, r"a must hold integers for a format of integers, not float32"),
        ((A > 0, B, {"format": "mx9"}), TypeError, r"a must hold floats or integers, not bool"),
        ((A * 1j, B, {"format": "mx9"}), TypeError, r"a must hold floats or integers, not complex64"),
        ((None, B, {"format": "mx9"}), TypeError, r"a must hold floats or integers, not object"),
        (("text", B, {"format": "mx9"}), TypeError, r"a must hold floats or integers, not <U4"),
        (([[1, 2], [3]], B, {"format": "mx9"}), ValueError, r"a must be an array or a list of rows, not a list"),
        (([[2**24 + 1]], [[1]], {"format": "mx9"}), ValueError, r"a must hold integers that float32 represents"),
        ((np.ones((2, 4, 3)), np.ones((3, 3, 4)), {"format": "mx9"}), ValueError, r"leading axes must broadcast"),
        ((A, B, {"format": "mx9", "fidelity": "LoFi"}), TypeError, r"options of aie_ml_v2 must be rounding or sparse, not 'fidelity'"),
    ],
)  # fmt: skip
def test_matmul_refuses(arguments, error, text):
    a, b, options = arguments
    with pytest.raises(error, match=text):
        matmul(a, b, **options)


# Formats with functions of their own, and the numbers that conversions leave.


@pytest.mark.parametrize("mode", MODES)
def test_tensor_modes_are_formats_of_trainium3(mode, rng):
    a, b = operands("mx9", rng, 2)
    product = matmul(a, b, format=mode, machine="trainium3")
    for own, x, y in zip(product, a, b, strict=True):
        assert same(own, trainium3.run_mode_program(trainium3.mode_program(x, y, mode))[: len(x), : y.shape[1]])
    assert find_machine(None, mode).name == ("aie_ml_v2" if mode in AIE_ML_V2.formats else "trainium3")


def test_whole_int8_is_exact_and_descaled_as_the_packer_does(rng):
    a, b = rng.integers(-127, 128, (2, 33, 70)), rng.integers(-127, 128, (2, 70, 18))
    exact = a @ b
    assert np.array_equal(matmul(a, b, format="int8", machine="tensix"), exact)
    packing = tensix.Packing(result=Format.INT8, descale_shift=11)
    program = tensix.matmul_program(a[1], b[1], format="int8", packing=packing)
    packed = tensix.packed_matrix(program, tensix.packed_tiles(program, tensix.run_program(program)))
    assert np.array_equal(matmul(a, b, format="int8_descaled", descale_shift=11)[1], packed)
    shift = int(np.abs(exact).max()).bit_length() - 7
    least = matmul(a, b, format="int8_descaled")
    assert np.array_equal(least, matmul(a, b, format="int8_descaled", descale_shift=shift))
    with pytest.raises(ValueError, match="descale_shift must be None without descaled, not 3"):
        matmul(a, b, format="int8", machine="tensix", descale_shift=3)
    with pytest.raises(ValueError, match="format must be one whose outputs have an explanation, not tensix's 'int8'"):
        explain(a[0], b[0], format="int8", machine="tensix")


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        (each.name, name)
        for each in (*MACHINES.values(), *FURTHER)
        for name in each.formats
        if name not in each.integers
    ],
)
def test_numbers_are_those_that_the_product_takes(machine, name, rng):
    """A product of the numbers has the bits of the operands' product; most conversions leave their own numbers as they are."""
    a, b = operands(name, rng, 2)
    record, arguments = find_arguments(machine, name, None, {})
    x, y = record.numbers("a", a, **arguments), record.numbers("b", b, **arguments)
    assert (x.shape, y.shape) == (a.shape, b.shape)
    if not name.startswith(("sparse", "mx4", "mxfp")):
        assert same(record.numbers("a", x, **arguments), x)
    assert same(matmul(x, y, format=name, machine=machine), matmul(a, b, format=name, machine=machine))
