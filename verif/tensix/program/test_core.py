"""The core beyond the known answers: banks, waits, configuration, addresses in L1, and rows of every instruction."""

import re

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.core.programs import MATH, PACK, UNPACK
from bitpath.golden.tensix.core.state import DstRegister, UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST32, SRC, Format
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE
from bitpath.golden.tensix.isa import assemble
from bitpath.verif.tensix.program.programs import configure, execute, loaded

# Packers and unpackers of the core beyond the known answers: their addresses in L1 and their rows.


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


OTHER_FIELDS = {
    "alike": {},
    "adds": {2: {"l1_accumulate": 1}},
    "masked": {2: {"edge_row_set": 1}, 1: {"row_sets": 0b01}, 0: {"edge_masks": 0x00FF}},
    "converts": {2: {"pack_out_format": Format.FP16}},
}
"""Fields of packer 2 that differ from its neighbours', by what they do; row set 1 has edge mask 1."""


@pytest.mark.parametrize(("other", "out"), [*((name, Format.FP32) for name in OTHER_FIELDS), ("alike", Format.BFP8)])
def test_packers_of_one_pacr_are_as_those_of_four(other, out):
    """Addresses overlap, so that the order of the writes shows."""
    rng = np.random.default_rng(11)
    words = (rng.integers(100, 150, (64, 16)) << 23 | rng.integers(0, 1 << 23, (64, 16))).astype(np.uint32)
    before, after = rng.integers(0, 256, 4096, dtype=np.uint8), []
    for masks in ((15,), (1, 2, 4, 8)):
        core = tensix.Core("wormhole", l1_bytes=before.size)
        core.l1[:] = before
        core.state.dst.write(0, words, DST32)
        configure(core, PACK, dst_format=0, read_32b=1, edge_mask=0xFFFF)
        for packer in range(4):
            configure(core, PACK, packer, pack_in_format=0, pack_out_format=out, pack_uncompressed=1)
            configure(
                core, PACK, packer, packer_dst_offset=8 * packer, pack_address=16 + 5 * packer, exponent_section=1
            )
        for unit, fields in OTHER_FIELDS[other].items():
            configure(core, PACK, unit, **fields)
        execute(core, PACK, "SETADCXX units=4, end=79")
        for mask in masks:
            execute(core, PACK, f"PACR packers={mask}, last=1")
        after.append(core.l1.copy())
    assert np.array_equal(*after)
    assert not np.array_equal(after[0], before)


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


# The core beyond the known answers: banks, waits, configuration, and rows of every instruction.


NUMERICS = {"wormhole": WORMHOLE.numerics, "blackhole": BLACKHOLE.numerics}
BF16 = {"style": "BF16", "dst32": False, "srca_format": "BF16", "srcb_format": "BF16"}
MINUS_INFINITY = (1 << SRC.width) - 1


def bf16_words(rng, *shape):
    """Return words of SrcA or SrcB near 1.0."""
    return (rng.integers(124, 131, shape) << 10 | rng.integers(0, 128, shape) << 3).astype(np.uint32) | (
        rng.integers(0, 2, shape).astype(np.uint32) << 18
    )


def rows_of(core, first, count, layout=DST16_BF16):
    return core.state.dst.read(first, count, layout)


@pytest.fixture
def core(request):
    """A core of either chip with random BF16 words in both sources, which the Matrix unit owns."""
    rng = np.random.default_rng(3)
    return loaded(request.param, bf16_words(rng, 64, 16), bf16_words(rng, 64, 16))


either = pytest.mark.parametrize("core", CHIPS, indirect=True)


