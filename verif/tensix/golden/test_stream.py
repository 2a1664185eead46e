"""Words, expanders and counters: round trips, documented rules by hand, random words, and errors."""

import re
from dataclasses import fields
from random import Random

import numpy as np
import pytest

from bitpath.golden.tensix import isa
from bitpath.golden.tensix.declarations.encodings import ENCODINGS, MOP_WORDS, OPCODE_LOW, OTHERS, REPLAY_WORDS, WIDTHS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa import encode
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander
from bitpath.golden.tensix.operands import counters as adcs
from bitpath.golden.tensix.operands.counters import (
    Adc,
    Adcs,
    Channel,
    Modifier,
    Rwc,
    add_cr_four,
    add_four,
    apply_modifier,
    incrwc,
    modifier_number,
    pacr_modifier,
    set_four,
    setadc,
    setadcxx,
    setrwc,
    unpacr_increments,
)

# Encodings, assembler and disassembler: round trips, known words, and every error.


ROUNDS = 50
CHIPS = [each.value for each in Chip]
ALL = [(chip.value, encoding) for chip, encodings in ENCODINGS.items() for encoding in encodings]


def random_fields(rng, encoding):
    return {each.name: int(rng.integers(1 << each.width)) for each in encoding.fields}


def test_the_fields_of_an_instruction_do_not_overlap(subtests):
    for chip, encoding in ALL:
        with subtests.test(f"{chip} {encoding.name}"):
            bits = [bit for each in encoding.fields for bit in range(each.low, each.high + 1)]
            assert len(bits) == len(set(bits))
            assert max(bits, default=0) < OPCODE_LOW
            assert sum(each.width for each in encoding.fields) == len(bits)


def test_opcodes_and_names_are_unique():
    for chip in Chip:
        known = [*((each.opcode, each.name) for each in ENCODINGS[chip]), *OTHERS[chip].items()]
        assert len(dict(known)) == len({name for _, name in known}) == len(known)
    wormhole, blackhole = ({each.name: each.opcode for each in encodings} for encodings in ENCODINGS.values())
    assert wormhole.items() < blackhole.items()


def test_decode_gives_back_random_fields(subtests):
    for chip, encoding in ALL:
        with subtests.test(f"{chip} {encoding.name}"):
            rng = np.random.default_rng(encoding.opcode)
            for _ in range(ROUNDS):
                fields = random_fields(rng, encoding)
                word = isa.encode(encoding.name, chip=chip, **fields)
                assert isa.decode(word, chip=chip) == isa.Instruction(name=encoding.name, fields=fields)
                assert word >> OPCODE_LOW == encoding.opcode


@pytest.mark.parametrize("chip", CHIPS)
def test_a_random_program_survives_its_text(chip):
    rng = np.random.default_rng(5)
    encodings = ENCODINGS[Chip(chip)]
    picked = [encodings[i] for i in rng.integers(len(encodings), size=1000)]
    words = [isa.encode(each.name, chip=chip, **random_fields(rng, each)) for each in picked]
    text = isa.disassemble(words, chip=chip)
    assert text.count("\n") == len(words)
    assert isa.assemble(text, chip=chip) == words
    assert isa.disassemble(isa.assemble(text, chip=chip), chip=chip) == text


@pytest.mark.parametrize(
    ("chip", "word", "line"),
    [
        ("wormhole", 0x26C18010, "MVMUL flip=3, modifier=3, dst=16"),
        ("blackhole", 0x26C14010, "MVMUL flip=3, modifier=5, dst=16"),
        ("wormhole", 0x10280000, "ZEROACC mode=1, dst32=1"),
        ("blackhole", 0x100C0000, "ZEROACC mode=1, dst32=1"),
        ("wormhole", 0x41018F01, "PACR modifier=3, packers=15, last=1"),
        ("blackhole", 0x4300010A, "UNPACR_NOP set_valid=1, value=2, pop=2"),
        ("wormhole", 0x43800007, "UNPACR_NOP unpacker=1, what=7"),
        ("wormhole", 0x0400C102, "REPLAY start=3, count=16, execute=1"),
        ("wormhole", 0x01810000, "MOP template=1, count_minus_1=1"),
        ("wormhole", 0xA2210080, "STALLWAIT block=66, conditions=128"),
        ("wormhole", 0xB0041FFF & ~0x1800, "WRCFG gpr=4, register=2047"),
        ("wormhole", 0x02000000, "NOP"),
    ],
)
def test_words_and_lines(chip, word, line):
    assert str(isa.decode(word, chip=chip)) == line
    assert isa.assemble(line, chip=chip) == [word]


