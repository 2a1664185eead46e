"""Packers and unpackers of the core beyond the known answers: their addresses in L1 and their rows."""

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.core.state import UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import DST16_BF16, Format
from bitpath.verif.tensix.program.streams import PACK, UNPACK, configure, execute

CHIPS = ("wormhole", "blackhole")


PACKED = [("wormhole", fmt) for fmt in ("BF16", "FP32", "BFP8", "BFP4")] + [
    ("blackhole", fmt) for fmt in ("BF16", "BFP8")
]


@pytest.mark.parametrize(("chip", "out"), PACKED)
def test_packers_append_until_the_last(chip, out):
    """Three rows in as many PACRs: datums follow one another, exponents too, and the rest of 16 bytes becomes 0."""
    rng = np.random.default_rng(8)
    core = tensix.Core(chip, l1_bytes=4096)
    core.l1[:] = 0xEE
    words = (rng.integers(120, 130, (4, 16)) << 7 | rng.integers(0, 128, (4, 16))).astype(np.uint32)
    core.state.dst.write(16, words, DST16_BF16)
    configure(core, PACK, dst_format=5, edge_mask=0xFFFF, packer_y_stride=32)
    configure(core, PACK, pack_in_format=5, pack_out_format=Format[out], pack_uncompressed=1, packer_dst_offset=16)
    configure(core, PACK, exponent_section=1, pack_address=0x100 // 16 - 1, pack_modifier=int(chip == "wormhole"))
    masks = (1, 1, 1, 1) if chip == "wormhole" else (1, 2, 4, 8)  # its one packer takes row i of four by bit i
    execute(core, PACK, "SETADCXX units=4, end=15")
    for mask, last in zip(masks, (0, 0, 1, 1), strict=True):
        execute(core, PACK, f"PACR packers={mask}, last={last}")
    expected = tensix.pack(words[:3], "BF16", out, dst32=False, numerics=core.numerics)
    expected = np.pad(expected, (0, -expected.size % 16))
    again = tensix.pack(words[3:4], "BF16", out, dst32=False, numerics=core.numerics)
    again = np.pad(again, (0, -again.size % 16))
    # The PACR after the last one begins at the configured address again.
    whole = expected.copy()
    exponents = 16 if out.startswith("BFP") else 0
    whole[:exponents], whole[exponents : exponents + again.size - exponents] = again[:exponents], again[exponents:]
    assert np.array_equal(core.l1[0x100 : 0x100 + whole.size], whole)
    assert (core.l1[0x100 + whole.size :] == 0xEE).all()


def test_packers_may_be_relative_to_the_first():
    core = tensix.Core("wormhole", l1_bytes=4096)
    core.state.dst.write(0, np.full((64, 16), 0x3F80, np.uint32), DST16_BF16)
    configure(core, PACK, dst_format=5, edge_mask=0xFFFF, packer_y_stride=32)
    for packer in range(4):
        configure(core, PACK, packer, pack_in_format=5, pack_out_format=5, pack_uncompressed=1)
        configure(
            core, PACK, packer, packer_dst_offset=16 * packer, pack_address=4 * packer if packer else 1 << 31 | 15
        )
    execute(core, PACK, "SETADCXX units=4, end=15\nPACR packers=15, zero=0, last=1")
    begins = np.flatnonzero(np.diff(np.concatenate([[0], core.l1 != 0]).astype(int)) == 1)
    assert {0x100, 0x100 + 0x50, 0x100 + 0x90, 0x100 + 0xD0} <= {int(each) & ~1 for each in begins}


@pytest.mark.parametrize("mask", range(16))
def test_blackhole_s_read_interfaces(mask):
    core = tensix.Core("blackhole", l1_bytes=4096)
    core.state.dst.write(
        0, np.arange(8, dtype=np.uint32)[:, np.newaxis] + np.full((8, 16), 0x3F80, np.uint32), DST16_BF16
    )
    configure(core, PACK, dst_format=5, edge_mask=0xFFFF, packer_y_stride=32, pack_address=15)
    configure(core, PACK, pack_in_format=5, pack_out_format=5, pack_uncompressed=1, pack_modifier=4)
    execute(core, PACK, f"SETADCXX units=4, end=15\nSETADCXY units=4, ch0_y=4, which=2\nPACR packers={mask}, last=1")
    rows = [row for row in range(4) if (mask or 15) >> row & 1]
    found = core.l1[0x100 : 0x100 + 32 * len(rows)].view(np.uint16).reshape(len(rows), 16)
    assert found[:, 0].tolist() == [0x3F84 + row for row in rows]
    assert not core.l1[0x100 + 32 * len(rows) :].any()


def unpacking(chip, data, **more):
    """Return a core whose unpackers read BF16 tiles of 4 x 16 datums at 0x100."""
    core = tensix.Core(chip, l1_bytes=4096)
    core.l1[0x100 : 0x100 + data.nbytes] = data.view(np.uint8)
    for unpacker in range(2):
        configure(core, UNPACK, unpacker, l1_format=5, unpack_out_format=5, uncompressed=1, descriptor_uncompressed=1)
        configure(core, UNPACK, unpacker, x_dim=16, y_dim=4, z_dim=2, base_address=15, **more)
    configure(core, UNPACK, dst_address=64, context_x_dim=16, override_with_address=1)
    execute(core, UNPACK, "SETADCXX units=3, end=15")
    return core


@pytest.mark.parametrize("chip", CHIPS)
def test_unpackers_count_rows_and_tiles(chip):
    data = np.arange(0x3F80, 0x3F80 + 256, dtype=np.uint16)
    core = unpacking(chip, data)
    configure(core, UNPACK, 1, unpack_y_stride=32, unpack_z_stride=64)
    text = (
        "UNPACR unpacker=1, multi_context=1, ch0_y=1, ch1_y=1\nUNPACR unpacker=1, multi_context=1, ch0_z=1, ch1_z=3\n"
    )
    execute(core, UNPACK, f"{text}UNPACR unpacker=1, multi_context=1, flip=1")
    found = core.src_b[0, :, 0] >> 3
    assert found[[0, 1, 7]].tolist() == [0x3F80, 0x3F90, 0x3F80 + 64 + 16]
    assert core.state.src_b.owned == [True, False]
    assert (core.adc[0].unit(1).channel_0.y, core.adc[0].unit(1).channel_1.z) == (1, 3)
    execute(core, UNPACK, "SETADCZW units=1, ch0_w=1, which=2\nUNPACR multi_context=1")
    assert core.src_a[0, 0, 0] >> 3 == 0x3F80 + 128


@pytest.mark.parametrize("chip", CHIPS)
def test_counters_of_another_thread(chip):
    """In multi-context mode X and Y are those of the thread that `adc` names, and both threads' counters step."""
    core = unpacking(chip, np.arange(0x3F80, 0x3F80 + 256, dtype=np.uint16))
    execute(core, 2, "SETADCXX units=1, start=4, end=7\nSETADCXY units=1, ch0_y=2, which=2")
    execute(core, UNPACK, "UNPACR multi_context=1, adc=2, ch0_y=1")
    assert (core.src_a[0, 0, :4] >> 3).tolist() == [0x3F80 + 36 + i for i in range(4)]
    assert not core.src_a[0, 0, 4:].any()
    assert (core.adc[0].unit(0).channel_0.y, core.adc[2].unit(0).channel_0.y) == (1, 3)


@pytest.mark.parametrize("chip", CHIPS)
def test_unpack_to_dst_goes_to_rows_of_16_bits_too(chip):
    core = unpacking(chip, np.arange(0x3F80, 0x3F80 + 256, dtype=np.uint16))
    configure(core, UNPACK, unpack_to_dst=1, dst_address=64 + 5 * 16, override_with_address=0)
    execute(core, UNPACK, "SETADCXX units=1, end=31\nUNPACR multi_context=1")
    assert np.array_equal(
        core.state.dst.read(5, 2, DST16_BF16), np.arange(0x3F80, 0x3FA0, dtype=np.uint32).reshape(2, 16)
    )
    execute(core, UNPACK, "SETADCXX units=1, end=7")
    execute(core, UNPACK, "UNPACR multi_context=1, zero=1")
    assert core.state.dst.read(5, 1, DST16_BF16).tolist() == [[0] * 8 + list(range(0x3F88, 0x3F90))]
    configure(core, UNPACK, dst_address=64 + 50 * 16)
    with pytest.raises(UndefinedBehavior, match="whole"):
        execute(core, UNPACK, "UNPACR multi_context=1")
