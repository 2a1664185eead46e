"""The Scalar unit in a program, by hand: registers, REG2FLOP, loads, stores and atomic operations; mutexes; contexts of unpackers."""

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.core.programs import MATH, PACK, UNPACK
from bitpath.golden.tensix.declarations.encodings import FIELDS, GOLDEN_FIELDS, THREAD_CONTROL_FROM
from bitpath.golden.tensix.declarations.formats import DST16_BF16
from bitpath.golden.tensix.isa import assemble
from bitpath.verif.tensix.program.programs import configure, execute

CHIPS = pytest.mark.parametrize("chip", ["wormhole", "blackhole"])
NAMED_FORMATS = {"wormhole": {}, "blackhole": {"implied_src_a_disabled": 1, "implied_src_b_disabled": 1}}
"""Fields that make formats those of the configuration."""
LEFT, RIGHT = 0x8001_0003, 0x0002_0005


def core_of(chip="wormhole", **registers) -> tensix.Core:
    """Return a core with registers r1, r2, .. of thread 0."""
    core = tensix.Core(chip, l1_bytes=4096)
    for name, value in registers.items():
        core.state.gprs[0][int(name[1:])] = value
    return core


@CHIPS
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("ADDDMAREG right=2", 0x8003_0008),
        ("ADDDMAREG constant=1, right=63", 0x8001_0042),
        ("SUBDMAREG right=2", 0x7FFE_FFFE),
        ("SUBDMAREG constant=1, right=4", 0x8000_FFFF),
        ("MULDMAREG right=2", 15),
        ("BITWOPDMAREG operation=0, right=2", 1),
        ("BITWOPDMAREG operation=1, right=2", 0x8003_0007),
        ("BITWOPDMAREG operation=2, right=2", 0x8003_0006),
        ("SHIFTDMAREG operation=0, right=2", 0x0020_0060),
        ("SHIFTDMAREG operation=1, constant=1, right=16", 0x8001),
        ("CMPDMAREG operation=0, right=2", 1),
        ("CMPDMAREG operation=1, right=2", 0),
        ("CMPDMAREG operation=2, constant=1, right=3", 0),
    ],
)
def test_arithmetic(chip, text, result):
    core = core_of(chip, r1=LEFT, r2=RIGHT)
    execute(core, 0, f"{text}, left=1, result=3")
    assert core.state.gprs[0][:4] == [0, LEFT, RIGHT, result]


@CHIPS
def test_reg2flop_and_rdcfg(chip):
    """A pack address and a group of four with REG2FLOP; RDCFG returns them."""
    core = core_of(chip, r4=3, r5=5, r6=6, r7=7, r9=0x1234)
    first = THREAD_CONTROL_FROM[core.chip]
    address, base = (FIELDS[core.chip][name][0].register for name in ("pack_address", "base_address"))
    execute(core, 0, f"REG2FLOP size=1, index={address - first}, gpr=9\nRDCFG gpr=20, register={address}")
    assert core.config.read("pack_address", 0) == core.state.gprs[0][20] == 0x1234
    execute(core, 0, f"REG2FLOP index={base - first + 2}, gpr=6\nRDCFG gpr=21, register={base}")
    assert core.config.read("base_address", 0) == core.state.gprs[0][21] == 3
    assert [core.config.read("base_addresses_0", 0, each) for each in range(3)] == [5, 6, 7]


@pytest.mark.parametrize(
    ("text", "unit", "channel", "name", "value"),
    [
        ("size=1, target=2, index=0x21", 0, 1, "y", 0x0C0D),
        ("size=2, target=2, byte=2, index=0x0C", 1, 0, "x_cr", 0x0A0B),
        ("size=3, target=3, byte=1, other_thread=2, index=0x12", 2, 0, "z", 0x0C),
        ("size=0, target=2, index=0x13", 2, 0, "w", 0),
    ],
)
def test_reg2flop_to_a_counter(text, unit, channel, name, value):
    """One value or Cr is set, cut to its width; the other stays."""
    core = core_of(r1=0x0A0B_0C0D)
    thread = 2 if "other_thread" in text else 0
    execute(
        core,
        thread,
        "SETADCXY units=7, ch0_x=1, ch0_y=1, ch1_y=1, which=15\nSETADCZW units=7, ch0_z=1, ch0_w=1, which=15",
    )
    execute(core, 0, f"REG2FLOP {text}, gpr=1")
    counters = core.adc[thread].unit(unit).channel(channel)
    assert getattr(counters, name) == value
    other = name.removesuffix("_cr") if name.endswith("_cr") else f"{name}_cr"
    assert getattr(counters, other) == 1


