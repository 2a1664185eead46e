"""Bench of lanes of an operator: swept operands, directed corners, random requests at every pace, latency, resets.

``BITPATH_CASES`` sets the random requests of a test, and the requests of each control of the sweep; ``BITPATH_EVERY=1`` sweeps
all operands.
"""

import os
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, ClassVar, Self

import numpy as np

from bitpath.rtl.aie_ml_v2.floats.float_lanes import FloatLanes, LaneOperator
from bitpath.rtl.aie_ml_v2.floats.layouts import FloatLanesConfig
from bitpath.verif.kit import pauses
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import array_bits, pack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.values import Number, code_text


class LaneAsk(ABC):
    """A control of one operator, in golden's terms.

    Attributes
    ----------
    operator : its operator.
    operand, result : number formats of operands and results.
    bins : bins of the control and of the flags that random requests must hit.
    """

    operator: ClassVar[LaneOperator]
    operand: Number
    result: Number
    bins: Sequence[str]

    @property
    @abstractmethod
    def fields(self) -> Mapping[str, Any]:
        """Fields of the operator's control."""

    @abstractmethod
    def golden(self, codes: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        """Return golden's results of operand codes, and the flags of each by name."""

    @abstractmethod
    def shifted(self, source: Random) -> Self:
        """Return the ask with a random shift, where its control has one."""

    @abstractmethod
    def code(self, source: Random) -> int:
        """Return an operand: any, special, or where the result is rounded or leaves its range."""

    def requests(self, codes: Sequence[int] | np.ndarray, lanes: int) -> list[Request]:
        """Return requests of operand codes with golden's results and flags."""
        rows = self._operands(codes)
        return self.expecting(rows, *self.golden(rows), lanes)

    def expecting(
        self,
        codes: Sequence[int] | np.ndarray,
        results: np.ndarray,
        flags: Mapping[str, np.ndarray],
        lanes: int,
    ) -> list[Request]:
        """Return requests of operand codes with these results and flags of each; the last one repeats its last operand."""
        more = -len(codes) % lanes
        bits = results.view(f"u{results.dtype.itemsize}").astype(f"u{self.operator.o_bits // 8}")
        operands, answers = (
            np.pad(each, (0, more), "edge").reshape(-1, lanes) for each in (self._operands(codes), bits)
        )
        rose = {
            name: np.pad(each, (0, more), "edge").reshape(-1, lanes).any(axis=1).tolist()
            for name, each in flags.items()
        }
        request, result = self.operator.request(lanes), self.operator.result(lanes)
        control = pack(self.operator.control, self.fields)
        return [
            Request(
                pack(request, {"lanes": array_bits(row), "control": control}),
                pack(result, {"lanes": array_bits(answer)} | ({"flags": _bits(rose, i)} if flags else {})),
                partial(self._shown, row.tolist()),
            )
            for i, (row, answer) in enumerate(zip(operands, answers, strict=True))
        ]

    def _operands(self, codes: Sequence[int] | np.ndarray) -> np.ndarray:
        return np.asarray(codes, np.uint32).astype(f"u{self.operator.i_bits // 8}")

    def _shown(self, row: Sequence[int], path: str) -> Shown:
        """Return the control, and the operand of the lane that differs or all of them."""
        lane = path.rpartition(".")[2]
        codes = row[int(lane) :][:1] if path.startswith("lanes") and lane.isdigit() else row
        operands = {"control": str(self), "operand": ", ".join(code_text(self.operand, code) for code in codes)}
        return Shown(operands=operands, formats={"lanes": self.result})


@dataclass(frozen=True)
class ShiftAsk(LaneAsk):
    """A control that is a power of two alone."""

    shift: int = 0

    def __str__(self) -> str:
        return f"shift {self.shift}"

    @property
    def bins(self) -> Sequence[str]:
        return (str(self),)

    @property
    def fields(self) -> Mapping[str, Any]:
        return {"shift": self.shift}

    def shifted(self, source: Random) -> Self:
        return self


def _bits(flags: Mapping[str, Sequence[bool]], row: int) -> dict[str, int]:
    return {name: int(each[row]) for name, each in flags.items()}


@dataclass(frozen=True)
class Corner:
    """An operand, and the result and flags that must come of it."""

    bin: str
    ask: LaneAsk
    code: int
    result: int
    flags: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Return True if golden agrees with the corner."""
        results, flags = self.ask.golden(np.array([self.code], f"u{self.ask.operator.i_bits // 8}"))
        rose = {name for name, each in flags.items() if each[0]}
        return (int(results[0]) % (1 << self.ask.operator.o_bits), rose) == (self.result, set(self.flags))


@dataclass(frozen=True)
class Beside:
    """Operands at and beside one boundary of the results, and the results that must come of them."""

    bin: str
    ask: LaneAsk
    codes: tuple[int, ...]
    results: tuple[int, ...]

    @property
    def holds(self) -> bool:
        """Return True if golden agrees with all results."""
        results, _ = self.ask.golden(np.array(self.codes, f"u{self.ask.operator.i_bits // 8}"))
        return tuple(int(each) % (1 << self.ask.operator.o_bits) for each in results) == self.results


def beside(ask: LaneAsk, values: Iterable[tuple[str, int, int]]) -> Iterator[Beside]:
    """Group operand codes and results by the name of the boundary that each stands beside."""
    groups: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, code, result in values:
        groups[f"{ask}/{name}"].append((code, result))
    for name, pairs in groups.items():
        yield Beside(name, ask, *(tuple(column) for column in zip(*pairs, strict=True)))


def lane_bench(module: str, operator: LaneOperator, kinds: Sequence[LaneAsk]) -> StreamBench:
    """Return the bench of an operator.

    Parameters
    ----------
    kinds : asks with every control that counts, of any shift; random requests hit the bins of all of them.
    """

    def draw(kinds: Sequence[LaneAsk], rng: Random) -> list[Request]:
        lanes, made = bench.config.lanes, []
        for ask in (kind.shifted(rng) for kind in kinds):
            made += ask.requests([ask.code(rng) for _ in range(lanes)], lanes)
        return made

    bench = StreamBench(module, FloatLanesConfig, partial(FloatLanes, operator), kinds, draw, lambda kind: kind.bins)
    return bench


def lane_tests(
    bench: StreamBench,
    corners: Sequence[Corner],
    sweep: Sequence[tuple[LaneAsk, Sequence[int]]],
    boundaries: Sequence[Beside] = (),
) -> tuple[Any, Any, Any]:
    """Return the tests ``swept_operands``, ``directed_corners`` and ``range_boundaries``.

    Parameters
    ----------
    sweep : asks of the sweep, each with its operands.
    boundaries : operands beside the boundaries of the results, of an operator that rounds.
    """

    @bench.sweep()
    def swept_operands() -> Made:
        """Operands in order under each ask of the sweep; a sample of them without ``BITPATH_EVERY``."""
        rng, lanes = pauses.rng("sweep"), bench.config.lanes
        made: list[Request] = []
        for ask, codes in sweep:
            every = "BITPATH_EVERY" in os.environ
            few = codes if every else sorted(rng.sample(codes, min(len(codes), bench.cases * lanes // 10)))
            made += ask.requests(few, lanes)
        return made

    @bench.sweep()
    def directed_corners() -> Made:
        """Directed corners, each in another lane among zeros."""
        lanes = bench.config.lanes
        made: list[Request] = []
        for index, each in enumerate(corners):
            row = [0] * lanes
            row[index % lanes] = each.code
            made += each.ask.requests(row, lanes)
        return made, _held(corners)

    @bench.sweep()
    def range_boundaries() -> Made:
        """Results at the ends of their range and between, each with a sticky bit at every distance."""
        lanes = bench.config.lanes
        return [each for beside in boundaries for each in beside.ask.requests(beside.codes, lanes)], _held(boundaries)

    return swept_operands, directed_corners, range_boundaries if boundaries else None


def _held(table: Sequence[Corner | Beside]) -> Coverage:
    return Coverage([each.bin for each in table], (each.bin for each in table if each.holds))
