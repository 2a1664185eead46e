"""A Tensix tile as kernels see it: RISC-V cores T0, T1 and T2, and the `Core` that they push instructions to.

::

    T0, T1, T2 -> .ttinsn, sw -> thread 0, 1, 2 of the core -> L1
        |  ^                                                   ^
        |  +- semaphores, TTSync, registers, configuration     |
        +----- mailboxes, local memory, L1 --------------------+

Harts take turns. Their pushed instructions execute before a hart looks at the coprocessor, and at the end of its turn. A store
takes effect at once, in program order: programs that are free of races on silicon give the same in any order.

Ref: tt-isa-documentation, BabyRISCV: README, PushTensixInstruction, PCBufs, Mailboxes, TTSync (Wormhole 3930471; Blackhole 2c2c43b,
6e087b0, f7fda21, 9f86315); MOPExpander, BackendConfiguration, SyncUnit, ScalarUnit.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.tensix.core.core import LARGEST, Core, Order, Trace
from bitpath.golden.tensix.core.state import BANKS, GPRS, SEMAPHORES, THREADS, DeadlockError
from bitpath.golden.tensix.declarations.encodings import MOP_WORDS, REGISTERS, THREAD_REGISTERS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.isa import decode
from bitpath.golden.tensix.riscv.hart import WORD, Hart
from bitpath.golden.tensix.riscv.instructions import Waiting
from bitpath.golden.tensix.riscv.program import Program

L1_BYTES = {Chip.WORMHOLE: 1464 * 1024, Chip.BLACKHOLE: 1536 * 1024}
LOCAL_BASE, LOCAL_BYTES = 0xFFB00000, {Chip.WORMHOLE: 2048, Chip.BLACKHOLE: 4096}
"""Local memory of T0, T1 and T2."""
INSTRUCTIONS = 0xFFE40000
"""INSTRN_BUF_BASE: a store pushes an instruction."""
THREAD_CONFIG_BYTES = 16
"""Bytes between registers of a thread's own configuration."""
MAILBOXES, MAILBOX_BYTES, MAILBOX_VALUES = 4, 0x1000, 4
"""Mailboxes of a hart, in the order B, T0, T1, T2; bytes of each; values that fit in all mailboxes that a hart writes."""
_OTHER_DEVICES = (
    (0xFFB11000, 0xFFB11FFF, "TDMA-RISC"),
    (0xFFB12000, 0xFFB12FFF, "tile control, debug and status"),
    (0xFFB13000, 0xFFB13FFF, "interrupt controller"),
    (0xFFB14000, 0xFFB1DFFF, "local memory of a core"),
    (0xFFB20000, 0xFFB3FFFF, "NoC"),
    (0xFFB40000, 0xFFB7FFFF, "NoC overlay"),
    (0xFFBD8000, 0xFFBDFFFF, "Dst"),
)
"""Devices that are not modelled, of either chip."""
TURN = 1000
"""Instructions of a hart's turn."""


@dataclass(frozen=True, kw_only=True)
class TileTrace:
    """Instructions that a tile has executed.

    Attributes
    ----------
    harts : number of RISC-V instructions of each hart.
    tensix : thread and word of each Tensix instruction, behind the expanders and without NOPs.
    """

    harts: tuple[int, ...]
    tensix: Trace


@dataclass(frozen=True)
class _Device:
    """Words from an address on, with the functions of thread and word number that loads and stores call."""

    name: str
    base: int
    words: int
    load: Callable[[int, int], int] | None = None
    store: Callable[[int, int, int], None] | None = None


