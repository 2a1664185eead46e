"""Known answers of ttsim v1.10.0 for the core: whole programs, and values reached by instructions; all equal.

The core must hand the right rows and modes to golden.
"""

from dataclasses import asdict, replace

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.core.programs import LEFT, MATH, PACK, RESULT, RIGHT, UNPACK
from bitpath.golden.tensix.core.state import THREADS
from bitpath.golden.tensix.declarations.encodings import THREAD_FIELDS
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, DST16_BF16, DST16_FP16, DST32, Format
from bitpath.golden.tensix.isa import assemble, encode
from bitpath.golden.tensix.operands.counters import DIMENSIONS
from bitpath.verif.kit.known_answers import answers, skip_absent
from bitpath.verif.tensix.program.programs import configure, execute, loaded

CHIPS = {"wh": "wormhole", "bh": "blackhole"}
OF_CHIP = pytest.mark.parametrize("chip", CHIPS)
BLACKHOLE = "blackhole"
LAYOUTS = (DST16_BF16, DST16_FP16, DST32)

# Programs.


def programs(archive, chip):
    """Yield the chip's programs: a core with the words pushed, the number of MVMULs, and the arrays."""
    for meta in archive["meta"]:
        if meta["chip"] == chip:
            own, core = archive.part(f"{chip}{int(meta['id']):02}_"), tensix.Core(CHIPS[chip])
            for name, address in (("a", LEFT), ("b", RIGHT), ("before", RESULT)):
                core.l1[address : address + own[name].size] = own[name]
            for thread in range(THREADS):
                core.mop_config(thread, own[f"mop{thread}"].tolist())
                core.push(thread, own[f"t{thread}"].tolist())
            yield core, int(meta["mvmuls"]), own


@OF_CHIP
@answers("tensix_bh_program")
def test_programs(archive, chip):
    """L1 afterwards, the words of each thread in order, and the number of MVMULs."""
    skip_absent(archive.name, {chip: chip in archive["meta"]["chip"]})
    for core, mvmuls, own in programs(archive, chip):
        expected, words = core.l1.copy(), own["trace"].tolist()
        expected[RESULT : RESULT + own["after"].size] = own["after"]
        trace = core.run()
        assert np.array_equal(core.l1, expected), own.name
        yield own["after"], core.l1[RESULT : RESULT + own["after"].size]
        for thread in range(THREADS):
            yield [word for of, word in words if of == thread], trace.words(thread)
        yield [len(words), mvmuls], [len(trace.executed), trace.count("MVMUL")]
        assert trace.waiting == (None, None, None)


@pytest.mark.parametrize("order", ["thread_first", "last_thread_first"])
@OF_CHIP
@answers("tensix_bh_program")
def test_a_program_gives_the_same_in_any_order_of_the_threads(archive, chip, order):
    skip_absent(archive.name, {chip: chip in archive["meta"]["chip"]})
    every = list(programs(archive, chip))
    for core, _, own in (every[0], every[-1]):
        trace = core.run(order)
        yield own["after"], core.l1[RESULT : RESULT + own["after"].size]
        yield len(own["trace"]), len(trace.executed)


# Single instructions.


def idle() -> tensix.Core:
    return tensix.Core(BLACKHOLE, l1_bytes=16)


@answers("tensix_bh_control")
def test_zeroacc(archive):
    for (fp32, absolute, dst, offset), word, expected in archive.lists("z_cfg", "z_in", "z_defined"):
        core = idle()
        configure(core, MATH, fp32_enabled=fp32, zeroacc_absolute_tile_mode=absolute, math_offset=offset)
        core.rwc[MATH] = replace(core.rwc[MATH], dst=dst)
        core.dst_defined[:] = True
        core.push(MATH, [word])
        core.run()
        yield expected, np.packbits(core.dst_defined, bitorder="little")


@answers("tensix_bh_control", whole="i_out")
def test_implied_formats(archive):
    """The banks are handed over by UNPACR_NOPs, which stamp the unpackers' output formats on them."""
    for config, src_a, src_b, dst, expected in archive.rows("i_cfg", "i_srcA", "i_srcB", "i_dst", "i_out"):
        set_a, set_b, bank_a, bank_b, disabled_a, disabled_b, phase = config.tolist()
        core = idle()
        core.src_a[0, :16], core.src_b[0, :8] = src_a, src_b
        core.state.dst.write(0, dst, DST32)
        configure(core, MATH, src_a_format=set_a, src_b_format=set_b, fp32_enabled=1, fidelity_base=phase)
        configure(core, MATH, implied_src_a_disabled=disabled_a, implied_src_b_disabled=disabled_b)
        for unpacker, fmt in enumerate((bank_a, bank_b)):
            configure(core, 0, unpacker, unpack_out_format=fmt)
            core.push(0, [encode("UNPACR_NOP", chip=BLACKHOLE, unpacker=unpacker, pop=2, set_valid=1)])
        core.push(MATH, [encode("MVMUL", chip=BLACKHOLE)])
        core.run()
        yield expected, core.state.dst.read(0, 8, DST32)


