"""Runs the steps of an NKI kernel's instructions in RTL: each on its unit, or as programs of the joined core."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bitpath.sim.flows.trainium3_staged import CoreUnits
from bitpath.verif.trainium3.core import stages
from bitpath.verif.trainium3.core.core_stages import JoinedCore
from bitpath.verif.trainium3.core.programs.hosted import LeftOutError


@dataclass(frozen=True)
class OnUnits:
    """Each step of :mod:`bitpath.verif.trainium3.core.stages` on its unit.

    Attributes
    ----------
    play : simulates a unit.
    units : their configurations.
    """

    play: stages.Play
    units: CoreUnits

    def __getattr__(self, step: str) -> Callable[..., Any]:
        return partial(getattr(stages, step), self.play)

    def move(self, data: np.ndarray, dtype: np.dtype) -> np.ndarray:
        return stages.move(self.play, self.units.dma_engine, data, dtype)

    def add(self, present: np.ndarray, more: np.ndarray) -> np.ndarray:
        return stages.add(self.play, self.units.dma_engine, present, more)

    def dma_transpose(self, data: np.ndarray) -> np.ndarray:
        config = self.units.dma_transpose
        room = 1 << config.address_bits - 1  # steps are signed
        if data.nbytes // data.shape[-1] * config.columns > room:
            raise LeftOutError(f"an engine's part of its source has more than {room} bytes")
        return stages.dma_transpose(self.play, config, data)

    def multiply(self, *operands: Any, present: np.ndarray | None) -> list[np.ndarray]:
        """Return the product, and its sum with what PSUM held before it, if anything."""
        return self._with_sum(stages.multiply(self.play, *operands), present)

    def matmul(self, *operands: Any, present: np.ndarray | None) -> list[np.ndarray]:
        """Return the same of a product without scales."""
        return self._with_sum(stages.matmul(self.play, *operands), present)

    def _with_sum(self, product: np.ndarray, present: np.ndarray | None) -> list[np.ndarray]:
        if present is None:
            return [product]
        return [product, stages.accumulate(self.play, self.units.psum.cols, present, product)]


Steps = OnUnits | JoinedCore
