"""The real layer's RMSNorm-Quant through golden and through the RTL row unit, byte for byte."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from bitpath.golden import trainium3
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.arrays.codec import decode_array
from bitpath.golden.trainium3.declarations.vector import SCALE_BYTES, TRAINIUM3_RMSNORM_QUANT
from bitpath.rtl.trainium3.rmsnorm_quant.config import RmsNormQuantConfig
from bitpath.sim.flows.accuracy import rmsnorm_reference
from bitpath.sim.flows.builds import Builds, Part
from bitpath.sim.flows.operands import extents, normalised_layer
from bitpath.sim.flows.outcome import FlowRun, Outcome, compared, play
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import Word
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows

FORMATS = ("row", "static")
"""Quantisation types: a scale of each row's own, or one given for each partition."""
FORMAT_NAMES = one_of(FORMATS)
SIZES = ("lanes",)
"""Options of `engine_for`."""
SLICES = {"icarus": "2x48"}
"""The slice of the layer that a slow simulator runs by default."""
ENGINES = {
    "verilator": RmsNormQuantConfig(lanes=8, max_row_length=1024),
    "icarus": RmsNormQuantConfig(lanes=2, max_row_length=64),
}
"""The unit that each simulator runs."""
OUTPUT = TRAINIUM3_RMSNORM_QUANT.numerics.output


def engine_for(simulator: str, *, lanes: int | None = None) -> RmsNormQuantConfig:
    """The unit that the simulator runs, with another number of lanes where one is given."""
    engine = ENGINES[simulator]
    return engine if lanes is None else replace(engine, lanes=lanes)


def operands(wanted: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Hidden and gamma of the layer, or of its slice "MxK"; ValueError for one that it does not have."""
    hidden, gamma, _ = normalised_layer()
    if wanted is None:
        return hidden, gamma
    rows, length = extents(wanted, hidden.shape, "MxK", "8x48")
    return hidden[:rows, :length], gamma[:length]


class Run(FlowRun):
    """hidden [M, H] and gamma [H], both rounded to BF16, to bytes [M, H + 4], or [M, H] with a static scale.

    The static scale maps the largest normalised element to 240, as a calibration would. Raises ValueError for an
    unknown type, or rows that the unit cannot hold.
    """

    machine, flow = "trainium3", "rmsnorm_quant"
    bench = "bitpath.verif.trainium3.rmsnorm_quant.tb_rmsnorm_quant_run"

    def __init__(
        self, hidden: np.ndarray, gamma: np.ndarray, format_name: str, engine: RmsNormQuantConfig, simulator: str
    ):
        if format_name not in FORMATS:
            raise ValueError(
                f"format of rmsnorm_quant must be {FORMAT_NAMES}, not {format_name!r}{suggestion(format_name, FORMATS)}"
            )
        if hidden.shape[1] > engine.max_row_length:
            raise ValueError(
                f"rows must have up to {engine.max_row_length} elements on {simulator}, not {hidden.shape[1]}"
            )
        self.hidden, self.gamma = (trainium3.round_to_bfloat16(x) for x in (hidden, gamma))
        self.format_name, self.engine, self.simulator = format_name, engine, simulator
        self.in_scale = None
        if format_name == "static":
            largest = np.abs(trainium3.rmsnorm(self.hidden, self.gamma).astype(np.float32)).max()
            limit = np.float32(TRAINIUM3_RMSNORM_QUANT.numerics.output_range)
            self.in_scale = np.full((128, 1), largest / limit, np.float32)
        options = Options(quant_type=format_name)
        self.rows = Rows(hidden=self.hidden, gamma=self.gamma, in_scale=self.in_scale, options=options)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (("rmsnorm_quant", self.engine),)

    def compare(self, console: Console, builds: Builds) -> Outcome:
        """Quantise in golden and in RTL, and return both results.

        Raises SimulationError if the build or the simulation failed, or the unit did nothing.
        """
        built = builds.of(self, *self.parts)
        start = time.monotonic()
        quant_type: Any = self.format_name
        golden: Any = trainium3.rmsnorm_quant(self.hidden, self.gamma, quant_type=quant_type, in_scale=self.in_scale)
        left = play(console, built, self.bench, self.format_name, self.rows)
        rtl = np.ascontiguousarray(left["output"])
        size, cycles = self.hidden.size, int(left["cycles"])
        figures = {"elements": size, "cycles": cycles, "elements_per_cycle": round(size / cycles, 2)}
        return compared(
            self, built, rtl, golden, start, self.hidden.shape, left.get("folder"), times=left["times"], **figures
        )

    def shown(self, *place: int) -> Shown:
        row, index = place
        found = self.rows.shown(index, "", first=row)
        return replace(found, formats={"": (found.formats or {}).get("bytes") or Word(8)})

    def settings(self) -> dict[str, Any]:
        return {}

    def reference(self) -> np.ndarray:
        return rmsnorm_reference(self.hidden, self.gamma)

    def values(self, packed: np.ndarray) -> np.ndarray:
        """The dequantised numbers of packed rows, float64 [M, H]."""
        length = self.hidden.shape[1]
        codes = decode_array(OUTPUT, packed[:, :length])
        if self.in_scale is not None:
            return codes * self.in_scale[np.arange(len(packed)) % len(self.in_scale)]
        scales = np.ascontiguousarray(packed[:, length : length + SCALE_BYTES]).view("<f4")
        return codes * scales.astype(np.float64)