@either
def test_mvmul_takes_the_rows_of_the_counters(core):
    numerics = NUMERICS[core.chip.value]
    execute(core, MATH, "SETRWC which=7, src_a=0, src_b=8, dst=8")
    for _ in range(4):
        execute(core, MATH, "INCRWC src_a=8, dst=4")
    configure(core, MATH, math_offset=64)
    assert (core.rwc[MATH].src_a, core.rwc[MATH].src_b, core.rwc[MATH].dst) == (32, 8, 24)
    execute(core, MATH, "MVMUL dst=16\nMVMUL dst=16")
    b, a = core.src_b[0, 8:16], core.src_a[0, 32:48]
    once = tensix.mvmul(np.zeros((8, 16), np.uint32), b, a, phase=0, numerics=numerics, **BF16)
    twice = tensix.mvmul(once, b, a, phase=0, numerics=numerics, **BF16)
    assert np.array_equal(rows_of(core, 104, 8), twice)
    assert core.dst_defined.nonzero()[0].tolist() == list(range(104, 112))


@either
def test_row_broadcast_leaves_the_rows_between_undefined(core):
    execute(core, MATH, "SETRWC which=2, src_b=5")
    execute(core, MATH, "MVMUL broadcast_row=1, dst=17")
    assert core.dst_defined.nonzero()[0].tolist() == [17, 19, 21, 23]
    new = tensix.mvmul_row(
        np.zeros((8, 16), np.uint32), core.src_b[0, 5:6], core.src_a[0, :16], phase=0, numerics=core.numerics, **BF16
    )
    assert np.array_equal(rows_of(core, 17, 1), new[:1])


@either
def test_pools_write_four_rows(core):
    zeros = np.zeros((8, 16), np.uint32)
    ones = np.full((8, 16), 0xFFFF, np.uint32)
    execute(core, MATH, "GAPOOL dim_16x16=1, dst=4\nGMPOOL dim_16x16=1, dst=8")
    assert core.dst_defined.nonzero()[0].tolist() == list(range(4, 12))
    operands = core.src_b[0, :8], core.src_a[0, :16]
    assert np.array_equal(rows_of(core, 4, 4), tensix.gapool(zeros, *operands, numerics=core.numerics, **BF16)[:4])
    assert np.array_equal(rows_of(core, 8, 4), tensix.gmpool(ones, *operands, numerics=core.numerics, **BF16)[:4])


@either
def test_an_elementwise_operation_broadcasts_any_row(core):
    execute(core, MATH, "SETRWC which=2, src_b=13")
    execute(core, MATH, "ELWADD broadcast_row=1, broadcast_column=1")
    b = tensix.broadcast_src_b(core.src_b[0, 8:16], row=5, column_0=True)
    expected = tensix.elwadd(
        np.zeros((8, 16), np.uint32), b, core.src_a[0, :8], accumulate=False, numerics=core.numerics, **BF16
    )
    assert np.array_equal(rows_of(core, 0, 8), expected)


@either
def test_flips_give_banks_back_and_held_ones_stay(core):
    execute(core, MATH, "MVMUL flip=3")
    assert (core.state.src_a.owned, core.state.src_a.matrix_bank) == ([False, False], 1)
    trace = execute(core, MATH, "MVMUL")
    assert trace.executed == ()
    assert trace.waiting[MATH] == "the Matrix unit's bank of SrcA"
    held = loaded(core.chip)
    configure(held, MATH, clear_dvalid_disable=0b10)
    execute(held, MATH, "SETRWC flip=3")
    assert (held.state.src_a.owned, held.state.src_b.owned) == ([False, False], [True, False])
    assert (held.state.src_a.matrix_bank, held.state.src_b.matrix_bank) == (1, 1)


def test_cleardvalid():
    core = loaded("wormhole")
    execute(core, MATH, "CLEARDVALID flip=1, keep_reading=1")
    assert (core.state.src_a.owned, core.state.src_a.matrix_bank) == ([False, False], 0)
    execute(core, MATH, "CLEARDVALID reset=1")
    for banks in (core.state.src_a, core.state.src_b):
        assert (banks.owned, banks.matrix_bank, banks.unpacker_bank) == ([False, False], 0, 0)


