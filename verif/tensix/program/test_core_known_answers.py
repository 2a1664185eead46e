"""Known answers of ttsim v1.10.0 for the core: whole programs, ZEROACC, moves, implied formats, counters; all equal."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.core.adc import DIMENSIONS
from bitpath.golden.tensix.declarations.encodings import THREAD_FIELDS
from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST16_FP16, DST32
from bitpath.golden.tensix.isa import encode
from bitpath.verif.kit.known_answers import skip_absent
from bitpath.verif.tensix.program.streams import MATH, configure

PROGRAMS, CONTROL = "tensix_bh_program.npz", "tensix_bh_control.npz"
CHIPS = {"wh": "wormhole", "bh": "blackhole"}
LEFT, RIGHT, RESULT = 0x10000, 0x20000, 0x30000
ORDERS = ("round_robin", "thread_first", "last_thread_first")


def program(archive, chip, number):
    """Return a core with a program pushed, the archive's prefix, and the trace of each thread."""
    prefix = f"{chip}{number:02}_"
    core = tensix.Core(CHIPS[chip])
    for name, address in (("a", LEFT), ("b", RIGHT), ("before", RESULT)):
        core.l1[address : address + archive[prefix + name].size] = archive[prefix + name]
    for thread in range(3):
        core.mop_config(thread, archive[f"{prefix}mop{thread}"].tolist())
        core.push(thread, archive[f"{prefix}t{thread}"].tolist())
    return core, prefix


def cases_of(archive):
    return [(str(each["chip"]), int(each["id"]), int(each["mvmuls"])) for each in archive["meta"]]


@pytest.mark.parametrize("chip", CHIPS)
def test_programs(kat, chip):
    """L1 afterwards, the words of each thread in order, and the number of MVMULs."""
    archive = kat(PROGRAMS)
    programs = [case for case in cases_of(archive) if case[0] == chip]
    compared = 0
    for _, number, mvmuls in programs:
        core, prefix = program(archive, chip, number)
        before = core.l1.copy()
        trace = core.run()
        after = archive[f"{prefix}after"]
        before[RESULT : RESULT + after.size] = after
        assert np.array_equal(core.l1, before), prefix
        for thread in range(3):
            assert trace.words(thread) == [word for of, word in archive[f"{prefix}trace"].tolist() if of == thread]
        assert len(trace.executed) == len(archive[f"{prefix}trace"])
        assert trace.count("MVMUL") == mvmuls
        assert trace.waiting == (None, None, None)
        compared += 1
    skip_absent(PROGRAMS, {chip: compared})


@pytest.mark.parametrize("order", ORDERS[1:])
@pytest.mark.parametrize("chip", CHIPS)
def test_a_program_gives_the_same_in_any_order_of_the_threads(kat, chip, order):
    archive = kat(PROGRAMS)
    of_chip = [case for case in cases_of(archive) if case[0] == chip]
    skip_absent(PROGRAMS, {chip: of_chip})
    for _, number, _ in (of_chip[0], of_chip[-1]):
        core, prefix = program(archive, chip, number)
        trace = core.run(order)
        after = archive[f"{prefix}after"]
        assert np.array_equal(core.l1[RESULT : RESULT + after.size], after), prefix
        assert len(trace.executed) == len(archive[f"{prefix}trace"])


def test_zeroacc(kat):
    archive = kat(CONTROL)
    compared = 0
    for config, word, expected in zip(
        archive["z_cfg"].tolist(), archive["z_in"].tolist(), archive["z_defined"], strict=True
    ):
        fp32, absolute, dst, offset = config
        core = tensix.Core("blackhole", l1_bytes=16)
        configure(core, MATH, fp32_enabled=fp32, zeroacc_absolute_tile_mode=absolute, math_offset=offset)
        core.rwc[MATH] = replace(core.rwc[MATH], dst=dst)
        core.dst_defined[:] = True
        core.push(MATH, [word])
        core.run()
        assert np.array_equal(core.dst_defined, np.unpackbits(expected, bitorder="little").astype(bool)), config
        compared += 1
    assert compared == len(archive["z_in"]) > 0