def test_cfgshiftmask():
    """Add a thread's own scratch register to an address; replace 8 rotated bits; clear bits with the complement."""
    core = core_of("blackhole")
    configure(core, 0, 0, base_address=0x100, scratch=0xAB)
    configure(core, 0, 1, scratch=0x23)
    base = FIELDS[core.chip]["base_address"][0].register
    common = f"register={base}"
    execute(core, 1, f"CFGSHIFTMASK {common}, keep_old=1, operation=3, mask_width=31, scratch=3")
    assert core.config.read("base_address", 0) == 0x123
    execute(core, 0, f"CFGSHIFTMASK {common}, operation=0, mask_width=7, rotate=28, scratch=0")
    assert core.config.read("base_address", 0) == 0xAB3
    execute(core, 0, f"CFGSHIFTMASK {common}, keep_old=1, operation=5, mask_width=7, scratch=1")
    assert core.config.read("base_address", 0) == 0xA90
    with pytest.raises(ValueError, match="must be 0 in the bits that golden does not model"):
        execute(core, 0, "CFGSHIFTMASK register=3, keep_old=1, mask_width=31")


@CHIPS
def test_loads_and_stores(chip):
    """Bytes, halves, words and four words at an offset that grows; sizes are aligned."""
    core = core_of(chip, r1=0x10, r2=0x0005_0000, r4=1, r5=2, r6=3, r7=0x8877_6655)
    execute(core, 0, "STOREIND l1=1, address_gpr=1, data_gpr=5, offset_half=4, increment=3")
    assert core.l1[0x100:0x110].view("<u4").tolist() == [1, 2, 3, 0x8877_6655]
    assert core.state.gprs[0][2] == 0x0005_0010
    for size, count in ((1, 4), (2, 2), (3, 1)):
        core.state.gprs[0][9] = 0xFFFF_FFFF
        execute(
            core,
            0,
            f"STOREIND l1=1, size={size}, address_gpr=1, data_gpr=7, offset_half=4, increment=1\n"
            f"LOADIND size={size}, address_gpr=1, data_gpr=9, offset_half=5, increment=0",
        )
        stored = core.l1[0x100:0x130].tobytes()
        place = 0x10 + 2 * (size - 1)
        assert stored[place - place % count :][:count] == bytes.fromhex("55667788")[:count]
        loaded = int.from_bytes(stored[5 - 5 % count :][:count], "little")
        assert core.state.gprs[0][9] == loaded | 0xFFFF_FFFF >> 8 * count << 8 * count
    execute(core, 0, "LOADIND address_gpr=1, data_gpr=13, offset_half=5")
    assert core.state.gprs[0][12:16] == [1, 2, 3, 0x8877_6655]


@CHIPS
def test_atomic_operations(chip):
    core = core_of(chip, r1=0x10, r2=3, r4=0x1111_2222, r5=0x3333_4444)
    core.l1[0x104:0x108] = 0xFE, 0xFF, 0xFF, 0xFF
    execute(core, 0, "ATINCGET wrap=7, word=1, data_gpr=2, address_gpr=1")
    assert core.state.gprs[0][2] == 0xFFFF_FFFE
    assert core.l1[0x104:0x108].tolist() == [1, 0xFF, 0xFF, 0xFF]
    execute(core, 0, "ATSWAP mask=10, data_gpr=5, address_gpr=1")
    assert core.l1[0x100:0x108].view("<u2").tolist() == [0, 0x1111, 0xFF01, 0x3333]
    core.push(0, assemble("ATCAS value=5, compare=2, word=3, address_gpr=1\nDMANOP\nFLUSHDMA", chip=chip))
    assert core.run(may_wait=True).waiting[0] == "the word at address 268 to be 2"
    core.l1[0x10C] = 2
    assert core.run().count("DMANOP") == 1
    assert core.l1[0x10C] == 5


def test_mutexes():
    core = core_of()
    execute(core, 0, "ATGETM mutex=2")
    assert execute(core, 1, "ATGETM mutex=2\nATRELM mutex=2").waiting == (None, "mutex 2", None)
    assert execute(core, 2, "ATRELM mutex=2").waiting[1] == "mutex 2"  # another thread cannot release it
    assert execute(core, 0, "ATGETM mutex=2\nATRELM mutex=2").waiting == (None, None, None)
    assert core.state.mutexes == {}
    assert execute(core, 0, "ATGETM mutex=1").waiting[0] == "mutex 1, which does not exist"


