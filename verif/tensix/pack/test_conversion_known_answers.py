"""Known answers of ttsim v1.10.0 through the RTL of the unpacker and the packer, bit for bit."""

import os

import pytest

from bitpath.rtl.tensix.unpack.config import ConversionConfig
from bitpath.sim.engine.runner import build, run

pytestmark = pytest.mark.simulator
ROW = 16


def play(unit, test, rows):
    if "BITPATH_KAT_DIR" not in os.environ:
        pytest.skip("BITPATH_KAT_DIR is not set: no known answers to compare with")
    run(
        build(unit, ConversionConfig(), "verilator"),
        "bitpath.verif.tensix.pack.tb_conversion_known_answers",
        seed=1,
        tests=rf"\.{test}$",
        min_tests=1,
        min_compared=rows,
        env={"BITPATH_KAT_DIR": os.path.abspath(os.environ["BITPATH_KAT_DIR"])},
        timeout=300,
    )


def test_unpacker():
    """7,424 datums through the unpacker."""
    play("unpacker", "unpacked", 7_424 // ROW)


def test_packer():
    """56,544 bytes of 104 cases of 256 datums through the packer."""
    play("packer", "packed", 104 * 256 // ROW)
