"""What is worked out for a point: golden's error on some data, and its datapath's area. These run in Dask's workers."""

from dataclasses import replace
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.sim.flows import operands
from bitpath.sim.flows.matmuls import MATMULS
from bitpath.sim.study.explore.points import Point
from bitpath.sim.study.synth.flow import Flow

DATA = ("layer", "normal")
"""A slice of the real layer; independent standard normal numbers of the same shape."""
METRICS = {
    "trainium3": "relative RMS against float64 of the quantised operands",
    "tensix": "relative RMS against float64 of the operands",
    "aie_ml_v2": "relative RMS against float64 of the operands",
}
"""On Trainium3 the operands are MXFP8 whatever the numerics, so that its error would hide what these do; elsewhere the
formats are part of the sweep."""


def matrices(data: str, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Operands [M, K] and [K, N]; ValueError for data that is not known."""
    left, right = operands.cut(*operands.layer(), shape)
    if data == "layer":
        return left, right
    if data != "normal":
        raise ValueError(f"data is {data!r}; allowed are {', '.join(DATA)}")
    rng = np.random.default_rng(6)
    return tuple(rng.standard_normal(each.shape).astype(np.float32) for each in (left, right))


def error_of(point: Point, data: str, shape: str) -> float:
    """The point's error in the metric of its machine."""
    left, right = matrices(data, shape)
    job = MATMULS[point.machine].Matmul(left, right, point.format_name, _engine(point), "verilator")
    golden = job.golden()[: left.shape[0], : right.shape[1]].astype(np.float64)
    reference = _of_quantised(job, golden.shape) if point.machine == "trainium3" else job.reference()
    return float(np.sqrt(np.mean((golden - reference) ** 2) / np.mean(reference**2)))


def area_of(point: Point, flow: Flow) -> float:
    """Gate equivalents of the point's datapath, by the area script alone."""
    return flow.synthesize(*point.design.verilog(), modes=("area",)).ge_area


def _engine(point: Point) -> Any:
    engine = MATMULS[point.machine].engine_for("verilator")
    if point.machine == "trainium3":
        return replace(engine, array=replace(engine.array, dot=replace(engine.array.dot, numerics=point.numerics)))
    return replace(engine, unit=replace(engine.unit, numerics=point.numerics))


def _of_quantised(job: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The float64 product of the operands that the instructions have."""
    last = job.instructions[-1].output
    total = np.zeros((last[0].stop, last[1].stop))
    for each in job.instructions:
        sides = []
        for side in ("stationary", "moving"):
            codes = getattr(each, side)
            values = trainium3.dequantize(codes.reshape(codes.shape[0], -1), getattr(each, f"{side}_scale"))
            sides.append(values.reshape(codes.shape))
        total[each.output] += np.einsum("pmi,pni->mn", *sides)
    return total[: shape[0], : shape[1]]