class Tile:
    """A tile: load programs, run, and look at the core and the harts.

    Parameters
    ----------
    chip : "wormhole" or "blackhole".
    numerics : None is those of the chip's preset.

    Attributes
    ----------
    core : the coprocessor with L1.
    harts : T0, T1 and T2; None where no program is loaded.
    mailboxes : ``mailboxes[sender, receiver]``, values by order of arrival; 0 is core B, which the host stands for, 1 to 3 are T0 to
        T2.
    pc_buffers : values from core B to T0, T1 and T2.

    Raises
    ------
    TypeError, ValueError : another chip; numerics of another unit.
    """

    @checked
    def __init__(self, chip: Chip | str = Chip.WORMHOLE, numerics: TensixNumerics | None = None):
        self.chip = Chip(chip)
        self.core = Core(self.chip, numerics, L1_BYTES[self.chip])
        self.harts: list[Hart | None] = [None] * THREADS
        self.mailboxes: dict[tuple[int, int], deque[int]] = {
            (sender, receiver): deque() for sender in range(MAILBOXES) for receiver in range(MAILBOXES)
        }
        self.pc_buffers: list[deque[int]] = [deque() for _ in range(THREADS)]
        l1 = self.core.l1.data
        self._l1 = {1: l1, 2: l1.cast("H"), 4: l1.cast("I")}
        self._loaded: dict[int, Program] = {}
        self._pushed: list[list[int]] = [[] for _ in range(THREADS)]
        self._mop = [[0] * MOP_WORDS for _ in range(THREADS)]
        self._settled = True
        self._order = Order.ROUND_ROBIN
        self._executed: list[tuple[int, int]] = []
        self._waiting: tuple[str | None, ...] = (None,) * THREADS
        registers, own = REGISTERS[self.chip], THREAD_REGISTERS[self.chip] * THREADS * THREAD_CONFIG_BYTES // WORD
        self._devices = (
            _Device("MOP configuration", 0xFFB80000, MOP_WORDS, None, self._store_mop),
            _Device("registers of the thread", 0xFFE00000, GPRS, self._load_gpr, self._store_gpr),
            _Device("instruction buffer", INSTRUCTIONS, 0x10000 // WORD, None, self._store_instruction),
            _Device("PCBuf", 0xFFE80000, 1, self._load_pc_buffer, _discard),
            _Device("TTSync", 0xFFE80004, 2, self._load_sync, _discard),
            _Device("semaphores", 0xFFE80020, SEMAPHORES, self._load_semaphore, self._store_semaphore),
            _Device(
                "mailboxes", 0xFFEC0000, MAILBOXES * MAILBOX_BYTES // WORD, self._load_mailbox, self._store_mailbox
            ),
            _Device("configuration", 0xFFEF0000, BANKS * registers + own, self._load_config, self._store_config),
        )

    def __repr__(self) -> str:
        return f"Tile(chip={self.chip.value!r})"

    @checked
    def load(self, thread: int, program: Program) -> None:
        """Write a program's bytes to L1 and a hart's local memory; the hart begins at its entry, its registers are reset.

        Raises
        ------
        TypeError, ValueError : no thread 0 to 2; bytes that are neither in L1 nor in local memory; other bytes in L1 than another
            thread's program has there.
        """
        thread = integer("thread", thread, range(THREADS))
        self._check_overlaps(thread, program)
        bus = _HartBus(self, thread)
        for address, data in program.segments:
            bus.write(address, data)
        self._loaded[thread] = program
        self.harts[thread] = Hart(bus, f"T{thread}", program.entry, LOCAL_BASE + LOCAL_BYTES[self.chip])
        bus.code = self.harts[thread].code

    def _check_overlaps(self, thread: int, program: Program) -> None:
        others = [
            (owner, *segment) for owner, each in self._loaded.items() if owner != thread for segment in each.segments
        ]
        for address, data in program.segments:
            for owner, base, held in others:
                first, end = max(address, base), min(address + len(data), base + len(held))
                shared = first < end and first < self.core.l1.size
                if shared and data[first - address : end - address] != held[first - base : end - base]:
                    raise ValueError(
                        f"programs must not overlap in L1, not that of T{thread} and that of T{owner} at {first:#010x}"
                    )

    @checked
    def run(self, order: Order | str = Order.ROUND_ROBIN, *, limit: int = 100_000_000) -> TileTrace:
        """Execute until all programs have ended and the core has executed what they pushed.

        Parameters
        ----------
        order : order of the harts, and of the threads as in `Core.run`.
        limit : RISC-V instructions of all harts together.

        Raises
        ------
        DeadlockError : no hart and no thread can go on, or the limit is reached; it names what each waits for.
        ValueError : another order; an instruction, an address or a mode that golden does not model.
        UndefinedBehavior : as `Core.run`.
        """
        self._order = Order(order)
        turns = [each for each in self.harts if each is not None]
        if self._order is Order.LAST_THREAD_FIRST:
            turns.reverse()
        end = limit + sum(each.executed for each in turns)
        progress = True
        while progress and not all(each.ended for each in turns):
            left = end - sum(each.executed for each in turns)
            if left <= 0:
                raise DeadlockError(f"the programs must end after at most {limit} instructions; {self._obstacles()}")
            progress = False
            for hart in turns:
                if not hart.ended:
                    progress |= hart.run(min(TURN, left)) > 0 or hart.ended
                    progress |= self._settle()
        if not all(each.ended for each in turns) or any(self._waiting):
            raise DeadlockError(f"no hart and no thread can go on: {self._obstacles()}")
        return TileTrace(
            harts=tuple(each.executed if each else 0 for each in self.harts),
            tensix=Trace(executed=tuple(self._executed), waiting=self._waiting),
        )

    def _obstacles(self) -> str:
        harts = [
            f"{each.name} waits for {each.waiting}" if each.waiting else f"{each.name} is at {each.pc:#010x}"
            for each in self.harts
            if each is not None and not each.ended
        ]
        threads = [f"thread {number} waits for {each}" for number, each in enumerate(self._waiting) if each]
        return "; ".join(harts + threads)

    # The coprocessor: pushed instructions execute before a hart looks at it.

    def push(self, thread: int, word: int) -> None:
        """Push an instruction to the MOP expander of a thread."""
        self._pushed[thread].append(word)
        self._settled = False

    def _settle(self) -> bool:
        """Execute until no thread can go on; return False if nothing was executed."""
        if self._settled:
            return False
        for thread, words in enumerate(self._pushed):
            if words:
                self.core.push(thread, words)
                words.clear()
        trace = self.core.run(self._order, may_wait=True)
        self._executed += trace.executed
        self._waiting = trace.waiting
        self._settled = True
        return bool(trace.executed)

    # Devices: loads and stores of words.

    def device(self, address: int) -> tuple[_Device, int]:
        """Return the device at an address, and the number of the word in it.

        Raises
        ------
        ValueError : no modelled device is there.
        """
        for each in self._devices:
            number, byte = divmod(address - each.base, WORD)
            if 0 <= number < each.words and not byte:
                return each, number
        name = next((name for first, last, name in _OTHER_DEVICES if first <= address <= last), "")
        raise ValueError(
            f"the address must be in L1, local memory or a modelled device, not {address:#010x}{f' ({name})' if name else ''}"
        )

    def _store_mop(self, thread: int, number: int, value: int) -> None:
        self._settle()
        self._mop[thread][number] = value
        self.core.mop_config(thread, self._mop[thread])

    def _load_gpr(self, thread: int, number: int) -> int:
        self._settle()
        return self.core.state.gprs[thread][number]

    def _store_gpr(self, thread: int, number: int, value: int) -> None:
        self._settle()
        self.core.state.gprs[thread][number] = value

    def _store_instruction(self, thread: int, _: int, value: int) -> None:
        decode(value, chip=self.chip)
        self.push(thread, value)

    def _load_pc_buffer(self, thread: int, _: int) -> int:
        if not self.pc_buffers[thread]:
            raise Waiting("a value from core B in its PCBuf")
        return self.pc_buffers[thread].popleft()

    def _load_sync(self, thread: int, number: int) -> int:
        """Wait until the thread has executed everything; MOPs are expanded as soon as they are pushed."""
        self._settle()
        if number == 0 and self._waiting[thread]:
            raise Waiting(f"the end of Tensix thread {thread}'s instructions")
        return 0

    def _load_semaphore(self, _: int, number: int) -> int:
        self._settle()
        return self.core.state.semaphores[number].value

    def _store_semaphore(self, _: int, number: int, value: int) -> None:
        """An odd value is a SEMGET, an even one a SEMPOST."""
        self._settle()
        semaphore = self.core.state.semaphores[number]
        semaphore.value = max(semaphore.value - 1, 0) if value & 1 else min(semaphore.value + 1, LARGEST)
        self._settled = False

    def _load_mailbox(self, thread: int, number: int) -> int:
        """Return the next value; an odd word reads 1 if there is one, else 0."""
        sender, word = divmod(number, MAILBOX_BYTES // WORD)
        values = self.mailboxes[sender, thread + 1]
        if word & 1:
            return int(bool(values))
        if not values:
            raise Waiting(f"a value in the mailbox from {'B' if sender == 0 else f'T{sender - 1}'}")
        return values.popleft()

    def _store_mailbox(self, thread: int, number: int, value: int) -> None:
        receiver = number // (MAILBOX_BYTES // WORD)
        if sum(len(self.mailboxes[thread + 1, each]) for each in range(MAILBOXES)) >= MAILBOX_VALUES:
            raise Waiting("room in its mailboxes")
        self.mailboxes[thread + 1, receiver].append(value)

    def _load_config(self, _: int, number: int) -> int:
        self._settle()
        bank, register = divmod(number, REGISTERS[self.chip])
        if bank < BANKS:
            return self.core.config.registers[bank][register]
        place, word = divmod(number - BANKS * REGISTERS[self.chip], THREAD_CONFIG_BYTES // WORD)
        owner, register = divmod(place, THREAD_REGISTERS[self.chip])
        return 0 if word else self.core.config.thread_registers[owner][register]

    def _store_config(self, thread: int, number: int, value: int) -> None:
        bank, register = divmod(number, REGISTERS[self.chip])
        if bank >= BANKS:
            raise ValueError("a thread's own configuration must be written by SETC16, not by a store")
        self._settle()
        self.core.config.write_bank(bank, register, value)
        self.core.state.take_over(thread, register)


class _HartBus:
    """Memory and devices of one hart."""

    def __init__(self, tile: Tile, thread: int):
        self.chip = tile.chip
        self.code: dict[int, Callable[[], int]] = {}
        self._tile, self._thread, self._l1 = tile, thread, tile._l1
        self._l1_bytes = len(tile._l1[1])
        local = memoryview(bytearray(LOCAL_BYTES[tile.chip]))
        self._local = {1: local, 2: local.cast("H"), 4: local.cast("I")}

    def write(self, address: int, data: bytes) -> None:
        """Write bytes of a program."""
        base, memory = (0, self._l1[1]) if address < self._l1_bytes else (LOCAL_BASE, self._local[1])
        if not 0 <= address - base <= len(memory) - len(data):
            raise ValueError(
                f"a program's bytes must be in L1 or local memory, not {len(data)} of them at {address:#010x}"
            )
        memory[address - base : address - base + len(data)] = data

    def load(self, address: int, size: int) -> int:
        """Return bytes of L1, of local memory or of a device."""
        if address & size - 1:
            raise ValueError(f"the address of {size} bytes must be a multiple of {size}, not {address:#010x}")
        if address < self._l1_bytes:
            return self._l1[size][address // size]
        if 0 <= address - LOCAL_BASE < len(self._local[1]):
            return self._local[size][(address - LOCAL_BASE) // size]
        device, number = self._tile.device(address)
        if device.load is None or size != WORD:
            raise ValueError(f"the {device.name} at {address:#010x} must not be loaded from{_but(device.load)}")
        return device.load(self._thread, number)

    def store(self, address: int, size: int, value: int) -> None:
        """Write bytes of L1, of local memory or of a device."""
        if address & size - 1:
            raise ValueError(f"the address of {size} bytes must be a multiple of {size}, not {address:#010x}")
        value &= (1 << 8 * size) - 1
        if address < self._l1_bytes:
            if address & ~3 in self.code:
                raise ValueError(f"a store must not change an instruction that has run, at {address:#010x}")
            self._l1[size][address // size] = value
        elif 0 <= address - LOCAL_BASE < len(self._local[1]):
            self._local[size][(address - LOCAL_BASE) // size] = value
        else:
            device, number = self._tile.device(address)
            if device.store is None or size != WORD:
                raise ValueError(f"the {device.name} at {address:#010x} must not be stored to{_but(device.store)}")
            device.store(self._thread, number, value)

    def push(self, word: int) -> None:
        """Push an instruction to the hart's thread."""
        self._tile.push(self._thread, word)


def _but(access: object) -> str:
    return f" except by words of {WORD} bytes" if access else ""


def _discard(*_: int) -> None:
    """Ignore a store."""
