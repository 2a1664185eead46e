"""Memories: banks and places, access patterns, and indices that are read at run time."""

import re
from itertools import product
from random import Random

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32, Rounding
from bitpath.golden.trainium3 import (
    AccessPattern,
    Hbm,
    HbmPattern,
    Psum,
    Sbuf,
    copy_elements,
    exact,
    fetch_scales,
    gather,
    indirect_offsets,
    scatter,
)
from bitpath.golden.trainium3.declarations.memory import TRAINIUM3_INDIRECT, TRAINIUM3_INDIRECT_GROUPED, IndexLists

# SBUF, PSUM and HBM against a dictionary of bytes; unwritten bytes, ends of memories, banks and accumulation groups.


BFLOAT = np.dtype(ml_dtypes.bfloat16)
DTYPES_OF_TEST = [np.uint8, np.int16, BFLOAT, np.float32, np.uint32, ml_dtypes.float8_e4m3]


def random_pattern(rng, most, memory_bytes, size):
    """Return offset and pairs that stay inside a memory."""
    while True:
        pattern = [(rng.randint(-4, 6), rng.randint(1, 3)) for _ in range(rng.randint(1, most))]
        low = sum(min(0, step * (num - 1)) for step, num in pattern)
        high = sum(max(0, step * (num - 1)) for step, num in pattern)
        if high - low < memory_bytes // size:
            return rng.randint(-low, memory_bytes // size - 1 - high), pattern


@pytest.mark.parametrize("kind", ["sbuf", "psum", "hbm"])
def test_shadow_memory(kind):
    """Random writes and reads beside a dictionary of the written bytes."""
    rng = Random(kind)
    memory = {"sbuf": lambda: Sbuf(128, 64), "psum": Psum, "hbm": lambda: Hbm(512)}[kind]()
    shadow = {}
    done = {"read": 0, "refused": 0}
    for turn in range(300):
        dtype = np.dtype(rng.choice(DTYPES_OF_TEST))
        size, row_bytes = dtype.itemsize, 512 if kind == "hbm" else 64
        offset, pattern = random_pattern(rng, 4, row_bytes, size)
        if kind == "hbm":
            ap, rows = HbmPattern(dtype, offset, pattern), [0]
        else:
            count, start = rng.choice([(1, 0), (3, 32), (40, 64), (2, 96), (70, 0)])
            ap, rows = AccessPattern(dtype, start, count, offset, pattern), range(start, start + count)
        bytes_ = [(row, int(first) + i) for row in rows for first in ap.byte_offsets().ravel() for i in range(size)]
        if turn % 2:
            values = np.frombuffer(rng.randbytes(len(bytes_)), dtype).reshape(ap.shape)
            memory.write(ap, values)
            shadow.update(zip(bytes_, values.tobytes(), strict=True))
            continue
        missing = [each for each in bytes_ if each not in shadow]
        if missing:
            row, byte = missing[0]
            place = f"byte {byte}" + ("" if kind == "hbm" else f" of partition {row}")
            with pytest.raises(
                ValueError, match=rf"^{kind.upper()} must be written before it is read, not .* at {place}$"
            ):
                memory.read(ap)
            done["refused"] += 1
        else:
            assert memory.read(ap).dtype == dtype
            assert memory.read(ap).shape == ap.shape
            assert memory.read(ap).tobytes() == bytes(shadow[each] for each in bytes_)
            done["read"] += 1
    assert min(done.values()) >= 20


def test_sizes_and_ends():
    assert repr(Sbuf()) == "SBUF(128 x 262144 bytes, 0 written)"
    assert repr(Psum()) == "PSUM(128 x 16384 bytes, 0 written)"
    Psum().write(AccessPattern(np.uint16, 96, 32, 8191, [(1, 1)]), np.zeros((32, 1), np.uint16))
    for memory, ap, sentence in (
        (Psum(), AccessPattern(np.uint16, 0, 1, 8191, [(1, 2)]), "below byte 16384 of PSUM, not reach byte 16385"),
        (Sbuf(4, 64), AccessPattern(np.uint8, 0, 1, 64, [(1, 1)]), "below byte 64 of SBUF, not reach byte 64"),
        (Hbm(9), HbmPattern(np.uint32, 0, [(1, 3)]), "below byte 9 of HBM, not reach byte 11"),
    ):
        for access in (memory.read, lambda ap, memory=memory: memory.write(ap, np.zeros(ap.shape, ap.dtype))):
            with pytest.raises(ValueError, match=rf"^the pattern must stay {sentence}$"):
                access(ap)
    with pytest.raises(ValueError, match=r"^start and partitions must stay below partition 4, not reach 4$"):
        Sbuf(4, 64).read(AccessPattern(np.uint8, 0, 5, 0, [(1, 1)]))
    for kind, name, allowed, value in (
        (Sbuf, "partitions", "1 to 128", 129),
        (Sbuf, "partition_bytes", "1 to 262144", 0),
        (Hbm, "size", f"1 to {144 << 30}", 0),
    ):
        with pytest.raises(ValueError, match=rf"^{name} must be {allowed}, not {value}$"):
            kind(**{name: value})


def test_values_are_checked():
    ap = AccessPattern(np.uint8, 0, 2, 0, [(1, 3)])
    with pytest.raises(TypeError, match=r"^values must be uint8, not int64$"):
        Sbuf(2, 8).write(ap, np.zeros((2, 3), np.int64))
    with pytest.raises(ValueError, match=r"^values must have shape \(2, 3\), not \(3, 2\)$"):
        Sbuf(2, 8).write(ap, np.zeros((3, 2), np.uint8))
    with pytest.raises(TypeError, match=r"^ap must be an AccessPattern, not a HbmPattern$"):
        Sbuf(2, 8).read(HbmPattern(np.uint8, 0, [(1, 3)]))


FLAGS = {1: (True, False), 3: (True, True), 4: (True, False), 6: (True, True), 0: (False, False), 2: (False, True)}
"""Whether a flag opens a group, and whether it closes it."""


@pytest.mark.parametrize(("fmt", "rounding"), [(FP32, "rne"), (BF16, "rne"), (BF16, "sr")])
def test_accumulation_is_the_scalar_tier_at_addresses(fmt, rounding):
    """Random groups on random words; the state of every word, and its bits by `exact.psum_write`."""
    rng = Random(f"{fmt.name} {rounding}")
    dtype, psum, shadow, state = DTYPES[fmt], Psum(), {}, {}
    words = 2048 // dtype.itemsize
    refused = 0
    for _ in range(120):
        bank, step, num = rng.randrange(8), rng.choice((-1, 1, 2)), rng.randint(1, 4)
        offset = bank * words + rng.randint(4, 8)
        ap = AccessPattern(dtype, 32, 2, offset, [(step, num)])
        flag = rng.choice([*FLAGS])
        first, last = FLAGS[flag]
        codes = np.array(
            [
                [rng.getrandbits(1) << 31 | rng.randint(120, 135) << 23 | rng.getrandbits(23) for _ in range(num)]
                for _ in "ab"
            ],
            np.uint32,
        )
        bits = (
            np.array([[rng.getrandbits(16) for _ in range(num)] for _ in "ab"], np.uint16) if rounding == "sr" else None
        )
        places = [(p, offset + step * i) for p in range(2) for i in range(num)]
        opened = {state.get(each, False) for each in places}
        accumulate = flag in (0, 2, 4, 6)
        arguments = {"flag": flag, "rounding": rounding, "random_bits": bits}
        assert psum.is_open(ap).ravel().tolist() == [state.get(each, False) for each in places]
        if opened != {not first} or (accumulate and any(each not in shadow for each in places)):
            with pytest.raises(ValueError, match=r"^(flag must (continue|open)|PSUM must be written)"):
                psum.accumulate(ap, codes, **arguments)
            refused += 1
            continue
        psum.accumulate(ap, codes, **arguments)
        for place, code, extra in zip(places, codes.ravel(), [0] * 8 if bits is None else bits.ravel(), strict=False):
            present = shadow[place] if accumulate else None
            mode = Rounding.SR if rounding == "sr" else Rounding.RNE
            shadow[place] = exact.psum_write(int(code), present, fmt, mode, int(extra))
            state[place] = not last
        if last:
            got = psum.read(ap).view(f"u{dtype.itemsize}").ravel().tolist()
            assert got == [shadow[each] for each in places]
    assert refused >= 20
    assert sum(state.values()) > 5


def accumulate(**changes):
    ap = changes.pop("ap", AccessPattern(np.float32, 0, 2, 0, [(1, 3)]))
    psum = changes.pop("psum", None) or Psum()
    psum.accumulate(ap, changes.pop("incoming", np.zeros(ap.shape, np.uint32)), **changes)
    return psum


def test_a_result_may_span_banks():
    ap = AccessPattern(np.float32, 0, 128, 511, [(1, 2)])
    with pytest.raises(ValueError, match=r"^ap must lie in one bank without multi_bank, not in banks 0 to 1$"):
        accumulate(ap=ap)
    assert accumulate(ap=ap, multi_bank=True).read(ap).tolist() == [[0, 0]] * 128
    for dtype, most in ((np.float32, 4096), (BFLOAT, 8192)):
        accumulate(ap=AccessPattern(dtype, 0, 1, 0, [(1, most)]), multi_bank=True)
        accumulate(ap=AccessPattern(dtype, 0, 1, most // 8, [(1, most // 8)]))
        with pytest.raises(ValueError, match=r"^the pattern must stay below byte 16384 of PSUM"):
            accumulate(ap=AccessPattern(dtype, 0, 1, 1, [(1, most)]), multi_bank=True)


@pytest.mark.parametrize(
    ("error", "changes", "sentence"),
    [
        (
            TypeError,
            {"ap": AccessPattern(np.uint32, 0, 1, 0, [(1, 1)])},
            "dtype of a destination in PSUM must be float32 or",
        ),
        (TypeError, {"incoming": np.zeros((2, 3), np.float32)}, "incoming must be uint32, not float32"),
        (ValueError, {"incoming": np.zeros((3, 2), np.uint32)}, "incoming must have shape (2, 3), not (3, 2)"),
        (ValueError, {"flag": 5}, "psum_accumulate_flag must be 0, 1, 2, 3, 4 or 6, not 5"),
        (ValueError, {"rounding": "sr"}, "dst must be bfloat16 with rounding 'sr', not float32"),
        (
            ValueError,
            {"ap": AccessPattern(np.float32, 0, 1, 0, [(0, 2)])},
            "ap must name each accumulator once, not several times",
        ),
        (ValueError, {"flag": 2}, "flag must open a group, with bit 0 or bit 2, where none of float32 is open"),
        (ValueError, {"flag": 4}, "PSUM must be written before it is read, not be read at byte 0 of partition 0"),
    ],
)
def test_accumulation_refuses(error, changes, sentence):
    with pytest.raises(error, match=rf"^{re.escape(sentence)}"):
        accumulate(**changes)


def test_an_open_group_belongs_to_the_array():
    psum = accumulate(flag=1)
    ap = AccessPattern(np.uint16, 0, 1, 5, [(1, 1)])
    for access, done in (
        (lambda: psum.read(ap), "read"),
        (lambda: psum.write(ap, np.zeros((1, 1), np.uint16)), "written"),
    ):
        with pytest.raises(ValueError, match=rf"^ap must not hold words of an open accumulation group, .* be {done}$"):
            access()
    with pytest.raises(ValueError, match=r"^flag must continue or close the accumulation group"):
        accumulate(psum=psum, flag=1)
    narrow = AccessPattern(BFLOAT, 0, 2, 0, [(1, 6)])
    with pytest.raises(ValueError, match=r"^flag must open a group, .* where none of bfloat16 is open$"):
        accumulate(psum=psum, ap=narrow, flag=2)
    accumulate(psum=psum, flag=2).read(ap)


# Access patterns against the loops that define them, their limits, and copies that overlap.


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


def test_known_answers_of_access_pattern(kat):
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


# Offsets, gather and scatter of columns, and scales out of quadrants, against plain loops and known answers.


GROUPED = TRAINIUM3_INDIRECT_GROUPED.numerics
GROUP = {"vector": 16, "scalar": 16, "gpsimd": 16, "tensor": 32}


def words(rng, shape, dtype):
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(rng.randbytes(size), dtype).reshape(shape).copy()


def test_the_guides_example():
    data = np.arange(128 * 512, dtype=np.uint32).reshape(128, 512)
    index = np.full((128, 1), 1000, np.uint32)
    index[:3, 0] = 0, 128, 384
    assert indirect_offsets(index, 3, engine="vector").tolist() == [0, 128, 384]
    assert np.array_equal(gather(data, index, 3, engine="vector"), data[:, [0, 128, 384]])


def test_offset_17_is_the_second_of_column_1():
    index = np.arange(64, dtype=np.uint16).reshape(32, 2)
    offsets = indirect_offsets(index, engine="scalar")
    assert len(offsets) == 32
    assert offsets[17] == index[1, 1]
    assert indirect_offsets(index, engine="tensor")[17] == index[17, 0]


@pytest.mark.parametrize("engine", list(GROUP))
@pytest.mark.parametrize("numerics", [TRAINIUM3_INDIRECT.numerics, GROUPED])
def test_columns_one_after_the_other(engine, numerics):
    """The definition, element by element; offsets repeat, so that the order of a scatter counts."""
    rng, group = Random(f"{engine} {numerics.lists}"), GROUP[engine]
    for _ in range(12):
        partitions, free, columns = rng.choice((group, 64, 128)), rng.randint(1, 20), rng.randint(1, 3)
        count = rng.randint(1, group * columns)
        dtype = rng.choice([np.uint8, ml_dtypes.bfloat16, np.uint32])
        data, src = words(rng, (partitions, free), dtype), words(rng, (partitions, count), dtype)
        index = np.array([[rng.randrange(free) for _ in range(columns)] for _ in range(partitions)], np.uint32)
        if numerics.lists is IndexLists.SHARED:
            index[group:] = 1 << 31  # must not be read
        gathered, scattered = np.empty((partitions, count), dtype), data.copy()
        for p in range(partitions):
            base = 0 if numerics.lists is IndexLists.SHARED else p - p % group
            for i in range(count):
                offset = index[base + i % group, i // group]
                gathered[p, i] = data[p, offset]
                scattered[p, offset] = src[p, i]
        assert gather(data, index, count, engine=engine, numerics=numerics).tobytes() == gathered.tobytes()
        assert scatter(data, index, src, engine=engine, numerics=numerics).tobytes() == scattered.tobytes()


def test_known_answers_of_indirect(kat):
    archive = kat("trn_core_gather.npz")
    for i, partitions, free, group, columns, count, bits in archive["meta"].tolist():
        engine = "tensor" if group == 32 else "vector"
        names = ("data", "index", "gathered", "scatter_src", "scattered")
        data, index, gathered, src, scattered = (archive[f"g{i}_{name}"] for name in names)
        assert (*data.shape, index.shape[1], count, 8 * data.itemsize) == (
            partitions,
            free,
            columns,
            src.shape[1],
            bits,
        )
        assert np.array_equal(gather(data, index, count, engine=engine), gathered)
        assert np.array_equal(scatter(data, index, src, engine=engine), scattered)


GOOD_INDIRECT = {
    "data": np.zeros((32, 8), np.uint16),
    "index": np.zeros((32, 2), np.uint32),
    "num_elem": 3,
    "engine": "vector",
}


@pytest.mark.parametrize(
    ("error", "changes", "sentence"),
    [
        (TypeError, {"index": np.zeros((32, 2), np.int32)}, "index must be uint32 or uint16, not int32"),
        (TypeError, {"data": np.zeros((32, 8))}, "data must be float32, "),
        (
            TypeError,
            {"data": np.zeros((32, 8), np.float32), "engine": "tensor"},
            "data must have 16 or 8 bits or be x4 words with engine 'tensor', not float32",
        ),
        (ValueError, {"engine": "pool"}, "engine must be 'vector', 'scalar', 'gpsimd' or 'tensor', not 'pool'"),
        (ValueError, {"num_elem": 33}, "num_elem must be 1 to 32 with an index of 2 columns, not 33"),
        (ValueError, {"num_elem": 0}, "num_elem must be 1 to 32 with an index of 2 columns, not 0"),
        (ValueError, {"index": np.zeros(32, np.uint32)}, "index must have shape [P, K], not (32,)"),
        (
            ValueError,
            {"index": np.zeros((15, 2), np.uint32)},
            "index must have shape [P, K] with P from 16 to 128 and K of at least 1, not (15, 2)",
        ),
        (
            ValueError,
            {"index": np.zeros((16, 2), np.uint32)},
            "index must have shape [32, K] with data's partitions, not (16, 2)",
        ),
        (
            ValueError,
            {"index": np.full((32, 2), 8, np.uint32)},
            "index must hold offsets below data's 8 columns, not 8",
        ),
        (
            ValueError,
            {"index": np.zeros((24, 1), np.uint32), "numerics": GROUPED},
            "index must have a multiple of 16 rows, not 24",
        ),
    ],
)
def test_gather_refuses(error, changes, sentence):
    gather(**GOOD_INDIRECT)
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        gather(**GOOD_INDIRECT | changes)


@pytest.mark.parametrize(
    ("error", "src", "sentence"),
    [
        (TypeError, np.zeros((32, 3), np.int16), "src must be uint16, not int16"),
        (ValueError, np.zeros((31, 3), np.uint16), r"src must have shape \[32, num_elem\] with dst's partitions, not"),
        (ValueError, np.zeros((32, 0), np.uint16), "num_elem must be 1 to 32 with an index of 2 columns, not 0"),
    ],
)
def test_scatter_refuses(error, src, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        scatter(GOOD_INDIRECT["data"], GOOD_INDIRECT["index"], src, engine="vector")


def test_scales_for_each_row_of_the_array():
    """The rule by shifts, at every offset and partition count; rows that hold no scales are poison."""
    rng = Random(3)
    for offset in (0, 4, 8, 12):
        for partitions in (32, 64, 96, 128):
            tile = np.full((128, 3), 255, np.uint8)
            for quadrant in range(partitions // 32):
                for row in range(4):
                    tile[32 * quadrant + row + offset] = [rng.randrange(255) for _ in range(3)]
            expected = [tile[32 * (p >> 5) + (p >> 3 & 3) + offset] for p in range(partitions)]
            got = fetch_scales(tile, partitions, offset)
            assert np.array_equal(got, expected)
            assert 255 not in got
    # With offset 4: rows 0 to 7 take partition 4, 32 to 39 partition 36, 120 to 127 partition 103.
    tile = np.arange(128, dtype=np.uint8)[:, np.newaxis]
    fetched = fetch_scales(tile, 128, 4)[:, 0]
    assert [fetched[p] for p in (0, 7, 8, 24, 31, 32, 39, 120, 127)] == [4, 4, 5, 7, 7, 36, 36, 103, 103]


@pytest.mark.parametrize(
    ("error", "arguments", "sentence"),
    [
        (TypeError, (np.zeros((32, 2), np.int8), 32), "tile must be uint8, not int8"),
        (ValueError, (np.zeros(32, np.uint8), 32), "tile must have shape [P, F], not (32,)"),
        (
            ValueError,
            (np.zeros((32, 2), np.uint8), 48),
            "data_partitions must span 32, 64, 96 or 128 partitions, not 48",
        ),
        (ValueError, (np.zeros((32, 2), np.uint8), 64), "tile must span the data's 64 partitions, not 32"),
        (ValueError, (np.zeros((32, 2), np.uint8), 32, 5), "offset must be 0, 4, 8 or 12, not 5"),
    ],
)
def test_scales_refuse(error, arguments, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        fetch_scales(*arguments)
