"""Points of a sweep: each machine's numerics in its formats and fidelities."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.formats.catalogue import TF32, Rounding
from bitpath.golden.tensix.declarations.formats import FIDELITY_PHASES
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.rtl.common.config import PipelineConfig, digest, to_dict
from bitpath.rtl.tensix.dot.layouts import Dot16Config
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.sim.flows import tensix_matmul
from bitpath.sim.study.synth.configurations import Design

ALIGN_BITS = (8, 10, 12, 14, 16, 20, 24)
TENSIX_FORMATS = ("bf16_lofi", "bf16_hifi2", "bf16_hifi4", "bfp8_lofi", "bfp8_hifi2", "tf32_hifi4")
AIE_ML_V2_FORMATS: dict[str, Any] = {
    "mx9": MacMode.MX9,
    "mx6": MacMode.MX6,
    "mx4": MacMode.MX6,
    "bf16": MacMode.FLOAT16,
}
"""Formats and the mode that multiplies each; MX4 runs as MX6."""
AIE_ML_V2_ALIGN_BITS = (20, 23, 26)
AIE_ML_V2_RATES = {"mx9": 8, "mx6": 16, "mx4": 16, "bf16": 4}
"""Multiply-accumulates of a lane and cycle: AM027, Table 7, over 64 lanes."""


@dataclass(frozen=True)
class Point:
    """One choice of numerics in one format.

    Attributes
    ----------
    format_name : format as in ``bitpath run --format``.
    design : datapath whose area counts.
    rate : its multiply-accumulates a cycle in this format.
    label : label in a plot, the difference from the machine's own numerics.
    own : True if the numerics are those of the machine, or of a named preset.
    """

    machine: str
    format_name: str
    design: Design
    rate: float
    label: str
    own: bool = False

    @property
    def numerics(self) -> Any:
        return self.design.config.numerics

    @property
    def config(self) -> dict[str, Any]:
        """Return all properties that distinguish the point."""
        return {"format": self.format_name, **self.design.full_config}

    @property
    def digest(self) -> str:
        return digest(self.machine, (self.format_name, self.design.unit, to_dict(self.design.config)))


def sweep(machine: str) -> list[Point]:
    """Return the machine's points; raise ValueError for an unknown machine."""
    sweeps = {"trainium3": _trainium3, "tensix": _tensix, "aie_ml_v2": _aie_ml_v2}
    return list(sweeps[check_choice("machine", machine, sweeps)]())


def _trainium3() -> Iterator[Point]:
    exact, aligned = TRAINIUM3_QUAD_MX.numerics, TRAINIUM3_QUAD_MX_ALIGNED.numerics
    choices = {"exact": exact, "exact, TF32 accumulator": replace(exact, accumulator=TF32)}
    for rounding in (Rounding.RTZ, Rounding.RNE):
        for bits in ALIGN_BITS:
            choices[f"{bits} bits {rounding.name}"] = replace(
                aligned, align_fraction_bits=bits, align_rounding=rounding, accumulator_rounding=rounding
            )
    for label, numerics in choices.items():
        config = DotConfig(numerics=numerics, pipeline=PipelineConfig(stages=0))
        own = numerics in (exact, aligned)
        yield Point("trainium3", "mxfp8_e4m3", Design(label, "quad_mx_dot", config, 4), 4, label, own)


def _tensix() -> Iterator[Point]:
    base = WORMHOLE.numerics
    choices = {"": base} | {f"{bits} guard bits": replace(base, product_guard_bits=bits) for bits in (2, 4)}
    choices["groups of 16"] = replace(base, group=16)
    ties = ("product_tie", "sum_tie", "dst_tie", "final_tie")
    to_even: dict[str, Any] = dict.fromkeys(ties, Rounding.RNE)
    choices["ties to even"] = replace(base, **to_even)
    for label, numerics in choices.items():
        config = Dot16Config(numerics=numerics, pipeline=PipelineConfig(stages=0))
        for name in TENSIX_FORMATS:
            phases = len(FIDELITY_PHASES[tensix_matmul.formats_of(name)[1]])
            title = f"{name} {label}".strip()
            yield Point("tensix", name, Design(title, "dot16", config, 16), 16 / phases, title, own=not label)


def _aie_ml_v2() -> Iterator[Point]:
    base = AIE_ML_V2.numerics
    choices = {
        "" if bits == base.align_fraction_bits else f"{bits} bits": replace(base, align_fraction_bits=bits)
        for bits in AIE_ML_V2_ALIGN_BITS
    }
    floor = RoundingCode.FLOOR
    choices["floor"] = replace(base, align_rounding=floor, accumulator_align_rounding=floor, result_rounding=floor)
    for name, mode in AIE_ML_V2_FORMATS.items():
        yield _lane(name, name, MacLaneConfig(), own=True)
        for label, numerics in choices.items():
            yield _lane(name, f"{name} alone {label}".strip(), MacLaneConfig(modes=(mode,), numerics=numerics))


def _lane(format_name: str, label: str, config: MacLaneConfig, own: bool = False) -> Point:
    rate = AIE_ML_V2_RATES[format_name]
    return Point("aie_ml_v2", format_name, Design(label, "mac_lane", config, rate), rate, label, own)
