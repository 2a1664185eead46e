"""Tensix as a program sees it: three threads of instructions, from pushed words to bytes in L1.

::

    push(thread, words) -> MOP expander -> replay expander -> wait gate -> unpackers, Matrix unit, packers, counters,
                                                                           configuration, semaphores

The core does no arithmetic of its own: it chooses rows, addresses and modes and leaves the values to golden's operations. An
instruction ends before the next one begins, so there are no cycles here, only an order.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, partial
from inspect import unwrap
from typing import NamedTuple

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.tensix.core.math import (
    cleardvalid,
    execute_mova2d,
    execute_movb2a,
    execute_movb2d,
    execute_movd2a,
    execute_movd2b,
    execute_product,
    execute_trnspsrcb,
    zeroacc,
    zerosrc,
)
from bitpath.golden.tensix.core.packer import pacr
from bitpath.golden.tensix.core.scalar import (
    ARITHMETIC,
    arithmetic,
    atcas,
    atgetm,
    atincget,
    atrelm,
    atswap,
    cfgshiftmask,
    loadind,
    nothing,
    rdcfg,
    reg2flop,
    scalar_obstacle,
    storeind,
)
from bitpath.golden.tensix.core.state import (
    THREADS,
    ConfigFile,
    DeadlockError,
    Semaphore,
    State,
    UndefinedBehavior,
    Wait,
)
from bitpath.golden.tensix.core.unpacker import action, setdvalid, unpacr, unpacr_nop
from bitpath.golden.tensix.core.vector import execute_vector, pass_cycle, pass_cycles
from bitpath.golden.tensix.declarations.encodings import WORD_BITS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, TensixNumerics
from bitpath.golden.tensix.isa import Instruction, MopExpander, ReplayExpander, encode
from bitpath.golden.tensix.isa.words import DECODED, decoded
from bitpath.golden.tensix.operands.counters import (
    Adc,
    Adcs,
    Rwc,
    add,
    add_cr,
    after_incrwc,
    after_setrwc,
    four_steps,
    put,
    setadc,
    setadcxx,
    stepped_adc,
)
from bitpath.golden.tensix.sfpu.access import INSTRUCTIONS as VECTOR_INSTRUCTIONS

# SETDMAREG, WRCFG, RMWCIB and SETC16: constants to registers, registers to configuration.
#
# Ref: tt-isa-documentation 3930471, SETDMAREG_Immediate, WRCFG, RMWCIB and SETC16.


WIDE = 4
"""Registers that WRCFG of 128 bits copies."""


def setdmareg(state: State, thread: int, instruction: Instruction) -> None:
    """Execute SETDMAREG: 16 bits to the lower (even number) or upper half of a register."""
    value = instruction["value_high"] << 14 | instruction["value_low"]
    register, upper = divmod(instruction["half_register"], 2)
    old = state.gprs[thread][register]
    state.gprs[thread][register] = value << 16 | old & 0xFFFF if upper else value | old & 0xFFFF0000


def wrcfg(state: State, thread: int, instruction: Instruction) -> None:
    """Execute WRCFG: write one register, or four from a multiple of four on; write none if one of them is refused."""
    gpr, register, count = instruction["gpr"], instruction["register"], 1
    if instruction["wide"]:
        gpr, register, count = gpr & ~(WIDE - 1), register & ~(WIDE - 1), WIDE
    state.config.write_all(thread, register, state.gprs[thread][gpr : gpr + count])
    state.take_over(thread, *range(register, register + count))


def rmwcib(state: State, thread: int, instruction: Instruction) -> None:
    """Execute RMWCIB0 to 3: the bits of a mask in one byte of a register."""
    shift = 8 * int(instruction.name[-1])
    state.config.write(thread, instruction["register"], instruction["data"] << shift, instruction["mask"] << shift)
    state.take_over(thread, instruction["register"])


def setc16(state: State, thread: int, instruction: Instruction) -> None:
    """Execute SETC16: a register of the thread's own."""
    state.config.write_thread(thread, instruction["register"], instruction["value"])