# Contexts of the unpackers, formats that override others, and counters of another thread.


def unpacking(chip, **fields) -> tensix.Core:
    """Return a core whose unpackers read rows of 16 BF16 datums; datum i of L1 is i."""
    core = tensix.Core(chip, l1_bytes=4096)
    core.l1[:] = np.arange(2048, dtype="<u2").view(np.uint8)
    for unit in range(2):
        configure(core, UNPACK, unit, l1_format=5, unpack_out_format=5, uncompressed=1, descriptor_uncompressed=1)
        configure(core, UNPACK, unit, x_dim=16, y_dim=4, base_address=15)
    configure(core, UNPACK, dst_address=64, context_x_dim=16, override_with_address=1, **fields)
    execute(core, UNPACK, "SETADCXX units=3, end=15")
    return core


@CHIPS
def test_contexts_have_addresses_of_their_own(chip):
    core = unpacking(chip)
    for number in range(1, 8):
        configure(core, UNPACK, number - 1, base_addresses_0=15 + 2 * number, uncompressed_0=1)
    for number in range(1, 4):
        configure(core, UNPACK, number - 1, dst_addresses=64 + 16 * number, context_x_dims=16)
        configure(core, UNPACK, number, base_offsets_0=16 * number)
    configure(core, UNPACK, 0, base_addresses_1=47, uncompressed_1=1)
    for number in (0, 1, 5, 7):
        execute(core, UNPACK, f"UNPACR multi_context=1, context={number}")
        own = number % 4
        assert core.src_a[0, own, 0] >> 3 == 128 + 16 * number + 128 * own
    configure(core, UNPACK, 1, context_offset=1)
    execute(core, UNPACK, "UNPACR unpacker=1, multi_context=1")
    assert core.src_b[0, 0, 0] >> 3 == 0x300 // 2


@CHIPS
def test_the_counter_of_contexts(chip):
    """It goes on with each UNPACR that uses it, modulo the number of contexts, for each thread apart."""
    core = unpacking(chip, context_count=1)
    configure(core, UNPACK, 0, base_addresses_0=31, uncompressed_0=1, dst_addresses=80, context_x_dims=16)
    for expected in (1, 0, 1):
        execute(core, UNPACK, "UNPACR multi_context=1, context_counter=1")
        assert core.state.contexts == [[expected, 0, 0], [0, 0, 0]]
    assert (core.src_a[0, :2, 0] >> 3).tolist() == [128, 256]


@CHIPS
def test_a_format_may_override_the_source_s(chip):
    """MOVB2D takes SrcA's format, which decides that Dst has 32 bits: here an override's."""
    core = unpacking(chip)
    configure(core, MATH, src_a_format=5, src_b_format=5, **NAMED_FORMATS[chip])
    core.src_b[0, 0] = 0x1FC01
    core.state.src_b.hand_over(5)
    execute(core, MATH, "MOVB2D")
    assert core.dst[0, 0] == 0x7F << 0
    configure(core, MATH, src_a_override=1, src_a_value=4)
    execute(core, MATH, "MOVB2D dst=16")
    assert [core.dst[row, 0] for row in (32, 40)] == [0x7F, 1 << 13]


def test_packers_take_counters_of_another_thread():
    """Their counters step, and 3 means thread 0."""
    core = tensix.Core("wormhole", l1_bytes=4096)
    core.dst[:4], core.dst_defined[:4] = np.arange(1, 5)[:, np.newaxis] << 8 | 127, True
    configure(core, PACK, dst_format=5, pack_in_format=5, pack_out_format=5, pack_uncompressed=1, pack_address=15)
    configure(core, PACK, edge_mask=0xFFFF, packer_y_stride=32, pack_counters_thread=1, pack_modifier=1)
    execute(core, 1, "SETADCXX units=4, end=15\nSETADCXY units=4, ch0_y=2, which=2")
    execute(core, PACK, "PACR packers=1, override_thread=1, last=1")
    assert core.l1[0x100:0x102].tolist() == [0x80 | 3, 0x3F]
    assert (core.adc[1].packers.channel_0.y, core.adc[PACK].packers.channel_0.y) == (3, 0)
    configure(core, PACK, pack_counters_thread=3)
    execute(core, PACK, "PACR packers=1, override_thread=1")
    assert core.adc[0].packers.channel_0.y == 1


