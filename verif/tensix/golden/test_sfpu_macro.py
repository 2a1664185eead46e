"""SFPLOADMACRO: which instruction each sub-unit executes in which cycle, with which operands; what is refused."""

from functools import partial

import pytest

from bitpath.golden.tensix.declarations.encodings import UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.exact.sfpu_unit import Access, execute_together, reset
from bitpath.golden.tensix.isa import decode, encode
from bitpath.golden.tensix.sfpu.macro import LoadMacroConfig, Schedule, SubUnit, schedule

BOTH = pytest.mark.parametrize("chip", Chip)
BLACKHOLE = partial(encode, chip=Chip.BLACKHOLE)
NOP = encode("SFPNOP")
IDLE = encode("INCRWC")
"""A word of another unit."""
INT32 = 4
"""Mode of loads and stores that keeps 32 bits."""
ABS, MAD = encode("SFPABS", vc=9, vd=12), encode("SFPMAD", va=1, vb=2, vc=3, vd=13)
ROUND = encode("SFP_STOCH_RND", vc=4, vd=14, mod=1)
TEMPLATES = (ABS, MAD, ROUND, encode("SFPSTORE", vd=3, mod=INT32, modifier=1))


def byte(which, delay=0, *, to_16=False, to_vb=False):
    """Return a sub-unit's byte of a sequence; `which` is 4 to 7 for template 0 to 3."""
    return to_vb << 7 | to_16 << 6 | delay << 3 | which


def config(simple=0, mad=0, rounding=0, store=0, *, templates=TEMPLATES, misc=INT32, **rest):
    sequence = store << 24 | rounding << 16 | mad << 8 | simple
    return LoadMacroConfig(templates=templates, sequences=(sequence, 0, 0, 0), misc=misc, **rest)


def macro(register=0, chip=Chip.WORMHOLE, **fields):
    low, high = register & 3, register >> 2
    return encode("SFPLOADMACRO", chip=chip, vd_low=low, vd_high=high, mod=INT32, **fields)


def run(words, own, chip=Chip.WORMHOLE):
    """Return (cycle, sub-unit, text) of every instruction but SFPNOP of a thread."""
    return [
        (cycle.number, each.unit.value, str(each.instruction))
        for cycle in schedule(words, own, chip=chip)
        for each in cycle.executed
        if each.origin is not None or each.instruction.name != "SFPNOP"
    ]


@BOTH
@pytest.mark.parametrize("delay", range(8))
def test_delays(chip, delay):
    """Delay d executes d + 1 cycles after the load, whether a thread issues or not."""
    for words in ([], [NOP] * 9, [IDLE] * 9):
        got = run([macro(chip=chip), *words], config(byte(4, delay)), chip)
        assert [number for number, unit, _ in got if unit == "simple"] == [delay + 1]


def test_all_sub_units_in_one_cycle():
    own = config(byte(4, 2), byte(5, 2), byte(6, 2, to_16=True), byte(3, 2), templates=(ABS, MAD, ROUND, ABS))
    cycles = schedule(
        [macro(5), NOP, NOP, encode("SFPLOADI", vd=0, imm=3)], config(byte(4, 2), 0, 0, 0), chip=Chip.WORMHOLE
    )
    assert [each.unit for each in cycles[3].executed] == [SubUnit.LOAD, SubUnit.SIMPLE]
    with pytest.raises(UndefinedBehavior, match="LReg 5 must have one writer"):
        run([macro(5)], own)
    own = config(byte(4, 2), 0, byte(6, 2, to_16=True), byte(3, 2))
    assert run([macro(5)], own)[1:] == [
        (3, "simple", "SFPABS vc=5, vd=5, vb=12"),
        (3, "round", "SFP_STOCH_RND vc=5, vd=16, mod=1"),
        (3, "store", "SFPSTORE vd=5, mod=4, address=1"),
    ]


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        (byte(5), "SFPMAD va=1, vb=2, vc=6, vd=6"),
        (byte(5, to_vb=True), "SFPMAD va=1, vb=6, vc=3, vd=6"),
        (byte(5, to_16=True), "SFPMAD va=1, vb=2, vc=6, vd=16"),
        (byte(5, to_16=True, to_vb=True), "SFPMAD va=1, vb=6, vc=3, vd=16"),
    ],
)
def test_operands(bits, expected):
    assert run([macro(6)], config(mad=bits))[1:] == [(1, "MAD", expected)]


