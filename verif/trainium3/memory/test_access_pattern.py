"""Access patterns against the loops that define them, their limits, and copies that overlap."""

import re
from itertools import product
from random import Random

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.trainium3 import AccessPattern, Hbm, HbmPattern, Sbuf, copy_elements

PAIRS = st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 3)), min_size=1, max_size=4)


def element(offset, pattern, place):
    """The definition: offset and one product for each pair."""
    return offset + sum(step * i for (step, _), i in zip(pattern, place, strict=True))


def places(pattern):
    return list(product(*(range(num) for _, num in pattern)))


@settings(max_examples=60, deadline=None)
@given(PAIRS, st.integers(0, 40), st.sampled_from([np.uint8, ml_dtypes.bfloat16, np.float32]))
def test_elements_of_a_pattern(pattern, offset, dtype):
    reached = [element(offset, pattern, place) for place in places(pattern)]
    make = [lambda: AccessPattern(dtype, 32, 3, offset, pattern), lambda: HbmPattern(dtype, offset, pattern)]
    if min(reached) < 0:
        for each in make:
            with pytest.raises(
                ValueError, match=rf"^offset and steps must stay at 0 or above, not reach element {min(reached)}$"
            ):
                each()
        return
    size = np.dtype(dtype).itemsize
    sbuf, hbm = (each() for each in make)
    for ap in (sbuf, hbm):
        assert ap.byte_offsets().ravel().tolist() == [size * each for each in reached]
        assert ap.end() == size * (max(reached) + 1)
        assert ap.byte_offsets().shape == tuple(num for _, num in pattern)
    assert sbuf.shape == (3, *hbm.shape)
    assert (sbuf.size, hbm.size) == (3 * len(reached), len(reached))


def test_by_hand():
    tile = np.arange(16 * 16, dtype=np.float32).reshape(16, 16)
    memory = Sbuf(16, 64)
    memory.write(AccessPattern(np.float32, 0, 16, 0, [(1, 16)]), tile)
    ap = AccessPattern(np.float32, 0, 16, 8, [(1, 8)])
    assert np.array_equal(memory.read(ap), tile[:, 8:])
    assert ap.byte_offsets().tolist() == [32 + 4 * z for z in range(8)]
    backwards = HbmPattern(np.uint8, 100, [(-3, 20)])
    assert backwards.byte_offsets().tolist() == list(range(100, 42, -3))


def test_known_answers(kat):
    archive = kat("trn_core_gather.npz")
    memory = archive["ap_memory"]
    hbm, sbuf = Hbm(memory.nbytes), Sbuf(1, memory.nbytes)
    hbm.write(HbmPattern(np.uint16, 0, [(1, len(memory))]), memory)
    sbuf.write(AccessPattern(np.uint16, 0, 1, 0, [(1, len(memory))]), memory[np.newaxis])
    compared = 0
    for name in (key for key in archive if re.fullmatch(r"ap\d+_offset", key)):
        case = name.removesuffix("_offset")
        offset, pattern = int(archive[name]), archive[f"{case}_pattern"].tolist()
        expected = archive[f"{case}_elements"].tolist()
        assert hbm.read(HbmPattern(np.uint16, offset, pattern)).ravel().tolist() == expected
        assert sbuf.read(AccessPattern(np.uint16, 0, 1, offset, pattern)).ravel().tolist() == expected
        compared += len(expected)
    assert compared == sum(archive[key].size for key in archive if key.endswith("_elements")) > 400


STARTS = {1: (0, 32, 64, 96), 32: (0, 32, 64, 96), 33: (0, 64), 64: (0, 64), 65: (0,), 128: (0,)}


def test_start_partitions():
    for count, starts in STARTS.items():
        for start in range(129 - count):
            for dma in (False, True):
                if dma or start in starts:
                    assert AccessPattern(np.uint8, start, count, 0, [(1, 1)], dma).start == start
                else:
                    allowed = ", ".join(map(str, starts))
                    sentence = f"^start must be {allowed} with {count} partitions, not {start}$"
                    with pytest.raises(ValueError, match=sentence):
                        AccessPattern(np.uint8, start, count, 0, [(1, 1)], dma)


