"""Parts of a language model's block as programs of the machines' cores, from memory back to memory, with cycles by engine.

| machine | runs | does not run |
|---|---|---|
| trainium3 | norm, QuantizeMX and q: 32 rows, the first 256 of K, 32 columns | the rest: the program's places in SBUF, PSUM and HBM are those of a layer of this size |
| tensix | k, all of it: a program for each 32x32 tile of the result; in bf16_hifi4 the block's second half on the first 32 rows | attention: the maximum of rows has no program |
| aie_ml_v2 | scores and values of all heads, to MX9 | the layers of weights: 32 rows take K up to 448, and B must fit a pair of banks, 16 KiB |

Each instruction and layer is compared with golden's core, and the matmuls of Tensix and AIE-ML v2 with golden's forward. The second half
of the block starts from the forward's residual stream, and is compared with `sim.lm.on_tensix`. Trainium3's part is normalised by
itself, with the kernel's eps, so that it has no other result to be compared with; rows beyond the text are zero.
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
from bitpath.golden.tensix.declarations.formats import TILE, Chip
from bitpath.golden.trainium3.core.layer import QUADRANT_LAYER
from bitpath.sim.flows import aie_ml_v2_tile, tensix_program, tensix_steps, trainium3_core
from bitpath.sim.flows.lm_matmuls import Captured, Setting
from bitpath.sim.flows.outcome import FlowRun
from bitpath.sim.flows.staged import StagedRun
from bitpath.sim.lm.model import Model, hidden

L1_WORDS = 1 << 13
"""64-byte words of L1 on Tensix: `down` of the default model has 48 tiles along K, which with two columns of tiles reach 388 KiB."""


class _OfBlock(StagedRun):
    """Programs of a part of a block; ``named`` is the matmul's kind, or the part, and ``formats`` have these programs."""

    flow: ClassVar[str] = "lm"
    formats: ClassVar[Sequence[str]]
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

    named, formats = "q", trainium3_core.FORMATS

    def __init__(self, setting: Setting, model: Model, block: Captured):
        rows, k, columns = QUADRANT_LAYER.tokens, QUADRANT_LAYER.values, QUADRANT_LAYER.outputs
        q = np.ascontiguousarray(model.blocks[0].q[:k, :columns])
        if q.shape != (k, columns):
            raise ValueError(f"the core's program needs a q of at least [{k}, {columns}], not {list(q.shape)}")
        x = np.zeros((rows, k), np.float32)
        norm = block.norms[0, "attention"]
        x[: len(norm["a"])] = norm["a"][:rows, :k]
        hidden, gamma = trainium3.round_to_bfloat16(x), trainium3.round_to_bfloat16(norm["gamma"][:k])
        engine, rule = trainium3_core.engine_for(setting.simulator), setting.options["scale_rule"]
        super().__init__(hidden, gamma, q, setting.format_name, engine, setting.simulator, rule)
        self.setting = setting


class TensixRun(_OfBlock, tensix_program.Run):
    """k on the cores of both Tensix chips."""

    named = "k"
    formats = tuple(name for name, (element, *_) in tensix_program.KINDS.items() if element == "bf16")

    def __init__(self, setting: Setting, model: Model, block: Captured):
        (self.matmul,) = (each for each in block.matmuls[0] if each.kind == self.named)
        engine = tensix_program.engine_for(setting.simulator, l1_words=L1_WORDS)
        super().__init__(self.matmul.a[0], self.matmul.b[0], setting.format_name, engine, setting.simulator)
        self.setting = setting

    def compute(self, play: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        rtl, _, figures = super().compute(play)
        return rtl, np.concatenate([self.matmul.golden[0]] * len(Chip)), figures


class TensixHalfRun(_OfBlock, tensix_steps.Run):
    """The second half of the block on the cores of both Tensix chips, for the first 32 rows."""

    named, formats = "ffn", (tensix_steps.FORMAT,)

    def __init__(self, setting: Setting, model: Model, block: Captured):
        x = block.norms[0, "ffn"]["a"][:TILE]
        engine = tensix_program.engine_for(setting.simulator, l1_words=L1_WORDS)
        super().__init__(x, model.blocks[0], model.epsilon, engine, setting.simulator)
        self.setting = setting


class AieRun(_OfBlock, aie_ml_v2_tile.Run):
    """Scores and values on AIE-ML v2's tile, a layer for each group of heads."""

    named, formats = "attention", (MX9.name,)

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


RUNS: dict[str, tuple[Any, ...]] = {
    "trainium3": (Trainium3Run,),
    "tensix": (TensixRun, TensixHalfRun),
    "aie_ml_v2": (AieRun,),
}
FORMATS = {
    machine: tuple(dict.fromkeys(name for run in runs for name in run.formats)) for machine, runs in RUNS.items()
}
"""Formats that have a program."""


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
        for kind in RUNS[setting.machine]:
            if setting.format_name in kind.formats:
                run = kind(setting, model, block)
                run.waves = setting.waves
                yield run
