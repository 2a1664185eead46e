"""Known answers of PRNG_SEED and SFP_STOCH_RND, ttsim v1.10.0. ``BITPATH_KAT_DIR`` is their folder."""

import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.rtl.tensix.vector.sfp_stochastic_round import STEPS, SfpStochasticRound
from bitpath.rtl.tensix.vector.stochastic_round import (
    LaneWords,
    RandomBits,
    RoundMode,
    RoundRequest,
    SfpStochasticRoundConfig,
)
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.kit.streams import resolved

CONFIG = config_from_environment(SfpStochasticRoundConfig)
SIGNATURE = SfpStochasticRound(CONFIG).signature
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


def archive() -> dict[str, np.ndarray]:
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "tensix_bh_control.npz") as file:
        return {name: file[name] for name in file if name[:2] in ("s_", "f_")}


@cocotb.test(**LIMIT)
async def states(dut):
    """The states of all lanes behind each seed, and after each further step."""
    answers = archive()
    async with bench(dut, SIGNATURE, drain=False) as frame:
        board = frame.scoreboard("states", LaneWords)
        dut.o__ready.value = 1
        for seed, first, following in zip(
            answers["s_seed"].tolist(), answers["s_state"], answers["s_next"].transpose(0, 2, 1), strict=True
        ):
            await RisingEdge(dut.clk)
            dut.seed__valid.value, dut.seed__payload.value = 1, seed
            await RisingEdge(dut.clk)
            dut.seed__valid.value = 0
            for _ in range(STEPS):
                await RisingEdge(dut.clk)
            dut.i__valid.value = 1
            for step, lanes in enumerate([first, *following]):
                await FallingEdge(dut.clk)
                board.expect(pack(LaneWords, lanes.tolist()), f"seed {seed:#010x}, step {step}")
                board.got(resolved(dut.states))
                await RisingEdge(dut.clk)
            dut.i__valid.value = 0


@cocotb.test(**LIMIT)
async def rounded(dut):
    """Every vector, to the nearest."""
    answers, sent = archive(), []
    for mode, words, results in zip(answers["f_mod"].tolist(), answers["f_in"], answers["f_out"], strict=True):
        fields = {"lanes": words.tolist(), "mode": RoundMode(mode), "rounding": RandomBits.NEAREST}
        sent.append(Request(pack(RoundRequest, fields), pack(LaneWords, results.tolist()), RoundMode(mode).name))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, SfpStochasticRound.LATENCY).sweep(sent)
