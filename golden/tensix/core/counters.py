"""Instructions that move a thread's counters alone: SETRWC, INCRWC, SETADC and its relatives."""

from collections.abc import Callable
from functools import partial

from bitpath.golden.tensix.core.adc import Adc, add_cr_four, add_four, set_four, setadc, setadcxx
from bitpath.golden.tensix.core.rwc import incrwc, setrwc
from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.isa import Instruction

_STEPS: dict[str, Callable[..., Adc]] = {
    "SETADC": setadc,
    "SETADCXX": setadcxx,
    "SETADCXY": set_four,
    "SETADCZW": set_four,
    "INCADCXY": add_four,
    "INCADCZW": add_four,
    "ADDRCRXY": add_cr_four,
    "ADDRCRZW": add_cr_four,
}
ADC_INSTRUCTIONS = tuple(_STEPS)


def execute_setrwc(state: State, thread: int, instruction: Instruction) -> None:
    """Execute SETRWC: the counters, then the flips."""
    fields = dict(instruction.fields)
    flip = fields.pop("flip")
    state.rwc[thread] = setrwc(state.rwc[thread], **fields)
    state.flip_sources(thread, flip)


def execute_incrwc(state: State, thread: int, instruction: Instruction) -> None:
    """Execute INCRWC."""
    state.rwc[thread] = incrwc(state.rwc[thread], **instruction.fields)


def execute_adc(state: State, thread: int, instruction: Instruction) -> None:
    """Execute an instruction of `ADC_INSTRUCTIONS` for the units that it names."""
    fields = dict(instruction.fields)
    units = fields.pop("units")
    state.adc[thread] = state.adc[thread].updated(units, partial(_STEPS[instruction.name], **fields))
