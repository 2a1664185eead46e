"""What a run keeps of each instruction: its engine, cycles, places and the choices that its result depends on."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

ENGINES = ("tensor", "vector", "scalar", "gpsimd", "dma", "sync")
"""Engines, in the order of reports."""


@dataclass(frozen=True)
class Access:
    """A box of bytes that an instruction reads or writes: partitions and bytes of a storage, ends not included."""

    storage: int
    rows: tuple[int, int]
    bytes: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Executed:
    """An instruction with its values, for those who compute it anew.

    Attributes
    ----------
    instruction : its record.
    arguments : what the kernel gave, by the function's parameters.
    operands, results : arrays [P, N] that it read and wrote, by operand; as they lie in memory. DMA has its own shapes.
    """

    instruction: "NkiInstruction"
    arguments: dict[str, Any]
    operands: dict[str, np.ndarray]
    results: dict[str, np.ndarray]


@dataclass(eq=False)
class NkiInstruction:
    """An instruction that has run.

    Attributes
    ----------
    opcode : name of the function of ``nki.isa``.
    engine, core : where it ran.
    cycles : its initiation interval, in cycles of its engine's clock.
    line : file and line of the kernel.
    name : the kernel's name for it, or "".
    operands : operands by name, as text.
    keys : choices that its result depends on; see `bitpath.golden.nki.declarations.standing`.
    reads, writes : bytes that it touched.
    meeting : number, from 1 on, of the meeting of both cores that it is part of; 0 for none.
    after : instructions that it must follow, by ``depends_on``.
    """

    opcode: str
    engine: str
    core: int
    cycles: int
    line: str
    name: str = ""
    operands: dict[str, str] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    meeting: int = 0
    after: list["NkiInstruction"] = field(default_factory=list)

    def depends_on(self, *producers: "NkiInstruction") -> "NkiInstruction":
        """Let this instruction follow others; return it."""
        self.after += producers
        return self