GOOD = {"dtype": np.float32, "start": 0, "partitions": 4, "offset": 0, "pattern": [(1, 4)]}
WRONG = [
    ({"dtype": np.float64}, TypeError, "dtype must be float32, "),
    ({"dtype": None}, TypeError, "dtype must be float32, "),
    ({"partitions": 0}, ValueError, "partitions must be 1 to 128, not 0"),
    ({"partitions": 129}, ValueError, "partitions must be 1 to 128, not 129"),
    ({"start": 96, "partitions": 33}, ValueError, "start must be 0 to 95 with 33 partitions, not 96"),
    ({"start": -1}, ValueError, "start must be 0 to 124 with 4 partitions, not -1"),
    ({"pattern": []}, ValueError, "pattern must have 1 to 4 pairs of step and num, not 0"),
    ({"pattern": [(1, 1)] * 5}, ValueError, "pattern must have 1 to 4 pairs of step and num, not 5"),
    ({"pattern": [(1, 0)]}, ValueError, "num of pattern[0] must be 1 to 65535, not 0"),
    ({"pattern": [(1, 2), (1, 65536)]}, ValueError, "num of pattern[1] must be 1 to 65535, not 65536"),
    ({"pattern": [(32768, 1)]}, ValueError, "step of pattern[0] must be -32768 to 32767, not 32768"),
    ({"pattern": [(-32769, 1)]}, ValueError, "step of pattern[0] must be -32768 to 32767, not -32769"),
    ({"pattern": [(1, 0)], "dma": True}, ValueError, "num of pattern[0] must be at least 1, not 0"),
    ({"pattern": [(1, 2.0)]}, TypeError, "pattern[0][1] must be an integer, not 2.0"),
    ({"pattern": [(1, 2, 3)]}, ValueError, "pattern[0] must have 2 elements, not 3"),
    ({"offset": -1}, ValueError, "offset and steps must stay at 0 or above, not reach element -1"),
]


@pytest.mark.parametrize(("changes", "error", "sentence"), WRONG)
def test_limits(changes, error, sentence):
    AccessPattern(**GOOD)
    with pytest.raises(error, match=rf"^{re.escape(sentence)}"):
        AccessPattern(**GOOD | changes)


def test_extremes_are_taken():
    assert AccessPattern(np.uint8, 0, 1, 0, [(32767, 2), (0, 65535)]).end() == 32768
    assert AccessPattern(np.uint8, 0, 1, 32768, [(-32768, 2)]).byte_offsets().tolist() == [32768, 0]
    assert AccessPattern(np.uint8, 0, 1, 0, [(65536, 2), (1, 70000)], dma=True).shape == (1, 2, 70000)
    assert HbmPattern(np.uint8, 0, [(65536, 2)] * 5).shape == (2,) * 5


def slow_copy(data, dst_ap, src_ap):
    """Element after element in pattern order, in each partition."""
    destinations, sources = dst_ap.byte_offsets().ravel(), src_ap.byte_offsets().ravel()
    for to, of in zip(destinations, sources, strict=True):
        for p in range(dst_ap.partitions):
            data[dst_ap.start + p, to : to + 2] = data[src_ap.start + p, of : of + 2]


def test_copies_that_overlap():
    """To the left, to the right, with a step of 0, and onto partitions that are read too."""
    rng = Random(5)
    whole = AccessPattern(np.uint8, 0, 128, 0, [(1, 128)])
    for _ in range(40):
        nums = rng.choice([(2, 6), (12,), (3, 4), (2, 2, 3)])
        aps = []
        for _ in range(2):
            pattern = [(rng.choice((-2, -1, 0, 1, 1, 2)), num) for num in nums]
            aps.append(
                AccessPattern(np.int16, rng.choice((0, 32, 64)), rng.choice((3, 32)), rng.randint(24, 26), pattern)
            )
        if aps[0].partitions != aps[1].partitions:
            continue
        content = np.frombuffer(rng.randbytes(128 * 128), np.uint8).reshape(128, 128)
        memory, expected = Sbuf(128, 128), content.copy()
        memory.write(whole, content)
        slow_copy(expected, *aps)
        copy_elements(memory, aps[0], memory, aps[1])
        assert np.array_equal(memory.read(whole), expected)


def test_a_copy_to_the_right_repeats_the_first():
    memory, other = Sbuf(2, 16), Sbuf(2, 16)
    row, to = (AccessPattern(np.uint8, 0, 2, offset, [(1, 7)]) for offset in (0, 1))
    content = np.arange(14, dtype=np.uint8).reshape(2, 7)
    memory.write(row, content)
    copy_elements(other, to, memory, row)
    assert np.array_equal(other.read(to), content)
    copy_elements(memory, to, memory, row)
    assert memory.read(to).tolist() == [[0] * 7, [7] * 7]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"dtype": np.int32}, "dst_ap must have the dtype of src_ap, float32, not int32"),
        ({"partitions": 3}, "dst_ap must have as many partitions as src_ap, 4, not 3"),
        ({"pattern": [(1, 3)]}, "dst_ap must have as many elements as src_ap, 16, not 12"),
    ],
)
def test_copies_refuse(changes, sentence):
    memory = Sbuf(8, 64)
    with pytest.raises(ValueError, match=rf"^{sentence}$"):
        copy_elements(memory, AccessPattern(**GOOD | changes), memory, AccessPattern(**GOOD))
