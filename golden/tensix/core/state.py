"""Everything that Tensix instructions read and write: memory, registers, counters, semaphores and waits."""

from dataclasses import dataclass, field

import numpy as np

from bitpath.golden.tensix.core.adc import Adcs
from bitpath.golden.tensix.core.config import THREADS, ConfigFile
from bitpath.golden.tensix.core.dst_register import DstRegister
from bitpath.golden.tensix.core.rwc import Modifier, Rwc, apply_modifier, modifier_number
from bitpath.golden.tensix.core.source_banks import SourceBanks
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

GPRS = 64
"""General-purpose registers of a thread, 32 bits each."""
SEMAPHORES = 8
PACKERS = {Chip.WORMHOLE: 4, Chip.BLACKHOLE: 1}


@dataclass(kw_only=True)
class Semaphore:
    """A semaphore's value and its maximum, 4 bits each."""

    value: int = 0
    maximum: int = 0


@dataclass(kw_only=True)
class Packer:
    """Where a packer goes on in L1; None if its next instruction starts at the configured address.

    Attributes
    ----------
    data, exponents : byte addresses.
    """

    data: int | None = None
    exponents: int | None = None


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


@dataclass(kw_only=True)
class State:
    """A core's state.

    Attributes
    ----------
    l1 : uint8, the tile's memory.
    gprs : ``gprs[thread][register]``.
    waits : the wait that each thread's gate has latched, or None.
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
    waits: list[Wait | None] = field(default_factory=lambda: [None] * THREADS)

    def __post_init__(self) -> None:
        self.packers = [Packer() for _ in range(PACKERS[self.chip])]

    def source(self, unpacker: int) -> SourceBanks:
        """Return the source that an unpacker fills: SrcA for 0, SrcB for 1."""
        return self.src_b if unpacker else self.src_a

    def dst_row(self, thread: int, operand: int) -> int:
        """Return the Dst row of an instruction: operand, RWC and math offset, modulo 1024."""
        return (operand + self.rwc[thread].dst + self.config.of_thread("math_offset", thread)) % len(self.dst.bits)

    def step_rwc(self, thread: int, index: int) -> None:
        """Apply the address modifier that an instruction names to the thread's RWCs."""
        base = bool(self.config.of_thread("modifier_base", thread))
        number = modifier_number(self.rwc[thread], index, chip=self.chip, set_base=base)
        words = {name: self.config.of_thread(f"{name}_modifier", thread, number) for name in ("ab", "dst", "bias")}
        self.rwc[thread] = apply_modifier(self.rwc[thread], Modifier(**words), chip=self.chip)

    def flip_sources(self, thread: int, flip: int) -> None:
        """Go on with the other bank of SrcA (bit 0 of `flip`) and SrcB (bit 1); give the old one back unless disabled."""
        kept = self.config.of_thread("clear_dvalid_disable", thread)
        for bit, source in enumerate((self.src_a, self.src_b)):
            if flip >> bit & 1:
                source.give_back(release=not kept >> bit & 1)
