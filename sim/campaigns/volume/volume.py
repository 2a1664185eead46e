"""Random dot products of every machine's datapath."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import LaneOperands
from bitpath.rtl.tensix.dot.config import Dot16Config
from bitpath.rtl.tensix.dot.dot16 import dot16_layout
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.quad_mx_dot import dot_layout
from bitpath.sim.campaigns.volume import aie, quad_mx, tensix
from bitpath.sim.campaigns.volume.task import Generator, Task
from bitpath.sim.campaigns.volume.vectors import Batch, side_by_side
from bitpath.verif.tensix.dot.dot import FLOAT_MODES


def _of_any_block(make: Callable[[Any, Generator], Iterator[Batch]], config: Any, rng: Generator, _: int) -> Any:
    """Blocks of random vectors differ by their random numbers alone."""
    return make(config, rng)


def _quad_mx_layout() -> dict[str, tuple[int, int]]:
    return side_by_side(("", dot_layout(DotConfig().numerics)))


def _lane_layout() -> dict[str, tuple[int, int]]:
    """Of one beat; an MX9 vector's accumulators stand behind its second one."""
    return side_by_side(("", LaneOperands))


VOLUMES = (
    Task(
        name="volume-trainium3",
        machine="trainium3",
        unit="quad_mx_dot",
        what="four products onto a partial sum: every pair of FP8 formats, 7 classes",
        config=DotConfig,
        block_vectors=len(quad_mx.CLASSES) * len(DotConfig().numerics.element_formats) ** 2 * quad_mx.SIDE**2,
        batches=partial(_of_any_block, quad_mx.batches),
        layout=_quad_mx_layout,
    ),
    Task(
        name="volume-tensix",
        machine="tensix",
        unit="dot16",
        what="16 products onto a Dst word: every style, Dst width and fidelity phase, 6 classes",
        config=Dot16Config,
        block_vectors=tensix.PHASES * (len(FLOAT_MODES) + 1) * len(tensix.FLOAT_CLASSES) * tensix.COUNT,
        batches=partial(_of_any_block, tensix.batches),
        layout=lambda: side_by_side(("", dot16_layout())),
    ),
    Task(
        name="volume-aie_ml_v2",
        machine="aie_ml_v2",
        unit="mac_lane",
        what="a lane's products and two accumulators: every mode and pair of formats, 6 classes of accumulators",
        config=MacLaneConfig,
        block_vectors=len(aie.kinds_of(MacLaneConfig())) * len(aie.ACCUMULATORS) * aie.SIDE**2,
        batches=partial(_of_any_block, aie.batches),
        layout=_lane_layout,
    ),
)
