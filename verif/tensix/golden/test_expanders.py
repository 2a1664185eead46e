"""Expanders: the documented rules by hand, the hardware's bug, places of the replay buffer, errors."""

import pytest

from bitpath.golden.tensix.declarations.encodings import MOP_WORDS, REPLAY_WORDS
from bitpath.golden.tensix.isa import encode
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander

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
def test_mistakes(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


def test_a_refused_word_changes_nothing():
    mop, config = MopExpander(), [0] * MOP_WORDS
    mop.configure([*config[:3], E, *config[4:]])
    with pytest.raises(ValueError, match="MOP_CFG"):
        mop.feed(encode("MOP_CFG", mask_high=0xFFFF) | 1 << 23)
    assert mop.feed(encode("MOP", count_minus_1=31)) == [E] * 32
