"""Everything that Tensix instructions read and write: memory, registers, counters, semaphores and waits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from bitpath.golden.arrays.parallel import owned
from bitpath.golden.tensix.declarations.encodings import (
    FIELDS,
    GOLDEN_FIELDS,
    GOLDEN_THREAD_FIELDS,
    REGISTERS,
    SHARED_FROM,
    THREAD_REGISTERS,
    Fields,
    UndefinedBehavior,
)
from bitpath.golden.tensix.declarations.formats import (
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST16_ROWS,
    DST32,
    EXPONENT5_FORMATS,
    SRC_ROWS,
    Chip,
    Format,
    Style,
    WordLayout,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.counters import Adcs, Rwc, after_modifier, settled_number
from bitpath.golden.tensix.sfpu.clock import Clock
from bitpath.golden.tensix.sfpu.lanes import Lanes
from bitpath.golden.tensix.sfpu.prng import Prng

# Errors of programs of Tensix instructions.


class DeadlockError(RuntimeError):
    """No thread can continue, but instructions are left: each waits for another thread or for the host."""


# Configuration registers of a core: two banks that the threads share, and each thread's own.
#
# A thread's field ``state_id`` names the bank that its instructions read and write; registers from `SHARED_FROM` on exist once.
#
# Ref: tt-isa-documentation 3930471, BackendConfiguration, WRCFG, RMWCIB and SETC16.


THREADS = 3
BANKS = 2


class Remembered(dict[Any, Any]):
    """Computed results by their arguments; a copy starts empty."""

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Remembered, ()


class ConfigFile:
    """The registers of a core, all 0 at first.

    Parameters
    ----------
    fields, thread_fields : fields that the registers have; None is all of golden's.

    Attributes
    ----------
    registers : words of 32 bits, ``registers[bank][number]``.
    thread_registers : words of 16 bits, ``thread_registers[thread][number]``.
    """

    def __init__(self, chip: Chip, fields: Fields | None = None, thread_fields: Fields | None = None):
        self.chip = chip
        fields = GOLDEN_FIELDS[chip] if fields is None else fields
        thread_fields = GOLDEN_THREAD_FIELDS[chip] if thread_fields is None else thread_fields
        self._fields, self._thread_fields = _positions(fields), _positions(thread_fields)
        self._modelled, self._modelled_of_thread = _modelled(fields), _modelled(thread_fields)
        self._getters = Remembered()
        self.registers = [[0] * REGISTERS[chip] for _ in range(BANKS)]
        self.thread_registers = [[0] * THREAD_REGISTERS[chip] for _ in range(THREADS)]

    def read(self, field: str, thread: int, unit: int = 0) -> int:
        """Return a field of the bank that a thread uses; 0 on a chip that has no such field.

        Parameters
        ----------
        unit : unpacker or packer, for a field that each of them has.
        """
        places = self._fields.get(field)
        if not places:
            return 0
        register, low, mask = places[unit]
        return self.registers[self._bank(thread)][register] >> low & mask

    def of_thread(self, field: str, thread: int, number: int = 0) -> int:
        """Return a thread's own field, or the word of its address modifier `number`; 0 on a chip that has no such field."""
        places = self._thread_fields.get(field)
        if not places:
            return 0
        register, low, mask = places[number]
        return self.thread_registers[thread][register] >> low & mask

    def words(self, names: tuple[str, ...], thread: int) -> tuple[Any, ...]:
        """Return the registers that hold some fields, as a thread sees them."""
        getters = self._getters.get(names)
        if getters is None:
            tables = self._fields, self._thread_fields
            getters = self._getters[names] = tuple(_getter(each, names) for each in tables)
        return getters[0](self.registers[self._bank(thread)]), getters[1](self.thread_registers[thread])

    def write(self, thread: int, register: int, value: int, mask: int = 0xFFFFFFFF) -> None:
        """Write the bits of `mask` of a register in the bank that a thread uses.

        Raises
        ------
        UndefinedBehavior, ValueError : as `check`.
        """
        self.write_bank(self._bank(thread), register, value, mask)

    def write_bank(self, bank: int, register: int, value: int, mask: int = 0xFFFFFFFF) -> None:
        """Write the bits of `mask` of a register in a bank.

        Raises
        ------
        UndefinedBehavior, ValueError : as `check`.
        """
        self.check(register, value & mask)
        banks = range(BANKS) if register >= SHARED_FROM[self.chip] else (bank,)
        for each in banks:
            old = self.registers[each][register]
            self.registers[each][register] = value & mask | old & ~mask

    def word(self, thread: int, register: int) -> int:
        """Return a register of the bank that a thread uses."""
        return self.registers[self._bank(thread)][register]

    def write_all(self, thread: int, first: int, values: Sequence[int]) -> None:
        """Write neighbouring registers, or none of them if one may not be written; raises as `check`."""
        for register, value in enumerate(values, first):
            self.check(register, value)
        for register, value in enumerate(values, first):
            self.write(thread, register, value)

    def check(self, register: int, value: int) -> None:
        """Raise where these bits of a register may not be written.

        Raises
        ------
        UndefinedBehavior : the chip has no such register.
        ValueError : 1 in a bit that no modelled field has.
        """
        if register >= REGISTERS[self.chip]:
            last = REGISTERS[self.chip] - 1
            raise UndefinedBehavior(f"the configuration register must be 0 to {last}, not {register}")
        _check_bits(f"configuration register {register}", value, self._modelled.get(register, 0))

    def write_thread(self, thread: int, register: int, value: int) -> None:
        """Write a register of a thread's own.

        Raises
        ------
        UndefinedBehavior, ValueError : as `write`.
        """
        if register >= THREAD_REGISTERS[self.chip]:
            last = THREAD_REGISTERS[self.chip] - 1
            raise UndefinedBehavior(f"the thread register must be 0 to {last}, not {register}")
        _check_bits(f"thread register {register}", value, self._modelled_of_thread.get(register, 0))
        self.thread_registers[thread][register] = value

    def _bank(self, thread: int) -> int:
        return self.of_thread("state_id", thread)


