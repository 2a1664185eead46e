"""The matmuls of a language model that the engines play: golden's forward in a format, and each machine's products.

On Trainium3 QuantizeMX's unit quantises the activations: the left operands, and K and V. Weights are quantised by golden, as a host
does. Tensix keeps FP32, the words of Dst, as golden's matmul does.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from bitpath.golden import tensix, trainium3
from bitpath.golden.machines import find_machine
from bitpath.golden.tensix.matmul.matmul import Packing
from bitpath.sim.engine.options import ENGINES
from bitpath.sim.engine.runner import Built
from bitpath.sim.flows import aie_ml_v2_matmul, tensix_matmul, trainium3_matmul
from bitpath.sim.flows.builds import Part
from bitpath.sim.flows.outcome import FlowRun
from bitpath.sim.flows.trainium3_core import CoreUnits
from bitpath.sim.lm.arithmetic import Arithmetic, Options
from bitpath.sim.lm.model import KINDS
from bitpath.sim.lm.plans import FORMATS, W8A8, parse

FLOWS: Mapping[str, ModuleType] = {
    "trainium3": trainium3_matmul,
    "tensix": tensix_matmul,
    "aie_ml_v2": aie_ml_v2_matmul,
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A format of a machine, and how it runs.

    Attributes
    ----------
    machine, format_name : the machine and the format.
    engine : the engine's configuration.
    simulator, waves : the simulator, and True to record waves.
    scale_rule : Trainium3's; None on a machine without scale rules.
    words : options of the model and the text, which a replay repeats.
    """

    machine: str
    format_name: str
    engine: Any
    simulator: str = "verilator"
    waves: bool = False
    scale_rule: str | None = None
    words: tuple[str, ...] = ()

    @property
    def part(self) -> Part:
        """The unit that multiplies, and its configuration."""
        if self.format_name == W8A8:
            return "core_array", self.engine.core_array
        return ENGINES[self.machine], self.engine

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of golden's matmul and of the machine's run."""
        return {} if self.scale_rule is None else {"scale_rule": self.scale_rule}


def settings(
    machine: str | None, format_name: str | None, simulator: str, scale_rule: str | None = None, **given: Any
) -> list[Setting]:
    """Return the formats to run: the one given, or all that run by default on the machine, or on all machines.

    Raises ValueError for a format that no engine multiplies in floats, a scale rule without Trainium3, and a simulator that
    would take days.
    """
    if simulator != "verilator":
        raise ValueError(f"the flow lm runs the machines' engines, on verilator alone, not on {simulator}")
    chosen = list(FLOWS) if machine is None else [machine]
    if format_name == W8A8:
        if machine not in (None, "trainium3") or scale_rule is not None:
            raise ValueError("format w8a8 is trainium3's, without a scale rule")
        return [Setting(machine="trainium3", format_name=W8A8, engine=CoreUnits(), simulator=simulator, **given)]
    if format_name is not None:
        record = find_machine(machine, format_name)
        if format_name in record.integers:
            raise ValueError(f"format of lm must be one of floats, not {format_name!r}")
        FLOWS[record.name].formats_of(format_name)
        chosen = [record.name]
    if scale_rule is not None and "trainium3" not in chosen:
        raise ValueError(f"--scale-rule goes with trainium3's MX formats; {' and '.join(chosen)} has no scale rule")
    return [
        Setting(
            machine=name,
            format_name=form,
            engine=FLOWS[name].engine_for(simulator),
            simulator=simulator,
            scale_rule=(scale_rule or "ocp") if name == "trainium3" else None,
            **given,
        )
        for name in chosen
        for form in (FORMATS[name] if format_name is None else (format_name,))
    ]


# Golden's forward, and the matmuls that it keeps.


@dataclass(frozen=True, kw_only=True, eq=False)
class Matmul:
    """A matmul of golden's forward: a product for each group of heads, or a single one.

    Attributes
    ----------
    kind, block : its kind, and the number of its block.
    format_name : its format; attention may have another one than the weights.
    a, b : operands, float32 [groups, M, K] and [groups, K, N].
    golden : golden's results, float32 [groups, M, N].
    gamma, epsilon : of the norm that a W8A8 layer begins with; None without one.
    """

    kind: str
    block: int
    format_name: str
    a: np.ndarray
    b: np.ndarray
    golden: np.ndarray
    gamma: np.ndarray | None = None
    epsilon: float | None = None


NORMS = {"q": "attention", "k": "attention", "v": "attention", "gate": "ffn", "up": "ffn"}
"""Kinds that follow a norm, which RMSNorm-Quant's unit computes in W8A8."""