def test_implied_formats(kat):
    """The banks are handed over by UNPACR_NOPs, which stamp the unpackers' output formats on them."""
    archive = kat(CONTROL)
    compared = 0
    for case, config in enumerate(archive["i_cfg"].tolist()):
        set_a, set_b, bank_a, bank_b, disabled_a, disabled_b, phase = config
        core = tensix.Core("blackhole", l1_bytes=16)
        core.src_a[0, :16], core.src_b[0, :8] = archive["i_srcA"][case], archive["i_srcB"][case]
        core.state.dst.write(0, archive["i_dst"][case], DST32)
        configure(core, MATH, src_a_format=set_a, src_b_format=set_b, fp32_enabled=1, fidelity_base=phase)
        configure(core, MATH, implied_src_a_disabled=disabled_a, implied_src_b_disabled=disabled_b)
        for unpacker, fmt in enumerate((bank_a, bank_b)):
            configure(core, 0, unpacker, unpack_out_format=fmt)
            core.push(0, [encode("UNPACR_NOP", chip="blackhole", unpacker=unpacker, pop=2, set_valid=1)])
        core.push(MATH, [encode("MVMUL", chip="blackhole")])
        core.run()
        assert np.array_equal(core.state.dst.read(0, 8, DST32), archive["i_out"][case]), config
        compared += 1
    assert compared == len(archive["i_out"]) > 0


def test_moves(kat):
    archive = kat(CONTROL)
    compared = 0
    for case, (config, word) in enumerate(zip(archive["m_cfg"].tolist(), archive["m_in"].tolist(), strict=True)):
        fmt, fp32, keeps, width = config
        core = tensix.Core("blackhole", l1_bytes=16)
        layout = (DST16_BF16, DST16_FP16, DST32)[width]
        core.state.dst.write(0, archive["m_dst"][case], layout)
        for name, banks in (("m_srcA", core.state.src_a), ("m_srcB", core.state.src_b)):
            banks.words[0, :32] = archive[name][case]
            banks.hand_over(fmt)
        configure(core, MATH, src_a_format=fmt, src_b_format=fmt, fp32_enabled=fp32, zero_flag_disabled_src=keeps)
        core.push(MATH, [word])
        core.run()
        assert np.array_equal(core.src_a[0, :32], archive["m_srcA_out"][case]), config
        assert np.array_equal(core.src_b[0, :32], archive["m_srcB_out"][case]), config
        assert np.array_equal(core.state.dst.read(0, 16, layout), archive["m_dst_out"][case]), config
        compared += 1
    assert compared == len(archive["m_in"]) > 0


@pytest.mark.parametrize("chip", CHIPS)
def test_rwcs_by_instructions(kat, chip):
    archive = kat(CONTROL)
    compared = 0
    names = ("src_a", "src_a_cr", "src_b", "src_b_cr", "dst", "dst_cr", "fidelity_phase", "extra_bit")
    for words, modifiers, states in zip(
        archive[f"{chip}_r_in"].tolist(),
        archive[f"{chip}_r_addr_mods"].tolist(),
        archive[f"{chip}_r_state"].tolist(),
        strict=True,
    ):
        core = tensix.Core(CHIPS[chip], l1_bytes=16)
        for kind, own in zip(("ab", "dst", "bias"), modifiers, strict=True):
            for place, value in zip(THREAD_FIELDS[core.chip][f"{kind}_modifier"], own, strict=True):
                core.config.write_thread(MATH, place.register, value)
        for word, expected in zip(words, states, strict=True):
            core.push(MATH, [word])
            core.run()
            assert [asdict(core.rwc[MATH])[name] for name in names] == expected
            compared += 1
    assert compared == archive[f"{chip}_r_in"].size > 0


@pytest.mark.parametrize("chip", CHIPS)
def test_adcs_by_instructions(kat, chip):
    archive = kat(CONTROL)
    compared = 0
    for words, states in zip(archive[f"{chip}_a_in"].tolist(), archive[f"{chip}_a_state"].tolist(), strict=True):
        core = tensix.Core(CHIPS[chip], l1_bytes=16)
        for word, expected in zip(words, states, strict=True):
            core.push(0, [word])
            core.run()
            units = [core.adc[0].unit(unit) for unit in range(3)]
            found = [
                [
                    getattr(each.channel(channel), f"{name}{cr}")
                    for cr in ("", "_cr")
                    for channel in (0, 1)
                    for name in DIMENSIONS
                ]
                for each in units
            ]
            assert found == expected
            compared += 1
    assert compared == archive[f"{chip}_a_in"].size > 0