def test_text_may_have_comments_empty_lines_and_any_order():
    text = "# a product\n\n  MVMUL dst=0x10,flip=3 , modifier=3 # the last\nNOP#\nNOP\t\n"
    assert isa.assemble(text) == [0x26C18010, 0x02000000, 0x02000000]
    assert isa.assemble("") == []
    assert isa.disassemble([]) == ""


def test_numpy_words_decode():
    assert isa.decode(np.uint32(0x26C18010))["dst"] == 16
    assert isa.disassemble(np.array([0x02000000], np.uint32)) == "NOP\n"


VALUES = [
    (lambda: isa.decode(1 << 32), "word must be 0 to 4294967295, not 4294967296"),
    (lambda: isa.decode(0xFF000000), "word must have the opcode of an instruction in bits 31:24, not 0xff"),
    (lambda: isa.decode(0), "word must have the opcode of an instruction in bits 31:24, not 0x00"),
    (lambda: isa.decode(0x21000000), "word must be a modelled instruction, not CLREXPHIST of wormhole (opcode 0x21)"),
    (lambda: isa.decode(0x96000000), "word must have the opcode of an instruction in bits 31:24, not 0x96"),
    (
        lambda: isa.decode(0xA7000000, chip="blackhole"),
        "word must be a modelled instruction, not STREAMWAIT of blackhole (opcode 0xa7)",
    ),
    (lambda: isa.encode("CONV3S1"), "name must be a modelled instruction, not CONV3S1 of wormhole"),
    (lambda: isa.decode(0x02000001), "word must be 0 in bits of no field of NOP, not 1 in 0: 0x02000001"),
    (
        lambda: isa.decode(0x26041C10),
        "word must be 0 in bits of no field of MVMUL, not 1 in 18, 12, 11, 10: 0x26041c10",
    ),
    (lambda: isa.decode(0x26004000), "word must be 0 in bits of no field of MVMUL, not 1 in 14: 0x26004000"),
    (lambda: isa.decode(0x02000000, chip="quasar"), "chip must be 'wormhole' or 'blackhole', not 'quasar'"),
    (lambda: isa.encode("MVMULL"), "name must be one of 103 names from 'MOP'"),
    (lambda: isa.encode("MVMULL"), "not 'MVMULL'; did you mean 'MVMUL'?"),
    (lambda: isa.encode("MVMUL", modifier=4), "modifier must be 0 to 3 in MVMUL, not 4"),
    (lambda: isa.encode("MVMUL", chip="blackhole", modifier=8), "modifier must be 0 to 7 in MVMUL, not 8"),
    (
        lambda: isa.encode("SETC16", registers=1),
        "an argument of SETC16 must be one of its fields register, value, not registers; did you mean 'register'?",
    ),
    (lambda: isa.encode("NOP", dst=0), "an argument of NOP must be no argument, as it has no fields, not dst"),
    (lambda: isa.encode("ZEROACC", revert=1), "an argument of ZEROACC must be one of its fields mode,"),
    (lambda: isa.assemble("NOP\nMVMUL dst"), "line 2: a field must be NAME=NUMBER, not 'dst'"),
    (lambda: isa.assemble("MVMUL dst=1, dst=2"), "line 1: dst must be given once in MVMUL"),
    (lambda: isa.assemble("MVMUL dst=x"), "line 1: dst must be a decimal or hexadecimal number, not 'x'"),
    (lambda: isa.assemble("MVMUL dst=-1"), "line 1: dst must be 0 to 1023 in MVMUL, not -1"),
    (lambda: isa.assemble("MVMUL chip=1"), "line 1: an argument of MVMUL must be one of its fields flip,"),
    (lambda: isa.assemble("# x\nMVMUL,"), "line 2: name must be one of 103 names from 'MOP'"),
    (lambda: isa.disassemble([0x02000000, 0x02000001]), "words[1]: word must be 0 in bits of no field of NOP"),
]
TYPES = [
    (lambda: isa.decode("0x02000000"), "word must be an integer, not '0x02000000'"),
    (lambda: isa.encode(2), "name must be one of 103 names from 'MOP'"),
    (lambda: isa.encode("MVMUL", dst=1.0), "dst must be an integer, not 1.0"),
    (lambda: isa.assemble(b"NOP"), "text must be a str, not a bytes"),
    (lambda: isa.disassemble(0x02000000), "words must be a sequence of integers, not 33554432"),
]


