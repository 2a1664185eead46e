"""Programs for a PE: the inputs of each cycle, the expected outputs after it, and their comparison."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from cocotb.triggers import FallingEdge

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.trainium3.dot.pe import ProcessingElement
from bitpath.verif.kit.unit_bench import Bench, Context, cross, pauses, resolved, width

STALLS = {
    "none": pauses.never,
    "scattered": lambda: pauses.scattered(0.4, pauses.rng("advance")),
    "bursts": lambda: pauses.bursts(8, pauses.rng("advance")),
}
LOADS_AND_SWAPS = cross(("load", "hold"), ("swap", "stay"))
"""Bins of a cycle: load or hold the shadow copy, swap or keep the active one."""

QUALIFIED = {"stationary_west": "load", "swap_west": "swap_west", "moving_west": None, "partial_south": None}
"""Ports, all of which a PE takes or gives only in a cycle in which it advances, with what else it asks for."""


@dataclass(frozen=True)
class Cycle:
    """Inputs of one cycle; the case ``loaded`` gives the stationary operand, ``work`` the moving one and the partial sum.

    ``bin`` is what coverage counts it as, if anything.
    """

    load: bool
    swap: bool
    loaded: Any
    work: Any
    bin: str | None = None


@dataclass(frozen=True)
class Seen:
    """Expected outputs after a cycle; None before the first operand, since operands have no reset.

    ``context`` is that of the partial sum.
    """

    stationary_east: int | None
    moving_east: int
    swap_east: int
    partial_south: int | None
    context: Context


class PePlayer:
    """Plays programs on a PE and on two stationary copies and a queue of results.

    Parameters
    ----------
    pe : the component, for its ports.
    stages : pipeline stages of its step.
    side : one side of a case, "stationary" or "moving", as the port's integer.
    step : what golden makes of the stationary side of one case and the rest of another, and its context in a mismatch; None for
        a result that has no meaning.
    """

    def __init__(
        self,
        pe: ProcessingElement,
        stages: int,
        side: Callable[[Any, str], int],
        step: Callable[[Any, Any], tuple[int | None, Context]],
    ):
        self.latency, self.side, self.step = stages + 1, side, step
        self._outputs = {
            "stationary_east": pe.operand,
            "moving_east": pe.moving_operand,
            "swap_east": 1,
            "partial_south": FP32.width,
        }
        # Inputs that a stall must not let in.
        self._inputs = {
            "load": 1,
            "swap_west": 1,
            "stationary_west": width(pe.operand),
            "moving_west": width(pe.moving_operand),
            "partial_north": FP32.width,
        }

    def model(self, program: list[Cycle]) -> list[Seen]:
        """Expected outputs after every cycle."""
        second = held = None
        results: list[tuple[int | None, Context]] = [(None, None)] * (self.latency - 1)
        seen = []
        for cycle in program:
            work = cycle.work
            results.append((None, None) if held is None else self.step(held, work))
            # A swap comes a register later than a load: it takes a word that is loaded in the same cycle.
            second = cycle.loaded if cycle.load else second
            held = second if cycle.swap else held
            seen.append(
                Seen(
                    self.side(second, "stationary") if second else None,
                    self.side(work, "moving"),
                    int(cycle.swap),
                    *results[len(seen)],
                )
            )
        return seen

    async def play(
        self, frame: Bench, program: list[Cycle], stalls: Iterator[bool], bins: Iterable[str] = LOADS_AND_SWAPS
    ) -> None:
        """Drive the program, junk while stalled, and compare every output after every cycle, stalled ones too."""
        expected = self.model(program)
        junk = pauses.rng("junk")
        dut = frame.dut
        coverage = frame.coverage(bins)
        boards = {
            name: frame.scoreboard(name, shape, {"": FP32} if name == "partial_south" else None)
            for name, shape in self._outputs.items()
        }
        for name, valid in QUALIFIED.items():
            frame.onlook(name, valid, "advance")
        await FallingEdge(dut.clk)
        shown = None
        for cycle, after in zip(program, expected, strict=True):
            while next(stalls):
                held = {name: junk.getrandbits(bits) for name, bits in self._inputs.items()}
                _drive(dut, {"advance": 0} | held)
                await FallingEdge(dut.clk)
                _compare(dut, boards, shown)
            if cycle.bin is not None:
                coverage.hit(cycle.bin)
            _drive(dut, self._ports(cycle))
            await FallingEdge(dut.clk)
            shown = after
            _compare(dut, boards, shown)

    async def resets(self, frame: Bench, case: Any) -> None:
        """A swap under way is dropped."""
        dut = frame.dut
        board = frame.scoreboard("swap_east", 1)
        await FallingEdge(dut.clk)
        _drive(dut, self._ports(Cycle(True, True, case, case)))
        await FallingEdge(dut.clk)
        for swaps, when in ((1, "before a reset"), (0, "behind it")):
            board.compare(resolved(dut.swap_east), swaps, when)
            await frame.reset()
            await FallingEdge(dut.clk)

    def _ports(self, cycle: Cycle) -> dict[str, int]:
        return {
            "advance": 1,
            "load": int(cycle.load),
            "swap_west": int(cycle.swap),
            "stationary_west": self.side(cycle.loaded, "stationary"),
            "moving_west": self.side(cycle.work, "moving"),
            "partial_north": cycle.work.partial,
        }


def _drive(dut: Any, values: dict[str, int]) -> None:
    for name, value in values.items():
        getattr(dut, name).value = value


def _compare(dut: Any, boards: dict[str, Any], seen: Seen | None) -> None:
    """Hold the outputs against what they must be; before the first cycle nothing is known of them."""
    for name, board in boards.items():
        expected = None if seen is None else getattr(seen, name)
        if expected is not None:
            board.compare(resolved(getattr(dut, name)), expected, seen.context if name == "partial_south" else None)


def counted(load: bool, swap: bool, loaded: Any, work: Any) -> Cycle:
    """A cycle whose bin is its effect on the two stationary copies."""
    return Cycle(load, swap, loaded, work, f"{'load' if load else 'hold'}/{'swap' if swap else 'stay'}")


def tiles(rng: Random, cycles: int, longest: int, case: Callable[[Random], Any]) -> list[Cycle]:
    """Tiles back to back: each is loaded while the one before multiplies, and swapped in with its last word.

    A tile's words come several in a row, as those of a whole row of PEs do: the last one shifted in is this PE's.
    """
    program = []
    while len(program) < cycles:
        length = rng.randint(1, longest)
        first = rng.randrange(length)
        for word in range(length):
            last = word == length - 1
            program.append(counted(length == 1 or first <= word < length - 1, last, case(rng), case(rng)))
    return program


def loads_and_swaps(rng: Random, cycles: int, case: Callable[[Random], Any]) -> list[Cycle]:
    """Random loads and swaps, also in one cycle."""
    return [counted(rng.random() < 0.5, rng.random() < 0.3, case(rng), case(rng)) for _ in range(cycles)]


def one_after_another(cases: list[Any], bins: Iterable[str | None], idle: int) -> list[Cycle]:
    """Each case as a whole, its stationary side loaded and swapped in a cycle before; then some cycles until all are out."""
    followers = [*cases[1:], cases[0]]
    program = [Cycle(True, True, cases[0], cases[0])]
    program += [Cycle(True, True, after, case, name) for case, after, name in zip(cases, followers, bins, strict=True)]
    return program + [Cycle(False, False, cases[0], cases[0])] * idle