# Instructions that move a thread's counters alone: SETRWC, INCRWC, SETADC and its relatives.


_SETADC: dict[str, Callable[..., Adc]] = {"SETADC": unwrap(setadc), "SETADCXX": unwrap(setadcxx)}
_FOUR = {
    **dict.fromkeys(("SETADCXY", "SETADCZW"), put),
    **dict.fromkeys(("INCADCXY", "INCADCZW"), add),
    **dict.fromkeys(("ADDRCRXY", "ADDRCRZW"), add_cr),
}
"""Instructions that step four counters, each with its step."""
ADC_INSTRUCTIONS = (*_SETADC, *_FOUR)
EVERY_COUNTER = 0b1111


def execute_setrwc(state: State, thread: int, instruction: Instruction) -> None:
    """Execute SETRWC: the counters, then the flips."""
    fields = dict(instruction.fields)
    flip = fields.pop("flip")
    state.rwc[thread] = after_setrwc(state.rwc[thread], **fields)
    state.flip_sources(thread, flip)


def execute_incrwc(state: State, thread: int, instruction: Instruction) -> None:
    """Execute INCRWC."""
    state.rwc[thread] = after_incrwc(state.rwc[thread], **instruction.fields)


def execute_adc(state: State, thread: int, instruction: Instruction) -> None:
    """Execute an instruction of `ADC_INSTRUCTIONS` for the units that it names."""
    name, fields = instruction.name, dict(instruction.fields)
    units = fields.pop("units")
    if name in _FOUR:
        steps = four_steps(_FOUR[name], fields.pop("which", EVERY_COUNTER), fields)
        state.adc[thread] = state.adc[thread].updated(units, lambda adc: stepped_adc(adc, steps))
    else:
        state.adc[thread] = state.adc[thread].updated(units, partial(_SETADC[name], **fields))


# The wait gate, through which a thread's instructions pass in order: banks, latched waits and their conditions.
#
# An instruction passes if no latched STALLWAIT or SEMWAIT blocks its class and if it has the banks that it uses. A latched wait is
# forgotten as soon as all its conditions are met. Units are never busy here, since an instruction ends before the next begins.
#
# Ref: tt-isa-documentation, STALLWAIT and SEMWAIT: of Wormhole 3930471, of Blackhole 0553cc7 and 2537675.