def test_wrong_values(subtests):
    for call, says in VALUES:
        with subtests.test(says), pytest.raises(ValueError, match=re.escape(says)):
            call()


def test_wrong_types(subtests):
    for call, says in TYPES:
        with subtests.test(says), pytest.raises(TypeError, match=re.escape(says)):
            call()


def test_known_answers_are_instructions(kat):
    """Every word that the known programs push or execute is legal, and survives its text."""
    checked = 0
    archive = kat("tensix_bh_program.npz")
    expected = sum(len(words) for name, words in archive.items() if re.fullmatch(r"(wh|bh)\d+_(t\d|trace)", name))
    for name, array in archive.items():
        if match := re.fullmatch(r"(wh|bh)\d+_(t\d|trace)", name):
            words = (array[:, 1] if match[2] == "trace" else array).tolist()
            chip = {"wh": "wormhole", "bh": "blackhole"}[match[1]]
            assert isa.assemble(isa.disassemble(words, chip=chip), chip=chip) == words
            checked += len(words)
    assert checked == expected > 0


@pytest.mark.parametrize("name", ["wh_r_in", "wh_a_in", "bh_r_in", "bh_a_in", "z_in", "m_in"])
def test_known_answers_of_counters_and_moves_are_instructions(kat, name):
    words = kat("tensix_bh_control.npz")[name].ravel().tolist()
    chip = "wormhole" if name.startswith("wh") else "blackhole"
    assert isa.assemble(isa.disassemble(words, chip=chip), chip=chip) == words
    assert words


# Expanders: the documented rules by hand, the hardware's bug, places of the replay buffer, errors.


NOP, TEMPLATE_1 = encode("NOP"), encode("MOP", template=1)
START, E, F, LOOP, M, Z, Y = (encode("SETC16", value=value) for value in range(7))
"""Words of an expansion by their letters in the rules; Z comes last of all, Y last of an inner loop."""


def loops(outer, inner, *, start=NOP, ends=(NOP, NOP), alternative=NOP):
    return MopExpander([outer, inner, start, *ends, LOOP, alternative, Z, Y]).feed(TEMPLATE_1)


def test_two_inner_and_two_outer_rounds():
    assert loops(2, 2, ends=(E, NOP)) == [LOOP, Y, E, LOOP, Z, E]


def test_an_alternative_doubles_the_inner_count():
    assert loops(2, 2, ends=(E, NOP), alternative=M) == [LOOP, M, LOOP, Y, E, LOOP, M, LOOP, Z, E]


def test_start_and_both_ends():
    assert loops(2, 1, start=START, ends=(E, F)) == [START, Y, E, F, START, Z, E, F]


def test_the_second_end_comes_only_with_the_first():
    assert loops(1, 1, ends=(NOP, F)) == [Z]


def test_an_outer_count_of_0_gives_nothing():
    assert loops(0, 3, start=START, ends=(E, F)) == []


def test_no_inner_rounds():
    assert loops(3, 0, start=START, ends=(E, NOP)) == [START, E] * 3


def test_the_hardware_repeats_a_single_round_of_ends():
    assert loops(1, 0, ends=(E, F)) == [E, F] * 129
    assert loops(1, 0, start=START, ends=(E, F)) == [START, E, F]
    assert loops(2, 0, ends=(E, F)) == [E, F] * 2
    assert loops(1, 0, ends=(NOP, F)) == []


def test_counts_have_seven_bits():
    assert loops(0x80 | 1, 0xFFFFFF80 | 2) == [LOOP, Z]


def test_a_nop_is_one_whatever_its_other_bits():
    assert loops(1, 1, start=NOP | 5, alternative=NOP | 0xFFFFFF) == [Z]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [(0, "aSa"), (1, "abSTab"), (2, "aAAASaAAA"), (3, "aAAAbSTaAAAb"), (0xFFFFFFFC, "aSa")],
)
def test_masked_rounds(flags, expected):
    """Small letters for A0 and B, capitals for A1 to A3 and for skip A0 and skip B."""
    letters = {"a": E, "A": M, "b": START, "S": Z, "T": Y}
    mop = MopExpander([9, flags, START, E, M, M, M, Z, Y])
    given = mop.feed(encode("MOP", count_minus_1=2, mask_low=0b010))
    assert given == [letters[letter] for letter in expected]