def _getter(positions: dict[str, tuple[tuple[int, int, int], ...]], names: Sequence[str]) -> Callable[..., Any]:
    """Return a function that picks the registers of some fields from a list; it ignores names that the chip does not have."""
    registers = sorted({register for name in names for register, _, _ in positions.get(name, ())})
    return itemgetter(*registers) if registers else lambda _: None


def _positions(table: Fields) -> dict[str, tuple[tuple[int, int, int], ...]]:
    """Return register, lowest bit and shifted mask of each place of each field."""
    return {
        name: tuple((each.register, each.low, (1 << each.width) - 1) for each in places)
        for name, places in table.items()
    }


def _check_bits(what: str, value: int, known: int) -> None:
    if stray := value & ~known:
        raise ValueError(f"{what} must be 0 in the bits that golden does not model, {stray:#x}, not {value:#x}")


def _modelled(table: Fields) -> dict[int, int]:
    """Return the bits of each register that have a field."""
    masks: dict[int, int] = {}
    for places in table.values():
        for place in places:
            masks[place.register] = masks.get(place.register, 0) | place.mask
    return masks


# Dst: 1024 rows of 16-bit words, or in the same storage 512 rows of 32-bit words, and rows that are undefined.
#
# Rows of an instruction become rows of the storage by::
#
#     remapped (Blackhole, remap_addrs)    r -> (r & 0x3C7) ^ ((r & 0x30) >> 1) ^ ((r & 8) << 2)
#     swizzled (swizzle_32b, 32 bits)      r -> (r & 0x3F3) ^ ((r & 0x18) >> 1) ^ ((r & 4) << 1)
#     32 bits                              upper half in R = (r & 0x1F8) << 1 | r & 0x207, lower half in R + 8
#
# A row of 32-bit words is undefined if its upper half's row is.
#
# Ref: tt-isa-documentation, Dst: of Wormhole 3930471, of Blackhole 4b35ad1; ZEROACC.


