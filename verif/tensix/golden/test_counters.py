"""RWCs and ADCs: the documented rules by hand, and as sums modulo their widths over random words; errors."""

from dataclasses import fields
from random import Random

import pytest

from bitpath.golden.tensix.core import adc as adcs
from bitpath.golden.tensix.core.adc import (
    Adc,
    Adcs,
    Channel,
    add_cr_four,
    add_four,
    pacr_modifier,
    set_four,
    setadc,
    setadcxx,
    unpacr_increments,
)
from bitpath.golden.tensix.core.rwc import Modifier, Rwc, apply_modifier, incrwc, modifier_number, setrwc
from bitpath.golden.tensix.declarations.encodings import WIDTHS

WORMHOLE, BLACKHOLE = "wormhole", "blackhole"
A_CR, A_CLEAR, B_CR, B_CLEAR = 1 << 6, 1 << 7, 1 << 14, 1 << 15
DST_CR, DST_CLEAR, DST_C_TO_CR, PHASE_CLEAR = 1 << 10, 1 << 11, 1 << 12, 1 << 15


def modified(rwc, chip=WORMHOLE, fidelity=True, **words):
    return apply_modifier(rwc, Modifier(**words), chip=chip, fidelity=fidelity)


def test_the_step_to_the_second_half_of_k():
    rwc = Rwc(src_b_cr=32, dst=56)
    after = modified(rwc, ab=A_CR | 32 | B_CR | 48 << 8, dst=DST_CR)
    assert (after.src_a, after.src_a_cr, after.src_b, after.src_b_cr, after.dst) == (32, 32, 16, 16, 0)


def test_increments_leave_the_carries():
    after = modified(Rwc(src_a=60, src_b=1, dst=1000, src_a_cr=7, src_b_cr=8, dst_cr=9), ab=5 | 3 << 8, dst=100)
    assert after == Rwc(src_a=1, src_b=4, dst=76, src_a_cr=7, src_b_cr=8, dst_cr=9)


@pytest.mark.parametrize(
    ("bits", "dst", "dst_cr"),
    [
        (DST_CLEAR | DST_C_TO_CR | DST_CR, 0, 0),
        (DST_C_TO_CR | DST_CR, 104, 104),
        (DST_C_TO_CR, 104, 104),
        (DST_CR, 11, 11),
        (0, 104, 7),
    ],
)
def test_clear_goes_before_c_to_cr_and_that_before_cr(bits, dst, dst_cr):
    after = modified(Rwc(dst=100, dst_cr=7), dst=bits | 4)
    assert (after.dst, after.dst_cr) == (dst, dst_cr)


def test_clears_of_the_sources():
    rwc = Rwc(src_a=1, src_a_cr=2, src_b=3, src_b_cr=4)
    assert modified(rwc, ab=A_CLEAR | A_CR | 9) == Rwc(src_b=3, src_b_cr=4)
    assert modified(rwc, ab=B_CLEAR | B_CR | 9 << 8) == Rwc(src_a=1, src_a_cr=2)


@pytest.mark.parametrize(("bits", "phase"), [(2 << 13, 1), (PHASE_CLEAR | 2 << 13, 0), (0, 3)])
def test_the_fidelity_phase(bits, phase):
    assert modified(Rwc(fidelity_phase=3), dst=bits).fidelity_phase == phase
    assert modified(Rwc(fidelity_phase=3), dst=bits, fidelity=False).fidelity_phase == 3


@pytest.mark.parametrize(
    ("bias", "before", "after"), [(1, 0, 1), (1, 1, 0), (2, 0, 1), (4, 0, 0), (8, 1, 1), (16, 1, 0), (17, 0, 0)]
)
def test_the_extra_bit(bias, before, after):
    assert modified(Rwc(extra_bit=before), bias=bias).extra_bit == after
    assert modified(Rwc(extra_bit=before), chip=BLACKHOLE, bias=bias).extra_bit == before


def test_the_number_of_a_modifier():
    assert modifier_number(Rwc(), 3, chip=WORMHOLE) == 3
    assert modifier_number(Rwc(extra_bit=1), 3, chip=WORMHOLE) == 7
    assert modifier_number(Rwc(extra_bit=1), 0, chip=WORMHOLE, set_base=True) == 4
    assert modifier_number(Rwc(extra_bit=1), 5, chip=BLACKHOLE) == 5


