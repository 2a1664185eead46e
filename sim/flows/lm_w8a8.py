"""A language model's blocks in W8A8: linear layers in steps on Trainium3's units, attention in BF16 on the same array."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.sim.engine.runner import Built
from bitpath.sim.flows import trainium3_w8a8
from bitpath.sim.flows.lm_matmuls import BlockRun, Matmul, Play, Setting
from bitpath.sim.flows.outcome import FlowRun, Outcome, compared, rmsnorm_reference
from bitpath.sim.flows.staged import WORDS_BENCH, all_bytes
from bitpath.sim.lm.model import LINEAR
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import Word


class W8A8Run(BlockRun):
    """A matmul of a block in steps on Trainium3's units; see `trainium3_w8a8`."""

    before = "in stages"

    def __init__(self, setting: Setting, matmul: Matmul):
        super().__init__(setting, matmul)
        gamma, eps = matmul.gamma, matmul.epsilon
        self.products = [
            trainium3_w8a8.Product(a=a, b=b, fp8=matmul.kind in LINEAR, gamma=gamma, eps=eps)
            for a, b in zip(matmul.a, matmul.b, strict=True)
        ]

    def outcome(self, built: Built, seconds: float) -> Outcome:
        """Compare the results of the last steps with golden's forward, and of each step with golden's."""
        rtl = np.concatenate([each.result for each in self.products])
        golden = self.matmul.golden.reshape(rtl.shape)
        stages = [stage for product in self.products for stage in product.stages]
        figures = self.figures(sum(each.rtl_cycles for each in stages if each.unit == "core_array"))
        start = time.monotonic() - seconds
        found = compared(self, built, rtl, golden, start, self.shape, None, times=None, **figures)
        pair = all_bytes([each.rtl for each in stages]), all_bytes([each.golden for each in stages])
        found.record.update(
            steps=[
                {"unit": unit, "cycles": sum(each.rtl_cycles for each in stages if each.unit == unit)}
                for unit in dict.fromkeys(each.unit for each in stages)
            ],
            staged_compared=sum(each.compared for each in stages),
            mismatches=found.record["mismatches"] + sum(each.mismatches for each in stages),
        )
        return replace(found, before=pair)

    def settings(self) -> dict[str, Any]:
        return {"normalised": self.matmul.gamma is not None}

    def reference(self) -> np.ndarray:
        a = self.matmul.a.astype(np.float64)
        if self.matmul.gamma is not None:
            a = rmsnorm_reference(a[0], self.matmul.gamma, float(self.matmul.epsilon or 0))[np.newaxis]
        return (a @ self.matmul.b.astype(np.float64)).reshape(-1, self.matmul.b.shape[2])

    def shown(self, *place: int) -> Shown:
        where = f"row {place[0]}, column {place[1]} of {self.matmul.kind} of block {self.matmul.block}"
        return Shown(operands={"place": where}, formats={"": FP32})

    def shown_before(self, *place: int) -> Shown:
        byte = place[0]
        for each in (step for product in self.products for step in product.stages):
            if byte < (size := sum(part.nbytes for part in each.golden)):
                where = f"byte {byte} of {each.unit}'s results for {self.matmul.kind} of block {self.matmul.block}"
                return Shown(operands={"place": where}, formats={"": Word(8)})
            byte -= size
        raise IndexError(f"no step has byte {place[0]}")


def w8a8_outcomes(setting: Setting, matmuls: Sequence[Matmul], play: Play) -> Iterator[tuple[FlowRun, Outcome]]:
    """Yield each matmul of a block, all of whose steps were played."""
    runs = [W8A8Run(setting, each) for each in matmuls]
    builds: dict[str, Built] = {}
    seconds: dict[str, float] = {}

    def on(unit: str, contents: Sequence[Any]) -> list[dict[str, Any]]:
        bench = trainium3_w8a8.BENCHES.get(unit, WORDS_BENCH)
        builds[unit], left = play((unit, trainium3_w8a8.configuration(unit)), bench, contents)
        seconds[unit] = seconds.get(unit, 0.0) + sum(each["seconds"] for each in left)
        return left

    trainium3_w8a8.multiply([each for run in runs for each in run.products], on)
    total = sum(prod(run.shape) for run in runs)
    for run in runs:
        yield run, run.outcome(builds["core_array"], prod(run.shape) / total * sum(seconds.values()))