@either
def test_zerosrc(core):
    execute(core, MATH, "ZEROSRC matrix_bank=1, sources=2")
    assert not core.src_b[0].any()
    assert core.src_a[0].any()
    core.src_a[:] = core.src_b[:] = 1
    execute(core, MATH, "ZEROSRC negative_infinity=1, sources=3")
    assert (core.src_a[1] == MINUS_INFINITY).all()
    assert not core.src_b[1].any()
    execute(core, MATH, "ZEROSRC both_banks=1, sources=1")
    assert not core.src_a.any()


def test_unpacr_nop_on_wormhole():
    core = tensix.Core("wormhole", l1_bytes=16)
    core.src_a[:], core.src_b[:] = 1, 1
    execute(core, UNPACK, "UNPACR_NOP what=5\nUNPACR_NOP unpacker=1, what=1\nUNPACR_NOP what=2")
    assert (core.src_a[0] == MINUS_INFINITY).all()
    assert not core.src_b[0].any()
    assert (core.src_a[1] == 1).all()
    execute(core, UNPACK, "UNPACR_NOP what=7\nSETDVALID sources=2")
    assert (core.state.src_a.readable, core.state.src_b.readable) == (True, True)
    trace = execute(core, UNPACK, "UNPACR_NOP what=1")
    assert trace.waiting[UNPACK] == "a bank of SrcA"


def test_unpacr_nop_on_blackhole():
    core = tensix.Core("blackhole", l1_bytes=16)
    core.src_a[:] = 1
    configure(core, UNPACK, unpack_out_format=4)
    execute(core, UNPACK, "UNPACR_NOP pop=1, value=1, set_valid=1")
    assert (core.src_a[0] == MINUS_INFINITY).all()
    assert core.state.src_a.formats == [4, None]
    trace = execute(core, UNPACK, "UNPACR_NOP pop=1, stall=1")
    assert trace.waiting[UNPACK] is None
    assert not core.src_a[1].any()


def test_semaphores_and_waits():
    core = tensix.Core("wormhole", l1_bytes=16)
    values = core.state.semaphores
    execute(
        core,
        0,
        "SEMINIT maximum=2, value=1, semaphores=3\nSEMGET semaphores=1\nSEMGET semaphores=1\nSEMPOST semaphores=2",
    )
    assert [(each.value, each.maximum) for each in values[:3]] == [(0, 2), (2, 2), (0, 0)]
    # B1 blocks SEMPOST, not SETRWC.
    trace = execute(
        core, 1, "SEMWAIT block=2, semaphores=2, at_maximum=1\nSETRWC which=1, src_a=3\nSEMPOST semaphores=4"
    )
    assert core.rwc[1].src_a == 3
    assert trace.waiting == (None, "semaphore 1, which is 2, below its maximum 2", None)
    trace = execute(core, 0, "SEMGET semaphores=2")
    assert trace.waiting == (None, None, None)
    assert values[2].value == 1
    for _ in range(20):
        execute(core, 0, "SEMPOST semaphores=1")
    assert values[0].value == 15


@pytest.mark.parametrize("chip", CHIPS)
def test_a_second_semwait(chip):
    """On Wormhole it replaces a latched one that does not block it, on Blackhole it waits."""
    core = tensix.Core(chip, l1_bytes=16)
    core.state.semaphores[1].value = 1
    trace = execute(
        core,
        0,
        "SEMWAIT block=1, semaphores=1, while_zero=1\nSEMWAIT block=1, semaphores=2, while_zero=1\nSETADCXX units=1",
    )
    replaced = chip == "wormhole"
    assert (trace.waiting[0] is None) == replaced
    assert len(trace.executed) == (3 if replaced else 1)


