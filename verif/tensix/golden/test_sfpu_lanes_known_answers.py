"""Known answers of ttsim v1.10.0 for the Vector unit: the vectorised model must equal every one, bit for bit."""

from collections import defaultdict

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.encodings import FIELDS, THREAD_FIELDS
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.declarations.sfpu import (
    DEPTH,
    LANE_CONFIG,
    LANES,
    MISC,
    PRNG,
    PROGRAMMED,
    ROTATED,
    SEQUENCE,
    TEMPLATE,
)
from bitpath.golden.tensix.isa import decode
from bitpath.golden.tensix.operands.counters import Modifier, Rwc
from bitpath.golden.tensix.sfpu import Lanes, run
from bitpath.golden.tensix.sfpu.execute import execute
from bitpath.golden.tensix.sfpu.run import Batch
from bitpath.verif.tensix.golden.sfpu_answers import CHIPS, NO_L0, OF_CHIP, LoadStore

MATH = 1
"""Thread whose instructions an archive has."""
PLACES = {32: PRNG, 48: MISC, 49: LANE_CONFIG}
PLACES |= {40 + i: TEMPLATE + i for i in range(4)} | {44 + i: SEQUENCE + i for i in range(4)}
"""Places of the archive's registers from 32 on."""
GENERAL = slice(8)
PROGRAMS = slice(PROGRAMMED.start, PROGRAMMED.stop)


def flags(words):
    """Return flags of 32 lanes, bool [..., 32], of words with a bit for each lane."""
    return (np.asarray(words, np.uint32)[..., np.newaxis] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)


def set_lanes(lanes, archive, cases=...):
    """Set a batch of lanes to the states of an archive's arrays, whose first axis is the batch's."""

    def of(name):
        return np.moveaxis(archive[name][cases][..., np.newaxis], 1, 0)

    lanes.lreg[GENERAL] = np.moveaxis(archive["l"][cases], 1, 0)
    lanes.lreg[PROGRAMS] = of("lprog")
    lanes.flags[:], lanes.use_flags[:] = flags(archive["cc"][cases]), archive["cc_en"][cases][:, np.newaxis] != 0
    lanes.depth[:] = archive["sp"][cases][:, np.newaxis]
    lanes.stack[0][:], lanes.stack[1][:] = np.moveaxis(flags(archive["st_cc"][cases]), 1, 0), of("st_en") != 0
    lanes.prng[:] = archive["prng"][cases]


def assert_flags(lanes, cc, cc_en, sp):
    """Compare flags, their use and the depth of the stack."""
    assert np.array_equal(lanes.flags, flags(cc))
    assert np.all(lanes.use_flags == bool(cc_en))
    assert np.all(lanes.depth == sp)


@OF_CHIP
def test_sfpu_single_known_answers(kat, chip):
    """Single instructions: what the archive does not list must not change."""
    archive, of_chip = kat(f"sfpu_{chip}_single"), CHIPS[chip]
    pool = Lanes((len(archive["pool_l"]),))
    set_lanes(pool, archive.part("pool_"))
    pool.templates[:] = np.moveaxis(archive["pool_templ"], 1, 0)[..., np.newaxis]
    pool.sequences[:] = np.moveaxis(archive["pool_seq"], 1, 0)[..., np.newaxis]
    pool.misc[:] = archive["pool_misc"][:, np.newaxis]
    changes = defaultdict(list)
    for case, register, changed, values in archive.rows("d_case", "d_reg", "d_lanes", "d_val"):
        changes[int(case)].append((PLACES.get(int(register), int(register)), flags(changed), values))
    names = ["word", "state", "lane_config", "l0", "cc_out", "cc_en_out", "sp_out", "top_cc_out", "top_en_out", "label"]
    lanes, cases = Lanes(), 0
    for case, (word, state, config, l0, cc, cc_en, sp, top_cc, top_en, label) in enumerate(archive.lists(*names)):
        lanes.words[:], lanes.bits[:] = pool.words[:, [state]], pool.bits[:, [state]]
        lanes.lane_config[:] = config
        if l0 != NO_L0:
            lanes.lreg[0] = l0
        expected = lanes.words[:, 0].copy()
        for place, changed, values in changes[case]:
            expected[place] = np.where(changed, values, expected[place])
        execute(lanes, decode(word, chip=of_chip), of_chip, CHIP_PRESETS[of_chip].numerics)
        expected[DEPTH], expected[ROTATED] = sp, lanes.rotated
        assert np.array_equal(lanes.words[:, 0], expected), (case, archive["labels"][label])
        assert_flags(lanes, cc, cc_en, sp)
        if sp:
            top, top_use = (each[sp - 1] for each in lanes.stack)
            assert np.array_equal(top, flags(top_cc))
            assert np.all(top_use == bool(top_en))
        cases += 1
    assert cases == len(archive["word"]) > 0


def set_field(core, field, value, number=0):
    """Set a field of the configuration, or one of the math thread's own."""
    own = field in THREAD_FIELDS[core.chip]
    place = (THREAD_FIELDS if own else FIELDS)[core.chip][field][number]
    for registers in [core.config.thread_registers[MATH]] if own else core.config.registers:
        registers[place.register] = registers[place.register] & ~place.mask | value << place.low