def test_setrwc():
    rwc = Rwc(src_a=1, src_a_cr=60, src_b=2, src_b_cr=20, dst=1020, dst_cr=30, fidelity_phase=2, extra_bit=1)
    all_three = {"src_a": 9, "src_b": 10, "dst": 11}
    assert setrwc(rwc, which=0, **all_three) == rwc
    assert setrwc(rwc, which=0b1111, **all_three) == Rwc(
        src_a=9, src_a_cr=9, src_b=10, src_b_cr=10, dst=11, dst_cr=11, extra_bit=1
    )
    from_carries = setrwc(rwc, which=0b111, cr=0b111, **all_three)
    assert (from_carries.src_a, from_carries.src_b, from_carries.dst) == (5, 30, 41)
    assert (from_carries.src_a_cr, from_carries.src_b_cr, from_carries.dst_cr) == (5, 30, 41)
    assert from_carries.fidelity_phase == 2


def test_setrwc_from_the_value_needs_no_bit_of_dst():
    for which, cr in ((0, 0b1000), (4, 0b1100)):
        after = setrwc(Rwc(dst=1020, dst_cr=30), which=which, cr=cr, dst=11)
        assert (after.dst, after.dst_cr) == (7, 7)


def test_incrwc():
    rwc = Rwc(src_a=62, src_a_cr=1, src_b=5, src_b_cr=2, dst=1023, dst_cr=3)
    plain = incrwc(rwc, src_a=3, src_b=4, dst=5)
    assert plain == Rwc(src_a=1, src_a_cr=1, src_b=9, src_b_cr=2, dst=4, dst_cr=3)
    assert incrwc(rwc, cr=7, src_a=3, src_b=4, dst=5) == Rwc(src_a=4, src_a_cr=4, src_b=6, src_b_cr=6, dst=8, dst_cr=8)


def test_counters_wrap():
    """Many increments are one by their sum."""
    rng = Random(5)
    rwc, sums = Rwc(), [0, 0, 0, 0]
    for _ in range(300):
        a, b, dst, phase = (rng.randrange(1 << bits) for bits in (6, 6, 10, 2))
        rwc = modified(rwc, ab=a | b << 8, dst=dst | phase << 13)
        sums = [total + each for total, each in zip(sums, (a, b, dst, phase), strict=True)]
        found = [rwc.src_a, rwc.src_b, rwc.dst, rwc.fidelity_phase]
        assert found == [total % size for total, size in zip(sums, (64, 64, 1024, 4), strict=True)]
    assert (rwc.src_a_cr, rwc.src_b_cr, rwc.dst_cr) == (0, 0, 0)


@pytest.mark.parametrize("dimension", range(4))
def test_setadc_takes_the_low_bits(dimension):
    name = "xyzw"[dimension]
    after = setadc(Adc(), channel=1, dimension=dimension, value=0x3FFFF)
    top = (1 << WIDTHS[name]) - 1
    assert after == Adc(channel_1=Channel(**{name: top, f"{name}_cr": top}))


def test_setadcxx():
    assert setadcxx(Adc(), start=5, end=1023) == Adc(
        channel_0=Channel(x=5, x_cr=5), channel_1=Channel(x=1023, x_cr=1023)
    )


def test_four_counters_at_once():
    values = {"ch0_x": 1, "ch0_y": 2, "ch1_x": 3, "ch1_y": 4}
    some = set_four(Adc(), which=0b1001, **values)
    assert some == Adc(channel_0=Channel(x=1, x_cr=1), channel_1=Channel(y=4, y_cr=4))
    grown = add_four(some, **values)
    assert grown == Adc(channel_0=Channel(x=2, x_cr=1, y=2), channel_1=Channel(x=3, y=8, y_cr=4))
    carried = add_cr_four(grown, which=0b1111, **values)
    assert carried == Adc(channel_0=Channel(x=2, x_cr=2, y=2, y_cr=2), channel_1=Channel(x=3, x_cr=3, y=8, y_cr=8))
    zw = set_four(Adc(), which=0b0110, ch0_z=1, ch0_w=2, ch1_z=3, ch1_w=4)
    assert zw == Adc(channel_0=Channel(w=2, w_cr=2), channel_1=Channel(z=3, z_cr=3))


@pytest.mark.parametrize("pair", ["xy", "zw"])
def test_counters_of_their_widths_wrap(pair):
    sevens = {f"ch{channel}_{dimension}": 7 for channel in range(2) for dimension in pair}
    tops = {dimension: (1 << WIDTHS[dimension]) - 1 for dimension in pair}
    full = Channel(**tops, **{f"{name}_cr": top for name, top in tops.items()})
    adc = Adc(channel_0=full, channel_1=full)
    for after in (add_four(adc, **sevens), add_cr_four(adc, which=15, **sevens)):
        assert {getattr(each, name) for each in (after.channel_0, after.channel_1) for name in pair} == {6}