@pytest.mark.parametrize(("chip", "bit"), [("wormhole", 8), ("blackhole", 5)])
def test_stallwait_waits_for_banks(chip, bit):
    for condition, meets in enumerate(
        ("UNPACR_NOP {hand}", "UNPACR_NOP unpacker=1, {hand}", "UNPACR_NOP {hand}", "UNPACR_NOP unpacker=1, {hand}")
    ):
        core = tensix.Core(chip, l1_bytes=16)
        hand = "what=7" if chip == "wormhole" else "pop=2, set_valid=1"
        trace = execute(core, 1, f"STALLWAIT block=64, conditions={1 << bit + condition}\nSETRWC which=1")
        free = condition < 2
        assert (trace.waiting[1] is None) == free
        if not free:
            assert execute(core, 0, meets.format(hand=hand)).waiting[1] is None


def test_a_deadlock_names_thread_instruction_and_semaphore():
    """Each thread posts the other's semaphore after its own wait; both go on as soon as the host posts one."""
    core = tensix.Core("wormhole", l1_bytes=16)
    wait = "SEMWAIT block=2, semaphores={}, while_zero=1\nSEMPOST semaphores={}"
    for thread, (awaited, posted) in enumerate(((1, 4), (4, 1))):
        core.push(thread, assemble(f"SEMINIT maximum=1, semaphores={awaited}\n{wait.format(awaited, posted)}"))
    core.push(2, assemble("STALLWAIT block=1, conditions=3072\nSETADCXX units=1"))
    left = (
        "no thread can go on: thread 0 waits with SEMPOST semaphores=4 for semaphore 0 above 0; "
        "thread 1 waits with SEMPOST semaphores=1 for semaphore 2 above 0; "
        "thread 2 waits with SETADCXX units=1 for the Matrix unit's bank of SrcA and the Matrix unit's bank of SrcB"
    )
    with pytest.raises(tensix.DeadlockError, match=re.escape(left)):
        core.run()
    core.state.semaphores[0].value = 1
    trace = core.run(may_wait=True)
    assert [thread for thread, _ in trace.executed] == [0, 1]
    assert [each is None for each in trace.waiting] == [True, True, False]


def test_stallwait_blocks_what_its_mask_names():
    core = tensix.Core("wormhole", l1_bytes=16)
    trace = execute(core, 2, "STALLWAIT block=511, conditions=1024\nNOP\nSETC16 register=1, value=3")
    assert trace.words(2) == [0xA2FF8400]
    assert trace.waiting[2] == "the Matrix unit's bank of SrcA"
    trace = execute(core, 0, "STALLWAIT conditions=2048\nSETC16 register=1, value=3\nSETRWC which=1")
    assert trace.waiting[0] is not None
    assert core.config.of_thread("math_offset", 0) == 3


def test_registers_of_general_purpose_and_of_the_configuration():
    core = tensix.Core("wormhole", l1_bytes=16)
    execute(core, 0, "SETDMAREG value_high=2, value_low=5, half_register=9\nSETDMAREG value_low=7, half_register=8")
    assert core.state.gprs[0][4] == (2 << 14 | 5) << 16 | 7
    execute(core, 1, "SETC16 register=0, value=1")
    text = "".join(f"SETDMAREG value_low={number + 1 << 8}, half_register={2 * (12 + number)}\n" for number in range(4))
    execute(core, 1, f"{text}WRCFG gpr=13, wide=1, register=26")
    assert core.config.registers[1][24:28] == [0x100, 0x200, 0x300, 0x400]
    assert core.config.registers[0][24:28] == [0, 0, 0, 0]
    execute(core, 1, "WRCFG gpr=12, register=152")
    assert [bank[152] for bank in core.config.registers] == [0x100, 0x100]
    execute(core, 0, "RMWCIB1 register=1, mask=0x80, data=0xff\nRMWCIB3 register=1, mask=0x20, data=0x20")
    assert core.config.registers[0][1] == 0x20008000


