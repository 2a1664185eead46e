"""Evaluation of one point in Dask's workers: golden's error on some data, and the area of its datapath."""

from typing import cast

import numpy as np

from bitpath.golden.arrays.arguments import check_choice
from bitpath.sim.flows import operands
from bitpath.sim.flows.machines import RECORDS
from bitpath.sim.study.explore.points import Point
from bitpath.sim.study.synth.flow import Flow

DATA = ("layer", "normal")
"""Kinds of data: a slice of the real layer; independent standard normal numbers of the same shape."""


def matrices(data: str, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Return operands [M, K] and [K, N]; raise ValueError for unknown data."""
    left, right = operands.cut(*operands.layer(), shape)
    if check_choice("data", data, DATA) == "layer":
        return left, right
    rng = np.random.default_rng(6)
    left, right = (rng.standard_normal(each.shape).astype(np.float32) for each in (left, right))
    return left, right


def error_of(point: Point, data: str, shape: str) -> float:
    """Return the error of the point in the metric of its machine."""
    left, right = matrices(data, shape)
    flow = RECORDS[point.machine].matmul
    engine = flow.Run.with_numerics(flow.engine_for("verilator"), point.numerics)
    run = flow.Run(left, right, point.format_name, engine, "verilator")
    golden = run.golden()[: left.shape[0], : right.shape[1]].astype(np.float64)
    reference = run.error_reference()
    return float(np.sqrt(np.mean((golden - reference) ** 2) / np.mean(reference**2)))


def area_of(point: Point, flow: Flow) -> float:
    """Return the gate equivalents of the point's datapath after the area script."""
    return cast(float, flow.synthesize(*point.design.verilog(), modes=("area",)).ge_area)
