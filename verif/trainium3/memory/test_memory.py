"""SBUF, PSUM and HBM against a dictionary of bytes; unwritten bytes, ends of memories, banks and accumulation groups."""

import re
from random import Random

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32, Rounding
from bitpath.golden.trainium3 import AccessPattern, Hbm, HbmPattern, Psum, Sbuf, exact

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
    """Random writes and reads beside a dictionary of bytes, which knows what was written."""
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
