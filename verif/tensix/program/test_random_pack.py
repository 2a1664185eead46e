"""Stochastic rounding of the packers in the core: the random numbers of each packer, against the scalar tier."""

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.core.programs import PACK
from bitpath.golden.tensix.declarations.encodings import FIELDS
from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST32, Format
from bitpath.golden.tensix.exact.sfpu import random_step
from bitpath.verif.tensix.program.programs import configure, execute

SEED, ROWS = 0x2345678, 8
OUT_BYTES = {Format.FP32: 4, Format.BF16: 2, Format.FP16: 2}


def packing(chip, mid, out, *, dst32, words, **fields):
    """Return a core with 8 rows of Dst, seeded, that packs from column 4 on; packer 1 writes behind packer 0."""
    core = tensix.Core(chip, l1_bytes=8192)
    core.state.dst.write(0, words, DST32 if dst32 else DST16_BF16)
    width = {0: 4, 1: 2}.get(mid & 3, 1)
    configure(core, PACK, dst_format=mid, edge_mask=0xFFFF, read_32b=dst32, packer_x_stride=width, **fields)
    configure(core, PACK, packer_y_stride=16 * width, pack_modifier=0)
    for packer in range(len(core.state.packers)):
        configure(core, PACK, packer, pack_in_format=mid, pack_out_format=out, pack_uncompressed=1)
        configure(core, PACK, packer, packer_dst_offset=2 * packer, pack_address=15 + 64 * packer)
    register, lines = FIELDS[core.chip]["prng_seed"][0].register, []
    for half, value in enumerate((SEED & 0xFFFF, SEED >> 16)):
        lines.append(f"SETDMAREG half_register={half}, value_low={value & 0x3FFF}, value_high={value >> 14}")
    execute(core, PACK, "\n".join([*lines, f"WRCFG register={register}"]))
    return core


def columns():
    """Return the random numbers of 16 columns behind the seed, by the scalar tier."""
    state = SEED
    for _ in range(32):
        state = random_step(state)
    states = []
    for _ in range(32):
        state = random_step(random_step(state))
        states.append(state)
    return states[::-1][:16]


def rounded(core, mid, out, datums, words, *, dst32, round_10b=False):
    """Return the codes of datums, one list of (row, column) for each Dst row that a packer reads, and its states behind them."""
    states, codes = columns(), []
    for row in datums:
        for place in row:
            bits = states[place[1]] if mid is not Format.FP32 or round_10b else None
            fmt = Format.TF32 if round_10b else mid
            code = exact.early_float(core.numerics, int(words[place]), fmt, dst32=dst32, bits=bits)
            codes.append(exact.late_float(code, fmt, out))
        states = [random_step(state) for state in states]
    return codes, states


CASES = [
    ("BF16", "BF16", True, False),
    ("TF32", "FP32", True, False),
    ("FP32", "FP32", True, True),
    ("FP32", "FP32", True, False),
    ("BFP8", "BF16", False, False),
    ("BF16", "FP16", False, False),
]


@pytest.mark.parametrize(("mid", "out", "dst32", "round_10b"), CASES)
@pytest.mark.parametrize("chip", ["wormhole", "blackhole"])
def test_rows_step_the_columns(chip, mid, out, dst32, round_10b):
    """Wormhole's packers take 40 datums of three rows twice, Blackhole's takes parts of two rows twice."""
    mid, out = Format[mid], Format[out]
    rng = np.random.default_rng(91)
    words = (rng.integers(118, 138, (ROWS, 16)) << 23 | rng.integers(0, 1 << 23, (ROWS, 16))).astype(np.uint32)
    words |= rng.integers(0, 2, (ROWS, 16), np.uint32) << 31
    words = words if dst32 else words >> 16
    fields = {"gasket_stochastic": 1, "packer_stochastic": 1, "round_10b": int(round_10b)}
    core = packing(chip, mid, out, dst32=dst32, words=words, **fields)
    wormhole = chip == "wormhole"
    end, mask = (43, 3) if wormhole else (11, 5)
    execute(core, PACK, f"SETADCXX units=4, start=4, end={end}")
    execute(core, PACK, f"PACR packers={mask}\nPACR packers={mask}, last=1")
    for packer in range(2 if wormhole else 1):
        rows = [2 * packer + row for row in range(3)] if wormhole else [0, 2]
        taken = [range(4, 16), range(16), range(12)] if wormhole else [range(4, 12)] * 2
        datums = [[(row, column) for column in each] for row, each in zip(rows, taken, strict=True)]
        codes, states = rounded(core, mid, out, datums * 2, words, dst32=dst32, round_10b=round_10b)
        found = core.l1[256 + 1024 * packer :][: len(codes) * OUT_BYTES[out]].view(f"<u{OUT_BYTES[out]}")
        assert found.tolist() == codes
        assert core.state.packers[packer].random.tolist() == states
    if wormhole:
        assert core.state.packers[3].random.tolist() == columns()


def test_random_numbers_stay_without_the_field_and_behind_an_error():
    words = np.full((ROWS, 16), 0x3F808000, np.uint32)
    core = packing("wormhole", Format.BF16, Format.BF16, dst32=True, words=words)
    execute(core, PACK, "SETADCXX units=4, end=15\nPACR packers=1, last=1")
    assert core.l1[256:288].view("<u2").tolist() == [0x3F81] * 16
    configure(core, PACK, 1, pack_address=511)
    configure(core, PACK, gasket_stochastic=1)
    with pytest.raises(ValueError, match="PACR must write to L1, 8192 bytes, not to address 8224"):
        execute(core, PACK, "PACR packers=3")
    assert [each.random.tolist() for each in core.state.packers] == [columns()] * 4


def test_block_floats_are_not_rounded_stochastically():
    words = np.full((ROWS, 16), 0x3F808000, np.uint32)
    core = packing("wormhole", Format.BF16, Format.BFP8, dst32=True, words=words, packer_stochastic=1)
    with pytest.raises(ValueError, match="Packer_srnd_en must be 0 in PACR to BFP8: golden does not model it"):
        execute(core, PACK, "SETADCXX units=4, end=15\nPACR packers=1")
    with pytest.raises(
        ValueError, match="configuration register 1 must be 0 in the bits that golden does not model, 0x1"
    ):
        core.config.write(PACK, 1, 1)
