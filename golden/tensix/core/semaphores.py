"""SEMINIT, SEMPOST, SEMGET, SEMWAIT and STALLWAIT.

Ref: tt-isa-documentation 3930471, SyncUnit and the pages of the instructions; of Blackhole 0553cc7 and 2537675.
"""

from bitpath.golden.tensix.core.errors import UndefinedBehavior
from bitpath.golden.tensix.core.state import Semaphore, State, Wait
from bitpath.golden.tensix.core.wait_gate import MATH
from bitpath.golden.tensix.isa import Instruction

LARGEST = 15
"""Largest value of a semaphore."""


def seminit(state: State, _: int, instruction: Instruction) -> None:
    """Execute SEMINIT."""
    for each in _chosen(state, instruction):
        each.value, each.maximum = instruction["value"], instruction["maximum"]


def sempost(state: State, _: int, instruction: Instruction) -> None:
    """Execute SEMPOST; 15 stays."""
    for each in _chosen(state, instruction):
        each.value = min(each.value + 1, LARGEST)


def semget(state: State, _: int, instruction: Instruction) -> None:
    """Execute SEMGET; 0 stays."""
    for each in _chosen(state, instruction):
        each.value = max(each.value - 1, 0)


def semwait(state: State, thread: int, instruction: Instruction) -> None:
    """Execute SEMWAIT: latch a wait; no block bit means the Matrix unit's.

    Raises
    ------
    UndefinedBehavior : it waits for nothing.
    """
    if not (instruction["while_zero"] or instruction["at_maximum"]):
        raise UndefinedBehavior("while_zero or at_maximum must be 1 in SEMWAIT, not both 0")
    state.waits[thread] = Wait(
        block=instruction["block"] or MATH,
        semaphores=instruction["semaphores"],
        while_zero=instruction["while_zero"],
        at_maximum=instruction["at_maximum"],
    )


def stallwait(state: State, thread: int, instruction: Instruction) -> None:
    """Execute STALLWAIT: latch a wait; no block bit means the Matrix unit's, no condition that units are idle."""
    state.waits[thread] = Wait(block=instruction["block"] or MATH, conditions=instruction["conditions"])


def _chosen(state: State, instruction: Instruction) -> list[Semaphore]:
    return [each for bit, each in enumerate(state.semaphores) if instruction["semaphores"] >> bit & 1]
