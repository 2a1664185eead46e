"""The Vector unit on scalars, beyond the known answers: modes that ttsim refuses, as the pages have them, and errors."""

from fractions import Fraction
from functools import partial
from itertools import product

import mpmath
import numpy as np
import pytest

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode as decode_float
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.tensix.declarations.encodings import UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Chip, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, WORMHOLE, WORMHOLE_DOCUMENTED
from bitpath.golden.tensix.declarations.sfpu import EXPONENTIAL, EXPONENTIAL_DOUBLED, EXPONENTIAL_FIRST, LaneConfig
from bitpath.golden.tensix.exact import sfpu
from bitpath.golden.tensix.exact.sfpu_unit import Access, default_mode, execute, reset
from bitpath.golden.tensix.isa import decode, encode

BOTH = pytest.mark.parametrize("chip", Chip)
ONE, TWO, MINUS_ONE = 0x3F800000, 0x40000000, 0xBF800000
NAN, INFINITY, MINUS_INFINITY = 0x7FC00000, 0x7F800000, 0xFF800000


def float_of(code):
    return float(decode_float(FP32, code).value)


def fresh(chip):
    """Return a unit whose lane l has 16 * l + r in LReg r."""
    unit = reset(CHIP_PRESETS[chip].numerics)
    for number, lane in enumerate(unit.lanes):
        lane.registers[:8] = [16 * number + register for register in range(8)]
    return unit


def run(unit, name, chip=Chip.BLACKHOLE, *, access=None, **fields):
    instruction = decode(encode(name, chip=chip, **fields), chip=chip)
    execute(unit, instruction, chip=chip, numerics=CHIP_PRESETS[chip].numerics, access=access)
    return unit


# Operations of a lane.


@BOTH
def test_products_and_sums_are_rounded_once(chip):
    """Adding 0, or multiplying by 1, is IEEE's, where neither operands nor results are denormal."""
    rng = np.random.default_rng(81)
    for _ in range(2000):
        x, y = (int(rng.integers(0, 1 << 32)) & 0x807FFFFF | int(rng.integers(90, 150)) << 23 for _ in "xy")
        a, b = (decode_float(FP32, code).value for code in (x, y))
        assert sfpu.mad(chip, x, y, 0) == round_to_format(a * b, FP32)
        assert sfpu.mad(chip, ONE, x, y) == round_to_format(a + b, FP32)


def test_the_adder_after_an_integer_product():
    cases = (
        (0x00000000, 5 * 7),
        (0x00400000, 5 * 7),  # a denormal is 0
        (0x40800001, 5 * 7 + 8),
        (0x41000000, 5 * 7 >> 1),
        (0x3C000000, 5 * 7 + 0x20000),
        (0x38003FFF, 5 * 7 + 0x200 + 0x10000),
    )
    assert [sfpu.mul24(5, 7, c) for c, _ in cases] == [expected for _, expected in cases]
    assert sfpu.mul24(0xFF400000, 0x00000006, 0, upper=True) == 3


@pytest.mark.parametrize(
    ("mode", "registers", "expected"),
    [
        # 0.5 * 2**-1 + 1.0, the first range; the sign of LReg 3 is kept with bit 2.
        (0, (0x1000, 0, 0, 0xBF000000), 0x3FA00000),
        (4, (0x1000, 0, 0, 0xBF000000), 0xBFA00000),
        (0, (0, 0x00FF, 0, ONE), ONE),
        (0, (0, 0, 0x80FF, TWO), 0xC0000000),
        (0, (0, 0, 0xFFFF, NAN), NAN),
    ],
)
def test_lut(mode, registers, expected):
    assert sfpu.lut(Chip.BLACKHOLE, [*registers, 0, 0, 0, 0], mode) == expected


