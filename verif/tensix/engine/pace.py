"""Cycle model of the Tensix engine for back-to-back products."""

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
"""Cycles from a command to multiplication besides the tile's rows: queue, memory, unpacker."""
DRAIN = MVMUL_LATENCY - 1
"""Cycles with results in flight after the last instruction of a product."""
STORE = TILE_ROWS + 1 + 1 + Packer.LATENCY + 1
"""Cycles of a store: rows, Dst read, read of the old word, packer stages, and the word of exponents."""


@dataclass(frozen=True)
class PacedProducts:
    """Products of one kind, and the number of cycles in which they keep the engine busy.

    Attributes
    ----------
    clears : True if each product clears its Dst tile, False if only the first does.
    alternates : True if products alternate between two tiles of Dst.
    stores : stored products, "none", "last" or "all".
    """

    clears: bool
    alternates: bool
    stores: str
    cycles: int


class PaceOfProducts:
    """Cycle counts of products on one engine.

    Parameters
    ----------
    passes : cycles of one instruction.
    fidelity : fidelity of the products.
    l1_format : format of both operands.
    """

    def __init__(self, passes: int, fidelity: Fidelity, l1_format: Format):
        self.passes = passes
        self.load = TILE_ROWS + (l1_format in BLOCK_FLOATS)
        self.compute = PASS * len(FIDELITY_PHASES[fidelity]) * passes

    def cases(self, count: int) -> list[PacedProducts]:
        """Return ``count`` products of every kind."""
        load, compute = self.load, self.compute
        cleared = compute + CLEAR
        # The last MVMULs are in flight to the face that is cleared last.
        cleared_again = cleared + 1
        # The last instruction of a product stalls until the previous store is complete.
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
        """Return load and computation of the first product, one period for each of the others, and the drain of the last."""
        end = DRAIN if stores == "none" else STORE
        cycles = self.load + BEGIN + self.compute + (count - 1) * period + end
        return PacedProducts(clears, alternates, stores, cycles)