@CHIPS
def test_the_threshold_of_exponents(chip):
    core = tensix.Core(chip, l1_bytes=4096)
    core.dst[0], core.dst_defined[0] = np.arange(120, 136), True
    configure(core, PACK, dst_format=5, pack_in_format=5, pack_out_format=5, pack_uncompressed=1, pack_address=15)
    configure(core, PACK, edge_mask=0xFFFF, exponent_threshold=127, exponent_threshold_enabled=1)
    execute(core, PACK, "SETADCXX units=4, end=15\nPACR packers=1, last=1")
    assert (core.l1[0x100:0x120].view("<u2") >> 7).tolist() == [0] * 7 + list(range(127, 136))


@pytest.mark.parametrize("seed", range(4))
def test_edge_masks_by_rows(seed):
    """Two PACRs of three rows, datum by datum as the page's tile position generator counts them."""
    rng = np.random.default_rng(seed)
    core = tensix.Core("wormhole", l1_bytes=4096)
    expected = rng.integers(0x80, 0x7F80, (6, 16)).astype(np.uint32)
    core.state.dst.write(0, expected, DST16_BF16)
    configure(core, PACK, dst_format=5, pack_in_format=5, pack_out_format=5, pack_uncompressed=1, pack_address=15)
    masks = rng.integers(0, 1 << 16, 4).tolist()
    rows, selected, plane = rng.integers(0, 4, 16).tolist(), seed, (4, 16, 0, 5)[seed]
    places = GOLDEN_FIELDS[core.chip]
    for number, mask in enumerate(masks[1:]):
        core.config.write(PACK, places["edge_masks"][number].register, mask)
    core.config.write(PACK, places["edge_mask"][0].register, masks[0] | (seed & 1) << 16 | selected << 17)
    word = sum(number << 2 * row for row, number in enumerate(rows))
    core.config.write(PACK, places["row_sets"][selected].register, word)
    core.config.write(PACK, places["reads_per_plane"][0].register, plane << 8)
    configure(core, PACK, packer_y_stride=32, pack_modifier=3)
    execute(core, PACK, "SETADCXX units=4, end=47\nPACR packers=1\nPACR packers=1, last=1")
    for row, column in np.ndindex(6, 16):
        if not masks[rows[row % (plane or 256) & 15]] >> column & 1:
            expected[row, column] = 0xFF80 if seed & 1 else 0
    assert core.l1[0x100:0x1C0].view("<u2").reshape(6, 16).tolist() == expected.tolist()
    execute(core, PACK, "SETADCXY units=4, which=2\nPACR packers=1, last=1")
    assert core.l1[0x100:0x160].tolist() == expected[:3].astype("<u2").view(np.uint8).reshape(-1).tolist()


@CHIPS
def test_a_low_half_on_an_undefined_row(chip):
    """Blackhole brings the upper half of before back; Wormhole has zeros."""
    core = tensix.Core(chip, l1_bytes=16)
    configure(core, MATH, src_a_format=5, **NAMED_FORMATS[chip])
    core.src_a[0, 0] = 0x1FC00
    core.state.src_a.hand_over(5)
    core.dst[0], core.dst[8] = 0xABCD, 0x1234
    execute(core, MATH, "MOVA2D low_half=1")
    assert core.dst_defined[0]
    assert (core.dst[0, 0], core.dst[8, 0]) == (0xABCD if chip == "blackhole" else 0, 127)


def test_settings_follow_every_field():
    """A core that remembers settings does what a new one does, after every field of the configuration has changed."""
    rng = np.random.default_rng(67)
    core = unpacking("blackhole")
    names = [name for name, places in FIELDS[core.chip].items() if places and name != "dst_address"]
    outcomes = set()
    for name in (*names, *rng.permutation(names)):
        for place in FIELDS[core.chip][name]:
            value = int(rng.integers(0, 1 << min(place.width, 5)))
            core.config.write(0, place.register, value << place.low, place.mask)
        results = []
        for _ in range(2):
            before = core.state.src_a.words.copy(), core.state.dst.bits.copy(), core.l1.copy()
            try:
                execute(core, 0, "UNPACR multi_context=1\nPACR last=1")
                outcome = "done"
            except ValueError as error:
                outcome = str(error)
                core._queues[0].clear()
            results.append((outcome, *(each.tobytes() for each in (core.src_a, core.dst, core.l1))))
            core.state.src_a.words[:], core.state.dst.bits[:], core.l1[:] = before
            core.state.src_a.reset()
            core.state._settled.clear()
            core.state.packers[0].data = core.state.packers[0].exponents = None
        outcomes.add(results[0][0])
        assert results[0] == results[1], name
    assert len(outcomes) > 5