@BOTH
@pytest.mark.parametrize("mode", range(16))
def test_tables_of_floats(chip, mode):
    """Every range of every mode, by the bounds and the registers that the page lists."""
    values = {0x3800: 0.5, 0x3C00: 1.0, 0x4000: 2.0, 0x4200: 3.0, 0x4400: 4.0, 0x4500: 5.0}
    registers = [0x3C003800, 0x42004000, 0x45004400, 0] * 2
    for x in (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 9.0):
        which, sign = (x >= 1) + (x >= 2), 1 if x == 0.75 else -1
        registers[3] = round_to_format(Fraction(x) * sign, FP32)
        factor, addend = (float_of(registers[4 * place + which]) for place in (0, 1))
        if mode & 10 == 10:
            factor, addend = values[registers[which] >> 16], values[registers[which] & 0xFFFF]
        elif mode & 2:
            upper = (x >= 0.5, x >= 1.5, x >= (4 if mode & 3 == 3 else 3))[which]
            factor = addend = values[registers[which] >> 16 * upper & 0xFFFF]
        result = float_of(sfpu.lut_fp32(chip, registers, mode))
        assert result == (sign if mode & 4 else 1) * (factor * x + addend)


def test_approximate_exponential():
    """An entry is the fraction of exp at the lower end of its range, to 7 bits; from 128 on that of exp / 4."""
    for place, entry in enumerate(EXPONENTIAL):
        upper = EXPONENTIAL_FIRST + place
        exact = mpmath.exp(float_of(upper << 16)) / (2 if upper >= EXPONENTIAL_DOUBLED else 1)
        assert entry == int(mpmath.floor((exact - 1 if exact < 2 else exact / 2) * 128))
    for code in range(0x00800000, 0x40000000, 0x3FFF1):
        assert 0.9922 < float_of(sfpu.approximate(2, 0, code)) / mpmath.exp(float_of(code)) < 1.016
    cases = {0: ONE, 0x80000000: MINUS_ONE, ONE: 0x402D0000, 0x40001234: 0x40801234, 0x3C7F4321: 0x3F814321}
    assert [sfpu.approximate(7, 0, code) for code in cases] == list(cases.values())


def test_approximate_reciprocal():
    for code in range(0x00800000, 0x7E800000, 0x7FFF1):
        assert 0.9944 < float_of(sfpu.approximate(0, 0, code)) * float_of(code) < 1.0054
    assert [sfpu.approximate(0, 0, code) for code in (0x80000001, 0xFE800000, NAN)] == [MINUS_INFINITY, 1 << 31, 0]
    assert [sfpu.approximate(1, b, 0xC0000000) for b in (1, 1 << 31)] == [0xC0000000, 0x3EFF0000]


def test_casts():
    """Seven random bits against bits 7:1 of the discarded ones; -0 and the least integer exchange."""
    for dropped, drawn in product((0x02, 0x7E, 0x80, 0xFE), range(0, 0x100, 2)):
        x = 0x80000000 | 0x40000000 | dropped >> 1
        up = dropped > drawn
        assert sfpu.cast(1, x, drawn << 9 | 0x1FF) == 0xCE800000 + up
    assert [sfpu.cast(2, x) for x in (5, 0xFFFFFFFB, 1 << 31)] == [5, 5, 1 << 31]
    assert [sfpu.cast(3, x) for x in (5, 0xFFFFFFFB, 0x80000005, 1 << 31)] == [5, 0x80000005, 0xFFFFFFFB, 1 << 31]


def test_absolute_values():
    cases = {MINUS_INFINITY: INFINITY, 0xFF800001: 0xFF800001, 0xFFFFFFFF: 0xFFFFFFFF, MINUS_ONE: ONE, 1 << 31: 0}
    for preset, infinity in ((WORMHOLE, INFINITY), (WORMHOLE_DOCUMENTED, MINUS_INFINITY)):
        expected = [*(cases | {MINUS_INFINITY: infinity}).values()]
        assert [sfpu.absolute(preset.numerics, 1, code) for code in cases] == expected


def test_boolean_functions():
    functions = (
        lambda a, b: b,
        lambda a, b: not b,
        lambda a, b: a and b,
        lambda a, b: a or b,
        lambda a, b: a and not b,
        lambda a, b: a or not b,
        lambda a, b: not a and b,
        lambda a, b: not a or b,
        lambda a, b: not (a or b),
        lambda a, b: not (a and b),
        lambda a, b: a != b,
        lambda a, b: a == b,
    )
    for (code, function), a, b in product(enumerate(functions, 1), (False, True), (False, True)):
        assert sfpu.boolean(code, a, b) is function(a, b)


