"""Known answers of ttsim v1.10.0 for Blackhole's arithmetic: golden must equal every one, bit for bit."""

from functools import partial

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import Format, Style
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.golden.tensix.exact import add, maximum, multiply_add
from bitpath.verif.kit.known_answers import skip_absent
from bitpath.verif.tensix.golden.words import scalar_dot

NUMERICS = BLACKHOLE.numerics
POOLS = ("GAPOOL", "GMPOOL")


def cases(archive):
    """Yield each case: its number, the options of all instructions, and Dst, SrcB, SrcA and the Dst words after it."""
    for case in range(len(archive["style"])):
        options = {
            "style": Style(archive["style_names"][archive["style"][case]]),
            "dst32": bool(archive["use32"][case]),
            "srca_format": Format(archive["fmtA"][case]),
            "srcb_format": Format(archive["fmtB"][case]),
        }
        yield case, options, *(archive[name][case] for name in ("dst_in", "srcB", "srcA", "dst_out"))


def test_mvmul(kat):
    archive = kat("tensix_bh_mvmul.npz")
    compared = 0
    for case, options, dst, b, a, expected in cases(archive):
        phase = int(archive["phase"][case])
        got = tensix.mvmul(dst, b, a, phase=phase, chip="blackhole", **options)
        assert np.array_equal(got, expected), (case, options)
        compared += got.size
    assert compared == archive["dst_out"].size


def test_mvmul_by_the_scalar_tier(kat):
    """Four outputs of every case."""
    archive, rng = kat("tensix_bh_mvmul.npz"), np.random.default_rng(41)
    for case, options, dst, b, a, expected in cases(archive):
        for i, j in zip(rng.integers(0, 8, 4), rng.integers(0, 16, 4), strict=True):
            scalars = int(dst[i, j]), b[i].tolist(), a[:, j].tolist()
            assert scalar_dot(NUMERICS, *scalars, phase=int(archive["phase"][case]), **options) == expected[i, j]


def test_wormholes_quirk_is_absent(kat):
    """The cases of the kind `minus_one` differ on Wormhole."""
    name, different = "tensix_bh_mvmul.npz", 0
    archive = kat(name)
    kinds = archive["kind_names"].tolist()
    skip_absent(name, {"minus_one": "minus_one" in archive["kind_names"][archive["kind"]]})
    for case, options, dst, b, a, expected in cases(archive):
        if kinds[archive["kind"][case]] == "minus_one":
            phase = int(archive["phase"][case])
            different += np.count_nonzero(tensix.mvmul(dst, b, a, phase=phase, **options) != expected)
    assert different > 0


def elementwise(kat):
    """Yield each case of ELW*, GAPOOL and GMPOOL: its name, its options and operands as the instruction reads them."""
    archive = kat("tensix_bh_elw.npz")
    for case, options, dst, b, a, expected in cases(archive):
        op = str(archive["op_names"][archive["op"][case]])
        defined = archive["dst_defined"][case].astype(bool)
        undefined = (0xFFFFFFFF if options["dst32"] else 0xFFFF) if op == "GMPOOL" else 0
        read, src_b, src_a = np.where(defined[:, np.newaxis], dst, np.uint32(undefined)), b, a
        if op not in POOLS:
            flags = int(archive["broadcast"][case])
            src_b = tensix.broadcast_src_b(b, row=0 if flags & 2 else None, column_0=bool(flags & 1))
            options["keep_src_b_denormals"] = bool(archive["keep_denormals"][case])
            src_a = a[:8]
        if op in ("ELWMUL", "GAPOOL"):
            options["phase"] = int(archive["phase"][case])
        if op in ("ELWADD", "ELWSUB"):
            options["accumulate"] = bool(archive["accum"][case])
        # A row that no instruction writes reads as 0 where it is undefined.
        written = np.arange(8) < (4 if op in POOLS else 8)
        yield case, op, options, read, src_b, src_a, expected, written | defined


def test_elementwise_and_pooling(kat):
    archive = kat("tensix_bh_elw.npz")
    compared = dict.fromkeys(archive["op_names"].tolist(), 0)
    for case, op, options, dst, b, a, expected, shown in elementwise(kat):
        got = getattr(tensix, op.lower())(dst, b, a, chip="blackhole", **options)
        assert np.array_equal(np.where(shown[:, np.newaxis], got, 0), expected), (case, op, options)
        compared[op] += got.size
    assert sum(compared.values()) == archive["dst_out"].size
    skip_absent("tensix_bh_elw.npz", compared)


