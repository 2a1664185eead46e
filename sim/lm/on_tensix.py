"""The blocks of a language model on Tensix: matmuls by a plan, and all other operations as its kernels compute them."""

from functools import cached_property
from typing import Any

import numpy as np

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.llk.case import Op
from bitpath.sim.lm import kernels
from bitpath.sim.lm.arithmetic import Arithmetic
from bitpath.sim.lm.plans import FLOAT32


class OnTensix(Arithmetic):
    """Operations of a plan; those of its `vector` on Tensix, in BF16 from L1 to L1, all others in float32.

    A matmul's result goes to L1 as BF16 too, unless its format is float32. Parameters are those of `Arithmetic`.
    """

    @cached_property
    def kernels(self) -> kernels.Golden:
        """The steps of the options' chip and numerics."""
        chip = Chip(self.options.others.get("chip", Chip.WORMHOLE))
        return kernels.Golden(chip=chip, numerics=self.options.numerics.get("tensix"))

    def norm(self, block: int, place: str, x: np.ndarray, gamma: np.ndarray, epsilon: float) -> Any:
        """Return the norm of rows."""
        if "norm" in self.plan.vector:
            return kernels.rms_norm(self.kernels, x, gamma, epsilon)
        return super().norm(block, place, x, gamma, epsilon)

    def product(self, kind: str, block: int, a: Any, b: np.ndarray) -> np.ndarray:
        """Return ``a @ b`` by the plan, as it is packed."""
        result = super().product(kind, block, a, b)
        if self.plan.format_of(kind, block + self.first) == FLOAT32:
            return result
        return self.kernels.packed(result)

    def rotate(self, x: np.ndarray, turn: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return [heads, T, head_dim] with each pair turned."""
        return kernels.rotate(self.kernels, x, turn) if "rope" in self.plan.vector else super().rotate(x, turn)

    def softmax(self, scores: np.ndarray, scale: float, unseen: np.ndarray) -> np.ndarray:
        """Return the softmax of the scaled scores that a row may see."""
        if "softmax" in self.plan.vector:
            return kernels.softmax(self.kernels, scores, scale, unseen)
        return super().softmax(scores, scale, unseen)

    def gated(self, gate: np.ndarray, up: np.ndarray) -> np.ndarray:
        """Return ``silu(gate) * up``."""
        return kernels.gated(self.kernels, gate, up) if "silu" in self.plan.vector else super().gated(gate, up)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the sum of rows and a residual, or a bias."""
        return self.kernels.elementwise(Op.ELWADD, x, y) if "residual" in self.plan.vector else super().add(x, y)