def test_shifts():
    shifts = {
        0: 0x80000001,
        4: 0x10,
        32: 0x80000001,
        0xFFFFFFFF: 0x40000000,
        0xFFFFFFE0: 0x80000001,
        1 << 31: 0x80000001,
    }
    assert [sfpu.shifted(0x80000001, amount) for amount in shifts] == list(shifts.values())
    assert sfpu.shifted(0x80000001, 0xFFFFFFFC, arithmetic=True) == 0xF8000000


# Registers and configuration.


def test_reset():
    for preset, conditional in ((WORMHOLE, True), (WORMHOLE_DOCUMENTED, False)):
        unit = reset(preset.numerics)
        assert {(lane.flag, lane.conditional) for lane in unit.lanes} == {(conditional, conditional)}
        assert unit.register(8)[5:7] == [0x3F56594B] * 2
        assert unit.register(15) == list(range(0, 64, 2))
        assert all(map(unit.enabled, range(32)))


def test_indirect_registers():
    """VA's and VD's numbers come from the lowest 4 bits of LReg 7; a result for LReg 8 to 15 is lost."""
    unit = fresh(Chip.BLACKHOLE)
    for number, lane in enumerate(unit.lanes):
        lane.registers[7] = 0xF0 | number % 16
    before = [list(lane.registers) for lane in unit.lanes]
    run(unit, "SFPMUL24", va=0, vb=10, vc=9, vd=1, mod=1 | 4 | 8)
    for number, (lane, old) in enumerate(zip(unit.lanes, before, strict=True)):
        target = number % 16
        expected = (old[target] & 0x7FFFFF) * (ONE & 0x7FFFFF) >> 23
        assert lane.registers[:16] == [
            expected if target < 8 and i == target else value for i, value in enumerate(old[:16])
        ]


def test_row_mask_disables_rows_by_their_column():
    unit = fresh(Chip.WORMHOLE)
    unit.lanes[3].config = LaneConfig.ROW_MASK << 2
    run(unit, "SFPMOV", Chip.WORMHOLE, vc=9, vd=0)
    assert [number for number, value in enumerate(unit.register(0)) if value] == [19]


def test_configuration():
    unit = fresh(Chip.WORMHOLE)
    config = partial(run, unit, "SFPCONFIG", Chip.WORMHOLE)
    config(vd=12)
    assert unit.register(12) == [16 * (number % 8) for number in range(32)]
    config(vd=14, mod=1)
    config(vd=8, mod=1, imm=0xF0F)
    config(vd=8, mod=1 | 2, imm=0x0F0)
    config(vd=8, mod=1 | 4, imm=0x0FF)
    config(vd=8, mod=1 | 6, imm=0x011)
    config(vd=5, mod=8 | 1, imm=0x0004)
    config(vd=15, mod=1, imm=0x0100)
    lane = unit.lanes[9]
    assert (lane.registers[14], lane.misc, lane.sequences, lane.config) == (0xBEB08FF9, 0x0EE, [0, 4, 0, 0], 0x100)
    assert unit.lanes[8].sequences == [0] * 4
    for each in unit.lanes:
        each.registers[0] = 0x3FFFF
    config(vd=15)
    config(vd=15, mod=1, imm=0x0002)
    assert unit.lanes[31].config == 0x30002
    # The flags of lanes 0 to 7 decide for all rows.
    unit.lanes[2].flag = False
    config(vd=9, mod=1)
    config(vd=15, mod=1)
    assert [number for number, lane in enumerate(unit.lanes) if lane.config & 0xFFFF] == [2, 10, 18, 26]
    run(unit, "SFPMOV", Chip.WORMHOLE, vc=15, vd=1, mod=8)
    assert unit.register(1)[9:11] == [0x30000, 0x30002]


def test_templates():
    """The bits of a word with a VD of 12 to 15, in lanes whose DISABLE_BACKDOOR_LOAD is not set."""
    unit = fresh(Chip.WORMHOLE)
    unit.lanes[4].config = LaneConfig.DISABLE_BACKDOOR_LOAD
    unit.lanes[5].flag = False
    run(unit, "SFPMOV", Chip.WORMHOLE, vc=9, vd=13, mod=8)
    word = encode("SFPMOV", vc=9, vd=13, mod=8)
    assert [lane.templates[1] for lane in unit.lanes[3:6]] == [word, 0, word]
    assert [lane.random >> 31 for lane in unit.lanes[3:6]] == [0, 1, 0]