@cache
def _loop() -> Any:
    # The compiler is loaded with the first row.
    from bitpath.golden.tensix.operands import registers_loop

    return registers_loop


EVERY_ROW = np.ones(DST16_ROWS, bool)


class DstRegister:
    """The register, all rows undefined at first.

    Attributes
    ----------
    bits : uint16 [1024, 16], in the register's bit order.
    defined : bool [1024], of each row of 16 bits.
    remapped, swizzled : Blackhole's permutations of rows.
    """

    def __init__(self) -> None:
        self.bits = np.zeros((DST16_ROWS, COLUMNS), np.uint16)
        self.defined = np.zeros(DST16_ROWS, bool)
        self.remapped = self.swizzled = False

    def rows(self, first: int, count: int, *, dst32: bool) -> np.ndarray:
        """Return the storage rows of an instruction's rows, with `dst32` those of their upper halves; rows wrap at 1024."""
        rows = np.empty(count, np.int64)
        _loop().storage_rows(first, self.remapped, self.swizzled, dst32, rows)
        return rows

    def read(
        self, first: int, count: int, layout: WordLayout | None, *, ones: bool = False, stale: bool = False
    ) -> np.ndarray:
        """Return logical words, uint32 [count, 16]; an undefined row reads as 0, with `ones` as all ones, with `stale` as it was.

        Parameters
        ----------
        layout : `DST32`, a layout of 16 bits, or None for words of 16 bits in the register's order.
        """
        dst32, words = layout is DST32, np.empty((count, COLUMNS), np.uint32)
        fill = 0 if not ones else 0xFFFFFFFF if dst32 else 0xFFFF
        moves, defined = _loop().route(layout, to_physical=False), EVERY_ROW if stale else self.defined
        _loop().read_rows(self.bits, defined, first, self.remapped, self.swizzled, dst32, moves, fill, words)
        return words

    def runs(self, starts: list[int], count: int, layout: WordLayout | None) -> np.ndarray:
        """Return logical words of as many datums from each start on, uint32 [runs, count]; row 0 has datums 0 to 15.

        Datums of an undefined row read as 0. `layout` is that of `read`.
        """
        words = np.empty((len(starts), count), np.uint32)
        moves, permuted = _loop().route(layout, to_physical=False), (self.remapped, self.swizzled)
        _loop().read_runs(self.bits, self.defined, np.array(starts), *permuted, layout is DST32, moves, words)
        return words

    def update(self, operation: Callable[..., None], first: int, layout: WordLayout, *arguments: Any) -> None:
        """Apply a compiled operation that reads and writes rows itself, from `first` on, such as `mvmul_in_dst`."""
        moves = _loop().route(layout, to_physical=False), _loop().route(layout, to_physical=True)
        place = first, self.remapped, self.swizzled, layout is DST32
        operation(self.bits, self.defined, *place, moves, *arguments)

    def write(self, first: int, words: np.ndarray, layout: WordLayout) -> None:
        """Write logical words, uint32 [rows, 16]; the rows become defined."""
        moves = _loop().route(layout, to_physical=True)
        _loop().write_rows(
            self.bits, self.defined, first, self.remapped, self.swizzled, layout is DST32, moves, owned(words)
        )


# Two banks of SrcA or of SrcB, which the unpacker and the Matrix unit own in turn.
#
# Ref: tt-isa-documentation 3930471, SrcASrcB; of Blackhole for the format that a bank implies.


