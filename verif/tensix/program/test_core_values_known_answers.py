"""Known answers of ttsim v1.10.0 for values, reached by instructions: the core must hand the right rows and modes to golden."""

import numpy as np

from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, DST16_BF16, DST16_FP16, DST32, Format
from bitpath.golden.tensix.isa import assemble
from bitpath.verif.kit.known_answers import skip_absent
from bitpath.verif.tensix.program.streams import MATH, PACK, UNPACK, configure, execute, loaded

BLACKHOLE = "blackhole"
INT8 = 3
"""Number of the style INT8 in the archives."""
BASE = 0x1000
"""Address in L1 of the faces."""
PROGRAM = {
    "MVMUL": "MVMUL",
    "GAPOOL": "GAPOOL dim_16x16=1",
    "GMPOOL": "GMPOOL dim_16x16=1",
    "ELWMUL": "ELWMUL broadcast_row={row}, broadcast_column={column}",
    "ELWADD": "ELWADD add_dst={add}, broadcast_row={row}, broadcast_column={column}",
    "ELWSUB": "ELWSUB add_dst={add}, broadcast_row={row}, broadcast_column={column}",
}


def computed(archive, case, text):
    """Return Dst after one instruction on a case's operands."""
    formats = int(archive["fmtA"][case]), int(archive["fmtB"][case])
    core = loaded(BLACKHOLE, archive["srcA"][case], archive["srcB"][case], formats)
    integer, wide = archive["style"][case] == INT8, bool(archive["use32"][case])
    configure(core, MATH, int8_math=int(integer), fp32_enabled=int(wide and not integer))
    configure(core, MATH, fidelity_base=int(archive["phase"][case]))
    layout = DST32 if wide else DST16_FP16 if archive["style_names"][archive["style"][case]] == "FP16" else DST16_BF16
    core.state.dst.write(0, archive["dst_in"][case], layout)
    if "dst_defined" in archive:
        core.dst_defined[:8] = archive["dst_defined"][case]
        configure(core, MATH, zero_flag_disabled_src=int(archive["keep_denormals"][case]))
    execute(core, MATH, text)
    return core.state.dst.read(0, 8, layout)


def test_mvmul(kat):
    archive = kat("tensix_bh_mvmul.npz")
    for case, expected in enumerate(archive["dst_out"]):
        assert np.array_equal(computed(archive, case, PROGRAM["MVMUL"]), expected), case
    assert len(archive["dst_out"])


def test_elementwise_and_pooling(kat):
    archive = kat("tensix_bh_elw.npz")
    names = archive["op_names"].tolist()
    compared = dict.fromkeys(names, 0)
    for case, expected in enumerate(archive["dst_out"]):
        name, flags = names[archive["op"][case]], int(archive["broadcast"][case])
        text = PROGRAM[name].format(row=flags >> 1, column=flags & 1, add=int(archive["accum"][case]))
        phase_free = name in ("ELWADD", "ELWSUB", "GMPOOL")
        given = archive | {"phase": np.zeros_like(archive["phase"])} if phase_free else archive
        assert np.array_equal(computed(given, case, text), expected), (case, text)
        compared[name] += 1
    assert sum(compared.values()) == len(archive["dst_out"])
    skip_absent("tensix_bh_elw.npz", compared)