def test_moves_from_configuration():
    unit = fresh(Chip.WORMHOLE)
    for lane in unit.lanes:
        lane.templates, lane.sequences, lane.misc = [1, 2, 3, 4], [5, 6, 7, 8], 9
    for vc in range(16):
        run(unit, "SFPMOV", Chip.WORMHOLE, vc=vc, vd=2, mod=8)
        assert unit.register(2)[7] == (vc + 1 if vc < 9 else 0)
    assert unit.lanes[7].random == 1 << 31


# Conditions.


def test_changes_of_the_top_of_the_stack():
    for mode in range(1, 16):
        unit = fresh(Chip.BLACKHOLE)
        for number, lane in enumerate(unit.lanes):
            lane.flag, lane.stack = bool(number & 1), [(bool(number & 2), False)]
        run(unit, "SFPPUSHC", mod=mode)
        for number, lane in enumerate(unit.lanes):
            flag, top = bool(number & 1), bool(number & 2)
            expected = {13: not flag, 14: True, 15: False}.get(mode)
            expected = sfpu.boolean(mode, top, flag) if expected is None else expected
            assert (lane.stack, lane.flag) == ([(expected, True)], flag != (mode == 13))


@BOTH
def test_peeks_at_the_stack(chip):
    for mode, depth in product(range(1, 16), (0, 1, 8)):
        unit = fresh(chip)
        for number, lane in enumerate(unit.lanes):
            lane.flag, lane.stack = (
                bool(number & 1),
                [(True, True)] * (depth - 1) + [(bool(number & 2), False)] * (depth > 0),
            )
        run(unit, "SFPPOPC", chip, mod=mode)
        for number, lane in enumerate(unit.lanes):
            flag, top = bool(number & 1), bool(number & 2) and depth > 0
            expected = {13: (not flag, True), 14: (True, True), 15: (False, True)}
            assert (lane.flag, lane.conditional) == expected.get(
                mode, (mode < 13 and sfpu.boolean(mode, flag, top), False)
            )
            # A bug of Wormhole: the top of a full stack replaces its bottom.
            if depth == 8:
                assert lane.stack[0] == ((top, False) if chip is Chip.WORMHOLE else (True, True))


def test_comparisons_change_the_stack_of_all_lanes():
    for name, mode in product(("SFPLE", "SFPGT"), range(16)):
        unit = fresh(Chip.BLACKHOLE)
        for number, lane in enumerate(unit.lanes):
            lane.registers[1], lane.registers[2] = (0x80000000, 0) if number & 1 else (0, 0x80000000)
            lane.flag, lane.stack = bool(number & 2), [(False, False), (bool(number & 4), True)]
        run(unit, name, vc=1, vd=2, mod=mode)
        for number, lane in enumerate(unit.lanes):
            # VD, LReg 2, is -0 in even lanes, which is below +0.
            result = (number % 2 == 0) == (name == "SFPLE")
            top, old = bool(number & 4), 0 if number & 1 else 0x80000000
            mutated = (top or result) if mode & 4 else (top and result)
            assert lane.stack == [(False, False), (mutated if mode & 2 else top, True)]
            assert lane.registers[2] == ((0xFFFFFFFF if result else 0) if mode & 8 and number & 2 else old)
            assert lane.flag == (result if mode & 1 and number & 2 else bool(number & 2))


@pytest.mark.parametrize(
    ("mode", "immediate", "flag", "conditional"),
    [
        (0, 0, True, True),
        (1, 0, True, False),
        (2, 0, True, False),
        (2, 1, True, True),
        (8, 2, True, True),
        (11, 1, False, True),
    ],
)
def test_enable(mode, immediate, flag, conditional):
    unit = run(fresh(Chip.WORMHOLE), "SFPENCC", Chip.WORMHOLE, mod=mode, imm=immediate)
    assert {(lane.flag, lane.conditional) for lane in unit.lanes} == {(flag, conditional)}


def test_flags_by_immediates():
    for mode, immediate, expected in ((1, 1, True), (1, 0, False), (8, 1, False), (9, 1, False)):
        unit = run(fresh(Chip.WORMHOLE), "SFPSETCC", Chip.WORMHOLE, mod=mode, imm=immediate)
        assert unit.lanes[0].flag is expected
    unit = fresh(Chip.WORMHOLE)
    for lane in unit.lanes:
        lane.conditional = False
    assert run(unit, "SFPSETCC", Chip.WORMHOLE, mod=1, imm=1).lanes[0].flag is False


