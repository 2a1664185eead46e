"""The Vector unit in the core: configuration, counters, waits, rows that ZEROACC leaves undefined, scheduled instructions."""

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST32, Chip
from bitpath.golden.tensix.sfpu.run import Batch
from bitpath.verif.tensix.golden.vector import random_macro
from bitpath.verif.tensix.program.programs import MATH, configure, execute

OF_CHIP = pytest.mark.parametrize("chip", [each.value for each in Chip])
LANE = 2 * np.arange(32, dtype=np.uint32)
"""LReg 15, which `on` puts in LReg 4."""


def on(chip, **fields):
    """Return a core with all rows of Dst defined, and fields of its configuration."""
    core = tensix.Core(chip, l1_bytes=64)
    core.dst_defined[:] = True
    configure(core, MATH, **fields)
    execute(core, MATH, "SFPMOV vd=4, vc=15")
    return core


def stored(core, row, layout=DST32):
    """Return the even columns of four Dst rows, as lanes."""
    return core.state.dst.read(row, 4, layout)[:, ::2].ravel()


@OF_CHIP
def test_a_seed_reaches_all_lanes(chip):
    core = tensix.Core(chip, l1_bytes=64)
    register = {"wormhole": 164, "blackhole": 186}[chip]
    for seed in (7, 0xFFFF):
        execute(core, MATH, f"SETDMAREG half_register=0, value_low={seed & 0x3FFF}, value_high={seed >> 14}")
        execute(core, MATH, f"WRCFG register={register}")
        assert np.array_equal(core.state.sfpu.prng, tensix.Prng(seed).state)
    execute(core, MATH, f"RMWCIB0 register={register}, data=7, mask=255\nRMWCIB1 register={register}, mask=255")
    assert np.array_equal(core.state.sfpu.prng, tensix.Prng(7).state)


@OF_CHIP
def test_a_wait_of_the_vector_unit_is_its_own(chip):
    """Bit 8 of the block mask holds SFP words back, and no others."""
    core = tensix.Core(chip, l1_bytes=64)
    never = {"wormhole": 1 << 10, "blackhole": 1 << 7}[chip]
    core.push(MATH, tensix.isa.assemble(f"STALLWAIT block=256, conditions={never}\nINCRWC dst=4\nSFPNOP", chip=chip))
    trace = core.run(may_wait=True)
    assert core.rwc[MATH].dst == 4
    assert trace.waiting[MATH] == "the Matrix unit's bank of SrcA"
    assert trace.count("SFPNOP") == 0


@OF_CHIP
def test_addresses_are_sums(chip):
    """Immediate, math offset, counter and base; an address modifier steps the counter, and leaves the fidelity phase."""
    core = on(chip, math_offset=64, dst_base=128)
    configure(core, MATH, 1, dst_modifier=1 << 13 | 8)
    execute(core, MATH, "INCRWC dst=4\nSFPSTORE vd=4, mod=4, address=32, modifier=1\nSFPSTORE vd=4, mod=4, address=32")
    assert np.array_equal(stored(core, 228), LANE)
    assert np.array_equal(stored(core, 236), LANE)
    assert (core.rwc[MATH].dst, core.rwc[MATH].fidelity_phase) == (12, 0)


def test_blackholes_stack_of_dst_rows():
    """INT32_ALL stores at the stack pointer and steps it; a load takes the step back first, unless the stack is empty."""
    core = on("blackhole", sfpu_stack_increment=4, dst_stack_base=16)
    execute(core, MATH, "SFPSTORE vd=4, mod=10\nSFPSTORE vd=10, mod=10")
    assert core.rwc[MATH].stack == 8
    assert np.array_equal(stored(core, 16), LANE)
    assert np.all(stored(core, 20) == 0x3F800000)
    execute(core, MATH, "SFPLOAD vd=0, mod=10\nSFPLOAD vd=1, mod=10\nSFPLOAD vd=2, mod=10")
    assert np.all(core.state.sfpu.lreg[0] == 0x3F800000)
    assert np.array_equal(core.state.sfpu.lreg[1:3], [LANE, LANE])
    assert core.rwc[MATH].stack == 0


