"""Matmuls of a layer in W8A8 on Trainium3's units, each step of all matmuls in one process of its unit::

    x -> RMSNorm-Quant -> FP8 and row scales -> array -> PSUM -> * channel scales -> * row scales -> BF16
         rmsnorm_quant                         core_array  psum   engine_lane      activation2_lane   copy_lanes

A linear layer's weights are converted by golden, as a host does. A product without weights is BF16 on the same array. Each step takes
the RTL's results of the one before, and is compared with golden's step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.arrays.parallel import cuts
from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.trainium3.declarations.quad_mx import (
    MAX_MOVING_FP32,
    MAX_STATIONARY,
    PARTITIONS,
    QUADRANT,
    AccumulateFlag,
)
from bitpath.golden.trainium3.tensor.modes import ModeInstruction
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig
from bitpath.sim.flows.staged import Stage
from bitpath.sim.flows.trainium3_core import BENCHES as CORE_BENCHES
from bitpath.sim.flows.trainium3_core import RUNS, CoreUnits
from bitpath.sim.flows.trainium3_modes import psum_groups, psum_result
from bitpath.verif.trainium3.core import stages
from bitpath.verif.trainium3.core.core_modes import passes_of
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows

BFLOAT16 = DTYPES[BF16]
UNITS = CoreUnits()
ROW_UNIT = RmsNormQuantConfig(lanes=8, max_row_length=2048)
"""The row unit, whose memory holds the longest rows of a small model."""
BENCHES = {**CORE_BENCHES, "rmsnorm_quant": RUNS}
"""Benches of the units that `tb_words_run` does not play."""
Play = Callable[[str, Sequence[Any]], list[dict[str, Any]]]
"""Plays contents on a unit by its name; returns what each left."""


def configuration(unit: str) -> Any:
    """Return the configuration of a unit."""
    return ROW_UNIT if unit == "rmsnorm_quant" else getattr(UNITS, unit)


@dataclass(kw_only=True, eq=False)
class Product:
    """A product, its operands and its steps so far.

    Attributes
    ----------
    a : float32 [M, K]: before the norm if there is a gamma.
    b : float32 [K, N].
    fp8 : True in W8A8, False in BF16.
    gamma, eps : of the norm before the product; None for none.
    stages : results of its steps in RTL and in golden.
    rows, scale, channels, program, result : what the steps take, those of the RTL's results.
    """

    a: np.ndarray
    b: np.ndarray
    fp8: bool
    gamma: np.ndarray | None = None
    eps: float | None = None
    stages: list[Stage] = field(default_factory=list)
    rows: Rows = field(init=False)
    scale: np.ndarray = field(init=False)
    channels: np.ndarray = field(init=False)
    program: list[ModeInstruction] = field(init=False)
    result: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        options = Options(quant_only=self.gamma is None)
        if self.eps is not None:
            options = replace(options, eps=self.eps)
        gamma = None if self.gamma is None else trainium3.round_to_bfloat16(self.gamma)
        self.rows = Rows(hidden=trainium3.round_to_bfloat16(self.a), gamma=gamma, in_scale=None, options=options)

    def step(self, unit: str, rtl: Any, golden: Any, cycles: int) -> None:
        """Keep a step; its results are those of the next one's input."""
        pair = ([rtl], [golden]) if isinstance(rtl, np.ndarray) else (rtl, golden)
        self.stages.append(
            Stage(
                name=unit,
                unit=unit,
                rtl=pair[0],
                golden=pair[1],
                rtl_cycles=cycles,
                golden_cycles=None,
                is_output=False,
            )
        )


def multiply(products: Sequence[Product], play: Play) -> None:
    """Play all steps of products; each has its result, float32 [M, N], then."""
    if layers := [each for each in products if each.fp8]:
        _quantise(layers, play)
    for each in products:
        if not each.fp8:
            each.program = trainium3.mode_program(each.a, each.b, "bf16")
    _accumulate(products, play)
    if layers:
        _dequantise(layers, play)


def _quantise(products: Sequence[Product], play: Play) -> None:
    for each, left in zip(products, play("rmsnorm_quant", [each.rows for each in products]), strict=True):
        rows = each.rows
        golden = trainium3.rmsnorm_quant(
            rows.hidden, rows.gamma, eps=rows.options.eps, quant_only=rows.options.quant_only
        )
        packed = np.ascontiguousarray(left["output"])
        each.step("rmsnorm_quant", packed, golden, int(left["cycles"]))
        data, each.scale = trainium3.unpack_rows(packed)
        codes, each.channels = trainium3.quantize_channels(each.b)
        each.program = _program(data, codes)