# Lanes.


@BOTH
@pytest.mark.parametrize("mode", range(3))
def test_registers_move_down(chip, mode):
    unit = run(fresh(chip), "SFPSHFT2", chip, vc=5, vd=0, mod=mode)
    assert [unit.register(i)[9] for i in range(3)] == [9 * 16 + i for i in (1, 2, 3)]
    entering = [0] * 32
    if mode == 1:
        entering = [16 * (i + 8) if i < 24 else 0 for i in range(32)]
    if mode == 2:
        entering = [16 * (i - 1 if i % 8 else i + 7) + 5 for i in range(32)]
    assert unit.register(3) == entering


def test_lanes_shift():
    expected = [16 * (i - 1) + 5 if i % 8 else 0 for i in range(32)]
    assert run(fresh(Chip.BLACKHOLE), "SFPSHFT2", vc=5, vd=3, mod=4).register(3) == expected
    unit = fresh(Chip.WORMHOLE)
    with pytest.raises(UndefinedBehavior, match="a rotation by SFPSHFT2 must come before its mode 4 on Wormhole"):
        run(unit, "SFPSHFT2", Chip.WORMHOLE, vc=5, vd=3, mod=4)
    # A bug: the last lane of the VC that was rotated before enters.
    run(unit, "SFPSHFT2", Chip.WORMHOLE, vc=6, vd=9, mod=3)
    run(unit, "SFPSHFT2", Chip.WORMHOLE, vc=5, vd=3, mod=4)
    assert unit.register(3) == [expected[i] if i % 8 else 16 * (i + 7) + 6 for i in range(32)]


def test_shift_by_an_immediate_that_names_the_register():
    unit = run(fresh(Chip.WORMHOLE), "SFPSHFT2", Chip.WORMHOLE, imm=0x0F5, vd=0, mod=6)
    assert unit.register(0) == [(16 * i + 5) << 21 & 0xFFFFFFFF for i in range(32)]