class Captured(Arithmetic):
    """Computes the products in a format, and keeps those of the wanted blocks and kinds, by their blocks.

    Parameters
    ----------
    setting : the format, and the engine whose numerics golden has.
    blocks, kinds : the matmuls to keep.
    """

    def __init__(self, setting: Setting, blocks: Iterable[int], kinds: Sequence[str] = KINDS):
        own = None if setting.format_name == W8A8 else PRODUCTS[setting.machine].numerics_of(setting.engine)
        numerics = {setting.machine: own}
        super().__init__(parse(setting.format_name), options=Options(numerics=numerics, others=setting.options))
        self.kinds = kinds
        self.norms: dict[tuple[int, str], dict[str, Any]] = {}
        self.matmuls: dict[int, list[Matmul]] = {block: [] for block in blocks}

    def norm(self, block: int, place: str, x: np.ndarray, gamma: np.ndarray, epsilon: float) -> Any:
        self.norms[block, place] = {"a": x, "gamma": gamma, "epsilon": epsilon}
        return super().norm(block, place, x, gamma, epsilon)

    def product(self, kind: str, block: int, a: Any, b: np.ndarray) -> np.ndarray:
        result, name = super().product(kind, block, a, b), self.plan.format_of(kind, block)
        if block in self.matmuls and kind in self.kinds:
            own = self.norms[block, NORMS[kind]] if name == W8A8 and kind in NORMS else {"a": a}
            parts = {each: _batch(array) for each, array in {"a": own["a"], "b": b, "golden": result}.items()}
            self.matmuls[block].append(Matmul(kind=kind, block=block, format_name=name, **{**own, **parts}))
        return result


def _batch(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1, *array.shape[-2:])


# A product on each machine's engine.


class TensixProduct(tensix_matmul.Run):
    """A product whose result stays as Dst has it."""

    def _program(self, a: np.ndarray, b: np.ndarray, packing: Packing | None) -> tensix.Program:
        return super()._program(a, b, None)


class Trainium3Product(trainium3_matmul.Run):
    """A product whose activations QuantizeMX's unit quantises."""

    def activations(self, *, both: bool) -> list[tuple[np.ndarray, str]]:
        """Return the tiles [P, F, 4] that the unit quantises, with their formats: those of a, and if ``both`` those of b."""
        rows = np.pad(self.a.T, ((0, 0), (0, self.a.shape[0] % 2)))
        sides = [(rows, "a_format"), *([(self.b, "b_format")] if both else [])]
        return [
            (tile, self.formats[side])
            for matrix, side in sides
            for tile in trainium3.operand_tiles(np.ascontiguousarray(matrix))
        ]

    def take(self, quantised: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Make the program from the elements and scales of `activations`; golden quantises the weights."""
        count = len(trainium3.operand_tiles(self.b))
        moving = quantised[count:] or [
            trainium3.quantize_tile(tile, self.formats["b_format"], scale_rule=self.scale_rule)
            for tile in trainium3.operand_tiles(self.b)
        ]
        self.program = trainium3.tile_program(quantised[:count], moving)


PRODUCTS: Mapping[str, Any] = {
    "trainium3": Trainium3Product,
    "tensix": TensixProduct,
    "aie_ml_v2": aie_ml_v2_matmul.Run,
}
"""The run of one product on each machine's engine."""
Play = Callable[[Part, str, Sequence[Any]], tuple[Built, list[dict[str, Any]]]]
"""Builds a unit and plays contents on it with a bench; returns the build, and what each content left."""


class BlockRun(FlowRun):
    """A matmul of a block on the units of its machine."""

    flow: ClassVar[str] = "lm"

    def __init__(self, setting: Setting, matmul: Matmul):
        self.setting, self.matmul = setting, matmul
        self.machine, self.format_name, self.scale_rule = setting.machine, setting.format_name, setting.scale_rule
        self.engine, self.simulator, self.waves = setting.engine, setting.simulator, setting.waves

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups, M, K and N."""
        return (*self.matmul.a.shape, self.matmul.b.shape[2])

    def figures(self, cycles: int) -> dict[str, Any]:
        """Return the fields of a record that every matmul has."""
        macs = prod(self.shape)
        named = {"block": self.matmul.block, "matmul": self.matmul.kind}
        return named | {"macs": macs, "cycles": cycles, "mac_per_cycle": round(macs / cycles, 1)}

    def values(self, rtl: np.ndarray) -> np.ndarray:
        return rtl

    @property
    def replay(self) -> str:
        words = ["--machine", self.machine, "--format", self.format_name, "--sim", self.simulator, *self.rule_options]
        words += ["--blocks", f"{self.matmul.block}:{self.matmul.block + 1}", "--kind", self.matmul.kind]
        return shlex.join(["bitpath", "run", "lm", *words, *self.setting.words, "--waves"])
