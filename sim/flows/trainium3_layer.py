"""A transformer layer's step on Trainium3: RMSNorm, QuantizeMX and matmul, the last two on RTL, one after the other."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.formats.catalogue import BF16, E8M0, MX_FORMATS
from bitpath.golden.trainium3.declarations.quad_mx import ScaleRule
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMxConfig
from bitpath.sim.engine.runner import Built
from bitpath.sim.flows.builds import Builds, Part
from bitpath.sim.flows.operands import cut, normalised_layer
from bitpath.sim.flows.outcome import Outcome, codes, differences, play, rmsnorm_reference
from bitpath.sim.flows.trainium3_matmul import FORMATS, SCALE_RULES, SIZES, SLICES, engine_for
from bitpath.sim.flows.trainium3_matmul import Run as MatmulRun
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.trainium3.vector.quantize_mx import Mode, blocks_tile, tile_blocks

__all__ = ["FORMATS", "SCALE_RULES", "SIZES", "SLICES", "Run", "engine_for", "operands"]

QUANTIZER = QuantizeMxConfig()
QUANTIZER_PART = ("quantize_mx", QUANTIZER)


def operands(wanted: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hidden, gamma and weight of the layer, or of its slice "MxKxN"; ValueError for one that it does not have."""
    hidden, gamma, weight = normalised_layer()
    hidden, weight = cut(hidden, weight, wanted)
    return hidden, gamma[: hidden.shape[1]], weight


def quantizer_input(tile: np.ndarray, format_name: str, rule: str) -> tuple[np.ndarray, str]:
    """Return what QuantizeMX's bench plays for a bfloat16 tile [P, F, 4]: its blocks, and the name of the unit's mode."""
    mode = Mode(BF16, MX_FORMATS[format_name].element, ScaleRule(rule))
    return tile_blocks(tile.view(np.uint16)), mode.name


def quantizer_output(
    left: Mapping[str, np.ndarray], tile: np.ndarray, format_name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return elements [P, F, 4] and scales [P/8, F] of a tile from what the bench left."""
    free = tile.shape[1]
    elements = blocks_tile(left["codes"], free).view(DTYPES[MX_FORMATS[format_name].element])
    return elements, left["scales"].reshape(-1, free)


class Run(MatmulRun):
    """hidden -> RMSNorm in golden, BF16 -> QuantizeMX in RTL -> the tensor engine in RTL -> [M, N].

    The tensor engine multiplies the output of QuantizeMX; golden computes both steps independently.

    Parameters
    ----------
    hidden : float32 [M, K], rounded to BF16 first.
    gamma : float32 [K], rounded to BF16.
    weight : float32 [K, N], quantised by golden.
    given, rule : format name, engine, simulator and scale rule, as `MatmulRun` has them.
    """

    flow: ClassVar[str] = "layer"

    def __init__(self, hidden: np.ndarray, gamma: np.ndarray, weight: np.ndarray, *given: Any, **rule: Any):
        self.hidden, self.gamma = (trainium3.round_to_bfloat16(x) for x in (hidden, gamma))
        normalised = trainium3.rmsnorm(self.hidden, self.gamma)
        super().__init__(normalised.astype(np.float32), weight, *given, **rule)
        self.golden_program = self.program

    def golden(self, progress: Progress | None = None) -> np.ndarray:
        numerics = self.engine.array.dot.numerics
        return trainium3.run_program(self.golden_program, numerics=numerics, progress=progress)

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"quantizer": {"stages": QUANTIZER.pipeline.stages}}

    def reference(self) -> np.ndarray:
        return rmsnorm_reference(self.hidden, self.gamma) @ self.b.astype(np.float64)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (QUANTIZER_PART, *super().parts)

    def compare(self, console: Console, builds: Builds) -> Outcome:
        built = builds.of(self, QUANTIZER_PART)
        start = time.monotonic()
        self.tiles = tiles = trainium3.operand_tiles(np.pad(self.a.T, ((0, 0), (0, self.a.shape[0] % 2))))
        quantised, cycles = zip(*(self._quantise(console, built, tile) for tile in tiles), strict=True)
        expected, moving = (
            [trainium3.quantize_tile(tile, self.formats[side], scale_rule=self.scale_rule) for tile in made]
            for side, made in (("a_format", tiles), ("b_format", trainium3.operand_tiles(self.b)))
        )
        self.program = trainium3.tile_program(quantised, moving)
        between = time.monotonic() - start
        outcome = super().compare(console, builds)
        # All tiles' elements, then all their scales.
        rtl, golden = (
            np.concatenate([codes(part).ravel() for side in zip(*pairs, strict=True) for part in side])
            for pairs in (quantised, expected)
        )
        record = outcome.record
        record.update(
            quantizer_digest=built.digest,
            quantized_compared=golden.size,
            quantized_mismatches=differences(rtl, golden),
            quantize_cycles=sum(cycles),
            mismatches=record["mismatches"] + differences(rtl, golden),
            wall_seconds=round(record["wall_seconds"] + between, 2),
            build_seconds=round(record["build_seconds"] + built.seconds, 2),
        )
        return replace(outcome, before=(rtl, golden))

    def explain(self, m: int, n: int) -> str | None:
        # The left matrix is golden's RMSNorm, which no option of the command names.
        return None

    def shown_before(self, *place: int) -> Shown:
        (index,) = place
        elements = sum(tile.size for tile in self.tiles)
        fmt = MX_FORMATS[self.formats["a_format"]].element if index < elements else E8M0
        kind, at = ("element", index) if index < elements else ("scale", index - elements)
        return Shown(operands={"place": f"{kind} {at} of QuantizeMX's output, {fmt.name}"}, formats={"": fmt})

    def _quantise(self, console: Console, built: Built, tile: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], int]:
        """Quantise a bfloat16 tile [P, F, 4] with QuantizeMX in RTL; return elements and scales, and the cycles."""
        title, fmt = f"{self.format_name} elements", self.formats["a_format"]
        left = play(console, built, self.bench, title, quantizer_input(tile, fmt, self.scale_rule))
        return quantizer_output(left, tile, fmt), int(left["cycles"])