def test_dst_s_rows_are_permuted_on_blackhole():
    core = tensix.Core("blackhole", l1_bytes=16)
    dst = DstRegister()
    for remapped in (False, True):
        for swizzled in (False, True):
            dst.remapped, dst.swizzled = remapped, swizzled
            assert sorted(dst.rows(0, 1024, dst32=False).tolist()) == list(range(1024))
            upper = dst.rows(0, 512, dst32=True)
            assert sorted([*upper.tolist(), *(upper + 8).tolist()]) == list(range(1024))
    dst.swizzled = False
    assert dst.rows(8, 1, dst32=False).tolist() == [32]
    execute(core, 0, "SETDMAREG value_low=3, half_register=0\nWRCFG register=220")
    assert (core.state.dst.remapped, core.state.dst.swizzled) == (True, True)


@either
@pytest.mark.parametrize("fp32", [0, 1])
def test_moves_step_the_counters_and_align_rows(core, fp32):
    fmt = int(Format.TF32 if fp32 else Format.BF16)
    configure(core, MATH, src_a_format=fmt, src_b_format=fmt, fp32_enabled=fp32)
    core.state.src_a.formats = core.state.src_b.formats = [fmt, fmt]
    configure(core, MATH, 1, ab_modifier=8 | 4 << 8, dst_modifier=8)
    execute(core, MATH, "MOVA2D mode=2, src_row=3, dst=21, modifier=1\nMOVD2B mode=2, src_row=40, dst=8")
    layout = DST32 if fp32 else DST16_BF16
    shift = 13 if fp32 else 0
    expected = core.src_a[0, :8] << shift if fp32 else core.src_a[0, :8] >> 3
    assert np.array_equal(rows_of(core, 16, 8, layout), expected)
    assert (core.rwc[MATH].src_a, core.rwc[MATH].src_b, core.rwc[MATH].dst) == (8, 4, 8)
    assert np.array_equal(core.src_b[0, 44:48], core.src_a[0, :4])
    before = core.src_b[0, 16:32].copy()
    execute(core, MATH, "TRNSPSRCB")
    assert np.array_equal(core.src_b[0, 16:32], before.T)
    execute(core, MATH, "SETRWC which=3\nMOVB2A mode=0, src_a_row=50, src_b_row=17")
    assert np.array_equal(core.src_a[0, 50], core.src_b[0, 17])


def test_zeroacc_on_wormhole_is_absolute():
    core = tensix.Core("wormhole", l1_bytes=16)
    core.dst_defined[:] = True
    configure(core, MATH, math_offset=512)
    execute(core, MATH, "ZEROACC mode=1, operand=2\nZEROACC mode=1, dst32=1, operand=3\nZEROACC mode=1, operand=64")
    undefined = sorted({*range(32, 48), *range(96, 104), *range(112, 120)})
    assert (~core.dst_defined).nonzero()[0].tolist() == undefined


@either
def test_pacr_with_zero_and_flush(core):
    core.l1[:] = 0xEE
    configure(core, PACK, dst_format=5, edge_mask=0xFFFF)
    configure(core, PACK, pack_in_format=5, pack_out_format=5, pack_uncompressed=1, pack_address=15)
    core.state.dst.write(0, np.full((4, 16), 0x3F80, np.uint32), DST16_BF16)
    execute(core, PACK, "SETADCXX units=4, end=3\nPACR packers=1, zero=1\nPACR packers=1\nPACR packers=1, flush=1")
    found = core.l1[0x100:0x120].view(np.uint16).tolist()
    assert found == [0] * 4 + [0x3F80] * 4 + [0xEEEE] * 8
    assert core.state.packers[0].data is None


def test_the_expanders_feed_the_core():
    core = loaded("wormhole", np.zeros((64, 16), np.uint32), np.zeros((64, 16), np.uint32))
    nop, replay = 0x02000000, 0x04000040
    core.mop_config(MATH, [2, 3, nop, nop, nop, replay, nop, replay, replay])
    text = "REPLAY count=4, load=1\nMVMUL\nMVMUL dst=8\nNOP\nMVMUL dst=16\nMOP template=1"
    trace = execute(core, MATH, text)
    assert trace.count("MVMUL") == 18
    assert trace.words(MATH)[:3] == [0x26000000, 0x26000008, 0x26000010]
    assert nop not in trace.words(MATH)
