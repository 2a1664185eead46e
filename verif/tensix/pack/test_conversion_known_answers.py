"""Known answers of ttsim v1.10.0 through the RTL of the unpacker and the packer, bit for bit."""

import pytest

from bitpath.rtl.tensix.unpack.config import ConversionConfig

pytestmark = pytest.mark.simulator
ROW = 16


def play(replay, unit, test, rows):
    bench = "tensix.pack.tb_conversion_known_answers"
    replay(unit, ConversionConfig(), bench, seed=1, tests=rf"\.{test}$", min_compared=rows)


@pytest.mark.deep
def test_unpacker(replay):
    """7,424 datums through the unpacker."""
    play(replay, "unpacker", "unpacked", 7_424 // ROW)


@pytest.mark.deep
def test_packer(replay):
    """56,544 bytes of 104 cases of 256 datums through the packer."""
    play(replay, "packer", "packed", 104 * 256 // ROW)