def test_the_masks_upper_half_stays():
    mop = MopExpander([0, 0, 0, E, 0, 0, 0, Z, 0])
    assert mop.feed(encode("MOP_CFG", mask_high=0x8000)) == []
    for _ in range(2):
        mop.feed(TEMPLATE_1)
        assert mop.feed(encode("MOP", count_minus_1=31, mask_low=1)) == [Z, *[E] * 30, Z]
    mop.configure([0, 0, 0, F, 0, 0, 0, Z, 0])
    assert mop.feed(encode("MOP", count_minus_1=32)) == [*[F] * 31, Z, F]


def test_rounds_beyond_the_mask_find_zeros():
    mop = MopExpander([0, 0, 0, E, 0, 0, 0, Z, 0])
    mop.feed(encode("MOP_CFG", mask_high=0xFFFF))
    assert mop.feed(encode("MOP", count_minus_1=127, mask_low=0xFFFF)) == [Z] * 32 + [E] * 96


def test_the_longest_expansion():
    config = [127, 127, START, E, F, LOOP, M, Z, Y]
    assert len(MopExpander(config).feed(TEMPLATE_1)) == 32639


def test_other_words_pass():
    mop, replay = MopExpander(), ReplayExpander()
    for word in (0, NOP, 0xFFFFFFFF, E):
        assert mop.feed(word) == replay.feed(word) == [word]


def test_a_buffer_wraps_and_a_count_of_0_means_32():
    replay = ReplayExpander()
    words = [*range(REPLAY_WORDS)]
    assert replay.feed(encode("REPLAY", start=30, load=1)) == []
    assert [replay.feed(word) for word in words] == [[]] * REPLAY_WORDS
    assert not replay.loading
    assert replay.feed(encode("REPLAY", start=30, count=3)) == [0, 1, 2]
    assert replay.feed(encode("REPLAY", start=31)) == [*words[1:], 0]


def test_words_are_loaded_unseen_and_executed_if_asked():
    replay = ReplayExpander()
    replay.feed(encode("REPLAY", start=4, count=2, load=1, execute=1))
    inner = encode("REPLAY", count=1)
    assert replay.loading == 2
    assert replay.feed(inner) == [inner]
    assert replay.feed(E) == [E]
    assert replay.feed(encode("REPLAY", start=4, count=2)) == [inner, E]
    assert replay.feed(inner) == [0]


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: MopExpander([0] * 8), ValueError, "config must have 9 elements, not 8"),
        (lambda: MopExpander([0] * 8 + [1 << 32]), ValueError, r"config\[8\] must be 0 to 4294967295"),
        (lambda: MopExpander([0] * 8 + ["a"]), TypeError, "must be an integer"),
        (lambda: MopExpander().feed(-1), ValueError, "word must be 0 to 4294967295, not -1"),
        (lambda: MopExpander().feed(1.0), TypeError, "word must be an integer"),
        (lambda: MopExpander().feed(encode("MOP_CFG") | 1 << 16), ValueError, "MOP_CFG, not 1 in 16"),
        (lambda: ReplayExpander().feed(encode("REPLAY") | 1 << 2), ValueError, "REPLAY, not 1 in 2"),
        (
            lambda: ReplayExpander().feed(encode("REPLAY", count=33)),
            ValueError,
            "count must be 0 to 32 in REPLAY, not 33",
        ),
        (lambda: ReplayExpander().feed("1"), TypeError, "word must be an integer"),
    ],
)
def test_mistakes_of_expanders(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


def test_a_refused_word_changes_nothing():
    mop, config = MopExpander(), [0] * MOP_WORDS
    mop.configure([*config[:3], E, *config[4:]])
    with pytest.raises(ValueError, match="MOP_CFG"):
        mop.feed(encode("MOP_CFG", mask_high=0xFFFF) | 1 << 23)
    assert mop.feed(encode("MOP", count_minus_1=31)) == [E] * 32


# RWCs and ADCs: the documented rules by hand, and as sums modulo their widths over random words; errors.


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
def test_mistakes_of_counters(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="src_a must be an integer"):
        Rwc(src_a=1.0)
    with pytest.raises(TypeError, match="adc must be an Adc"):
        adcs.pacr_modifier(Channel(), 0)