def test_operands_that_the_encoding_has_not():
    """VD of the template becomes the operand that the loaded register leaves; SFPSHFT2's VB stays in its immediate."""
    add, immediate = encode("SFPIADD", vc=3, vd=13, mod=2), encode("SFPADDI", vd=14, imm=0x3F80)
    shift = encode("SFPSHFT2", imm=0x0A, vc=3, vd=15, mod=6)
    own = partial(config, templates=(add, immediate, shift, add))
    for bits, b, c in ((byte(4), 13, 6), (byte(4, to_vb=True), 6, 3)):
        (executed,) = schedule([macro(6)], own(bits), chip=Chip.WORMHOLE)[1].executed
        assert (executed.instruction["vb"], executed.instruction["vc"], executed.origin) == (b, c, 0)
    for bits, c in ((byte(5), 6), (byte(5, to_vb=True), 14)):
        (executed,) = schedule([macro(6)], own(0, bits), chip=Chip.WORMHOLE)[1].executed
        assert executed.instruction["vc"] == c
    for bits, b in ((byte(6), None), (byte(6, to_vb=True), 6)):
        (executed,) = schedule([macro(6)], own(0, 0, bits), chip=Chip.WORMHOLE)[1].executed
        assert executed.instruction.fields.get("vb") == b


def test_stores():
    """The address is the load's, its lowest bit the upper bit of the register; the mode is Misc's or the load's."""
    for bits, vd in ((byte(7), 5), (byte(7, to_16=True), 16), (byte(7, to_vb=True), 3), (byte(3, to_vb=True), 0)):
        text = run([macro(5, address=0x12)], config(store=bits, misc=12))[1][2]
        modifier = ", modifier=1" if bits & 7 == 7 else ""
        assert text.replace("vd=0, ", "") == f"SFPSTORE {f'vd={vd}, ' if vd else ''}mod=12{modifier}, address=37"
    assert "mod=4" in run([macro(5)], config(store=byte(3), misc=1 << 4 | 12))[1][2]
    assert "mod=12" in run([macro(5)], config(store=byte(3), misc=1 << 5 | 12))[1][2]


def test_delays_by_issued_instructions():
    """One that counts instructions makes all count them; delay 0 does not wait."""
    own = config(byte(4, 2), byte(5, 3), misc=1 << 8)
    assert [number for number, *_ in run([macro(), NOP, NOP, NOP, NOP], own)] == [0, 3, 4]
    assert [number for number, *_ in run([macro(), NOP, IDLE, IDLE, NOP, NOP, NOP], own)] == [0, 5, 6]
    assert run([macro(), IDLE], config(byte(4, 0), misc=1 << 8))[1][0] == 1
    # Those that wait for a thread at the end do not execute.
    assert [number for number, *_ in run([macro(), NOP], own)] == [0]
    assert [unit for _, unit, _ in run([macro()], config(byte(4), byte(5, 2), misc=1 << 9))] == ["load", "simple"]
    with pytest.raises(UndefinedBehavior, match="a thread must issue"):
        run([macro(), NOP, NOP, IDLE], own)


def test_later_macros_displace():
    first, second = byte(4, 3), byte(4, 1)

    def cycles_of(later, chosen):
        own = LoadMacroConfig(templates=TEMPLATES, sequences=(first, later, 0, 0), misc=0)
        words = [macro(1), NOP, macro(2, macro=1)] if chosen else [macro(1), NOP, NOP]
        return [(number, text) for number, unit, text in run(words, own) if unit == "simple"]

    assert cycles_of(0, chosen=False) == [(4, "SFPABS vc=1, vd=1, vb=12")]
    # Cycle 2 leaves a delay of 1 to the first one.
    assert cycles_of(second, chosen=True) == [(4, "SFPABS vc=2, vd=2, vb=12")]
    assert cycles_of(byte(4, 2), chosen=True) == [(4, "SFPABS vc=1, vd=1, vb=12"), (5, "SFPABS vc=2, vd=2, vb=12")]
    # A byte that schedules nothing displaces too, unless its delay is another one.
    assert cycles_of(byte(0, 1), chosen=True) == []
    assert cycles_of(byte(0, 7), chosen=True) == [(4, "SFPABS vc=1, vd=1, vb=12")]


@BOTH
def test_scheduled_instructions_displace_a_threads(chip):
    own, word = config(byte(4, 0)), encode("SFPNOT", vc=2, vd=3)
    cycles = schedule([macro(chip=chip), word, word], own, chip=chip)
    assert [str(each.instruction) for each in cycles[1].executed] == ["SFPABS vb=12"]
    assert cycles[1].accepted
    assert [str(each.instruction) for each in cycles[2].executed] == ["SFPNOT vc=2, vd=3"]
    with pytest.raises(UndefinedBehavior, match="SFPNOT must not become a template when its sub-unit is busy"):
        schedule([macro(chip=chip), encode("SFPNOT", vd=12)], own, chip=chip)