@OF_CHIP
def test_sfpu_loadstore_known_answers(kat, chip):
    """Loads and stores of the core, with its configuration, counters and address modifiers."""
    archive = kat("sfpu_loadstore").part(f"{chip}_")
    core = tensix.Core(CHIPS[chip], l1_bytes=64)
    core.dst_defined[:] = True
    lanes, cases = core.state.sfpu, 0
    for case in map(LoadStore._make, archive.rows(*LoadStore._fields)):
        for field, value in (
            ("sfpu_fp32", case.fp32),
            ("src_b_format", case.srcb),
            ("math_offset", case.math_offset),
        ):
            set_field(core, field, int(value))
        for number, increment in enumerate(case.dst_incr.tolist()):
            set_field(core, "dst_modifier", increment, number)
        core.rwc[MATH] = Rwc(dst=int(case.rwc))
        used = case.rows >= 0
        core.dst[case.rows[used]] = archive["dst_pool"][case.dst_idx][used]
        vd = int(case.word) >> 20 & 15
        lanes.words[vd, 0] = archive["lreg_pool"][case.lreg_idx]
        lanes.flags[:], lanes.use_flags[:] = flags(case.cc), bool(case.cc_en)
        core.push(MATH, [int(case.word)])
        core.run()
        got = lanes.words[vd, 0]
        if case.is_store:
            columns = np.tile(np.arange(8), 4) * 2 + (int(case.addr) >> 1 & 1)
            high, low = (
                np.repeat(core.dst[case.rows[part]], 8, 0)[np.arange(LANES), columns]
                for part in (slice(4), slice(4, 8))
            )
            got = high.astype(np.uint32) << 16 | low if case.rows[4] >= 0 else high
        assert np.array_equal(got, case.out), (cases, decode(int(case.word), chip=core.chip))
        assert core.rwc[MATH].dst == case.rwc_after
        cases += 1
    assert cases == len(archive["word"]) > 0


@OF_CHIP
def test_sfpu_programs_known_answers(kat, chip):
    """Programs, with flags, stack and counter after each word."""
    archive, of_chip = kat("sfpu_seq").part(f"{chip}_"), CHIPS[chip]
    before, after, words = archive.part("before_"), archive.part("after_"), 0
    trace = list(archive.lists("word", "trace_cc", "trace_cc_en", "trace_sp", "trace_rwc"))
    for program, (start, end) in enumerate(zip(archive["offset"], archive["offset"][1:], strict=False)):
        units = Batch(
            chip=of_chip,
            numerics=CHIP_PRESETS[of_chip].numerics,
            lanes=Lanes((1,)),
            bits=before["dst"][[program]],
            fp32=bool(archive["fp32"][program]),
            src_b_format=Format(archive["srcb"][program]),
            rwc=Rwc(dst=int(before["rwc"][program])),
            modifiers=[Modifier(dst=each) for each in archive["dst_incr"][program].tolist()],
        )
        set_lanes(units.lanes, before, [program])
        for word, cc, cc_en, sp, rwc in trace[start:end]:
            units.execute(word)
            assert_flags(units.lanes, [cc], cc_en, sp)
            assert units.rwc.dst == rwc
            words += 1
        expected = Lanes((1,))
        set_lanes(expected, after, [program])
        expected.rotated[:] = units.lanes.rotated
        assert np.array_equal(units.lanes.words, expected.words)
        depth = int(after["sp"][program])
        for got, right in zip(units.lanes.stack, expected.stack, strict=True):
            assert np.array_equal(got[:depth], right[:depth])
        assert np.array_equal(units.bits[0], after["dst"][program])
    assert words == len(trace) > 0
    assert len(archive["fp32"]) > 0


@OF_CHIP
@pytest.mark.parametrize("fp32", [False, True])
def test_sfpu_compiled_known_answers(kat, chip, fp32):
    """Streams of a compiler, each at once on all of its inputs."""
    archive, of_chip, runs = kat("sfpu_compiled").part(f"{chip}_"), CHIPS[chip], 0
    for program, (start, end) in enumerate(zip(archive["offset"], archive["offset"][1:], strict=False)):
        cases = np.flatnonzero((archive["program"] == program) & (archive["fp32"] == fp32))
        lanes = Lanes((len(cases),))
        lanes.lreg[GENERAL] = np.moveaxis(archive["lreg"][cases], 1, 0)
        lanes.lreg[PROGRAMS] = np.moveaxis(archive["lprog"][cases], 1, 0)[..., np.newaxis]
        shift = np.uint32(0 if fp32 else 16)
        words = archive["word"][start:end].tolist()
        got = run(words, archive["din"][cases] >> shift, fp32=fp32, lanes=lanes, chip=of_chip)
        assert np.array_equal(got << shift, archive["dout"][cases]), archive["name"][program]
        assert np.array_equal(np.moveaxis(lanes.lreg[GENERAL], 0, 1), archive["after_l"][cases])
        runs += len(cases)
    assert runs == np.count_nonzero(archive["fp32"] == fp32) > 0