TDMA, SYNC, PACK, UNPACK, SCALAR, MATH, CONFIG, VECTOR = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 5, 1 << 6, 1 << 7, 1 << 8
EVERY = (1 << 9) - 1
"""Bits of the block mask: B0 to B8."""
_MOVES = ("MOVA2D", "MOVB2D", "MOVD2A", "MOVD2B", "MOVB2A", "TRNSPSRCB")
PRODUCTS = ("MVMUL", "DOTPV", "ELWMUL", "ELWADD", "ELWSUB", "GMPOOL", "GAPOOL")
CLASSES = {
    **dict.fromkeys(
        ("SETADC", "SETADCXX", "SETADCXY", "SETADCZW", "INCADCXY", "INCADCZW", "ADDRCRXY", "ADDRCRZW"), TDMA
    ),
    "SETDVALID": TDMA,
    **dict.fromkeys(
        (
            *ARITHMETIC,
            "SETDMAREG",
            "REG2FLOP",
            "LOADIND",
            "STOREIND",
            "ATINCGET",
            "ATSWAP",
            "ATCAS",
            "DMANOP",
            "FLUSHDMA",
        ),
        TDMA | SCALAR,
    ),
    "PACR": TDMA | PACK,
    **dict.fromkeys(("UNPACR", "UNPACR_NOP"), TDMA | UNPACK),
    **dict.fromkeys(
        (*PRODUCTS, *_MOVES, "ZEROACC", "ZEROSRC", "CLEARDVALID", "SETRWC", "INCRWC", "GATESRCRST", "MOVDBGA2D"), MATH
    ),
    **dict.fromkeys(("WRCFG", "RDCFG", "CFGSHIFTMASK", "SETC16", "RMWCIB0", "RMWCIB1", "RMWCIB2", "RMWCIB3"), CONFIG),
    **dict.fromkeys(("SEMINIT", "SEMPOST", "SEMGET", "SEMWAIT", "ATGETM", "ATRELM"), SYNC),
    **dict.fromkeys(VECTOR_INSTRUCTIONS, VECTOR),
    "STALLWAIT": EVERY,
}
"""Bits of the block mask that block an instruction; a NOP, which has none, is blocked by all of them together."""
WAITING = ("ATCAS", "ATGETM", "ATRELM")
"""Instructions that wait for a word of L1 or for a mutex."""
READS_A = {*PRODUCTS, "MOVA2D"}
READS_B = {*PRODUCTS, "MOVB2D", "MOVB2A", "TRNSPSRCB"}
"""Instructions that wait until the Matrix unit owns its bank of SrcA, and of SrcB."""
BANKS = "a bank of SrcA", "a bank of SrcB", "the Matrix unit's bank of SrcA", "the Matrix unit's bank of SrcB"
"""What unpacker 0, unpacker 1 and the Matrix unit wait for."""
BANK_CONDITIONS = {Chip.WORMHOLE: 8, Chip.BLACKHOLE: 5}
"""First of four condition bits, in the order of `BANKS`."""


class Step(NamedTuple):
    """A word behind the expanders, decoded.

    Attributes
    ----------
    classes : bits of the block mask that block it.
    gate : function that returns the bank, word of L1 or mutex that it waits for, or None.
    """

    word: int
    instruction: Instruction
    classes: int
    gate: Callable[[State, int, Instruction], str | None] | None


@lru_cache(DECODED)
def step_of(word: int, chip: Chip) -> Step:
    """Return the step of a word, which is not checked; raises as `decode`."""
    instruction = decoded(word, chip)
    return Step(word, instruction, _classes(chip, instruction.name), _GATES.get(instruction.name))


def obstacle(state: State, thread: int, instruction: Instruction) -> str | None:
    """Return the condition that an instruction waits for, or None if it may pass the gate."""
    name = instruction.name
    found = _obstacle(state, thread, Step(0, instruction, _classes(state.chip, name), _GATES.get(name)))
    if isinstance(found, Wait):
        return " and ".join(_unmet(state, found)) or "a latched wait whose conditions are met"
    return found


def _obstacle(state: State, thread: int, step: Step) -> Wait | str | None:
    """Return the latched wait, the bank, the word of L1 or the mutex that a step waits for."""
    _, instruction, classes, gate = step
    latched = state.waits[thread]
    if latched is not None and (latched.block & classes or (not classes and latched.block == EVERY)):
        return latched
    return None if gate is None else gate(state, thread, instruction)


def _classes(chip: Chip, name: str) -> int:
    """Return the bits of the block mask that block an instruction; Blackhole's SEMWAIT waits for any latched wait."""
    return EVERY if name == "SEMWAIT" and chip is Chip.BLACKHOLE else CLASSES.get(name, 0)


def _matrix_banks(state: State, _: int, instruction: Instruction) -> str | None:
    if not state.src_a.readable and instruction.name in READS_A:
        return BANKS[2]
    return BANKS[3] if not state.src_b.readable and instruction.name in READS_B else None


def _unpacker_bank(state: State, _: int, instruction: Instruction) -> str | None:
    unpacker = instruction["unpacker"]
    return None if state.source(unpacker).writable else BANKS[unpacker]


