"""Known answers of ttsim v1.10.0 through the RTL of the unpacker and the packer, bit for bit."""

import pytest

from bitpath.rtl.tensix.unpack.config import ConversionConfig

pytestmark = pytest.mark.simulator
ROW = 16


def play(replay, unit, test, datums):
    bench = "tensix.pack.tb_conversion_known_answers"
    replay(unit, ConversionConfig(), bench, seed=1, tests=rf"\.{test}$", min_compared=datums.size // ROW)


@pytest.mark.deep
def test_unpacker_known_answers(replay, kat):
    """Every datum of every case through the unpacker."""
    play(replay, "unpacker", "unpacked", kat("tensix_pack_unpack.npz")["u_src"])


@pytest.mark.deep
def test_packer_known_answers(replay, kat):
    """Every datum of every case through the packer."""
    play(replay, "packer", "packed", kat("tensix_pack_unpack.npz")["p_dst"])
