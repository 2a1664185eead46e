"""The Vector unit's instructions in a program: lanes, and their loads from and stores to Dst.

Ref: tt-isa-documentation, SFPLOAD and SFPSTORE: of Wormhole 1392d23 and 545c98a, of Blackhole 0f3f6b7.
"""

from dataclasses import replace

from bitpath.golden.tensix.core.state import State, format_of
from bitpath.golden.tensix.declarations.formats import DST16_ROWS, Format
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.sfpu.access import ROWS, WIDE, Place, address_of, load, mode_of, store
from bitpath.golden.tensix.sfpu.conversion import StoreMode
from bitpath.golden.tensix.sfpu.execute import OPERATIONS, execute
from bitpath.golden.tensix.sfpu.prng import Prng

VECTOR_INSTRUCTIONS = (*OPERATIONS, "SFPLOAD", "SFPSTORE")


def execute_vector(state: State, _: int, instruction: Instruction) -> None:
    """Execute an instruction that touches lanes alone; raises as `golden.tensix.sfpu.execute`."""
    execute(state.sfpu, instruction, state.chip, state.numerics)


def execute_sfpload(state: State, thread: int, instruction: Instruction) -> None:
    """Execute SFPLOAD, then step the RWCs but the fidelity phase; INT32_ALL first takes back Blackhole's stack pointer."""
    mode = _mode(state, thread, instruction)
    rwc = state.rwc[thread]
    if mode == StoreMode.INT32_ALL and rwc.stack:
        _step_stack(state, thread, -1)
    load(state.sfpu, instruction, mode, _place(state, thread, instruction, mode), state.numerics)
    state.step_rwc(thread, instruction["modifier"], fidelity=False)


def execute_sfpstore(state: State, thread: int, instruction: Instruction) -> None:
    """Execute SFPSTORE, then step the RWCs but the fidelity phase; INT32_ALL steps Blackhole's stack pointer."""
    mode = _mode(state, thread, instruction)
    store(state.sfpu, instruction, mode, _place(state, thread, instruction, mode), state.chip, state.numerics)
    if mode == StoreMode.INT32_ALL:
        _step_stack(state, thread, 1)
    state.step_rwc(thread, instruction["modifier"], fidelity=False)


def seed_lanes(state: State, seed: int) -> None:
    """Take over a seed that was written to PRNG_SEED."""
    state.sfpu.prng[:] = Prng(seed).state


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


def _place(state: State, thread: int, instruction: Instruction, mode: int) -> Place:
    config, rwc = state.config, state.rwc[thread]
    address = address_of(
        instruction["address"] + config.of_thread("math_offset", thread),
        mode,
        dst=rwc.dst + config.read("dst_base", thread),
        stack=rwc.stack + config.read("dst_stack_base", thread),
    )
    rows = state.dst.rows(address & ~3, ROWS, dst32=mode in WIDE[instruction.name])
    return Place(state.dst.bits[None], state.dst.defined, rows, address)
