"""Descriptors against a walk byte by byte, by hand, by the archive; who generates them, and for what time."""

import re
from random import Random

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import (
    AccessPattern,
    Descriptor,
    HbmPattern,
    choose_mode,
    descriptors,
    generation_time,
)
from bitpath.golden.trainium3.declarations.memory import SBUF_ADDRESS

BFLOAT = np.dtype(ml_dtypes.bfloat16)


def sbuf(dtype, start, partitions, offset, pattern):
    return AccessPattern(dtype, start, partitions, offset, pattern, dma=True)


def address(partition, byte):
    return SBUF_ADDRESS + 262144 * partition + byte


def elements(ap):
    """Address and partition of each element, in order; None for HBM's partition."""
    offsets = ap.byte_offsets().ravel().tolist()
    if isinstance(ap, HbmPattern):
        return [(byte, None) for byte in offsets]
    return [(address(p, byte), p) for p in range(ap.start, ap.start + ap.partitions) for byte in offsets]


def walk(dst_ap, src_ap):
    """The definition: one element after the other, joined to the run before it where both sides continue."""
    wide = max(dst_ap.dtype.itemsize, src_ap.dtype.itemsize)
    runs, follows = [], None
    for (to, p), (of, q) in zip(elements(dst_ap), elements(src_ap), strict=True):
        if (to, of, p, q) == follows and runs[-1][3] + wide <= 65536:
            runs[-1][3] += wide
        else:
            row = q if p is None else p
            runs.append([len(runs) % 16 if row is None else row // 8, of, to, wide])
        follows = to + dst_ap.dtype.itemsize, of + src_ap.dtype.itemsize, p, q
    return tuple(Descriptor(*run) for run in runs)


def test_by_hand():
    hidden = HbmPattern(BFLOAT, 0, [(384, 128), (1, 384)])
    rows = descriptors(sbuf(BFLOAT, 0, 128, 0, [(1, 384)]), hidden)
    assert rows == tuple(Descriptor(p // 8, 768 * p, address(p, 0), 768) for p in range(128))
    assert {row.hbm_bytes for row in rows} == {768}
    spread = descriptors(sbuf(BFLOAT, 0, 128, 0, [(2, 384)]), hidden)
    assert len(spread) == 49_152
    assert {row.bytes for row in spread} == {2}
    four = descriptors(sbuf(BFLOAT, 0, 4, 0, [(1, 4096)]), HbmPattern(BFLOAT, 0, [(4096, 4), (1, 4096)]))
    assert [(row.engine, row.bytes) for row in four] == [(0, 8192)] * 4


def test_known_answers(kat):
    archive = kat("trn_core_dma.npz")
    compared = 0
    for name in (key for key in archive if re.fullmatch(r"e\d+_command", key)):
        case = name.removesuffix("_command")
        size, hbm_offset, start, sbuf_offset = archive[name].tolist()
        hbm_pattern, sbuf_pattern = (archive[f"{case}_{side}_pattern"].tolist() for side in ("hbm", "sbuf"))
        dtype = {1: np.uint8, 2: BFLOAT, 4: np.float32}[size]
        hbm = HbmPattern(dtype, hbm_offset, hbm_pattern)
        there = sbuf(dtype, start, hbm_pattern[0][1], sbuf_offset, sbuf_pattern)
        expected = archive[f"{case}_descriptors"].tolist()
        rows = [(e, of, address(p, byte), count) for e, of, p, byte, count in expected]
        assert descriptors(there, hbm) == tuple(Descriptor(*row) for row in rows)
        back = [Descriptor(e, to, of, count) for e, of, to, count in rows]
        assert descriptors(hbm, there) == tuple(back)
        compared += len(rows)
    assert compared == sum(len(archive[key]) for key in archive if re.fullmatch(r"e\d+_descriptors", key)) > 1000


def random_pairs(rng, count):
    """Pairs whose nums multiply to a number of elements, from contiguous to scattered."""
    nums, rest = [], count
    while rest > 1 and len(nums) < 3:
        factor = rng.choice([each for each in range(2, rest + 1) if rest % each == 0])
        nums.append(factor)
        rest //= factor
    nums[-1:] = [nums[-1] * rest] if nums else [rest]
    pairs, step = [], 1
    for num in reversed(nums):
        pairs.append((step if rng.random() < 0.7 else rng.choice((-1, 0, 1, 3)), num))
        step = pairs[-1][0] * num
    return pairs[::-1]


def test_random_transfers():
    rng = Random(11)
    kinds, merged = {(a, b): 0 for a in "hs" for b in "hs"}, 0
    for _ in range(200):
        count, partitions = rng.choice((1, 4, 6, 12, 24)), rng.choice((1, 2, 5))
        dtypes = [rng.choice((np.uint8, BFLOAT, np.float32)) for _ in range(2)]
        if rng.random() < 0.7:
            dtypes[1] = dtypes[0]
        sides, kind = [], ""
        for dtype in dtypes:
            kind += rng.choice("hs")
            pairs, offset = random_pairs(rng, count), rng.randint(80, 90)
            if kind[-1] == "s":
                sides.append(sbuf(dtype, rng.choice((0, 7, 123)), partitions, offset, pairs))
            else:
                step = rng.choice((count, count + 1, 0))
                sides.append(HbmPattern(dtype, offset, [(step, partitions), *pairs]))
        got = descriptors(*sides)
        assert got == walk(*sides)
        kinds[*kind] += 1
        merged += len(got) < partitions * count
        assert len({row.engine for row in got}) <= 16
    assert min(kinds.values()) > 20
    assert merged > 40


def test_runs_end_with_the_partition_and_at_64_kib():
    whole = sbuf(np.uint8, 0, 2, 0, [(1, 262144)])
    rows = descriptors(whole, HbmPattern(np.uint8, 0, [(262144, 2), (1, 262144)]))
    assert rows == tuple(Descriptor(0, 65536 * i, SBUF_ADDRESS + 65536 * i, 65536) for i in range(8))
    there, back = HbmPattern(np.uint8, 0, [(1, 200_000)]), HbmPattern(np.uint8, 1 << 20, [(1, 200_000)])
    assert [(row.engine, row.bytes) for row in descriptors(back, there)] == [
        (0, 65536),
        (1, 65536),
        (2, 65536),
        (3, 3392),
    ]
    assert {row.hbm_bytes for row in descriptors(back, there)[:3]} == {131072}
    # A cast counts the wider side: 40,000 elements of 4 bytes.
    wide = HbmPattern(np.float32, 1 << 20, [(1, 40_000)])
    rows = descriptors(wide, HbmPattern(np.uint8, 3, [(1, 40_000)]))
    assert [(row.source, row.destination - (1 << 22), row.bytes) for row in rows] == [
        (3, 0, 65536),
        (3 + 16384, 65536, 65536),
        (3 + 32768, 131072, 28928),
    ]


@pytest.mark.parametrize(
    ("dst", "src", "sentence"),
    [
        (
            HbmPattern(np.uint8, 0, [(1, 3)]),
            HbmPattern(np.uint8, 0, [(1, 4)]),
            "dst_ap must have as many elements as src_ap, 4, not 3",
        ),
        (
            sbuf(np.uint8, 0, 2, 0, [(1, 2)]),
            HbmPattern(np.uint8, 0, [(1, 4)]),
            "dst_ap must have as many partitions as src_ap, 4, not 2",
        ),
        (
            HbmPattern(np.uint8, 144 << 30, [(1, 1)]),
            HbmPattern(np.uint8, 0, [(1, 1)]),
            f"dst_ap must stay below byte {144 << 30} of HBM, not reach byte {144 << 30}",
        ),
        (
            HbmPattern(np.uint8, 0, [(1, 1)]),
            sbuf(np.uint8, 0, 1, 262144, [(1, 1)]),
            "src_ap must stay below byte 262144 of an SBUF partition, not reach byte 262144",
        ),
    ],
)
def test_transfers_refuse(dst, src, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        descriptors(dst, src)


def test_a_transfer_has_patterns():
    with pytest.raises(TypeError, match=r"^src_ap must be an AccessPattern or an HbmPattern, not list$"):
        descriptors(HbmPattern(np.uint8, 0, [(1, 1)]), [])


def test_who_generates():
    assert choose_mode() == choose_mode(engine="scalar") == "hwdge"
    assert choose_mode(indirect=True) == choose_mode(cast=True) == choose_mode("swdge") == "swdge"
    assert choose_mode(engine="gpsimd") == choose_mode("none", cast=True) == "none"
    assert choose_mode(engine="vector", runtime_address=True) == "swdge"
    assert choose_mode("hwdge", runtime_address=True) == "hwdge"
    for arguments, what in (
        ({"dge_mode": "hwdge", "indirect": True}, "an index, not 'hwdge'"),
        ({"dge_mode": "hwdge", "cast": True}, "a cast, not 'hwdge'"),
        ({"dge_mode": "hwdge", "engine": "tensor"}, "engine 'tensor', not 'hwdge'"),
        ({"dge_mode": "none", "indirect": True}, "an index, not 'none'"),
        ({"dge_mode": "none", "runtime_address": True}, "a runtime address, not 'none'"),
    ):
        with pytest.raises(ValueError, match=f"^dge_mode must be one that takes {what}$"):
            choose_mode(**arguments)
    with pytest.raises(
        ValueError, match=r"^engine must be 'tensor', 'vector', 'scalar', 'gpsimd' or 'sync', not 'pe'$"
    ):
        choose_mode(engine="pe")


def test_times_of_generation():
    rows = {mode: generation_time(mode, 128) for mode in ("hwdge", "swdge", "none")}
    assert [each.cycles for each in rows.values()] == [720, 278, 0]
    assert [each.gpsimd_cycles for each in rows.values()] == [0, 278, 0]
    assert [each.hbm_bytes for each in rows.values()] == [0, 0, 4096]
    with pytest.raises(ValueError, match=r"^descriptors must be 0 or more, not -1$"):
        generation_time("none", -1)
    with pytest.raises(ValueError, match=r"^dge_mode must be 'hwdge', 'swdge' or 'none', not 'unknown'$"):
        generation_time("unknown", 1)
