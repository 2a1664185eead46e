"""Known answers of ttsim v1.10.0 for Wormhole: golden must equal every one, bit for bit."""

from functools import partial

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import STYLE_OWN_FORMAT, Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.exact import add, multiply_add
from bitpath.verif.kit.known_answers import skip_absent
from bitpath.verif.tensix.golden.words import scalar_dot


def cases(archive):
    """Yield each case: its number, style, Dst width and phase, operands, and the Dst words after it."""
    for case in range(len(archive["style"])):
        style = Style(archive["style_names"][archive["style"][case]])
        common = {"style": style, "dst32": bool(archive["use32"][case]), "phase": int(archive["phase"][case])}
        yield case, common, *(archive[name][case] for name in ("dst_in", "srcB", "srcA", "dst_out"))


def products(archive):
    """Yield the cases of MVMUL, with the formats of their sources."""
    for case, common, *words in cases(archive):
        formats = {"srca_format": Format(archive["fmtA"][case]), "srcb_format": Format(archive["fmtB"][case])}
        yield common | formats, *words


def test_mvmul(kat):
    archive, compared = kat("tensix_mvmul.npz"), 0
    for options, dst, b, a, expected in products(archive):
        got = tensix.mvmul(dst, b, a, **options)
        assert np.array_equal(got, expected), options
        compared += got.size
    assert compared == archive["dst_out"].size > 0


def test_mvmul_by_the_scalar_tier(kat):
    """Six outputs of every case."""
    rng = np.random.default_rng(11)
    archive, compared = kat("tensix_mvmul.npz"), 0
    for options, dst, b, a, expected in products(archive):
        for flat in rng.choice(8 * 16, 6, replace=False).tolist():
            i, j = divmod(flat, 16)
            scalars = int(dst[i, j]), b[i].tolist(), a[:, j].tolist()
            assert scalar_dot(WORMHOLE.numerics, *scalars, **options) == expected[i, j]
            compared += 1
    assert compared == 6 * len(archive["style"])


def test_the_quirk_is_in_the_known_answers(kat):
    """Without the bug some answers differ, so the known answers confirm the switch."""
    different = 0
    for options, dst, b, a, expected in products(kat("tensix_mvmul.npz")):
        if options["dst32"]:
            different += np.count_nonzero(tensix.mvmul(dst, b, a, quirk=False, **options) != expected)
    skip_absent("tensix_mvmul.npz", {"sums of -1 unit": different})


def test_elementwise_and_pooling(kat):
    archive = kat("tensix_elw.npz")
    compared = dict.fromkeys(archive["op_names"].tolist(), 0)
    for case, options, dst, b, a, expected in cases(archive):
        op = str(archive["op_names"][archive["op"][case]])
        if op in ("ELWADD", "ELWSUB", "GMPOOL"):
            del options["phase"]
        if op in ("ELWADD", "ELWSUB"):
            options["accumulate"] = bool(archive["accum"][case])
        got = getattr(tensix, op.lower())(dst, b, a[:8] if op.startswith("ELW") else a, **options)
        assert np.array_equal(got, expected), op
        compared[op] += got.size
    assert sum(compared.values()) == archive["dst_out"].size
    skip_absent("tensix_elw.npz", compared)


def test_elementwise_by_the_scalar_tier(kat):
    archive = kat("tensix_elw.npz")
    rng = np.random.default_rng(12)
    compared = 0
    for case, options, *words in cases(archive):
        op = str(archive["op_names"][archive["op"][case]])
        if not op.startswith("ELW"):
            continue
        own = dict.fromkeys(("srca_format", "srcb_format"), STYLE_OWN_FORMAT[options["style"]])
        operation = multiply_add
        if op != "ELWMUL":
            operation = partial(add, subtract=op == "ELWSUB", accumulating=bool(archive["accum"][case]))
            del options["phase"]
        for flat in rng.choice(8 * 16, 10, replace=False).tolist():
            *scalars, expected = (int(each[divmod(flat, 16)]) for each in words)
            assert operation(WORMHOLE.numerics, *scalars, **options, **own) == expected
            compared += 1
    names = archive["op_names"][archive["op"]].tolist()
    assert compared == 10 * sum(name.startswith("ELW") for name in names)


def test_unpack(kat):
    archive = kat("tensix_pack_unpack.npz")
    compared = 0
    for config, l1, expected in zip(archive["u_cfg"].tolist(), archive["u_l1"], archive["u_src"], strict=True):
        got = tensix.unpack(l1, config[0], config[1], unsigned=bool(config[2]))
        assert np.array_equal(got, expected), config
        compared += got.size
    assert compared == archive["u_src"].size > 0


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
    assert compared > 0
