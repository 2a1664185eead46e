"""Known answers, made with fractions from the specification: MX to FP32, integers to FP32 and back, PACK, the scalar unit."""

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, Saturation
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2


@pytest.mark.parametrize("name", MX_FORMATS)
def test_blocks_to_fp32(kat, name):
    archive = kat("aie_tile_convert.npz")
    exponent, shift, codes, expected = (archive[f"{name}_{part}"] for part in ("exponent", "shift", "codes", "f32"))
    blocks = aie.MxBlocks(MX_FORMATS[name], exponent[:, np.newaxis], shift[:, np.newaxis], codes[:, np.newaxis])
    assert np.array_equal(aie.from_mx(blocks).view(np.uint32), expected)
    rows = zip(exponent.tolist(), shift.tolist(), codes.tolist(), strict=True)
    twins = [exact.Block(MX_FORMATS[name], *each[:2], tuple(each[2])) for each in rows]
    assert [list(exact.from_mx(AIE_ML_V2.numerics, each)) for each in twins] == expected.tolist()


def by_shift(shifts):
    """Yield each shift and where it stands."""
    for shift in np.unique(shifts).tolist():
        yield shift, shifts == shift


def test_integers_to_fp32(kat):
    archive = kat("aie_tile_convert.npz")
    numbers, shifts, expected = (archive[f"fix_{part}"] for part in ("n", "shift", "f32"))
    for shift, here in by_shift(shifts):
        assert np.array_equal(aie.fix_to_float(numbers[here], shift)[0], expected[here])
    twins = map(exact.fix_to_float, numbers.tolist(), shifts.tolist())
    assert [code for code, _ in twins] == expected.tolist()


def test_fp32_to_integers(kat):
    archive = kat("aie_tile_convert.npz")
    codes, shifts, expected, flags = (archive[f"float_{part}"] for part in ("bits", "shift", "int32", "flags"))
    for shift, here in by_shift(shifts):
        results, seen = aie.float_to_fix(codes[here], shift)
        assert np.array_equal(results, expected[here])
        assert np.array_equal(seen, flags[here])
    twins = list(map(exact.float_to_fix, codes.tolist(), shifts.tolist()))
    assert twins == list(zip(expected.tolist(), flags.tolist(), strict=True))


@pytest.mark.parametrize("signed", [False, True])
def test_nibbles(kat, signed):
    expected = kat("aie_tile_int4.npz")[f"unpack4_{'signed' if signed else 'unsigned'}"]
    every = np.arange(len(expected), dtype=np.uint8)
    assert np.array_equal(aie.unpack4(every[:, np.newaxis], signed=signed), expected)
    assert [list(exact.unpack4(byte, signed)) for byte in range(len(expected))] == expected.tolist()


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("bits", [8, 4])
def test_packed(kat, bits, signed):
    archive = kat("aie_tile_int4.npz")
    x = archive[f"pack{2 * bits}_x"].astype(np.int64)
    x = x if signed else x % (1 << 2 * bits)
    for saturation, expected in zip(Saturation, archive[f"pack{2 * bits}_out"][:, int(signed)], strict=True):
        assert np.array_equal(aie.pack(x, bits=bits, saturate=saturation, signed=signed), expected)
        assert [exact.pack(each, bits, saturation, signed) for each in x.tolist()] == expected.tolist()


def test_every_operation(kat):
    archive = kat("aie_tile_scalar.npz")
    inputs = ("a", "b", "carry_in", "acc")
    for index, name in enumerate(archive["op_names"].tolist()):
        here = archive["op"] == index
        a, b, carry, acc = (archive[each][here] for each in inputs)
        result, carries = aie.scalar_op(name, a, b, carry=carry, acc=acc)
        assert np.array_equal(result, archive["result"][here]), name
        assert np.array_equal(carries, archive["carry_out"][here]), name
    names = archive["op_names"][archive["op"]].tolist()
    twins = list(map(exact.scalar_op, names, *(archive[each].tolist() for each in inputs)))
    assert twins == list(zip(archive["result"].tolist(), archive["carry_out"].tolist(), strict=True))


def test_steps_of_divisions(kat):
    steps = kat("aie_tile_scalar.npz")["divs"]
    rest, quotient, divisor, *expected = steps.T
    assert np.array_equal(np.stack(aie.divide_step(rest, quotient, divisor)), np.stack(expected))
    assert [exact.divide_step(*each[:3]) for each in steps.tolist()] == [tuple(each[3:]) for each in steps.tolist()]


def test_divisions(kat):
    quotient, divisor, *expected = kat("aie_tile_scalar.npz")["divide"].T
    rest = np.zeros_like(quotient)
    for _ in range(32):
        rest, quotient = aie.divide_step(rest, quotient, divisor)
    assert np.array_equal(np.stack([quotient, rest]), np.stack(expected))


@pytest.mark.parametrize("name", ["inv", "sqrt", "invsqrt"])
def test_functions(kat, name):
    archive = kat("aie_tile_scalar.npz")
    codes, expected = archive["nlf_x"], archive[f"nlf_{name}"]
    assert np.array_equal(aie.scalar_function(name, codes)[0], expected)
    assert [exact.scalar_function(name, code)[0] for code in codes.tolist()] == expected.tolist()
