"""The Scalar unit and mutexes: arithmetic of general-purpose registers, their loads and stores, and REG2FLOP.

Addresses in L1 are units of 16 bytes in a register, plus an offset. An atomic operation that must wait for L1 waits at the gate
here, since an instruction ends before the next begins.

Ref: tt-isa-documentation 3930471, pages of the instructions; tenstorrent/tt-llk 36b092e for the bits of their words.
"""

import operator
from collections.abc import Callable

import numpy as np

from bitpath.golden.tensix.core.state import THREADS, State, UndefinedBehavior
from bitpath.golden.tensix.declarations.encodings import (
    DIMENSIONS,
    REGISTERS,
    SHARED_FROM,
    THREAD_CONTROL_FROM,
    WIDTHS,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.operands.counters import UNIT_NAMES, changed

WORD = 0xFFFFFFFF
LINE = 16
"""Bytes of a unit of addresses in L1, and of four registers."""

_ARITHMETIC: dict[str, tuple[Callable[[int, int], int], ...]] = {
    "ADDDMAREG": (operator.add,),
    "SUBDMAREG": (operator.sub,),
    "MULDMAREG": (lambda left, right: (left & 0xFFFF) * (right & 0xFFFF),),
    "BITWOPDMAREG": (operator.and_, operator.or_, operator.xor),
    "SHIFTDMAREG": (
        lambda left, right: left << (right & 31),
        lambda left, right: left >> (right & 31),
    ),
    "CMPDMAREG": (operator.gt, operator.lt, operator.eq),
}
ARITHMETIC = tuple(_ARITHMETIC)
"""Instructions that compute a register from two, or from one and a constant."""


def arithmetic(state: State, thread: int, instruction: Instruction) -> None:
    """Execute an instruction of `ARITHMETIC`, on unsigned 32 bits.

    Raises
    ------
    UndefinedBehavior : another operation than those of the instruction.
    """
    operations, registers = _ARITHMETIC[instruction.name], state.gprs[thread]
    which = instruction.fields.get("operation", 0)
    if which >= len(operations):
        last = len(operations) - 1
        raise UndefinedBehavior(f"operation must be 0 to {last} in {instruction.name}, not {which}")
    right = instruction["right"] if instruction["constant"] else registers[instruction["right"]]
    result = operations[which](registers[instruction["left"]], right)
    registers[instruction["result"]] = int(result) & WORD


# REG2FLOP: a register, or four, to the configuration of unpackers and packers, or a part of one to an ADC.


TO_COUNTER, TO_COUNTER_OF = 2, 3
"""Targets: an ADC of the thread, and one of the thread that the instruction names; 0 is the configuration."""
SHIFTS = {1: {0: (0, WORD)}, 2: {0: (0, 0xFFFF), 2: (16, 0xFFFF)}, 3: {byte: (8 * byte, 0xFF) for byte in range(4)}}
"""By size and first byte, the shift and the mask of the part that goes to an ADC; any other part is 0."""


def reg2flop(state: State, thread: int, instruction: Instruction) -> None:
    """Execute REG2FLOP.

    Raises
    ------
    UndefinedBehavior : a register outside of the configuration of unpackers and packers.
    ValueError : a target, or fields of one, that golden does not model; bits that no modelled field has.
    """
    if instruction["target"] in (TO_COUNTER, TO_COUNTER_OF):
        _to_counter(state, thread, instruction)
        return
    for field in ("target", "byte", "other_thread"):
        if instruction[field]:
            raise ValueError(f"{field} must be 0 in REG2FLOP to the configuration, not {instruction[field]}")
    first = THREAD_CONTROL_FROM[state.chip]
    register, gpr, count = first + instruction["index"], instruction["gpr"], 1
    if register >= SHARED_FROM[state.chip]:
        last = SHARED_FROM[state.chip] - first - 1
        raise UndefinedBehavior(f"index must be 0 to {last} in REG2FLOP, not {instruction['index']}")
    if not instruction["size"]:
        register, gpr, count = first + (instruction["index"] & ~3), gpr & ~3, 4
    values = state.gprs[thread][gpr : gpr + count]
    state.config.write_all(thread, register, values)


def _to_counter(state: State, thread: int, instruction: Instruction) -> None:
    """Set a value or a Cr alone; a thread or unit that does not exist is ignored."""
    target = instruction["other_thread"] if instruction["target"] == TO_COUNTER_OF else thread
    index = instruction["index"]
    channel, unit, cr, dimension = index >> 5 & 1, index >> 3 & 3, index >> 2 & 1, DIMENSIONS[index & 3]
    if target >= THREADS or unit >= len(UNIT_NAMES):
        return
    shift, mask = SHIFTS.get(instruction["size"], {}).get(instruction["byte"], (0, 0))
    value = state.gprs[thread][instruction["gpr"]] >> shift & mask & (1 << WIDTHS[dimension]) - 1
    name = f"{dimension}_cr" if cr else dimension
    state.adc[target] = state.adc[target].updated(
        1 << unit, lambda adc: adc.replaced(channel, changed(adc.channel(channel), **{name: value}))
    )


# RDCFG and CFGSHIFTMASK of the Configuration unit.
#
# Ref: tt-isa-documentation, RDCFG and CFGSHIFTMASK of Blackhole, f7fda21 and edf46f6.


SCRATCH_REGISTERS = 3


def rdcfg(state: State, thread: int, instruction: Instruction) -> None:
    """Execute RDCFG; raises UndefinedBehavior for a register that the chip does not have."""
    _check_register(state, instruction["register"])
    state.gprs[thread][instruction["gpr"]] = state.config.word(thread, instruction["register"])


def cfgshiftmask(state: State, thread: int, instruction: Instruction) -> None:
    """Execute CFGSHIFTMASK: combine the low bits of a scratch register, rotated right, with a configuration register.

    Raises
    ------
    UndefinedBehavior, ValueError : as `ConfigFile.check`.
    """
    register, scratch = instruction["register"], instruction["scratch"]
    _check_register(state, register)
    number = scratch if scratch < SCRATCH_REGISTERS else thread
    mask = (2 << instruction["mask_width"]) - 1
    value = _rotated(state.config.read("scratch", thread, number) & mask, instruction["rotate"])
    old = state.config.word(thread, register)
    if not instruction["keep_old"]:
        old &= ~_rotated(mask, instruction["rotate"])
    results = old | value, old & value, old ^ value, old + value, old | ~value, old & ~value, old ^ ~value, old - value
    state.config.write(thread, register, results[instruction["operation"]] & WORD)
    state.take_over(thread, register)


def _rotated(value: int, amount: int) -> int:
    return (value >> amount | value << 32 - amount) & WORD


def _check_register(state: State, register: int) -> None:
    if register >= REGISTERS[state.chip]:
        last = REGISTERS[state.chip] - 1
        raise UndefinedBehavior(f"the configuration register must be 0 to {last}, not {register}")


# Loads and stores of L1, and atomic operations on it.


INCREMENTS = (0, 2, 4, 16)
"""Added to the offset, by the field."""
BYTES = (16, 4, 2, 1)
"""Bytes that are moved, by the field; 16 are four registers."""


def loadind(state: State, thread: int, instruction: Instruction) -> None:
    """Execute LOADIND; raises UndefinedBehavior for an address outside of L1."""
    address, size = _indirect(state, thread, instruction), BYTES[instruction["size"]]
    data, registers, number = state.l1[address : address + size], state.gprs[thread], instruction["data_gpr"]
    if size == LINE:
        registers[number & ~3 : (number & ~3) + 4] = data.view("<u4").tolist()
    else:
        value = int.from_bytes(data.tobytes(), "little")
        registers[number] = registers[number] >> 8 * size << 8 * size | value


def storeind(state: State, thread: int, instruction: Instruction) -> None:
    """Execute STOREIND to L1.

    Raises
    ------
    UndefinedBehavior : an address outside of L1.
    ValueError : a store to another memory, which golden does not model.
    """
    if not instruction["l1"]:
        raise ValueError("l1 must be 1 in STOREIND: golden models no other memory; not 0")
    address, size = _indirect(state, thread, instruction), BYTES[instruction["size"]]
    registers, number = state.gprs[thread], instruction["data_gpr"]
    first, count = (number & ~3, 4) if size == LINE else (number, 1)
    state.l1[address : address + size] = _bytes(registers[first : first + count])[:size]


def _indirect(state: State, thread: int, instruction: Instruction) -> int:
    """Return the address of a load or a store, aligned to its size, and step the offset."""
    registers, size = state.gprs[thread], BYTES[instruction["size"]]
    number, upper = divmod(instruction["offset_half"], 2)
    offset = registers[number] >> 16 * upper & 0xFFFF
    address = _in_l1(state, instruction, registers[instruction["address_gpr"]] * LINE + offset)
    stepped = offset + INCREMENTS[instruction["increment"]] & 0xFFFF
    registers[number] = registers[number] & ~(0xFFFF << 16 * upper) | stepped << 16 * upper
    return address - address % size


def atincget(state: State, thread: int, instruction: Instruction) -> None:
    """Execute ATINCGET: add a register to the low bits of a word of L1, and return the word before."""
    address, registers = _word_of(state, thread, instruction), state.gprs[thread]
    mask, number = (2 << instruction["wrap"]) - 1, instruction["data_gpr"]
    old = _get(state, address)
    _put(state, address, old + registers[number] & mask & WORD | old & ~mask & WORD)
    registers[number] = old


def atswap(state: State, thread: int, instruction: Instruction) -> None:
    """Execute ATSWAP: write the halves of four registers that a mask names to 16 bytes of L1."""
    first = instruction["data_gpr"] & ~3
    address = _in_l1(state, instruction, state.gprs[thread][instruction["address_gpr"]] * LINE)
    data = _bytes(state.gprs[thread][first : first + 4]).view(np.uint16)
    chosen = [half for half in range(LINE // 2) if instruction["mask"] >> half & 1]
    state.l1[address : address + LINE].view(np.uint16)[chosen] = data[chosen]


def atcas(state: State, thread: int, instruction: Instruction) -> None:
    """Execute ATCAS, whose word of L1 the gate has found equal."""
    _put(state, _word_of(state, thread, instruction), instruction["value"])


def atgetm(state: State, thread: int, instruction: Instruction) -> None:
    """Execute ATGETM, whose mutex the gate has found free."""
    state.mutexes[instruction["mutex"]] = thread


def atrelm(state: State, thread: int, instruction: Instruction) -> None:
    """Execute ATRELM; a mutex of another thread stays."""
    if state.mutexes.get(instruction["mutex"]) == thread:
        del state.mutexes[instruction["mutex"]]


def nothing(state: State, thread: int, instruction: Instruction) -> None:
    """Execute an instruction that affects timing alone: DMANOP, FLUSHDMA, GATESRCRST."""


NO_MUTEX = 1
LAST_MUTEX = 7


def scalar_obstacle(state: State, thread: int, instruction: Instruction) -> str | None:
    """Return the word of L1 or the mutex that an instruction waits for, or None."""
    if instruction.name == "ATCAS":
        address = _word_of(state, thread, instruction)
        equal = _get(state, address) == instruction["compare"]
        return None if equal else f"the word at address {address} to be {instruction['compare']}"
    mutex = instruction["mutex"]
    if mutex == NO_MUTEX or mutex > LAST_MUTEX:
        return f"mutex {mutex}, which does not exist"
    holder = state.mutexes.get(mutex, thread)
    return None if holder == thread or instruction.name == "ATRELM" else f"mutex {mutex}"


def _word_of(state: State, thread: int, instruction: Instruction) -> int:
    address = state.gprs[thread][instruction["address_gpr"]] * LINE + 4 * instruction["word"]
    return _in_l1(state, instruction, address)


def _in_l1(state: State, instruction: Instruction, address: int) -> int:
    if address & WORD >= state.l1.size:
        raise UndefinedBehavior(f"{instruction.name} must address L1, {state.l1.size} bytes, not {address & WORD}")
    return address & WORD


def _get(state: State, address: int) -> int:
    return int.from_bytes(state.l1[address : address + 4].tobytes(), "little")


def _put(state: State, address: int, value: int) -> None:
    state.l1[address : address + 4] = _bytes([value])


def _bytes(words: list[int]) -> np.ndarray:
    return np.array(words, "<u4").view(np.uint8)
