"""Known answers of ttsim v1.10.0 for Wormhole: golden must equal every one, bit for bit."""

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import STYLE_OWN_FORMAT, Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.exact import add, dot16_integer, multiply_add, trace_dot16


def style_of(archive, case):
    return str(archive["style_names"][archive["style"][case]])


def test_mvmul(kat):
    archive = kat("tensix_mvmul.npz")
    compared = 0
    for case in range(len(archive["style"])):
        got = tensix.mvmul(
            archive["dst_in"][case],
            archive["srcB"][case],
            archive["srcA"][case],
            style=style_of(archive, case),
            dst32=bool(archive["use32"][case]),
            phase=int(archive["phase"][case]),
            srca_format=int(archive["fmtA"][case]),
            srcb_format=int(archive["fmtB"][case]),
        )
        assert np.array_equal(got, archive["dst_out"][case]), archive["kind_names"][archive["kind"][case]]
        compared += got.size
    assert compared == 71_552


def test_mvmul_by_the_scalar_tier(kat):
    """Six outputs of every case."""
    archive = kat("tensix_mvmul.npz")
    rng = np.random.default_rng(11)
    compared = 0
    for case in range(len(archive["style"])):
        style, phase = Style(style_of(archive, case)), int(archive["phase"][case])
        for flat in rng.choice(8 * 16, 6, replace=False).tolist():
            i, j = divmod(flat, 16)
            dst, b, a = (
                int(archive["dst_in"][case, i, j]),
                archive["srcB"][case, i].tolist(),
                archive["srcA"][case, :, j].tolist(),
            )
            if style is Style.INT8:
                got = dot16_integer(WORMHOLE.numerics, dst, b, a, phase)
            else:
                got = trace_dot16(
                    WORMHOLE.numerics,
                    dst,
                    b,
                    a,
                    style=style,
                    dst32=bool(archive["use32"][case]),
                    phase=phase,
                    srca_format=Format(archive["fmtA"][case]),
                    srcb_format=Format(archive["fmtB"][case]),
                ).result
            assert got == archive["dst_out"][case, i, j]
            compared += 1
    assert compared == 6 * 559


def test_the_quirk_is_in_the_known_answers(kat):
    """Without the bug some answers differ, so the known answers confirm the switch."""
    archive = kat("tensix_mvmul.npz")
    different = 0
    for case in np.flatnonzero(archive["use32"]):
        different += np.count_nonzero(
            tensix.mvmul(
                archive["dst_in"][case],
                archive["srcB"][case],
                archive["srcA"][case],
                style=style_of(archive, case),
                dst32=True,
                phase=int(archive["phase"][case]),
                srca_format=int(archive["fmtA"][case]),
                srcb_format=int(archive["fmtB"][case]),
                quirk=False,
            )
            != archive["dst_out"][case]
        )
    assert different > 100


def test_elementwise_and_pooling(kat):
    archive = kat("tensix_elw.npz")
    compared = dict.fromkeys(archive["op_names"].tolist(), 0)
    for case in range(len(archive["style"])):
        op = str(archive["op_names"][archive["op"][case]])
        common = {"style": style_of(archive, case), "dst32": bool(archive["use32"][case])}
        phase = int(archive["phase"][case])
        dst, src_b, src_a = archive["dst_in"][case], archive["srcB"][case], archive["srcA"][case]
        match op:
            case "ELWMUL":
                got = tensix.elwmul(dst, src_b, src_a[:8], phase=phase, **common)
            case "ELWADD" | "ELWSUB":
                operation = tensix.elwadd if op == "ELWADD" else tensix.elwsub
                got = operation(dst, src_b, src_a[:8], accumulate=bool(archive["accum"][case]), **common)
            case "GAPOOL":
                got = tensix.gapool(dst, src_b, src_a, phase=phase, **common)
            case "GMPOOL":
                got = tensix.gmpool(dst, src_b, src_a, **common)
        assert np.array_equal(got, archive["dst_out"][case]), op
        compared[op] += got.size
    assert sum(compared.values()) == 54_144
    assert min(compared.values()) > 3_000


def test_elementwise_by_the_scalar_tier(kat):
    archive = kat("tensix_elw.npz")
    rng = np.random.default_rng(12)
    compared = 0
    for case in range(len(archive["style"])):
        op = str(archive["op_names"][archive["op"][case]])
        if not op.startswith("ELW"):
            continue
        style = Style(style_of(archive, case))
        fmt = STYLE_OWN_FORMAT[style]
        common = {
            "style": style,
            "dst32": bool(archive["use32"][case]),
            "srca_format": fmt,
            "srcb_format": fmt,
        }
        for flat in rng.choice(8 * 16, 10, replace=False).tolist():
            where = (case, *divmod(flat, 16))
            dst, b, a = (int(archive[name][where]) for name in ("dst_in", "srcB", "srcA"))
            if op == "ELWMUL":
                got = multiply_add(WORMHOLE.numerics, dst, b, a, phase=int(archive["phase"][case]), **common)
            else:
                got = add(
                    WORMHOLE.numerics,
                    dst,
                    b,
                    a,
                    subtract=op == "ELWSUB",
                    accumulating=bool(archive["accum"][case]),
                    **common,
                )
            assert got == archive["dst_out"][where]
            compared += 1
    assert compared == 10 * 299


def test_unpack(kat):
    archive = kat("tensix_pack_unpack.npz")
    compared = 0
    for config, l1, expected in zip(archive["u_cfg"].tolist(), archive["u_l1"], archive["u_src"], strict=True):
        got = tensix.unpack(l1, config[0], config[1], unsigned=bool(config[2]))
        assert np.array_equal(got, expected), config
        compared += got.size
    assert compared == 29 * 256


def test_pack(kat):
    archive = kat("tensix_pack_unpack.npz")
    compared = 0
    for case, config in enumerate(archive["p_cfg"].tolist()):
        read32, mid, out, relu, threshold, accumulate, unsigned = config
        got = tensix.pack(
            archive["p_dst"][case],
            mid,
            out,
            dst32=bool(read32),
            relu=relu,
            relu_threshold=threshold,
            l1=archive["p_l1_before"][case] if accumulate else None,
            unsigned=bool(unsigned),
        )
        after = archive["p_l1_after"][case].astype("<u4").view(np.uint8)
        assert np.array_equal(got, after[: len(got)]), config
        compared += len(got)
    assert compared == 56_544


@pytest.mark.parametrize("member", ["BFP8A", "BFP4A", "BFP2A"])
def test_no_known_answers_exist_for_the_a_variants(kat, member):
    """Only test_tiers checks them, by the scalar tier; this fails when an archive with them arrives."""
    archive = kat("tensix_pack_unpack.npz")
    assert Format[member] not in archive["u_cfg"][:, :2]
    assert Format[member] not in archive["p_cfg"][:, 2]