@answers("tensix_bh_control", whole="m_(srcA|srcB|dst)_out")
def test_moves(archive):
    for case, ((fmt, fp32, keeps, width), word) in enumerate(archive.lists("m_cfg", "m_in")):
        core, layout = idle(), LAYOUTS[width]
        core.state.dst.write(0, archive["m_dst"][case], layout)
        for name, banks in (("m_srcA", core.state.src_a), ("m_srcB", core.state.src_b)):
            banks.words[0, :32] = archive[name][case]
            banks.hand_over(fmt)
        configure(core, MATH, src_a_format=fmt, src_b_format=fmt, fp32_enabled=fp32, zero_flag_disabled_src=keeps)
        core.push(MATH, [word])
        core.run()
        yield archive["m_srcA_out"][case], core.src_a[0, :32]
        yield archive["m_srcB_out"][case], core.src_b[0, :32]
        yield archive["m_dst_out"][case], core.state.dst.read(0, 16, layout)


@OF_CHIP
@answers("tensix_bh_control")
def test_rwcs_by_instructions(archive, chip):
    names = ("src_a", "src_a_cr", "src_b", "src_b_cr", "dst", "dst_cr", "fidelity_phase", "extra_bit")
    for words, modifiers, states in archive.part(f"{chip}_r_").lists("in", "addr_mods", "state"):
        core = tensix.Core(CHIPS[chip], l1_bytes=16)
        for kind, own in zip(("ab", "dst", "bias"), modifiers, strict=True):
            for place, value in zip(THREAD_FIELDS[core.chip][f"{kind}_modifier"], own, strict=True):
                core.config.write_thread(MATH, place.register, value)
        for word, expected in zip(words, states, strict=True):
            core.push(MATH, [word])
            core.run()
            yield expected, [asdict(core.rwc[MATH])[name] for name in names]


@OF_CHIP
@answers("tensix_bh_control")
def test_adcs_by_instructions(archive, chip):
    for words, states in archive.part(f"{chip}_a_").lists("in", "state"):
        core = tensix.Core(CHIPS[chip], l1_bytes=16)
        for word, expected in zip(words, states, strict=True):
            core.push(0, [word])
            core.run()
            units = [core.adc[0].unit(unit) for unit in range(3)]
            names = [(f"{name}{cr}", channel) for cr in ("", "_cr") for channel in (0, 1) for name in DIMENSIONS]
            yield expected, [[getattr(each.channel(channel), name) for name, channel in names] for each in units]


# Products.

INT8 = 3
"""Number of the style INT8 in the archives."""
PROGRAM = {
    "MVMUL": "MVMUL",
    "GAPOOL": "GAPOOL dim_16x16=1",
    "GMPOOL": "GMPOOL dim_16x16=1",
    "ELWMUL": "ELWMUL broadcast_row={row}, broadcast_column={column}",
    "ELWADD": "ELWADD add_dst={add}, broadcast_row={row}, broadcast_column={column}",
    "ELWSUB": "ELWSUB add_dst={add}, broadcast_row={row}, broadcast_column={column}",
}


def computed(archive, case, text, phase):
    """Return Dst after one instruction on a case's operands."""
    formats = int(archive["fmtA"][case]), int(archive["fmtB"][case])
    core = loaded(BLACKHOLE, archive["srcA"][case], archive["srcB"][case], formats)
    integer, wide = archive["style"][case] == INT8, bool(archive["use32"][case])
    configure(core, MATH, int8_math=int(integer), fp32_enabled=int(wide and not integer), fidelity_base=int(phase))
    layout = DST32 if wide else DST16_FP16 if archive["style_names"][archive["style"][case]] == "FP16" else DST16_BF16
    core.state.dst.write(0, archive["dst_in"][case], layout)
    if "dst_defined" in archive:
        core.dst_defined[:8] = archive["dst_defined"][case]
        configure(core, MATH, zero_flag_disabled_src=int(archive["keep_denormals"][case]))
    execute(core, MATH, text)
    return core.state.dst.read(0, 8, layout)


@answers("tensix_bh_mvmul", whole="dst_out")
def test_mvmul(archive):
    for case, (expected, phase) in enumerate(archive.rows("dst_out", "phase")):
        yield expected, computed(archive, case, PROGRAM["MVMUL"], phase)


@answers("tensix_bh_elw", whole="dst_out")
def test_elementwise_and_pooling(archive):
    names = archive["op_names"][archive["op"]].tolist()
    for case, (expected, phase, flags, add) in enumerate(archive.rows("dst_out", "phase", "broadcast", "accum")):
        text = PROGRAM[names[case]].format(row=int(flags) >> 1, column=int(flags) & 1, add=int(add))
        phase_free = names[case] in ("ELWADD", "ELWSUB", "GMPOOL")
        yield expected, computed(archive, case, text, 0 if phase_free else phase)
    skip_absent(archive.name, {name: name in names for name in PROGRAM if name != "MVMUL"})