@pytest.mark.parametrize(("chip", "fields", "word"), [
    ("wormhole", {"src_b_format": 5}, 0x3F80),
    ("wormhole", {"src_b_format": 1}, 0x3C00),
    ("blackhole", {"src_b_format": 5, "sfpu_dst_format_enable": 1, "sfpu_dst_format": 1}, 0x3C00),
    ("blackhole", {"src_b_format": 1, "sfpu_dst_format": 5}, 0x3C00),
    ("blackhole", {"src_b_format": 1, "sfpu_fp32": 1}, 0x3F800000),
])  # fmt: skip
def test_mode_0_is_configured(chip, fields, word):
    core = on(chip, **fields)
    execute(core, MATH, "SFPSTORE vd=10\nSFPLOAD vd=3")
    layout = {0x3F80: DST16_BF16, 0x3C00: "DST16_FP16", 0x3F800000: DST32}[word]
    if layout == "DST16_FP16":
        assert np.all(core.dst[:4, ::2] == 0xF)  # exponent 15 below a fraction of 0
    else:
        assert np.all(stored(core, 0, layout) == word)
    assert np.all(core.state.sfpu.lreg[3] == 0x3F800000)


@OF_CHIP
def test_undefined_rows_are_zero_until_their_last_column_is_written(chip):
    core = on(chip)
    core.dst[:] = 0x1234
    core.dst_defined[:] = False
    execute(core, MATH, "SFPLOAD vd=0, mod=6\nSFPSTORE vd=4, mod=6")
    assert not core.state.sfpu.lreg[0].any()
    assert not core.dst_defined[:4].any()
    execute(core, MATH, "SFPSTORE vd=4, mod=6, address=2\nSFPLOAD vd=0, mod=6")
    assert core.dst_defined[:8].tolist() == [True] * 4 + [False] * 4
    assert np.array_equal(core.state.sfpu.lreg[0], LANE)


@OF_CHIP
def test_scheduled_instructions_of_the_core_are_those_of_a_batch(chip):
    """Every instruction of the thread takes a cycle, NOP too; what is left executes at the end of a run."""
    rng, ran = np.random.default_rng(69), 0
    while ran < 12:
        words, lanes = random_macro(rng, Chip(chip))
        core = tensix.Core(chip, l1_bytes=64)
        configure(core, MATH, sfpu_fp32=1)
        core.dst[:] = rng.integers(0, 1 << 16, core.dst.shape)
        core.dst_defined[:] = True
        core.state.sfpu.words[:], core.state.sfpu.bits[:] = lanes.words, lanes.bits
        batch = Batch(chip=Chip(chip), numerics=core.numerics, lanes=lanes, bits=core.dst[np.newaxis].copy(), fp32=True)
        try:
            for word in words:
                batch.execute(word)
            batch.finish()
        except tensix.UndefinedBehavior:
            continue
        core.push(MATH, words)
        core.run()
        assert np.array_equal(core.state.sfpu.words, lanes.words)
        assert np.array_equal(core.state.sfpu.bits, lanes.bits)
        assert np.array_equal(core.dst, batch.bits[0])
        ran += 1


def test_lanes_that_differ_refuse_a_macro():
    core = tensix.Core(l1_bytes=64)
    core.state.sfpu.misc[3] = 1
    with pytest.raises(
        ValueError, match="LaneConfig and LoadMacroConfig must be the same in all lanes with SFPLOADMACRO"
    ):
        execute(core, MATH, "SFPLOADMACRO mod=4")


def test_errors_of_a_program_of_tiles():
    tiles = np.zeros((2, 8, 16), np.uint32)
    for words, message in (
        ("SFPLOAD mod=4, address=4", r"words\[0\]: Dst rows must be in the tiles' 8 rows of 16 bits in SFPLOAD"),
        ("SFPNOP\nMVMUL", r"words\[1\]: an instruction must be the Vector unit's, INCRWC, SETRWC or NOP, not MVMUL"),
        ("SFPPOPC", r"words\[0\]: the stack must not be empty in SFPPOPC"),
    ):
        with pytest.raises(ValueError, match=message):
            tensix.sfpu.run(tensix.isa.assemble(words), tiles)
    with pytest.raises(ValueError, match=r"lanes must be of the batch \(2,\), not \(3,\)"):
        tensix.sfpu.run([], tiles, lanes=tensix.sfpu.Lanes((3,)))
    with pytest.raises(ValueError, match="tiles must have a multiple of 8 rows, not 4"):
        tensix.sfpu.run([], tiles[:, :4])
    with pytest.raises(ValueError, match=r"batch must have no negative sizes, not \(-1,\)"):
        tensix.sfpu.Lanes((-1,))