@pytest.mark.parametrize("mode", range(1, 10))
def test_minimum_and_maximum_by_rows(mode):
    unit = run(fresh(Chip.WORMHOLE), "SFPSWAP", Chip.WORMHOLE, vc=1, vd=2, mod=mode)
    rows = ["0123", "01", "02", "03", "0", "1", "2", "3", ""][mode - 1]
    assert unit.register(2) == [16 * i + (1 if str(i // 8) in rows else 2) for i in range(32)]


# Dst.


def memory():
    return [[row << 4 | column for column in range(16)] for row in range(1024)]


@pytest.mark.parametrize(
    ("config", "columns"), [(0, 0), (LaneConfig.DEST_RD_COL_EXCHANGE, 1), (LaneConfig.DEST_WR_COL_EXCHANGE, 0)]
)
def test_columns_of_loads_and_stores(config, columns):
    unit, dst = fresh(Chip.WORMHOLE), memory()
    for lane in unit.lanes[:8]:
        lane.config = config
    access = Access(dst=dst, address=8, default_mode=1)
    run(unit, "SFPLOAD", Chip.WORMHOLE, access=access, vd=3, mod=6)
    assert unit.register(3) == [(8 + i // 8) << 4 | 2 * (i % 8) + columns for i in range(32)]
    run(unit, "SFPSTORE", Chip.WORMHOLE, access=access, vd=9, mod=6)
    odd = config == LaneConfig.DEST_WR_COL_EXCHANGE
    assert [column for column in range(16) if dst[11][column] == 0] == [*range(odd, 16, 2)]


def test_blocked_and_captured():
    unit, dst = fresh(Chip.WORMHOLE), memory()
    access = Access(dst=dst, address=6, default_mode=1)
    index = LaneConfig.ENABLE_DEST_INDEX | LaneConfig.CAPTURE_DEFAULT_DEST_INDEX
    for lane in unit.lanes:
        lane.config = index
    run(unit, "SFPLOAD", Chip.WORMHOLE, access=access, vd=2, mod=6)
    assert unit.register(6) == unit.register(2) == [(4 + i // 8) << 4 | 2 * (i % 8) + 1 for i in range(32)]
    for lane in unit.lanes:
        lane.config = LaneConfig.BLOCK_DEST_WR_FROM_SFPU | LaneConfig.BLOCK_SFPU_RD_FROM_DEST
    before = unit.register(2)
    run(unit, "SFPLOAD", Chip.WORMHOLE, access=access, vd=2, mod=11)
    run(unit, "SFPSTORE", Chip.WORMHOLE, access=access, vd=9, mod=6)
    assert unit.register(2) == before
    assert dst == memory()


def test_all_lanes_are_stored_and_loaded():
    """INT32_ALL ignores which lanes are enabled; HI16 and LO16 store the halves as they are and exchanged."""
    unit, dst = fresh(Chip.WORMHOLE), memory()
    for lane in unit.lanes:
        lane.flag, lane.registers[1] = False, 0x12345678
    access = Access(dst=dst, address=0, default_mode=1)
    run(unit, "SFPSTORE", Chip.WORMHOLE, access=access, vd=1, mod=10)
    assert dst[0][:2] == [0x34 << 8 | 0x24, 1]
    assert dst[8][:2] == [0x5678, 8 << 4 | 1]
    run(unit, "SFPLOAD", Chip.WORMHOLE, access=access, vd=0, mod=10)
    assert unit.register(0) == [0x12345678] * 32
    for lane in unit.lanes:
        lane.flag = True
    for mode, halves in ((7, [0x1234, 0x5678]), (9, [0x5678, 0x1234])):
        run(unit, "SFPSTORE", Chip.WORMHOLE, access=access, vd=1, mod=mode)
        assert [dst[0][0], dst[8][0]] == halves


def test_mode_0():
    assert default_mode(fp32_enabled=True, src_b_format=Format.FP16) == 3
    modes = {each: default_mode(fp32_enabled=False, src_b_format=each) for each in Format}
    assert {each.name for each, mode in modes.items() if mode == 2} == {
        *("FP32", "TF32", "BF16", "BFP8", "BFP4", "BFP2", "INT32", "INT16")
    }


# Errors.


@pytest.mark.parametrize(
    ("name", "chip", "modes"),
    [
        ("SFPMAD", Chip.WORMHOLE, (1, 2)),
        ("SFPMUL24", Chip.BLACKHOLE, (2,)),
        ("SFPSHFT", Chip.WORMHOLE, (2,)),
        ("SFPSHFT", Chip.BLACKHOLE, (4, 6, 8)),
        ("SFPSHFT2", Chip.WORMHOLE, (7, 15)),
        ("SFPCAST", Chip.WORMHOLE, (2,)),
        ("SFPCAST", Chip.BLACKHOLE, (4,)),
        ("SFPSWAP", Chip.WORMHOLE, (10,)),
        ("SFPPUSHC", Chip.WORMHOLE, (1,)),
        ("SFPLOADI", Chip.BLACKHOLE, (3, 15)),
    ],
)
def test_reserved_modifiers(name, chip, modes):
    for mode in modes:
        with pytest.raises(UndefinedBehavior, match=rf"mod must be .* in {name} of {chip.value}, not {mode}"):
            run(fresh(chip), name, chip, mod=mode)


def test_undefined():
    with pytest.raises(UndefinedBehavior, match="rounding must be 0 to 2 in SFP_STOCH_RND, not 3"):
        run(fresh(Chip.BLACKHOLE), "SFP_STOCH_RND", rounding=3)
    with pytest.raises(UndefinedBehavior, match="the stack must not be empty in SFPPOPC"):
        run(fresh(Chip.BLACKHOLE), "SFPPOPC")
    with pytest.raises(UndefinedBehavior, match="the stack must not be empty in SFPPUSHC with mod 3"):
        run(fresh(Chip.BLACKHOLE), "SFPPUSHC", mod=3)
    unit = fresh(Chip.BLACKHOLE)
    for _ in range(8):
        run(unit, "SFPPUSHC")
    with pytest.raises(UndefinedBehavior, match="the stack must have fewer than 8 entries in SFPPUSHC"):
        run(unit, "SFPPUSHC")
    with pytest.raises(ValueError, match="instruction must be the Vector unit's, not SETRWC"):
        run(unit, "SETRWC")