def test_what_a_sub_unit_cannot_execute_is_no_operation():
    for bits in (byte(5), byte(2), byte(3), byte(7)):
        assert run([macro()], config(bits))[1:] == [(1, "simple", "SFPNOP")]
    assert run([macro()], config(byte(4), templates=(0, 0, 0, 0)))[1:] == [(1, "simple", "SFPNOP")]
    for bits in (byte(2), byte(4)):
        with pytest.raises(UndefinedBehavior, match="the store sub-unit must be given SFPSTORE"):
            run([macro()], config(store=bits))
    with pytest.raises(UndefinedBehavior, match="bits 2:0 of a sequence must not be 1, as those of the round"):
        run([macro()], config(rounding=byte(1)))


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (config(byte(4), 0, byte(6)), "one of SFPABS and SFP_STOCH_RND must write LReg 16 in one cycle"),
        (config(byte(4, to_16=True), 0, byte(6, to_16=True)), "one of SFPABS and SFP_STOCH_RND must write LReg 16"),
        (
            config(byte(4, to_16=True), byte(5, to_16=True)),
            "LReg 16 must have one writer in a cycle, not SFPMAD and another",
        ),
        (config(byte(4, 1), byte(5)), "SFPABS must not use LReg 0 in the cycle after SFPMAD, which writes it"),
        (config(0, byte(5), 0, byte(3, 1)), "SFPSTORE must not use LReg 0 in the cycle after SFPMAD, which writes it"),
        (
            config(byte(4), templates=(encode("SFPSWAP", vc=1, vd=12, mod=1), 0, 0, 0)),
            "the MAD sub-unit must have SFPNOP in the cycle of a macro's SFPSWAP",
        ),
        (
            config(byte(4), byte(2), byte(6, 1), templates=(encode("SFPSWAP", vc=1, vd=12, mod=1), 0, ROUND, 0)),
            "SFP_STOCH_RND must not execute in the cycle after SFPSWAP",
        ),
        (
            config(byte(4, to_16=True), byte(2), templates=(encode("SFPSWAP", vc=1, vd=12, mod=1), 0, 0, 0)),
            "SFPSWAP of a macro must not read LReg 16",
        ),
        (
            config(byte(4, to_16=True), byte(2), templates=(encode("SFPSWAP", vc=1, vd=12), 0, 0, 0)),
            "SFPSWAP of a macro must not read LReg 16",
        ),
        (
            config(
                byte(5, 1),
                0,
                byte(4),
                templates=(encode("SFPSHFT2", vc=1, vd=12, mod=3), encode("SFPNOT", vd=13), 0, 0),
            ),
            "SFPNOT must not execute in the cycle after SFPSHFT2",
        ),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
@BOTH
def test_refused(chip, own, message):
    with pytest.raises(UndefinedBehavior, match=message):
        run([macro(chip=chip)], own, chip)


def test_random_numbers_have_one_reader_in_a_cycle():
    own = config(byte(4, to_16=True), 0, byte(6), templates=(encode("SFPMOV", vc=9, vd=12, mod=8), 0, ROUND, 0))
    assert len(run([macro()], own)) == 3
    own = config(byte(4, to_16=True), 0, byte(6), templates=(encode("SFPCAST", vc=9, vd=12, mod=1), 0, ROUND, 0))
    with pytest.raises(UndefinedBehavior, match="the random numbers must have one writer"):
        run([macro()], own)


def issued(words, chip):
    """Return the cycles in which a thread's words are issued."""
    cycles = schedule(words, config(), chip=chip)
    return [cycle.number for cycle in cycles if cycle.accepted]


def test_stalls_after_an_exchange():
    swap, add = encode("SFPSWAP", vc=1, vd=2, mod=1), encode("SFPIADD", vc=3, vd=4)
    for chip in Chip:
        assert issued([swap, add, add], chip) == [0, 2, 3]
        assert issued([swap, NOP, add], chip) == [0, 1, 2]


