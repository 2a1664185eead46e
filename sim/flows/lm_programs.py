"""Matmuls of a language model's block as programs of the machines' cores, from memory back to memory, with cycles by engine.

| machine | runs | does not run |
|---|---|---|
| trainium3 | norm, QuantizeMX and q: 128 rows, the first 384 of K, 512 columns | the rest: the program's places in SBUF, PSUM and HBM are those of a layer of this size |
| tensix | k, all of it: a program for each 32x32 tile of the result | softmax, SiLU and norms, which have no program; more than one tile of the result in a program |
| aie_ml_v2 | scores and values of all heads, to MX9 | the layers of weights: 32 rows take K up to 448, and B must fit a pair of banks, 16 KiB |

Each instruction and layer is compared with golden's core, and the results of Tensix and AIE-ML v2 with golden's forward. Trainium3's
part is normalised by itself, with the kernel's eps, so that it has no other result to be compared with; rows beyond the text are zero.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.aie_ml_v2.convert.mx import to_mx
from bitpath.golden.aie_ml_v2.declarations.codes import MX9
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.aie_ml_v2.tile.layers import Layer, mx9_layer
from bitpath.golden.arrays.arguments import one_of
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.trainium3.core.layer import HIDDEN, OUTPUTS
from bitpath.golden.trainium3.core.layer import TOKENS as ROWS
from bitpath.sim.flows import aie_ml_v2_tile, tensix_program, trainium3_core
from bitpath.sim.flows.lm_matmuls import Captured, Setting
from bitpath.sim.flows.outcome import FlowRun
from bitpath.sim.flows.staged import StagedRun
from bitpath.sim.lm.model import Model, hidden

FORMATS = {
    "trainium3": trainium3_core.FORMATS,
    "tensix": tuple(name for name, (element, *_) in tensix_program.KINDS.items() if element == "bf16"),
    "aie_ml_v2": (MX9.name,),
}
"""Formats that have a program."""


class _OfBlock(StagedRun):
    """A program of a block's matmul; ``named`` is the matmul's kind."""

    flow: ClassVar[str] = "lm"
    setting: Setting
    named: str

    @property
    def replay(self) -> str:
        words = ["--program", "--machine", self.machine, "--format", self.format_name, *self.rule_options]
        return shlex.join(["bitpath", "run", "lm", *words, *self.setting.words, "--waves"])

    def compute(self, play: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        rtl, golden, figures = super().compute(play)
        return rtl, golden, {"block": 0, "matmul": self.named, **figures}


class Trainium3Run(_OfBlock, trainium3_core.Run):
    """Norm, QuantizeMX and a part of q on Trainium3's core."""

    named = "q"

    def __init__(self, setting: Setting, model: Model, block: Captured):
        q = np.ascontiguousarray(model.blocks[0].q[:HIDDEN, :OUTPUTS])
        if q.shape != (HIDDEN, OUTPUTS):
            raise ValueError(f"the core's program needs a q of at least [{HIDDEN}, {OUTPUTS}], not {list(q.shape)}")
        x = np.zeros((ROWS, HIDDEN), np.float32)
        norm = block.norms[0, "attention"]
        x[: len(norm["a"])] = norm["a"][:ROWS, :HIDDEN]
        rows, gamma = trainium3.round_to_bfloat16(x), trainium3.round_to_bfloat16(norm["gamma"][:HIDDEN])
        engine, rule = trainium3_core.engine_for(setting.simulator), setting.options["scale_rule"]
        super().__init__(rows, gamma, q, setting.format_name, engine, setting.simulator, rule)
        self.setting = setting


class TensixRun(_OfBlock, tensix_program.Run):
    """k on the cores of both Tensix chips."""

    named = "k"

    def __init__(self, setting: Setting, model: Model, block: Captured):
        (self.matmul,) = (each for each in block.matmuls[0] if each.kind == self.named)
        engine = tensix_program.engine_for(setting.simulator)
        super().__init__(self.matmul.a[0], self.matmul.b[0], setting.format_name, engine, setting.simulator)
        self.setting = setting

    def compute(self, play: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        rtl, _, figures = super().compute(play)
        return rtl, np.concatenate([self.matmul.golden[0]] * len(Chip)), figures


class AieRun(_OfBlock, aie_ml_v2_tile.Run):
    """Scores and values on AIE-ML v2's tile, a layer for each group of heads."""

    named = "attention"

    def __init__(self, setting: Setting, model: Model, block: Captured):
        matmuls = [each for each in block.matmuls[0] if each.kind in ("scores", "values")]
        self.products = [product for each in matmuls for product in zip(each.a, each.b, each.golden, strict=True)]
        self.layers = [f"{each.kind}, group {group}" for each in matmuls for group in range(len(each.a))]
        StagedRun.__init__(self, setting.format_name, aie_ml_v2_tile.engine_for(setting.simulator), setting.simulator)
        self.arithmetic = _Products(self.products)
        self.setting = setting

    def reference(self) -> np.ndarray:
        a, b, _ = self.products[-1]
        return a.astype(np.float64) @ b.astype(np.float64)


class _Products(aie_ml_v2_tile.Blocks):
    """Layers of MX9 that do not follow each other: operands and golden's result of each."""

    def __init__(self, products: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]):
        self.products = products

    def layer(self, number: int, made: MxBlocks | None) -> Layer:
        return mx9_layer(*self.products[number][:2])

    def expected(self) -> MxBlocks:
        return to_mx(self.products[-1][2], MX9)


RUNS: dict[str, Any] = {"trainium3": Trainium3Run, "tensix": TensixRun, "aie_ml_v2": AieRun}


def program_runs(model: Model, ids: Sequence[int], settings: Sequence[Setting]) -> Iterator[FlowRun]:
    """Yield the runs of the formats that have a program, with the operands of golden's forward in each.

    Raises ValueError if no format has one, or the model's matmuls do not fit.
    """
    having = [each for each in settings if each.format_name in FORMATS[each.machine]]
    if not having:
        known = one_of(name for names in FORMATS.values() for name in names)
        raise ValueError(f"format of lm --program must be {known}, not {settings[0].format_name!r}")
    for setting in having:
        block = Captured(setting, (0,))
        hidden(replace(model, blocks=model.blocks[:1]), ids, block)
        run = RUNS[setting.machine](setting, model, block)
        run.waves = setting.waves
        yield run