def _cleared_bank(state: State, _: int, instruction: Instruction) -> str | None:
    """A clearing UNPACR_NOP waits for the Matrix unit's bank, unless told to wait like UNPACR."""
    source, found = state.source(instruction["unpacker"]), action(state.chip, instruction)
    free = not found.clears or (source.writable if found.waits_like_unpacr else not source.readable)
    return None if free else BANKS[instruction["unpacker"]]


_GATES: dict[str, Callable[[State, int, Instruction], str | None]] = {
    **dict.fromkeys(READS_A | READS_B, _matrix_banks),
    **dict.fromkeys(WAITING, scalar_obstacle),
    "UNPACR": _unpacker_bank,
    "UNPACR_NOP": _cleared_bank,
}


def forget_met_waits(state: State) -> None:
    """Forget each thread's latched wait whose conditions are all met."""
    for thread, wait in enumerate(state.waits):
        if wait is not None and _is_met(state, wait):
            state.waits[thread] = None


def _is_met(state: State, wait: Wait) -> bool:
    for number in wait.numbers:
        each = state.semaphores[number]
        if (wait.while_zero and each.value == 0) or (wait.at_maximum and each.value >= each.maximum):
            return False
    return not (wait.conditions and _unmet(state, wait))


def _unmet(state: State, wait: Wait) -> list[str]:
    """Return the conditions of a latched wait that are not met."""
    found = []
    for number, each in enumerate(state.semaphores):
        if wait.semaphores >> number & 1:
            if wait.while_zero and each.value == 0:
                found.append(f"semaphore {number} above 0")
            if wait.at_maximum and each.value >= each.maximum:
                found.append(f"semaphore {number}, which is {each.value}, below its maximum {each.maximum}")
    banks = state.src_a.writable, state.src_b.writable, state.src_a.readable, state.src_b.readable
    asked = wait.conditions >> BANK_CONDITIONS[state.chip]
    return found + [name for bit, name in enumerate(BANKS) if asked >> bit & 1 and not banks[bit]]


# SEMINIT, SEMPOST, SEMGET, SEMWAIT and STALLWAIT.
#
# Ref: tt-isa-documentation 3930471, SyncUnit and the pages of the instructions; of Blackhole 0553cc7 and 2537675.


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


L1_BYTES = 1464 * 1024
"""Bytes of a tile's L1."""
NOP = encode("NOP")

Execute = Callable[[State, int, Instruction], None]
UNITS: dict[str, Execute] = {
    **dict.fromkeys(PRODUCTS, execute_product),
    **dict.fromkeys(ADC_INSTRUCTIONS, execute_adc),
    **dict.fromkeys(("RMWCIB0", "RMWCIB1", "RMWCIB2", "RMWCIB3"), rmwcib),
    **dict.fromkeys(ARITHMETIC, arithmetic),
    **dict.fromkeys(("DMANOP", "FLUSHDMA", "GATESRCRST"), nothing),
    **dict.fromkeys(VECTOR_INSTRUCTIONS, execute_vector),
    "SETDMAREG": setdmareg,
    "REG2FLOP": reg2flop,
    "LOADIND": loadind,
    "STOREIND": storeind,
    "ATINCGET": atincget,
    "ATSWAP": atswap,
    "ATCAS": atcas,
    "ATGETM": atgetm,
    "ATRELM": atrelm,
    "RDCFG": rdcfg,
    "CFGSHIFTMASK": cfgshiftmask,
    "WRCFG": wrcfg,
    "SETC16": setc16,
    "SETRWC": execute_setrwc,
    "INCRWC": execute_incrwc,
    "UNPACR": unpacr,
    "UNPACR_NOP": unpacr_nop,
    "SETDVALID": setdvalid,
    "PACR": pacr,
    "ZEROACC": zeroacc,
    "ZEROSRC": zerosrc,
    "CLEARDVALID": cleardvalid,
    "MOVA2D": execute_mova2d,
    "MOVDBGA2D": execute_mova2d,
    "MOVB2D": execute_movb2d,
    "MOVD2A": execute_movd2a,
    "MOVD2B": execute_movd2b,
    "MOVB2A": execute_movb2a,
    "TRNSPSRCB": execute_trnspsrcb,
    "SEMINIT": seminit,
    "SEMPOST": sempost,
    "SEMGET": semget,
    "SEMWAIT": semwait,
    "STALLWAIT": stallwait,
}
"""What each instruction does behind the wait gate."""


