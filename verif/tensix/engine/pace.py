"""Cycles of the Tensix engine: golden's schedule, with the engine's clearing of Dst and its cycles before and behind."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.formats import FIDELITY_PHASES, Fidelity, Format
from bitpath.golden.tensix.matmul.cycles import MVMUL_LATENCY, UNPACKER_START, unpack_cycles
from bitpath.golden.tensix.matmul.matmul import Program
from bitpath.golden.tensix.matmul.schedule import (
    HAND_OVER,
    TileProduct,
    TileSchedule,
    TileTimes,
    pack_cycles,
    schedule_products,
    tile_pack_cycles,
    tile_products,
)
from bitpath.rtl.tensix.engine.command import PACK_ROWS, TensixEngineConfig
from bitpath.rtl.tensix.pack.packer import Packer

PASS = 16
"""Instructions of one fidelity phase."""
CLEAR = 4
"""Instructions that clear a tile."""
BEGIN = 1
"""Cycle in which a command enters its queues."""
DRAIN = MVMUL_LATENCY - 1
"""Cycles with results in flight after the last instruction of a product."""
STORE = 1 + 1 + Packer.LATENCY
"""Cycles from the request of a tile's last rows to their write: Dst read, read of the old word, packer stages."""


def engine_cycles(found: TileSchedule, *, stores: bool = True) -> int:
    """Return the cycles for which an engine is busy with products that follow a schedule; the last one is stored or not."""
    # A schedule counts from its first cycle on.
    return BEGIN + 1 + found.cycles + (STORE if stores else DRAIN)


def scheduled(config: TensixEngineConfig, program: Program) -> int:
    """Return the cycles for which an engine is busy with a program that its memories hold whole."""
    if program.block is None:
        raise ValueError("program must have a block: the engine's own order has no schedule")
    times = TileTimes(
        data=unpack_cycles(program.fmt.stored) - UNPACKER_START,
        compute=len(program.instructions) * config.unit.passes,
        pack=tile_pack_cycles(program, PACK_ROWS),
        clear=CLEAR,
    )
    return engine_cycles(schedule_products(tile_products(program, program.block), times))


def load_cycles(*formats: Format) -> int:
    """Return the cycles from the first of consecutive loads to the first in which the Matrix unit reads the last tile."""
    return UNPACKER_START + sum(unpack_cycles(fmt) - UNPACKER_START for fmt in formats) + HAND_OVER


def product_cycles(passes: int, fidelity: Fidelity) -> int:
    """Return the cycles of a product's instructions, of ``passes`` cycles each."""
    return PASS * len(FIDELITY_PHASES[fidelity]) * passes


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
    """Cycle counts of products on one engine, each with tiles of its own.

    Parameters
    ----------
    passes : cycles of one instruction.
    fidelity : fidelity of the products.
    l1_format : format of both operands.
    result : format of stored tiles.
    """

    def __init__(self, passes: int, fidelity: Fidelity, l1_format: Format, result: Format):
        self.data = unpack_cycles(l1_format) - UNPACKER_START
        self.compute = product_cycles(passes, fidelity)
        self.pack = pack_cycles(result, PACK_ROWS)

    def cases(self, count: int) -> list[PacedProducts]:
        """Return ``count`` products of every kind."""
        return [
            self._case(count, clears=False, alternates=False, stores="none"),
            self._case(count, clears=False, alternates=False, stores="last"),
            self._case(count, clears=True, alternates=False, stores="none"),
            self._case(count, clears=True, alternates=True, stores="last"),
            self._case(count, clears=True, alternates=True, stores="all"),
            self._case(count, clears=True, alternates=False, stores="all"),
        ]

    def _case(self, count: int, *, clears: bool, alternates: bool, stores: str) -> PacedProducts:
        products = [
            TileProduct(
                left=(index, 0),
                right=(index, 0),
                dst_tile=index % 2 * alternates,
                first=clears or index == 0,
                last=stores == "all" or (stores == "last" and index == count - 1),
            )
            for index in range(count)
        ]
        # The last MVMULs of a product are in flight to the face that the next one clears last.
        clear = CLEAR + (clears and not alternates and stores == "none")
        times = TileTimes(data=self.data, compute=self.compute, pack=self.pack, clear=clear)
        found = schedule_products(products, times)
        return PacedProducts(clears, alternates, stores, engine_cycles(found, stores=stores != "none"))
