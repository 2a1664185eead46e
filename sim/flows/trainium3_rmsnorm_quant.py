"""The real layer's RMSNorm-Quant through golden and through the RTL row unit, byte for byte."""

import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from rich.console import Console

from bitpath.golden import trainium3
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.arrays.codec import decode_array
from bitpath.golden.trainium3.declarations.vector import ROW_TILE, SCALE_BYTES
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig
from bitpath.sim.flows.builds import Builds, Part
from bitpath.sim.flows.operands import extents, load, normalised_layer
from bitpath.sim.flows.outcome import FlowRun, Outcome, compared, play, rmsnorm_reference
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import Word
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows

FORMATS = ("row", "static")
"""Quantisation types: a scale of each row's own, or one given for each partition."""
FORMAT_NAMES = one_of(FORMATS)
FILES = ("hidden", "gamma", "residual", "pre_norm_gamma", "in_scale")
"""Tensors that a user may give, as .npy."""
SIZES = ("lanes",)
"""Options of `engine_for`."""
SLICES = {"icarus": "2x48"}
"""The slice of the layer that a slow simulator runs by default."""
ENGINES = {
    "verilator": RmsNormQuantConfig(lanes=8, max_row_length=1024),
    "icarus": RmsNormQuantConfig(lanes=2, max_row_length=64),
}
"""The unit that each simulator runs."""


