"""SFPLOADMACRO at work: a thread's instructions and the scheduled ones, cycle by cycle as `macro` schedules them."""

from collections.abc import Callable

import numpy as np

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import LANE_CONFIG, MISC, SEQUENCE, TEMPLATE
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.sfpu.lanes import Lanes
from bitpath.golden.tensix.sfpu.macro import NOP, Cycle, LoadMacroConfig, Schedule

Perform = Callable[[Lanes, Instruction, bool, int | None], int | None]
"""Executes an instruction on lanes: whether it is scheduled, and the address that a scheduled store has. Returns a load's address."""


class Clock:
    """The sub-units' cycles from an SFPLOADMACRO on, until its instructions are executed.

    Attributes
    ----------
    active : scheduled instructions wait, or the last cycle has executed one.
    thread : thread of the last SFPLOADMACRO.
    """

    def __init__(self, chip: Chip):
        self.chip = chip
        self.active, self.thread = False, 0
        self._schedule = Schedule(chip)
        self._addresses: dict[int, int | None] = {}
        """Addresses of loads by the cycles of their SFPLOADMACRO."""

    def issue(self, instruction: Instruction | None, lanes: Lanes, perform: Perform) -> None:
        """Advance until a thread's instruction is issued, or by one cycle if there is none.

        Raises
        ------
        UndefinedBehavior, ValueError : as of `perform`; conflicts of one or two cycles that the pages leave open;
            LaneConfig or LoadMacroConfig that differs between lanes.
        """
        if not self.active:
            self._schedule, self._addresses = Schedule(self.chip), {}
        accepted = False
        while not accepted:
            cycle = self._schedule.step(instruction, _config_of(lanes))
            self._execute(cycle, lanes, perform)
            scheduled = any(each.origin is not None for each in cycle.executed)
            self.active = self._schedule.pending or scheduled
            accepted = cycle.accepted or instruction is None

    def finish(self, lanes: Lanes, perform: Perform) -> None:
        """Execute the instructions that wait for cycles; those that wait for a thread's instructions stay."""
        while self.active and not self._schedule.waits:
            self.issue(None, lanes, perform)

    def _execute(self, cycle: Cycle, lanes: Lanes, perform: Perform) -> None:
        """Execute the instructions of a cycle, which all read the lanes before it; no two write the same word."""
        executed = [each for each in cycle.executed if each.instruction != NOP]
        before = lanes.copy() if len(executed) > 1 else None
        for each in executed:
            own = lanes if before is None else before.copy()
            address = perform(own, each.instruction, each.origin is not None, self._addresses.get(each.origin or 0))
            if each.instruction.name == "SFPLOADMACRO":
                self._addresses[cycle.number] = address
            if before is not None:
                for target, new, old in zip(_arrays(lanes), _arrays(own), _arrays(before), strict=True):
                    np.copyto(target, new, where=new != old)


def _arrays(lanes: Lanes) -> tuple[np.ndarray, np.ndarray]:
    return lanes.words, lanes.bits


def _config_of(lanes: Lanes) -> LoadMacroConfig:
    words = lanes.words[LANE_CONFIG : MISC + 1]
    first = words[:, 0, 0]
    if np.any(words != first[:, np.newaxis, np.newaxis]):
        raise ValueError("LaneConfig and LoadMacroConfig must be the same in all lanes with SFPLOADMACRO")
    own = [int(each) for each in first]
    places = (slice(start - LANE_CONFIG, end - LANE_CONFIG) for start, end in ((TEMPLATE, SEQUENCE), (SEQUENCE, MISC)))
    templates, sequences = (tuple(own[place]) for place in places)
    return LoadMacroConfig(templates=templates, sequences=sequences, misc=own[-1], lane_config=own[0])