def test_unpacr():
    adc = Adc(channel_0=Channel(y=8191, z=254, y_cr=4), channel_1=Channel(y=5, z=6))
    after = unpacr_increments(adc, ch0_y=1, ch0_z=2, ch1_y=3, ch1_z=0)
    assert after == Adc(channel_0=Channel(y=0, z=0, y_cr=4), channel_1=Channel(y=8, z=6))


@pytest.mark.parametrize(
    ("word", "source", "destination"),
    [
        (0, {}, {}),
        (5, {"y": 15}, {}),
        (5 | 1 << 4, {"y": 6, "y_cr": 6}, {}),
        (5 | 1 << 4 | 1 << 5, {"y": 0, "y_cr": 0}, {}),
        (9 << 6, {}, {"y": 19}),
        (9 << 6 | 1 << 10, {}, {"y": 10, "y_cr": 10}),
        (1 << 11, {}, {"y": 0, "y_cr": 0}),
        (1 << 12, {"z": 0}, {}),
        (3 << 12, {"z": 0, "z_cr": 0}, {}),
        (1 << 14, {}, {"z": 0}),
        (1 << 15, {}, {"z": 0, "z_cr": 0}),
    ],
)
def test_pacr(word, source, destination):
    before = {"y": 10, "y_cr": 1, "z": 255, "z_cr": 2}
    adc = Adc(channel_0=Channel(**before), channel_1=Channel(**before))
    after = pacr_modifier(adc, word)
    assert after == Adc(channel_0=Channel(**before | source), channel_1=Channel(**before | destination))


def test_units_of_a_thread():
    after = Adcs().updated(0b101, lambda adc: setadcxx(adc, start=1, end=2))
    names = [each.name for each in fields(after)]
    assert [getattr(after, name) == Adc() for name in names] == [False, True, False]
    assert [after.unit(number) for number in range(3)] == [getattr(after, name) for name in names]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Rwc(src_a=64), "src_a must be 0 to 63, not 64"),
        (lambda: Rwc(dst_cr=1024), "dst_cr must be 0 to 1023, not 1024"),
        (lambda: Modifier(ab=1 << 16), "ab must be 0 to 65535"),
        (lambda: modifier_number(Rwc(), 4, chip=WORMHOLE), "index must be 0 to 3, not 4"),
        (lambda: modifier_number(Rwc(), 8, chip=BLACKHOLE), "index must be 0 to 7, not 8"),
        (lambda: modifier_number(Rwc(), 0, chip=BLACKHOLE, set_base=True), "set_base must be False for blackhole"),
        (lambda: modifier_number(Rwc(), 0, chip="quasar"), "chip must be 'wormhole' or 'blackhole', not 'quasar'"),
        (lambda: setrwc(Rwc(), which=16), "which must be 0 to 15, not 16"),
        (lambda: setrwc(Rwc(), which=1, src_b=16), "src_b must be 0 to 15, not 16"),
        (lambda: incrwc(Rwc(), cr=8), "cr must be 0 to 7, not 8"),
        (lambda: Channel(z=256), "z must be 0 to 255, not 256"),
        (lambda: Adc().channel(2), "channel must be 0 to 1, not 2"),
        (lambda: Adcs().unit(3), "unit must be 0 to 2, not 3"),
        (lambda: Adcs().updated(8, lambda adc: adc), "units must be 0 to 7, not 8"),
        (lambda: setadc(Adc(), channel=0, dimension=4, value=0), "dimension must be 0 to 3, not 4"),
        (lambda: setadc(Adc(), channel=0, dimension=0, value=1 << 18), "value must be 0 to 262143"),
        (lambda: setadcxx(Adc(), start=1024, end=0), "start must be 0 to 1023, not 1024"),
        (lambda: set_four(Adc(), which=1, ch0_x=1), "fields must be ch0_x, ch0_y, ch1_x, ch1_y, not ch0_x"),
        (lambda: add_four(Adc()), "fields must be ch0_z, ch0_w, ch1_z, ch1_w, not none"),
        (lambda: unpacr_increments(Adc(), ch0_y=4, ch0_z=0, ch1_y=0, ch1_z=0), "ch0_y must be 0 to 3, not 4"),
        (lambda: pacr_modifier(Adc(), -1), "word must be 0 to 65535, not -1"),
    ],
)
def test_mistakes(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="src_a must be an integer"):
        Rwc(src_a=1.0)
    with pytest.raises(TypeError, match="adc must be an Adc"):
        adcs.pacr_modifier(Channel(), 0)