class Order(Enum):
    """Order in which threads execute their instructions."""

    ROUND_ROBIN = "round_robin"  # one instruction of each thread that may go on, in turn
    THREAD_FIRST = "thread_first"  # each thread until it waits, thread 0 first
    LAST_THREAD_FIRST = "last_thread_first"  # the same from thread 2 on


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Executed instructions of a run, and the waits of its threads at the end.

    Attributes
    ----------
    executed : thread and word of each instruction, in order; words behind the expanders, without NOPs.
    waiting : for each thread what its next instruction waits for, or None if it has no instruction left.
    """

    executed: tuple[tuple[int, int], ...]
    waiting: tuple[str | None, ...]

    def words(self, thread: int) -> list[int]:
        """Return the words of one thread."""
        return [word for each, word in self.executed if each == thread]

    def count(self, name: str) -> int:
        """Return how many instructions of a name were executed."""
        opcode = encode(name) >> 24
        return sum(word >> 24 == opcode for _, word in self.executed)


class Core:
    """A Tensix core: push instructions, run, and look at memory and registers.

    Parameters
    ----------
    chip : "wormhole" or "blackhole".
    numerics : None is those of the chip's preset.
    l1_bytes : bytes of L1.

    Raises
    ------
    TypeError, ValueError : another chip; numerics of another unit; no positive number of bytes.
    """

    @checked
    def __init__(
        self, chip: Chip | str = Chip.WORMHOLE, numerics: TensixNumerics | None = None, l1_bytes: int = L1_BYTES
    ):
        self.chip = Chip(chip)
        self.numerics = CHIP_PRESETS[self.chip].numerics if numerics is None else numerics
        l1_bytes = integer("l1_bytes", l1_bytes, range(1, 1 << 32))
        self.state = State(
            chip=self.chip,
            numerics=self.numerics,
            l1=np.zeros(l1_bytes, np.uint8),
            config=ConfigFile(self.chip),
        )
        self._expanders = [(MopExpander(), ReplayExpander()) for _ in range(THREADS)]
        self._queues: list[deque[Step]] = [deque() for _ in range(THREADS)]

    def __repr__(self) -> str:
        return f"Core(chip={self.chip.value!r}, l1_bytes={self.l1.size})"

    @property
    def l1(self) -> np.ndarray:
        """Memory of the core, uint8 [bytes]."""
        return self.state.l1

    @property
    def src_a(self) -> np.ndarray:
        """Both banks of SrcA, uint32 [2, 64, 16] logical words."""
        return self.state.src_a.words

    @property
    def src_b(self) -> np.ndarray:
        """Both banks of SrcB, uint32 [2, 64, 16] logical words."""
        return self.state.src_b.words

    @property
    def dst(self) -> np.ndarray:
        """Dst, uint16 [1024, 16] in the register's bit order; `to_physical` and `from_physical` convert."""
        return self.state.dst.bits

    @property
    def dst_defined(self) -> np.ndarray:
        """For each row of `dst` False if ZEROACC has left it undefined, bool [1024]."""
        return self.state.dst.defined

    @property
    def rwc(self) -> list[Rwc]:
        """RWC counters of each thread."""
        return self.state.rwc

    @property
    def adc(self) -> list[Adcs]:
        """ADC counters of each thread."""
        return self.state.adc

    @property
    def config(self) -> ConfigFile:
        """Configuration registers of the core and its threads."""
        return self.state.config

    @checked
    def mop_config(self, thread: int, words: Sequence[int]) -> None:
        """Set a thread's nine MOP words, for the MOPs pushed afterwards.

        Raises
        ------
        TypeError, ValueError : no thread 0 to 2; another number of words, or no integers of 32 bits.
        """
        self._expanders[_thread(thread)][0].configure(words)

    @checked
    def push(self, thread: int, words: Sequence[int]) -> None:
        """Push words to a thread, whose expanders take them at once.

        Raises
        ------
        TypeError, ValueError : no thread 0 to 2; a word, or a word that it expands to, that is no instruction of the chip.
        """
        (mop, replay), queue = self._expanders[_thread(thread)], self._queues[thread]
        for number, word in enumerate(words):
            try:
                given = integer("word", word, range(1 << WORD_BITS))
                decoded(given, self.chip)
                for one in mop.expand(given):
                    queue.extend([step_of(each, self.chip) for each in replay.expand(one)])
            except ValueError as error:
                raise ValueError(f"words[{number}] of thread {thread}: {error}") from None

    @checked
    def run(self, order: Order | str = Order.ROUND_ROBIN, *, may_wait: bool = False) -> Trace:
        """Execute what has been pushed until no thread can go on.

        Parameters
        ----------
        order : "round_robin", one instruction of each thread in turn; "thread_first" or "last_thread_first", each thread until
            it waits. Programs whose threads wait for one another as they must give the same in any order.
        may_wait : True returns when instructions are left that wait, for what is pushed next or for the host.

        Raises
        ------
        DeadlockError : instructions are left that wait, unless they may; it names each thread, its instruction and the
            semaphore or bank. What was executed stays so, and a later run goes on.
        UndefinedBehavior : a page of the instruction set calls what an instruction does undefined.
        ValueError : another order; an instruction or a mode that golden does not model.
        """
        order = Order(order)
        turns = range(THREADS) if order is not Order.LAST_THREAD_FIRST else range(THREADS - 1, -1, -1)
        executed: list[tuple[int, int]] = []
        # The host may have met a wait since the last run.
        forget_met_waits(self.state)
        progress = True
        while progress:
            progress = False
            for thread in turns:
                while self._step(thread, executed):
                    progress = True
                    if order is Order.ROUND_ROBIN:
                        break
        pass_cycles(self.state)
        waiting = tuple(map(self._waiting, range(THREADS)))
        if not may_wait and any(waiting):
            raise DeadlockError(
                "no thread can go on: "
                + "; ".join(
                    f"thread {thread} waits with {self._queues[thread][0].instruction} for {each}"
                    for thread, each in enumerate(waiting)
                    if each
                )
            )
        return Trace(executed=tuple(executed), waiting=waiting)

    def _step(self, thread: int, executed: list[tuple[int, int]]) -> bool:
        """Execute a thread's next instruction if one exists and passes the wait gate."""
        state, queue = self.state, self._queues[thread]
        if not queue or _obstacle(state, thread, queue[0]) is not None:
            return False
        word, instruction, _, _ = queue.popleft()
        if word != NOP:
            self._execute(thread, instruction)
            executed.append((thread, word))
            if any(state.waits):
                forget_met_waits(state)
        if state.clock.active:
            pass_cycle(state, thread, instruction)
        return True

    def _execute(self, thread: int, instruction: Instruction) -> None:
        try:
            UNITS[instruction.name](self.state, thread, instruction)
        except UndefinedBehavior as error:
            raise UndefinedBehavior(f"thread {thread}, {instruction}: {error}") from None
        except ValueError as error:
            raise ValueError(f"thread {thread}, {instruction}: {error}") from None

    def _waiting(self, thread: int) -> str | None:
        queue = self._queues[thread]
        return obstacle(self.state, thread, queue[0].instruction) if queue else None


def _thread(thread: int) -> int:
    return integer("thread", thread, range(THREADS))