class SourceBanks:
    """Registers of one source, with their owners.

    Attributes
    ----------
    words : uint32 [2, 64, 16], logical words of 19 bits.
    owned : for each bank True if the Matrix unit owns it, False if the unpacker does.
    matrix_bank, unpacker_bank : bank that the Matrix unit reads and that the unpacker writes next.
    formats : code of the format that each bank implies; None where it is undefined.
    """

    def __init__(self) -> None:
        self.words = np.zeros((BANKS, SRC_ROWS, COLUMNS), np.uint32)
        self.formats: list[int | None] = [None] * BANKS
        self.reset()

    def reset(self) -> None:
        """Give both banks to the unpacker; both sides go on with bank 0."""
        self.owned = [False] * BANKS
        self.matrix_bank = self.unpacker_bank = 0

    @property
    def readable(self) -> bool:
        """True if the Matrix unit owns the bank that it reads next."""
        return self.owned[self.matrix_bank]

    @property
    def writable(self) -> bool:
        """True if the unpacker owns the bank that it writes next."""
        return not self.owned[self.unpacker_bank]

    @property
    def implied(self) -> int | None:
        """The code of the format that the Matrix unit's bank implies."""
        return self.formats[self.matrix_bank]

    @property
    def read(self) -> np.ndarray:
        """The Matrix unit's bank, [64, 16]; writes to it reach the register."""
        return self.words[self.matrix_bank]

    @property
    def written(self) -> np.ndarray:
        """The unpacker's bank, [64, 16]; writes to it reach the register."""
        return self.words[self.unpacker_bank]

    def hand_over(self, fmt: int | None) -> None:
        """Give the unpacker's bank, with the format that it implies, to the Matrix unit."""
        self.formats[self.unpacker_bank] = fmt
        self.owned[self.unpacker_bank] = True
        self.unpacker_bank ^= 1

    def give_back(self, *, release: bool = True, flip: bool = True) -> None:
        """Give the Matrix unit's bank back to the unpacker with `release`; go on with the other bank with `flip`."""
        if release:
            self.owned[self.matrix_bank] = False
        if flip:
            self.matrix_bank ^= 1


REMEMBERED = 1 << 12
"""Most settings that a core remembers."""
ALU = (
    "src_a_format",
    "src_b_format",
    "src_a_override",
    "src_b_override",
    "src_a_value",
    "src_b_value",
    "fp32_enabled",
    "int8_math",
    "zero_flag_disabled_src",
    "implied_src_a_disabled",
    "implied_src_b_disabled",
    "fidelity_base",
)
"""Fields that decide how the Matrix unit's products read their operands."""
MODIFIER_WORDS = ("ab_modifier", "dst_modifier", "bias_modifier")
"""Fields that make an address modifier."""
GPRS = 64
"""General-purpose registers of a thread, 32 bits each."""
SEMAPHORES = 8
UNPACKERS = 2
PACKERS = {Chip.WORMHOLE: 4, Chip.BLACKHOLE: 1}


@dataclass(kw_only=True)
class Semaphore:
    """A semaphore's value and its maximum, 4 bits each."""

    value: int = 0
    maximum: int = 0


@dataclass(kw_only=True)
class Packer:
    """Position at which a packer continues.

    Attributes
    ----------
    data, exponents : byte addresses in L1; None if the next instruction starts at the configured address.
    taken : datums taken of Dst since then.
    random : states of the random numbers, uint32 [16], one for each column of a Dst row; never written in place.
    """

    data: int | None = None
    exponents: int | None = None
    taken: int = 0
    random: np.ndarray = field(default_factory=lambda: np.zeros(COLUMNS, np.uint32))


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A STALLWAIT or SEMWAIT that a thread's wait gate has latched.

    Attributes
    ----------
    block : bits of the classes of instructions that wait.
    conditions : condition bits of STALLWAIT.
    semaphores, while_zero, at_maximum : semaphores of SEMWAIT by bits, and for which values it waits.
    """

    block: int
    conditions: int = 0
    semaphores: int = 0
    while_zero: int = 0
    at_maximum: int = 0

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the semaphores."""
        return tuple(each for each in range(SEMAPHORES) if self.semaphores >> each & 1)