def test_pack(kat):
    """A face is four PACRs of four rows each; the exponents of block floats go before the datums."""
    archive = kat("tensix_bh_pack_unpack.npz")
    program = assemble("PACR\nPACR\nPACR\nPACR modifier=1, last=1", chip=BLACKHOLE)
    for case, config in enumerate(archive["p_cfg"].tolist()):
        read32, mid, out, relu, threshold, accumulate, unsigned, round_10b, e4m3 = config
        core = loaded(BLACKHOLE, l1_bytes=2 * BASE)
        core.l1[BASE : BASE + 1040] = archive["p_l1_before"][case].astype("<u4").view(np.uint8)
        short = mid in (Format.FP16, Format.BFP8A) and not round_10b
        if mid == Format.INT16 and not read32:
            core.dst[:16] = archive["p_dst"][case].reshape(16, 16)
            core.dst_defined[:16] = True
        else:
            layout = DST32 if read32 else DST16_FP16 if short else DST16_BF16
            core.state.dst.write(0, archive["p_dst"][case].reshape(16, 16), layout)
        width = {0: 4, 1: 2}.get(mid & 3, 1)
        configure(core, PACK, dst_format=mid, pack_in_format=mid, pack_out_format=out, pack_uncompressed=1)
        configure(core, PACK, relu_mode=relu, relu_threshold=threshold, l1_accumulate=accumulate)
        configure(core, PACK, read_32b=read32, read_unsigned=unsigned, round_10b=round_10b, pack_e4m3=e4m3)
        configure(core, PACK, edge_mask=0xFFFF, exponent_section=1, pack_address=BASE // 16 - 1)
        configure(core, PACK, packer_y_stride=16 * width, pack_modifier=4)
        execute(core, PACK, "SETADCXX units=4, end=15")
        core.push(PACK, program)
        core.run()
        expected = archive["p_l1_after"][case].astype("<u4").view(np.uint8)
        assert np.array_equal(core.l1[BASE : BASE + 1040], expected), config
    assert len(archive["p_cfg"])


def unpacking(core, in_format, out_format, count, unpacker=0):
    """Configure an unpacker for a row of datums at `BASE`; unpacker 0's Dst address is that of row 0."""
    configure(core, UNPACK, unpacker, l1_format=in_format, unpack_out_format=out_format, uncompressed=1)
    configure(core, UNPACK, unpacker, x_dim=count, y_dim=1, z_dim=1, base_address=BASE // 16 - 1)
    configure(core, UNPACK, dst_address=64, context_x_dim=count)
    execute(core, UNPACK, f"SETADCXX units=3, end={count - 1}")


def test_unpack(kat):
    archive = kat("tensix_bh_pack_unpack.npz")
    for case, config in enumerate(archive["u_cfg"].tolist()):
        in_format, out_format, unsigned, e4m3, unpacker, transposed, forced, exponent = config
        core = loaded(BLACKHOLE, l1_bytes=2 * BASE)
        core.l1[BASE : BASE + 1040] = archive["u_l1"][case].astype("<u4").view(np.uint8)
        unpacking(core, in_format, out_format, 256, unpacker)
        configure(core, UNPACK, **{f"src_{'ab'[unpacker]}_unsigned": unsigned}, override_with_address=1)
        configure(core, UNPACK, unpacker, unpack_e4m3=e4m3, force_exponent=forced, forced_exponent=exponent)
        configure(core, UNPACK, unpacker, transpose=transposed)
        assert execute(core, UNPACK, f"UNPACR unpacker={unpacker}, multi_context=1").waiting[UNPACK] is None
        found = (core.src_b if unpacker else core.src_a)[1, :16]
        assert np.array_equal(found, archive["u_src"][case].reshape(16, 16)), config
    assert len(archive["u_cfg"])


def test_unpack_to_dst(kat):
    archive = kat("tensix_bh_pack_unpack.npz")
    for case, (in_format, out_format) in enumerate(archive["d_cfg"].tolist()):
        core = loaded(BLACKHOLE, l1_bytes=2 * BASE)
        core.l1[BASE : BASE + 1040] = archive["d_l1"][case].astype("<u4").view(np.uint8)
        unpacking(core, in_format, out_format, 256)
        configure(core, UNPACK, unpack_to_dst=1)
        execute(core, UNPACK, "UNPACR multi_context=1")
        assert np.array_equal(core.state.dst.read(0, 16, DST32), archive["d_dst"][case].reshape(16, 16))
    assert len(archive["d_cfg"])


def test_tilise(kat):
    archive = kat("tensix_bh_pack_unpack.npz")
    for case, config in enumerate(archive["t_cfg"].tolist()):
        in_format, out_format, e4m3, stride, count = config
        core = loaded(BLACKHOLE, l1_bytes=4 * BASE)
        data = archive["t_l1"][case].astype("<u4").view(np.uint8)
        core.l1[BASE : BASE + data.size] = data
        unpacking(core, in_format, out_format, count)
        configure(core, UNPACK, override_with_address=1, unpack_e4m3=e4m3, tilise=1, shift_amounts=stride // 16)
        execute(core, UNPACK, "UNPACR multi_context=1")
        assert np.array_equal(core.src_a[1].reshape(-1)[:count], archive["t_src"][case][:count]), config
    assert len(archive["t_cfg"])


def test_block_floats_are_among_the_faces(kat):
    outs = set(kat("tensix_bh_pack_unpack.npz")["p_cfg"][:, 2].tolist())
    skip_absent("tensix_bh_pack_unpack.npz", {"block floats": outs & {int(fmt) for fmt in BLOCK_FLOATS}})