def engine_for(simulator: str, *, lanes: int | None = None) -> RmsNormQuantConfig:
    """The unit that the simulator runs, with another number of lanes where one is given."""
    engine = ENGINES[simulator]
    return engine if lanes is None else replace(engine, lanes=lanes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tensors:
    """Operands of a run: arguments of golden's `rmsnorm_quant`, float32 or float16."""

    hidden: np.ndarray
    gamma: np.ndarray
    residual: np.ndarray | None = None
    pre_norm_gamma: np.ndarray | None = None
    in_scale: np.ndarray | None = None
    options: Options = field(default_factory=Options)


def operands(wanted: str | None, **given: Any) -> tuple[Tensors]:
    """The layer's tensors, or the user's files, cut to the slice "MxK"; and the user's options.

    Raises
    ------
    OSError, TypeError, ValueError : a file that cannot be read, or of another shape; a slice beyond the tensors.
    """
    layer_hidden, layer_gamma, _ = normalised_layer()
    files = {name: given.pop(name) for name in FILES if name in given}
    loaded = {name: load(f"--{name.replace('_', '-')}", path, widen=False) for name, path in files.items()}
    hidden = loaded.pop("hidden", None)
    if hidden is None:
        hidden, default = layer_hidden, layer_gamma
    else:
        default = np.ones(hidden.shape[1], np.float32)
    gamma = loaded.pop("gamma", default[np.newaxis])
    columns = hidden.shape[1]
    expected = {
        "gamma": (1, columns),
        "pre_norm_gamma": (1, columns),
        "residual": hidden.shape,
        "in_scale": (ROW_TILE, 1),
    }
    for name, tensor in {"gamma": gamma, **loaded}.items():
        if tensor.shape != expected[name]:
            raise ValueError(f"--{name.replace('_', '-')} must have shape {expected[name]}, not {tensor.shape}")
    rows, length = hidden.shape if wanted is None else extents(wanted, hidden.shape, "MxK", "8x48")
    cut = {name: tensor if name == "in_scale" else tensor[:rows, :length] for name, tensor in loaded.items()}
    return (Tensors(hidden=hidden[:rows, :length], gamma=gamma[:, :length], options=Options(**given), **cut),)


class Run(FlowRun):
    """Tensors to bytes [M, H + 4], or [M, H] with a static scale. Gammas are rounded to BF16.

    The unit rounds hidden to BF16; behind a pre-norm or a residual, it takes golden's BF16 sums. Without a static scale of
    the user's, the largest normalised element becomes 240 or 448, as by a calibration. Raises ValueError for an unknown type, or
    rows that the unit cannot hold.
    """

    machine, flow = "trainium3", "rmsnorm_quant"
    bench = "bitpath.verif.runs.tb_trainium3"

    def __init__(self, tensors: Tensors, format_name: str, engine: RmsNormQuantConfig, simulator: str):
        hidden = tensors.hidden
        if format_name not in FORMATS:
            raise ValueError(
                f"format of rmsnorm_quant must be {FORMAT_NAMES}, not {format_name!r}{suggestion(format_name, FORMATS)}"
            )
        if hidden.shape[1] > engine.max_row_length:
            raise ValueError(
                f"rows must have up to {engine.max_row_length} elements on {simulator}, not {hidden.shape[1]}"
            )
        if tensors.in_scale is not None and format_name != "static":
            raise ValueError(f"--in-scale goes with --format static, not {format_name}")
        self.tensors, self.hidden = tensors, hidden
        self.gamma = trainium3.round_to_bfloat16(tensors.gamma[0].astype(np.float32))
        self.pre_norm_gamma = None
        if tensors.pre_norm_gamma is not None:
            self.pre_norm_gamma = trainium3.round_to_bfloat16(tensors.pre_norm_gamma[0].astype(np.float32))
        self.format_name, self.engine, self.simulator = format_name, engine, simulator
        options = replace(tensors.options, quant_type=format_name)
        norm: Any = {"eps": options.eps, "eps_placement": options.eps_placement}
        entering = hidden if self.pre_norm_gamma is None else trainium3.rmsnorm(hidden, self.pre_norm_gamma, **norm)
        if tensors.residual is not None:
            # Quantisation alone leaves the sums as they are.
            given: Any = {"residual": tensors.residual, "pre_norm_gamma": self.pre_norm_gamma, "quant_only": True}
            _, entering = trainium3.rmsnorm_quant(hidden, None, **given, **norm)
        self.in_scale = tensors.in_scale
        if format_name == "static" and self.in_scale is None:
            normal = entering if options.quant_only else trainium3.rmsnorm(entering, self.gamma, **norm)
            limit = np.float32(options.numerics.output_range)
            self.in_scale = np.full((ROW_TILE, 1), np.abs(normal.astype(np.float32)).max() / limit, np.float32)
        gamma = None if options.quant_only else self.gamma
        self.rows = Rows(hidden=entering, gamma=gamma, in_scale=self.in_scale, options=options)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (("rmsnorm_quant", self.engine),)

    def compare(self, console: Console, builds: Builds) -> Outcome:
        """Quantise in golden and in RTL, and return both results.

        Raises SimulationError if the build or the simulation failed, or the unit did nothing.
        """
        built = builds.of(self, *self.parts)
        start = time.monotonic()
        golden: Any = trainium3.rmsnorm_quant(
            self.hidden, self.rows.gamma, in_scale=self.in_scale, residual=self.tensors.residual,
            pre_norm_gamma=self.pre_norm_gamma, **asdict(self.rows.options),
        )  # fmt: skip
        if self.tensors.residual is not None:
            golden, _ = golden
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
        changed = {
            name: value for name, value in asdict(self.rows.options).items() if value != getattr(Options(), name)
        }
        changed.pop("quant_type", None)
        return {"options": changed} if changed else {}

    def reference(self) -> np.ndarray:
        options = self.rows.options
        values = trainium3.round_to_bfloat16(self.hidden.astype(np.float32)).astype(np.float64)
        if self.pre_norm_gamma is not None:
            values = rmsnorm_reference(values, self.pre_norm_gamma, options.eps)
        if self.tensors.residual is not None:
            values = values + self.tensors.residual
        return values if options.quant_only else rmsnorm_reference(values, self.gamma, options.eps)

    def values(self, packed: np.ndarray) -> np.ndarray:
        """The dequantised numbers of packed rows, float64 [M, H]."""
        length = self.hidden.shape[1]
        codes = decode_array(self.rows.options.numerics.output, packed[:, :length])
        if self.in_scale is not None:
            return codes * self.in_scale[np.arange(len(packed)) % len(self.in_scale)]
        scales = np.ascontiguousarray(packed[:, length : length + SCALE_BYTES]).view("<f4")
        return codes * scales.astype(np.float64)