@dataclass(kw_only=True)
class State:
    """The registers and memories of a core.

    Attributes
    ----------
    l1 : uint8, the tile's memory.
    gprs : ``gprs[thread][register]``.
    sfpu, clock : lanes of the Vector unit, and the instructions that SFPLOADMACRO has scheduled.
    waits : the wait that each thread's gate has latched, or None.
    mutexes : the thread that holds each mutex; others are free.
    contexts : ``contexts[unpacker][thread]``, the counter of contexts.
    """

    chip: Chip
    numerics: TensixNumerics
    l1: np.ndarray
    config: ConfigFile
    src_a: SourceBanks = field(default_factory=SourceBanks)
    src_b: SourceBanks = field(default_factory=SourceBanks)
    dst: DstRegister = field(default_factory=DstRegister)
    rwc: list[Rwc] = field(default_factory=lambda: [Rwc() for _ in range(THREADS)])
    adc: list[Adcs] = field(default_factory=lambda: [Adcs() for _ in range(THREADS)])
    gprs: list[list[int]] = field(default_factory=lambda: [[0] * GPRS for _ in range(THREADS)])
    semaphores: list[Semaphore] = field(default_factory=lambda: [Semaphore() for _ in range(SEMAPHORES)])
    packers: list[Packer] = field(init=False)
    sfpu: Lanes = field(init=False)
    clock: Clock = field(init=False)
    waits: list[Wait | None] = field(default_factory=lambda: [None] * THREADS)
    mutexes: dict[int, int] = field(default_factory=dict)
    contexts: list[list[int]] = field(default_factory=lambda: [[0] * THREADS for _ in range(UNPACKERS)])
    _settled: Remembered = field(default_factory=Remembered, repr=False)

    def __post_init__(self) -> None:
        self.packers = [Packer() for _ in range(PACKERS[self.chip])]
        self.sfpu = Lanes(numerics=self.numerics)
        self.clock = Clock(self.chip)

    def settled(self, function: Callable[..., Any], *settings: Any) -> Any:
        """Return ``function(numerics, *settings)``, computed once."""
        return self._remembered((function, *settings), function, self.numerics, *settings)

    def configured(self, names: tuple[str, ...], function: Callable[..., Any], thread: int, *settings: Any) -> Any:
        """Return ``function(state, thread, *settings)``, computed once for equal words of the registers of the fields `names`.

        The function must read no other fields."""
        key = function, self.config.words(names, thread), *settings
        return self._remembered(key, function, self, thread, *settings)

    def _remembered(self, key: tuple[Any, ...], function: Callable[..., Any], *arguments: Any) -> Any:
        found = self._settled.get(key)
        if found is None:
            if len(self._settled) == REMEMBERED:
                self._settled.clear()
            found = self._settled[key] = function(*arguments)
        return found

    def alu(self, thread: int) -> "Alu":
        """Return how a thread's products read their operands; raises as `src_a_format`."""
        return self.configured(ALU, _alu, thread, self.src_a.implied, self.src_b.implied)

    def source(self, unpacker: int) -> SourceBanks:
        """Return the source that an unpacker fills: SrcA for 0, SrcB for 1."""
        return self.src_b if unpacker else self.src_a

    def dst_row(self, thread: int, operand: int) -> int:
        """Return the Dst row of an instruction: operand, RWC and math offset, modulo 1024."""
        return (operand + self.rwc[thread].dst + self.config.of_thread("math_offset", thread)) % len(self.dst.bits)

    def step_rwc(self, thread: int, index: int, *, fidelity: bool = True) -> None:
        """Apply an instruction's address modifier to the thread's RWCs, without the fidelity phase unless `fidelity`."""
        rwc, own = self.rwc[thread], self.config.of_thread
        number = settled_number(rwc, index, chip=self.chip, set_base=bool(own("modifier_base", thread)))
        words = [own(name, thread, number) for name in MODIFIER_WORDS]
        if any(words):
            self.rwc[thread] = after_modifier(rwc, *words, chip=self.chip, fidelity=fidelity)

    def take_over(self, thread: int, *registers: int) -> None:
        """Take over Blackhole's permutations of Dst rows, and a seed of random numbers, from registers that were written."""
        if FIELDS[self.chip]["prng_seed"][0].register in registers:
            states = Prng(self.config.read("prng_seed", thread)).state
            self.sfpu.prng[:] = states
            for packer in self.packers:
                packer.random = states[:COLUMNS]
        if self.chip is Chip.BLACKHOLE:
            self.dst.remapped = bool(self.config.read("remap_addrs", thread))
            self.dst.swizzled = bool(self.config.read("swizzle_32b", thread))

    def flip_sources(self, thread: int, flip: int) -> None:
        """Go on with the other bank of SrcA (bit 0 of `flip`) and SrcB (bit 1); give the old one back unless disabled."""
        if not flip:
            return
        kept = self.config.of_thread("clear_dvalid_disable", thread)
        for bit, source in enumerate((self.src_a, self.src_b)):
            if flip >> bit & 1:
                source.give_back(release=not kept >> bit & 1)


