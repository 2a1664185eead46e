"""The Vector unit's instructions in a program: lanes, and their loads from and stores to Dst.

Ref: tt-isa-documentation, SFPLOAD and SFPSTORE: of Wormhole 1392d23 and 545c98a, of Blackhole 0f3f6b7.
"""

from dataclasses import replace
from functools import partial

from bitpath.golden.tensix.core.state import State, format_of
from bitpath.golden.tensix.declarations.formats import DST16_ROWS, Format
from bitpath.golden.tensix.declarations.sfpu import StoreMode
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.sfpu.access import (
    INSTRUCTIONS,
    ROWS,
    WIDE,
    Place,
    address_of,
    execute_load,
    execute_store,
    immediate_of,
    mode_of,
)
from bitpath.golden.tensix.sfpu.execute import execute
from bitpath.golden.tensix.sfpu.lanes import Lanes


def execute_vector(state: State, thread: int, instruction: Instruction) -> None:
    """Execute an instruction of the Vector unit, and those that an SFPLOADMACRO has scheduled for its cycle.

    Raises
    ------
    UndefinedBehavior : a page of the instruction set calls what it does undefined.
    """
    if instruction.name == "SFPLOADMACRO":
        state.clock.thread = thread
    elif not state.clock.active:
        _perform(state, thread, state.sfpu, instruction)
        return
    state.clock.issue(instruction, state.sfpu, partial(_perform, state, thread))


def pass_cycle(state: State, thread: int, instruction: Instruction) -> None:
    """Let a cycle pass in which a thread executes an instruction of another unit, if it has scheduled some."""
    if state.clock.active and thread == state.clock.thread and instruction.name not in INSTRUCTIONS:
        state.clock.issue(None, state.sfpu, partial(_perform, state, thread))


def pass_cycles(state: State) -> None:
    """Let the cycles pass for which scheduled instructions wait when no thread goes on."""
    if state.clock.active:
        state.clock.finish(state.sfpu, partial(_perform, state, state.clock.thread))


def _perform(
    state: State,
    thread: int,
    lanes: Lanes,
    instruction: Instruction,
    scheduled: bool = False,
    address: int | None = None,
) -> int | None:
    if instruction.name == "SFPSTORE":
        return _store(state, thread, lanes, instruction, address if scheduled else None)
    if instruction.name in WIDE:
        return _load(state, thread, lanes, instruction)
    execute(lanes, instruction, state.chip, state.numerics, scheduled=scheduled)
    return None


def _load(state: State, thread: int, lanes: Lanes, instruction: Instruction) -> int:
    """Execute a load, then step the RWCs but the fidelity phase; INT32_ALL first takes back Blackhole's stack pointer."""
    mode = _mode(state, thread, instruction)
    if mode == StoreMode.INT32_ALL and state.rwc[thread].stack:
        _step_stack(state, thread, -1)
    address = _address(state, thread, instruction, mode)
    execute_load(lanes, instruction, mode, _place(state, instruction, mode, address), state.numerics)
    state.step_rwc(thread, instruction["modifier"], fidelity=False)
    return address


def _store(state: State, thread: int, lanes: Lanes, instruction: Instruction, scheduled: int | None) -> int:
    """Execute a store: a scheduled one at its address, else one that steps the RWCs, and with INT32_ALL the stack pointer."""
    mode, own = _mode(state, thread, instruction), scheduled is None
    address = _address(state, thread, instruction, mode) if scheduled is None else scheduled
    place = _place(state, instruction, mode, address)
    execute_store(lanes, instruction, mode, place, state.chip, state.numerics, scheduled=not own)
    if own:
        if mode == StoreMode.INT32_ALL:
            _step_stack(state, thread, 1)
        state.step_rwc(thread, instruction["modifier"], fidelity=False)
    return address


def _mode(state: State, thread: int, instruction: Instruction) -> int:
    fmt = format_of("src_b_format", _format_code(state, thread)) if instruction["mod"] == 0 else Format.BF16
    return mode_of(instruction["mod"], fp32=bool(state.config.read("sfpu_fp32", thread)), src_b_format=fmt)


def _format_code(state: State, thread: int) -> int:
    if state.config.of_thread("sfpu_dst_format_enable", thread):
        return state.config.of_thread("sfpu_dst_format", thread)
    return state.config.read("src_b_format", thread)


def _step_stack(state: State, thread: int, sign: int) -> None:
    rwc = state.rwc[thread]
    step = sign * state.config.of_thread("sfpu_stack_increment", thread)
    state.rwc[thread] = replace(rwc, stack=(rwc.stack + step) % DST16_ROWS)


def _address(state: State, thread: int, instruction: Instruction, mode: int) -> int:
    config, rwc = state.config, state.rwc[thread]
    return address_of(
        immediate_of(instruction) + config.of_thread("math_offset", thread),
        mode,
        dst=rwc.dst + config.read("dst_base", thread),
        stack=rwc.stack + config.read("dst_stack_base", thread),
    )


def _place(state: State, instruction: Instruction, mode: int, address: int) -> Place:
    rows = state.dst.rows(address & ~3, ROWS, dst32=mode in WIDE[instruction.name])
    return Place(state.dst.bits[None], state.dst.defined, rows, address)