# Packer and unpackers.

BASE = 0x1000
"""Address in L1 of the faces."""


def with_l1(words, size=2 * BASE) -> tensix.Core:
    """Return a core whose L1 has words at `BASE`."""
    core, data = loaded(BLACKHOLE, l1_bytes=size), words.astype("<u4").view(np.uint8)
    core.l1[BASE : BASE + data.size] = data
    return core


@answers("tensix_bh_pack_unpack", whole="p_l1_after")
def test_pack(archive):
    """A face is four PACRs of four rows each; the exponents of block floats go before the datums."""
    program = assemble("PACR\nPACR\nPACR\nPACR modifier=1, last=1", chip=BLACKHOLE)
    for config, dst, before, after in archive.rows("p_cfg", "p_dst", "p_l1_before", "p_l1_after"):
        read32, mid, out, relu, threshold, accumulate, unsigned, round_10b, e4m3 = config.tolist()
        core, face = with_l1(before), dst.reshape(16, 16)
        short = mid in (Format.FP16, Format.BFP8A) and not round_10b
        if mid == Format.INT16 and not read32:
            core.dst[:16], core.dst_defined[:16] = face, True
        else:
            core.state.dst.write(0, face, DST32 if read32 else DST16_FP16 if short else DST16_BF16)
        width = {0: 4, 1: 2}.get(mid & 3, 1)
        configure(core, PACK, dst_format=mid, pack_in_format=mid, pack_out_format=out, pack_uncompressed=1)
        configure(core, PACK, relu_mode=relu, relu_threshold=threshold, l1_accumulate=accumulate)
        configure(core, PACK, read_32b=read32, read_unsigned=unsigned, round_10b=round_10b, pack_e4m3=e4m3)
        configure(core, PACK, edge_mask=0xFFFF, exponent_section=1, pack_address=BASE // 16 - 1)
        configure(core, PACK, packer_y_stride=16 * width, pack_modifier=4)
        execute(core, PACK, "SETADCXX units=4, end=15")
        core.push(PACK, program)
        core.run()
        yield after, core.l1[BASE : BASE + 4 * after.size].view("<u4")
    outs = set(archive["p_cfg"][:, 2].tolist())
    skip_absent(archive.name, {"block floats": outs & {int(fmt) for fmt in BLOCK_FLOATS}})


def unpacking(core, in_format, out_format, count, unpacker=0):
    """Configure an unpacker for a row of datums at `BASE`; unpacker 0's Dst address is that of row 0."""
    configure(core, UNPACK, unpacker, l1_format=in_format, unpack_out_format=out_format, uncompressed=1)
    configure(core, UNPACK, unpacker, x_dim=count, y_dim=1, z_dim=1, base_address=BASE // 16 - 1)
    configure(core, UNPACK, dst_address=64, context_x_dim=count)
    execute(core, UNPACK, f"SETADCXX units=3, end={count - 1}")


@answers("tensix_bh_pack_unpack", whole="u_src")
def test_unpack(archive):
    for config, l1, expected in archive.rows("u_cfg", "u_l1", "u_src"):
        in_format, out_format, unsigned, e4m3, unpacker, transposed, forced, exponent = config.tolist()
        core = with_l1(l1)
        unpacking(core, in_format, out_format, 256, unpacker)
        configure(core, UNPACK, **{f"src_{'ab'[unpacker]}_unsigned": unsigned}, override_with_address=1)
        configure(core, UNPACK, unpacker, unpack_e4m3=e4m3, force_exponent=forced, forced_exponent=exponent)
        configure(core, UNPACK, unpacker, transpose=transposed)
        assert execute(core, UNPACK, f"UNPACR unpacker={unpacker}, multi_context=1").waiting[UNPACK] is None
        yield expected, (core.src_b if unpacker else core.src_a)[1, :16].ravel()


@answers("tensix_bh_pack_unpack", whole="d_dst")
def test_unpack_to_dst(archive):
    for config, l1, expected in archive.rows("d_cfg", "d_l1", "d_dst"):
        core = with_l1(l1)
        unpacking(core, *config.tolist(), 256)
        configure(core, UNPACK, unpack_to_dst=1)
        execute(core, UNPACK, "UNPACR multi_context=1")
        yield expected, core.state.dst.read(0, 16, DST32).ravel()


@answers("tensix_bh_pack_unpack")
def test_tilise(archive):
    for config, l1, expected in archive.rows("t_cfg", "t_l1", "t_src"):
        in_format, out_format, e4m3, stride, count = config.tolist()
        core = with_l1(l1, 4 * BASE)
        unpacking(core, in_format, out_format, count)
        configure(core, UNPACK, override_with_address=1, unpack_e4m3=e4m3, tilise=1, shift_amounts=stride // 16)
        execute(core, UNPACK, "UNPACR multi_context=1")
        yield expected[:count], core.src_a[1].reshape(-1)[:count]
