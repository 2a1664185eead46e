"""Issue of TensorE's instructions into the main slot, the background slot, and the slots of tiles.

    whole array, matmul      main
    whole array, transpose   main if it is free, else background
    tiled                    the slots of its tiles, while main and background are free, and the other way round

Ref: "Trainium3 Architecture Guide for NKI", background transpose. The rule is chosen, see the declarations.
"""

from dataclasses import dataclass

from amaranth import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.unit import Covered, Judge, Unit


@dataclass(frozen=True, kw_only=True)
class IssueConfig(UnitConfig, unit="tensor_issue"):
    """Configuration of the issue logic.

    Attributes
    ----------
    banks : PSUM banks.
    cycle_bits : bits of an instruction's cycles; 4 passes of 1024 columns need 13.
    tag_bits : bits of the tag that a command takes from its instruction.
    """

    banks: int = in_range(1, 8, 8)
    cycle_bits: int = in_range(1, 16, 13)
    tag_bits: int = in_range(1, 32, 8)


TILES = 16
"""Tiles of 32 x 32 PEs, the smallest ones."""


def instruction_layout(config: IssueConfig) -> data.StructLayout:
    """Layout of an instruction: the cycles that it holds its slot (0 counts as 1), PSUM banks that it writes, tiles or none for the
    whole array, whether it is a transpose, and a tag that is handed on."""
    return data.StructLayout(
        {
            "cycles": config.cycle_bits,
            "banks": config.banks,
            "tiles": TILES,
            "transpose": 1,
            "tag": config.tag_bits,
        }
    )


def command_layout(config: IssueConfig) -> data.StructLayout:
    """Layout of a command: the instruction, and whether it runs in the background slot."""
    return data.StructLayout({"instruction": instruction_layout(config), "background": 1})


class TensorIssue(wiring.Component):
    """Instructions in order, at most one a cycle; an instruction waits for its slot and for its banks.

    A command leaves in the cycle in which its instruction is taken: latency 0. Slots and banks are free again ``cycles`` later.

    Parameters
    ----------
    config : banks and widths.

    Members
    -------
    i : In(stream of instruction_layout)
    o : Out(stream of command_layout)
    """

    def __init__(self, config: IssueConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(instruction_layout(config))),
                "o": Out(stream.Signature(command_layout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        own = self.i.p
        issued, whole, waits, background = Signal(), Signal(), Signal(), Signal()
        slots = [self._slot(m, f"{name}_cycles") for name in ("main", "background")]
        tiles = [self._slot(m, f"tile_cycles_{tile}") for tile in range(TILES)]
        banks = [self._slot(m, f"bank_cycles_{bank}") for bank in range(self.config.banks)]
        main_busy, background_busy = (slot.any() for slot in slots)
        tiles_busy, banks_busy = (Cat(slot.any() for slot in each) for each in (tiles, banks))
        m.d.comb += [
            whole.eq(~own.tiles.any()),
            background.eq(whole & main_busy),
            self.o.p.instruction.eq(own),
            self.o.p.background.eq(background),
            self.o.valid.eq(self.i.valid & ~waits),
            self.i.ready.eq(self.o.ready & ~waits),
            issued.eq(self.o.valid & self.o.ready),
        ]
        with m.If((own.banks & banks_busy).any()):
            m.d.comb += waits.eq(1)
        with m.Elif(whole):
            m.d.comb += waits.eq(tiles_busy.any() | (main_busy & (background_busy | ~own.transpose)))
        with m.Else():
            m.d.comb += waits.eq(main_busy | background_busy | (own.tiles & tiles_busy).any())
        taken = [whole & ~background, background, *(own.tiles[tile] for tile in range(TILES))]
        taken += [own.banks[bank] for bank in range(self.config.banks)]
        for slot, takes in zip((*slots, *tiles, *banks), taken, strict=True):
            with m.If(issued & takes):
                m.d.sync += slot.eq(own.cycles - own.cycles.any())
        return m

    def _slot(self, m: Module, name: str) -> Signal:
        """The cycles for which a slot or a bank is still busy, behind the present one."""
        cycles = Signal(self.config.cycle_bits, name=name)
        with m.If(cycles.any()):
            m.d.sync += cycles.eq(cycles - 1)
        return cycles


RECORDS = (
    Unit(
        name="tensor_issue",
        config_type=IssueConfig,
        build=TensorIssue,
        summary="Trainium3: instructions into the main, the background and the tiles' slots",
        covered=Covered(IssueConfig(cycle_bits=5), 300),
        judges=(Judge(45, IssueConfig(cycle_bits=5), 150),),
    ),
)
