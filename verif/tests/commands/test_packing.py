"""Packing of payloads agrees with Amaranth's constants, and values that do not fit are refused."""

import random

import pytest
from amaranth import signed
from amaranth.lib import data, enum

from bitpath.verif.kit.packing import pack, unpack


class Kind(enum.Enum, shape=2):
    ONE = 1
    TWO = 2


class Pair(data.Struct):
    small: 3
    number: signed(5)


LAYOUT = data.StructLayout({"kind": Kind, "pairs": data.ArrayLayout(Pair, 3), "nothing": 0, "wide": 40})


def draw(rng):
    pairs = [{"small": rng.randrange(8), "number": rng.randrange(-16, 16)} for _ in range(3)]
    return {"kind": rng.choice(list(Kind)), "pairs": pairs, "nothing": 0, "wide": rng.getrandbits(40)}


def test_as_amaranth_lays_fields_out():
    rng = random.Random(1)
    for _ in range(200):
        fields = draw(rng)
        bits = pack(LAYOUT, fields)
        assert bits == LAYOUT.const(fields).as_bits()
        assert unpack(LAYOUT, bits).wide == fields["wide"]
        assert pack(LAYOUT, unpack(LAYOUT, bits)) == bits


def test_packed_fields_are_accepted():
    pairs = [{"small": 1, "number": -1}, pack(Pair, {"small": 2, "number": 3})]
    assert pack(LAYOUT, {"pairs": pairs}) == pack(LAYOUT, {"pairs": [pairs[0], {"small": 2, "number": 3}]})
    with pytest.raises(ValueError, match=r"^payload is 256, allowed are 0 to 255$"):
        pack(Pair, 256)


def test_missing_fields_are_zero():
    assert pack(LAYOUT, {}) == 0
    assert pack(Pair, {"number": -1}) == 0b11111_000
    assert pack(data.ArrayLayout(4, 3), [1, 2]) == 0x21


@pytest.mark.parametrize(
    ("shape", "fields", "message"),
    [
        (Pair, {"small": 8}, "payload is 8, allowed are 0 to 7"),
        (Pair, {"small": -1}, "payload is -1, allowed are 0 to 7"),
        (Pair, {"number": 16}, "payload is 16, allowed are -16 to 15"),
        (12, 4096, "payload is 4096, allowed are 0 to 4095"),
        (Pair, {"large": 0}, "payload has a field 'large', known are small, number"),
        (data.ArrayLayout(4, 1), [1, 2], "payload has a field 1, known are 0"),
    ],
)
def test_values_that_do_not_fit_are_refused(shape, fields, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        pack(shape, fields)
