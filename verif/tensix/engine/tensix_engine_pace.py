"""Cycles for which the Tensix engine is busy with products that follow each other without a gap."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, FIDELITY_PHASES, Fidelity, Format
from bitpath.golden.tensix.matmul.cycles import MVMUL_LATENCY
from bitpath.rtl.tensix.engine.command import TILE_ROWS
from bitpath.rtl.tensix.pack.packer import Packer

PASS = 16
"""Instructions of one fidelity phase."""
CLEAR = 4
"""Instructions that clear a tile."""
BEGIN = 3
"""Cycles beside its rows' until a tile can be multiplied: the queue, the memory's word, the unpacker's rank."""
DRAIN = MVMUL_LATENCY - 1
"""Cycles after its last instruction in which a product's results are on the way."""
STORE = TILE_ROWS + 1 + 1 + Packer.LATENCY + 1
"""Cycles that a store takes: its rows, Dst's rank and the old word's, the packer's, and the word of exponents."""


@dataclass(frozen=True)
class PacedProducts:
    """Products of one kind, and the cycles that they keep the engine busy.

    Attributes
    ----------
    clears : whether each product clears its Dst tile, or only the first.
    alternates : whether two tiles of Dst take turns.
    stores : which products are stored, "none", "last" or "all".
    """

    clears: bool
    alternates: bool
    stores: str
    cycles: int


class PaceOfProducts:
    """What a product takes on an engine.

    Parameters
    ----------
    passes : cycles of one instruction.
    fidelity : of the products.
    l1_format : of both operands.
    """

    def __init__(self, passes: int, fidelity: Fidelity, l1_format: Format):
        self.passes = passes
        self.load = TILE_ROWS + (l1_format in BLOCK_FLOATS)
        self.compute = PASS * len(FIDELITY_PHASES[fidelity]) * passes

    def cases(self, count: int) -> list[PacedProducts]:
        """So many products of every kind."""
        load, compute = self.load, self.compute
        cleared = compute + CLEAR
        # The last MVMULs are on the way to the face that would be cleared last.
        cleared_again = cleared + 1
        # A product's last instruction waits whole until the store before is through.
        handed_on = STORE + self.passes
        stored_again = STORE + cleared
        return [
            self._case(count, max(load, compute), clears=False, alternates=False, stores="none"),
            self._case(count, max(load, compute), clears=False, alternates=False, stores="last"),
            self._case(count, max(load, cleared_again), clears=True, alternates=False, stores="none"),
            self._case(count, max(load, cleared), clears=True, alternates=True, stores="last"),
            self._case(count, max(load, cleared, handed_on), clears=True, alternates=True, stores="all"),
            self._case(count, stored_again, clears=True, alternates=False, stores="all"),
        ]

    def _case(self, count: int, period: int, *, clears: bool, alternates: bool, stores: str) -> PacedProducts:
        """The first product's load and computing, a period for each of the others, and what follows the last one."""
        end = DRAIN if stores == "none" else STORE
        cycles = self.load + BEGIN + self.compute + (count - 1) * period + end
        return PacedProducts(clears, alternates, stores, cycles)