def test_elementwise_and_gmpool_by_the_scalar_tier(kat):
    """Six outputs of every case of ELW*, a row of GMPOOL."""
    rng = np.random.default_rng(42)
    for case, op, options, dst, b, a, expected, _ in elementwise(kat):
        if op == "GMPOOL":
            given = {name: options[name] for name in ("style", "dst32")}
            row = [maximum(int(dst[0, j]), b[0].tolist(), a[:, j].tolist(), **given) for j in range(16)]
            assert row == expected[0].tolist(), case
        if op in POOLS:
            continue
        operation = multiply_add
        if op != "ELWMUL":
            operation = partial(add, subtract=op == "ELWSUB", accumulating=options.pop("accumulate"))
        for cell in zip(rng.integers(0, 8, 6), rng.integers(0, 16, 6), strict=True):
            assert operation(NUMERICS, *(int(each[cell]) for each in (dst, b, a)), **options) == expected[cell], case


def pack_cases(kat):
    archive = kat("tensix_bh_pack_unpack.npz")
    for case, config in enumerate(archive["p_cfg"].tolist()):
        read32, mid, out, relu, threshold, accumulate, unsigned, round_10b, e4m3 = config
        before, after = (archive[f"p_l1_{name}"][case].astype("<u4").view(np.uint8) for name in ("before", "after"))
        options = {
            "dst32": bool(read32),
            "relu": relu,
            "relu_threshold": threshold,
            "unsigned": bool(unsigned),
            "round_10b": bool(round_10b),
            "e4m3": bool(e4m3),
        }
        yield config, archive["p_dst"][case], Format(mid), Format(out), bool(accumulate), options, before, after


def test_pack(kat):
    compared = 0
    for config, dst, mid, out, accumulate, options, before, after in pack_cases(kat):
        l1 = before if accumulate else None
        got = tensix.pack(dst, mid, out, l1=l1, chip="blackhole", **options)
        # The exponent section of FP8 and INT8 has 16 bytes, which nothing writes.
        start = 16 if out in (Format.FP8, Format.INT8) else 0
        expected = before.copy()
        expected[start : start + len(got)] = got
        assert np.array_equal(expected, after), config
        compared += len(got)
    assert compared > 0


def unpack_cases(kat):
    archive = kat("tensix_bh_pack_unpack.npz")
    return zip(archive["u_cfg"].tolist(), archive["u_l1"], archive["u_src"], strict=True)


def test_unpack(kat):
    for config, l1, expected in unpack_cases(kat):
        source, target, unsigned, e4m3, unpacker, transposed, forced, exponent = config
        control = tensix.UnpackControl(
            in_format=source,
            out_format=target,
            unsigned=bool(unsigned),
            e4m3=bool(e4m3),
            forced_exponent=exponent if forced else None,
            transpose=bool(transposed and unpacker == 0),
        )
        got = tensix.unpack_tile(l1, control, chip="blackhole")
        assert np.array_equal(got.reshape(-1), expected), config


def test_unpack_to_dst(kat):
    archive = kat("tensix_bh_pack_unpack.npz")
    for (source, target), l1, expected in zip(
        archive["d_cfg"].tolist(), archive["d_l1"], archive["d_dst"], strict=True
    ):
        got = tensix.unpack_to_dst(l1, source, target, chip="blackhole")
        assert np.array_equal(got, expected), (source, target)


def test_unpack_in_tilise_mode(kat):
    archive = kat("tensix_bh_pack_unpack.npz")
    for config, l1, expected in zip(archive["t_cfg"].tolist(), archive["t_l1"], archive["t_src"], strict=True):
        source, target, e4m3, stride, datums = config
        control = tensix.UnpackControl(in_format=source, out_format=target, e4m3=bool(e4m3), row_stride=stride)
        got = tensix.unpack_tile(l1, control, count=datums, chip="blackhole").reshape(-1)
        assert np.array_equal(got, expected[: got.size]), config


@pytest.mark.parametrize("name", ["p_cfg", "u_cfg", "d_cfg", "t_cfg"])
def test_the_archive_has_cases(kat, name):
    assert len(kat("tensix_bh_pack_unpack.npz")[name])
