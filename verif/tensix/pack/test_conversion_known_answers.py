"""Known answers of ttsim v1.10.0 through the RTL of the unpacker and the packer, bit for bit."""

import pytest

from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
ROW = 16
CHIPS = {"tensix_pack_unpack.npz": WORMHOLE, "tensix_bh_pack_unpack.npz": BLACKHOLE}
ARCHIVES = pytest.mark.parametrize("archive", CHIPS)


def play(replay, archive, unit, test, datums):
    config = ConversionConfig(numerics=CHIPS[archive].numerics)
    result = replay(
        unit,
        config,
        "tensix.pack.tb_conversion_known_answers",
        env={"BITPATH_ARCHIVE": archive},
        seed=1,
        tests=rf"\.{test}$",
    )
    assert result.compared == datums.size // ROW > 0


@covers(
    "unpacker.blackhole",
    "FP8 has other rules on Blackhole; Dst holds 16-bit formats without the fraction bits that Src has",
    "E4M3, and E5M2 codes of all ones, with Blackhole's numerics; all conversions to Dst on both chips",
)
@covers(
    "unpacker.known_answers",
    "An implementation that shares no author with golden and RTL",
    "Every datum that ttsim unpacked, to Src on both chips and to Dst on Blackhole",
)
@pytest.mark.deep
@ARCHIVES
def test_unpacker_known_answers(replay, kat, archive):
    """Every datum of every case through the unpacker."""
    play(replay, archive, "unpacker", "unpacked", kat(archive)["u_src"])


@covers("unpacker.known_answers")
@pytest.mark.parametrize("archive", ["tensix_bh_pack_unpack.npz"])
def test_unpacker_to_dst_known_answers(replay, kat, archive):
    """Every datum of every case into Dst."""
    play(replay, archive, "unpacker", "unpacked_to_dst", kat(archive)["d_dst"])


@covers("packer.known_answers", "An implementation that shares no author with golden and RTL")
@pytest.mark.deep
@ARCHIVES
def test_packer_known_answers(replay, kat, archive):
    """Every byte that ttsim packed, on Wormhole and on Blackhole."""
    play(replay, archive, "packer", "packed", kat(archive)["p_dst"])
