"""Products of bfp16ebs8 that XDNA2 silicon made, through the RTL lane; ``BITPATH_KAT_DIR`` names the folder of the answers.

The last step of each chain is compared with silicon; the accumulators between the steps are golden's.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.exact import Block
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.mac_lane import MacLane
from bitpath.verif.aie_ml_v2.golden.xdna2 import SETS, block, chunks, operands
from bitpath.verif.aie_ml_v2.mac.mac import LaneCase
from bitpath.verif.aie_ml_v2.mac.mac_lane_player import play
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(MacLaneConfig)
FOLDER = Path(os.environ["BITPATH_KAT_DIR"])
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


def chain(a: Iterable[Block], b: Iterable[Block], silicon: int) -> list[tuple[LaneCase, int]]:
    """Return the steps of a lane from an empty accumulator, the last with silicon's result."""
    sent, acc = [], None
    for x, y in zip(a, b, strict=True):
        case = LaneCase(mode=MacMode.MX9, x=x, y=y, acc1=acc)
        acc = case.result(CONFIG.numerics)
        sent.append((case, acc))
    return [*sent[:-1], (sent[-1][0], silicon)]


async def check(dut, sent: list[tuple[LaneCase, int]]) -> None:
    async with bench(dut, MacLane(CONFIG).signature, drain=False) as frame:
        await play(frame, CONFIG.numerics, sent, pauses.never(), pauses.rng("junk"))


@covers("mac_lane.silicon_of_xdna2", "Silicon of the machine that the preset models")
@cocotb.test(**LIMIT)
@cocotb.parametrize(name=list(SETS))
async def silicon_products(dut, name):
    """Every chain of products of bfp16ebs8 that was measured on XDNA2."""
    with np.load(FOLDER / "silicon_xdna2_mmul.npz") as archive:
        a, b, out = operands(archive, name)
    sent = []
    for m, n in np.ndindex(out.shape):
        sides = (
            [block(*each) for each in zip(x.codes[:, i, j, 0], x.exponent[:, i, j, 0], strict=True)]
            for x, i, j in ((a, m, 0), (b, 0, n))
        )
        sent += chain(*sides, int(out[m, n]))
    await check(dut, sent)


@covers("mac_lane.silicon_of_xdna2")
@cocotb.test(**LIMIT)
async def silicon_chains(dut):
    """The chains that probe the accumulator."""
    probes = json.loads((FOLDER / "silicon_xdna2_chain.json").read_text())["probes"]
    sent = [step for each in probes for step in chain(*chunks(each), int(np.float32(each["silicon"]).view(np.uint32)))]
    await check(dut, sent)
