"""Known answers of shuffles: routes of data, E, G and F bytes, derived by another author; most were also measured on AIE2."""

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES

NARROW = 255
"""Stands for no route: fields narrower than 64 bits move no E, G and F."""


@pytest.fixture(scope="module")
def archive(kat):
    return kat("aie_tile_shuffle.npz")


def number(route):
    return int.from_bytes(route.tobytes(), "little")


def sources(size):
    """Bytes that hold their own place, of the low and of the high register."""
    numbers = np.arange(2 * size, dtype=np.uint8)
    return numbers[:size], numbers[size:]


def test_names(archive):
    assert [SHUFFLE_CODES[code].name for code in archive["code"].tolist()] == archive["name"].tolist()


def test_routes_of_data(archive):
    low, high = sources(64)
    for code, route in zip(archive["code"].tolist(), archive["route"], strict=True):
        mode = SHUFFLE_CODES[code]
        assert np.array_equal(aie.shuffle(low, None if mode.half is None else high, mode=code), route), mode.name
        assert exact.shuffle(number(low), number(high), mode) == number(route), mode.name


def test_routes_of_exponents_shifts_and_signs(archive):
    """E and G by one route, F by another; each of both tiers."""
    parts = {name: sources(size) for name, size in (("data", 64), ("f", 16), ("g", 8), ("e", 8))}
    low, high = (aie.MxRegisters("mx6", **{name: part[i] for name, part in parts.items()}) for i in range(2))
    moved = 0
    for code, eg_route, f_route in zip(*(archive[name] for name in ("code", "eg_route", "f_route")), strict=True):
        mode = SHUFFLE_CODES[int(code)]
        other = None if mode.half is None else high
        if mode.bits < 64:
            assert np.all(eg_route == NARROW)
            assert np.all(f_route == NARROW)
            with pytest.raises(ValueError, match="mode must have fields of 64 bits or more for MX"):
                aie.shuffle_mx(low, other, mode=int(code))
            continue
        got = aie.shuffle_mx(low, other, mode=int(code))
        for name, route in (("e", eg_route), ("g", eg_route), ("f", f_route)):
            assert np.array_equal(getattr(got, name), route), mode.name
            pair = (number(part) for part in parts[name])
            assert exact.shuffle(*pair, mode, 8 * len(route)) == number(route), mode.name
        moved += 1
    assert moved == sum(int(name[1 : name.index("_")]) >= 64 for name in archive["name"].tolist()) > 0
