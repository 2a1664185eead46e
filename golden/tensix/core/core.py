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

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.tensix.core.adc import Adcs
from bitpath.golden.tensix.core.config import THREADS, ConfigFile
from bitpath.golden.tensix.core.configure import rmwcib, setc16, setdmareg, wrcfg
from bitpath.golden.tensix.core.counters import ADC_INSTRUCTIONS, execute_adc, execute_incrwc, execute_setrwc
from bitpath.golden.tensix.core.errors import DeadlockError, UndefinedBehavior
from bitpath.golden.tensix.core.moves import (
    execute_mova2d,
    execute_movb2a,
    execute_movb2d,
    execute_movd2a,
    execute_movd2b,
    execute_trnspsrcb,
)
from bitpath.golden.tensix.core.packer import pacr
from bitpath.golden.tensix.core.products import execute_product
from bitpath.golden.tensix.core.rwc import Rwc
from bitpath.golden.tensix.core.semaphores import semget, seminit, sempost, semwait, stallwait
from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.core.unpacker import unpacr
from bitpath.golden.tensix.core.unpacr_nop import setdvalid, unpacr_nop
from bitpath.golden.tensix.core.wait_gate import PRODUCTS, forget_met_waits, obstacle
from bitpath.golden.tensix.core.zeros import cleardvalid, zeroacc, zerosrc
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, TensixNumerics
from bitpath.golden.tensix.isa import Instruction, MopExpander, ReplayExpander, decode, encode

L1_BYTES = 1464 * 1024
"""Bytes of a tile's L1."""
NOP = encode("NOP")

Execute = Callable[[State, int, Instruction], None]
UNITS: dict[str, Execute] = {
    **dict.fromkeys(PRODUCTS, execute_product),
    **dict.fromkeys(ADC_INSTRUCTIONS, execute_adc),
    **dict.fromkeys(("RMWCIB0", "RMWCIB1", "RMWCIB2", "RMWCIB3"), rmwcib),
    "SETDMAREG": setdmareg,
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
    """Order of the threads."""

    ROUND_ROBIN = "round_robin"  # one instruction of each thread that may go on, in turn
    THREAD_FIRST = "thread_first"  # each thread until it waits, thread 0 first
    LAST_THREAD_FIRST = "last_thread_first"  # the same from thread 2 on


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What a run executed.

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
        self._queues: list[deque[tuple[int, Instruction]]] = [deque() for _ in range(THREADS)]

    def __repr__(self) -> str:
        return f"Core(chip={self.chip.value!r}, l1_bytes={self.l1.size})"

    @property
    def l1(self) -> np.ndarray:
        """Memory, uint8 [bytes]."""
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
        """Each thread's RWCs."""
        return self.state.rwc

    @property
    def adc(self) -> list[Adcs]:
        """Each thread's ADCs."""
        return self.state.adc

    @property
    def config(self) -> ConfigFile:
        """The configuration registers."""
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
        mop, replay = self._expanders[_thread(thread)]
        for number, word in enumerate(words):
            try:
                decode(word, chip=self.chip)
                for expanded in (each for one in mop.feed(word) for each in replay.feed(one)):
                    self._queues[thread].append((expanded, decode(expanded, chip=self.chip)))
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
        waiting = tuple(map(self._waiting, range(THREADS)))
        if not may_wait and any(waiting):
            raise DeadlockError(
                "no thread can go on: "
                + "; ".join(
                    f"thread {thread} waits with {self._queues[thread][0][1]} for {each}"
                    for thread, each in enumerate(waiting)
                    if each
                )
            )
        return Trace(executed=tuple(executed), waiting=waiting)

    def _step(self, thread: int, executed: list[tuple[int, int]]) -> bool:
        """Execute a thread's next instruction if there is one and it passes the wait gate."""
        queue = self._queues[thread]
        if not queue or self._waiting(thread) is not None:
            return False
        word, instruction = queue.popleft()
        if word != NOP:
            self._execute(thread, instruction)
            executed.append((thread, word))
            forget_met_waits(self.state)
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
        return obstacle(self.state, thread, queue[0][1]) if queue else None


def _thread(thread: int) -> int:
    return integer("thread", thread, range(THREADS))
