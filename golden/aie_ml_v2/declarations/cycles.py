"""AMD AIE-ML v2's cycle table of the tile: when an operation reads, reaches memory and writes; its issue is cycle 1.

Ref: LLVM's itineraries (target aie2ps, AIE2PSGenSchedule.td). Those of multiply-accumulates are in
:mod:`bitpath.golden.aie_ml_v2.declarations.modes`.
"""

from dataclasses import dataclass

from bitpath.golden.formats.sources import chosen, inferred

SLOTS = ("lda", "ldb", "st", "mv", "vec")
"""Slots of a bundle, in the order in which they reach a memory bank. The scalar ALU's is not modelled."""


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """Cycles of an operation; every operation reads its pointer, modifier and FIFO, and writes these, in cycle 1.

    Attributes
    ----------
    read : when its operands are read.
    memory : when it reaches the banks; None without an access.
    result : when its result is written; None without a register.
    """

    read: int = 1
    memory: int | None = None
    result: int | None = None


LOAD = Cycles(memory=5, result=7)
POP = Cycles(memory=5, result=8)
STORE = Cycles(memory=5)
STORE_SRS = Cycles(memory=7)
PUSH_MX = Cycles(memory=8)
FLUSH = Cycles(memory=8)
MOVE = Cycles(result=2)
MOVE_PATH = "move"
"""The bypass among results of the mv slot: they are read in the cycle of their write."""

CYCLE_CHOICES = {
    "A tile has no interlocks: an operation that reads too early finds the old value": inferred(
        "LLVM's compiler fills with no-ops; golden reports it unless told to compute it"
    ),
    "A FIFO's bytes, count and pointer change in the cycle of the issue, and its line must not change until it is read": chosen(
        "LLVM has pointer and count in cycle 1 and the line in cycle 5"
    ),
    "Two results of the vec slot in one cycle are an error": chosen("LLVM's compiler avoids them"),
}