# Formats as which an instruction reads SrcA and SrcB: the configured ones, on Blackhole those that the banks imply.
#
# Ref: tt-isa-documentation, SrcASrcB of Blackhole, MOVD2B; ttsim v1.10.0 for MOVB2D.


def src_a_format(state: State, thread: int) -> Format:
    """Return the format of SrcA's words.

    Raises
    ------
    UndefinedBehavior : the bank's implied format is undefined; the code is no format's.
    """
    return _format(state, thread, "src_a_format", state.src_a, "implied_src_a_disabled")


def src_b_format(state: State, thread: int) -> Format:
    """Return SrcB's format; raises as `src_a_format`."""
    return _format(state, thread, "src_b_format", state.src_b, "implied_src_b_disabled")


def movb2d_format(state: State, thread: int) -> Format:
    """Return the format by which MOVB2D fills Dst: SrcA's, which Blackhole takes from SrcB's bank; raises as `src_a_format`."""
    return _format(state, thread, "src_a_format", state.src_b, "implied_src_a_disabled")


def movd2b_format(state: State, thread: int) -> Format:
    """Return the format by which MOVD2B fills SrcB: SrcA's, which Blackhole takes from SrcB's bank; raises as `src_a_format`."""
    return _format(state, thread, "src_a_format", state.src_b, "implied_src_b_disabled")


def style_of(state: State, thread: int, fmt: Format) -> Style:
    """Return the format in which the Matrix unit reads both sources; SrcA's format and INT8_math_enabled decide it."""
    if state.config.read("int8_math", thread):
        return Style.INT8
    if fmt is Format.TF32:
        return Style.TF32
    return Style.FP16 if fmt in EXPONENT5_FORMATS or fmt is Format.INT8 else Style.BF16


class Alu(NamedTuple):
    """How the Matrix unit's products read their operands.

    Attributes
    ----------
    formats : SrcA's and SrcB's.
    layout : Dst's words.
    fidelity_base : added to a thread's fidelity phase.
    """

    formats: tuple[Format, Format]
    style: Style
    layout: WordLayout
    keeps_denormals: bool
    fidelity_base: int


def _alu(state: State, thread: int, *_: int | None) -> Alu:
    formats, read = (src_a_format(state, thread), src_b_format(state, thread)), state.config.read
    style = style_of(state, thread, formats[0])
    wide = style is Style.INT8 or read("fp32_enabled", thread)
    return Alu(
        formats=formats,
        style=style,
        layout=DST32 if wide else DST16_FP16 if style is Style.FP16 else DST16_BF16,
        keeps_denormals=bool(read("zero_flag_disabled_src", thread)),
        fidelity_base=state.config.of_thread("fidelity_base", thread),
    )


def format_of(what: str, code: int) -> Format:
    """Return the format of a hardware code; raise UndefinedBehavior for a code without a format."""
    try:
        return Format(code)
    except ValueError:
        raise UndefinedBehavior(f"{what} must be the code of a format, not {code}") from None


def _format(state: State, thread: int, field: str, bank: SourceBanks, disabling: str) -> Format:
    side = field.removesuffix("_format")
    code: int | None = state.config.read(field, thread)
    if state.config.read(f"{side}_override", thread):
        code = state.config.read(f"{side}_value", thread)
    if state.chip is Chip.BLACKHOLE and not state.config.of_thread(disabling, thread):
        code = bank.implied
        if code is None:
            raise UndefinedBehavior(
                f"{field} must be implied by the bank, which an UNPACR or UNPACR_NOP must have given"
            )
    return format_of(field, code)