def _program(data: np.ndarray, codes: np.ndarray) -> list[ModeInstruction]:
    """Return the instructions of FP8 rows [M, K] times codes [K, N], K padded with zeros to whole quadrants."""
    x, y = (np.pad(side, ((0, -len(side) % QUADRANT), (0, 0))) for side in (data.T, codes))
    return [
        ModeInstruction(
            # The array takes 8-bit floats as it takes 16-bit ones.
            mode="bf16",
            stationary=np.ascontiguousarray(x[part, rows]),
            moving=np.ascontiguousarray(y[part, columns]),
            psum_accumulate_flag=AccumulateFlag(
                AccumulateFlag.FIRST_OVERWRITE * (part.start == 0) | AccumulateFlag.LAST * (part.stop == len(x))
            ),
            output=(rows, columns),
        )
        for rows in cuts(data.shape[0], MAX_STATIONARY)
        for columns in cuts(codes.shape[1], MAX_MOVING_FP32)
        for part in cuts(len(x), PARTITIONS)
    ]


def _accumulate(products: Sequence[Product], play: Play) -> None:
    array, psum = UNITS.core_array, UNITS.psum
    lasts = []
    for each, left in zip(products, play("core_array", [each.program for each in products]), strict=True):
        found = [
            np.ascontiguousarray(left[f"results_{number}"][:, : own.stationary.shape[-1]])
            for number, own in enumerate(each.program)
        ]
        golden = [passes_of(own, array.rows).astype(np.uint32) for own in each.program]
        each.step("core_array", found, golden, int(left["cycles"]))
        lasts.append([own[-1] for own in found])
    groups = [psum_groups(each.program, last, psum.cols) for each, last in zip(products, lasts, strict=True)]
    for each, left in zip(products, play("psum", groups), strict=True):
        total = trainium3.run_mode_program(each.program)
        each.result = psum_result(each.program, left, psum.cols, total)
        each.step("psum", each.result, total, int(left["cycles"]))


def _dequantise(products: Sequence[Product], play: Play) -> None:
    """Multiply by the channels' scales on VectorE and by the rows' on ScalarE, which write BF16; each takes one tile after the other.

    The lane of ScalarE gives FP32, which the lanes of copies round.
    """
    cycles = {}

    def one(unit: str, content: Any) -> dict[str, Any]:
        (left,) = play(unit, [content])
        cycles[unit] = int(left["cycles"])
        return left

    channels = [np.broadcast_to(each.channels, each.result.shape) for each in products]
    sums, factors = (
        np.concatenate([each.ravel() for each in sides])[np.newaxis]
        for sides in ([each.result for each in products], channels)
    )
    scaled = stages.operate(one, sums, "multiply", factors, "bf16")[0]
    share = cycles["engine_lane"] / scaled.size
    for each, own, by in zip(products, _parted(scaled, products), channels, strict=True):
        golden = trainium3.tensor_tensor(each.result, by, "multiply", dtype=BFLOAT16)
        each.result = own.reshape(golden.shape)
        each.step("engine_lane", each.result, golden, round(share * own.size))
    for width in sorted({each.result.shape[1] for each in products}):
        chosen = [each for each in products if each.result.shape[1] == width]
        tile, scale = (np.concatenate(side) for side in ([p.result for p in chosen], [p.scale for p in chosen]))
        values, _ = stages.activate(one, tile, scale=scale)
        rounded = stages.copy(one, values, BFLOAT16, engine="scalar")
        shares = {unit: cycles[unit] / len(tile) for unit in ("activation2_lane", "copy_lanes")}
        ends = np.cumsum([len(p.result) for p in chosen])[:-1]
        for each, own, kept in zip(chosen, np.split(values, ends), np.split(rounded, ends), strict=True):
            golden = trainium3.activation(each.result, "copy", scale=each.scale, dtype=np.float32)
            each.step("activation2_lane", own, golden, round(shares["activation2_lane"] * len(own)))
            each.step("copy_lanes", kept, trainium3.round_to_bfloat16(own), round(shares["copy_lanes"] * len(own)))
            each.result = np.ascontiguousarray(kept).astype(np.float32)


def _parted(elements: np.ndarray, products: Sequence[Product]) -> list[np.ndarray]:
    """Return each product's part of elements that stand one after the other."""
    return np.split(elements, np.cumsum([each.result.size for each in products])[:-1])