def test_stalls_of_blackhole():
    """An instruction that reads what a multiply-add writes waits a cycle; Wormhole's software must see to it."""
    mad, move = BLACKHOLE("SFPMAD", va=0, vb=1, vc=2, vd=3), BLACKHOLE("SFPMOV", vc=3, vd=4)
    assert issued([mad, move], Chip.BLACKHOLE) == [0, 2]
    assert issued([mad, mad], Chip.BLACKHOLE) == [0, 1]
    assert issued([mad, BLACKHOLE("SFPMAD", va=0, vb=0, vc=0, vd=3, mod=4)], Chip.BLACKHOLE) == [0, 2]
    rotation = BLACKHOLE("SFPSHFT2", vc=1, vd=3, mod=3)
    assert issued([rotation, move], Chip.BLACKHOLE) == [0, 2]
    with pytest.raises(UndefinedBehavior, match="SFPMOV must not use LReg 3 in the cycle after SFPMAD"):
        issued([mad, move], Chip.WORMHOLE)
    with pytest.raises(UndefinedBehavior, match="SFPMOV must not execute in the cycle after SFPSHFT2"):
        issued([rotation, move], Chip.WORMHOLE)


@pytest.mark.parametrize(
    "word",
    [
        BLACKHOLE("SFPAND", vb=3, vc=1, vd=4, mod=1),
        BLACKHOLE("SFPOR", vb=3, vc=1, vd=4, mod=1),
        BLACKHOLE("SFPIADD", vc=1, vd=3),
        BLACKHOLE("SFPSHFT", vc=1, vd=3),
        BLACKHOLE("SFPSWAP", vc=1, vd=3, mod=1),
        BLACKHOLE("SFPSHFT2", vc=3, vd=4, mod=3),
        BLACKHOLE("SFPSHFT2", imm=3, vc=1, vd=4, mod=5),
    ],
    ids=lambda word: str(decode(word, chip=Chip.BLACKHOLE)).partition(" ")[0],
)
def test_gaps_in_blackholes_stalls_are_refused(word):
    mad = BLACKHOLE("SFPMAD", va=0, vb=1, vc=2, vd=3)
    with pytest.raises(UndefinedBehavior, match="LReg 3 in the cycle after SFPMAD"):
        issued([mad, word], Chip.BLACKHOLE)
    assert issued([mad, NOP, word], Chip.BLACKHOLE) == [0, 1, 2]


def test_an_exchange_of_all_lanes_reads_in_its_second_cycle():
    mad = BLACKHOLE("SFPMAD", va=0, vb=1, vc=2, vd=3)
    assert issued([mad, BLACKHOLE("SFPSWAP", vc=1, vd=3)], Chip.BLACKHOLE) == [0, 1]


def test_arguments():
    with pytest.raises(ValueError, match="templates must have 4 elements, not 3"):
        LoadMacroConfig(templates=TEMPLATES[:3], sequences=(0, 0, 0, 0), misc=0)
    with pytest.raises(ValueError, match="misc must be 0 to 4095, not 4096"):
        config(misc=4096)
    with pytest.raises(ValueError, match="instruction must be the Vector unit's, not MVMUL"):
        Schedule(Chip.WORMHOLE).step(decode(encode("MVMUL")), config())


@BOTH
def test_a_pipeline_of_loads_products_and_stores(chip):
    """Each SFPLOADMACRO doubles what it loads, in LReg 16, and stores that three cycles later."""
    numerics, unit = CHIP_PRESETS[chip].numerics, reset(CHIP_PRESETS[chip].numerics)
    double = encode("SFPMUL", chip=chip, va=7, vb=9, vc=9, vd=12)
    own = config(0, byte(4, to_16=True, to_vb=True), 0, byte(3, 2, to_16=True), templates=(double, 0, 0, 0), misc=3)
    for lane in unit.lanes:
        lane.registers[7] = 0x40000000
    dst = [[0x407F if row % 16 < 8 else 0] * 16 for row in range(1024)]
    words = [word for i in range(3) for word in (macro(i, chip, address=2 * i), NOP, NOP)]
    stored = []
    for cycle in schedule(words, own, chip=chip):
        together = []
        for each in cycle.executed:
            issued_at = cycle.number if each.origin is None else each.origin
            address = decode(words[issued_at], chip=chip).fields.get("address", 0) << 1
            access = Access(dst=dst, address=address, default_mode=3)
            together.append((each.instruction, each.origin is not None, access))
            stored += [cycle.number] * (each.unit is SubUnit.STORE)
        execute_together(unit, together, chip=chip, numerics=numerics)
    assert stored == [3, 6, 9]
    # 1.5 becomes 3.0 in the even columns of rows 0 to 11, of which 8 to 11 are rows 16 to 19 of 16-bit words.
    rows = (*range(8), *range(16, 20))
    assert all([dst[row][column] for column in (0, 1)] == [0x4080, 0x407F] for row in rows)
    assert dst[20] == [0x407F] * 16
