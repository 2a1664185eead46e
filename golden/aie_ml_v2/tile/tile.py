"""The tile: plays a schedule of issued operations on registers and banked memory, to the cycle.

::

    bundles --> lda, ldb, st, mv, vec --> reads, accesses and results of each operation in the cycles of its table
                                               |            |
                                          Registers    DataMemory, whose conflicts stall everything

Ref: LLVM's itineraries (target aie2ps); AM020 and AM027 for the banks.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.tile import REGISTERS, SLOTS
from bitpath.golden.aie_ml_v2.tile.memory import DataMemory, conflict_cycles
from bitpath.golden.aie_ml_v2.tile.operation import Access, Operation, Read, Registers, Steps
from bitpath.golden.arrays.arguments import check_choice, check_instance, checked, integer


class HazardError(ValueError):
    """Two bundles of a schedule meet in a way that the machine does not notice."""


@checked
@dataclass(frozen=True, kw_only=True)
class Bundle:
    """Operations that issue in one cycle, by slot; None means a no-op.

    Raises
    ------
    ValueError : an operation in a slot that does not issue it.
    """

    lda: Operation | None = None
    ldb: Operation | None = None
    st: Operation | None = None
    mv: Operation | None = None
    vec: Operation | None = None

    def __post_init__(self) -> None:
        for slot, operation in self.operations.items():
            check_instance(slot, operation, Operation)
            if slot not in operation.slots:
                kind = type(operation).__name__
                raise ValueError(
                    f"{slot} must hold an operation of this slot, not {kind}, which {operation.slots} issue"
                )

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations that are there, in the order in which they reach a bank."""
        return {slot: getattr(self, slot) for slot in SLOTS if getattr(self, slot) is not None}


@dataclass(frozen=True, kw_only=True)
class TileReport:
    """Cycles and stalls of a schedule.

    Attributes
    ----------
    cycles : from the first issue to the last write or access, stalls included.
    stalls : cycles in which everything stood still, by cause: "banks".
    issued : operations, by slot.
    products : native products.
    """

    cycles: int
    stalls: Mapping[str, int]
    issued: Mapping[str, int]
    products: int


@dataclass(eq=False)
class _Flight:
    """An operation in flight: the bundle of its issue, and the cycle or access that it waits for."""

    bundle: int
    operation: Operation
    steps: Steps
    lands: Mapping[str, tuple[int, str]]
    waits: Read | Access | None = None
    made: dict[str, np.ndarray | int] = field(default_factory=dict)


class Tile:
    """Registers and memory that a schedule works on; both may be read and written between runs.

    Parameters
    ----------
    conflicts : "raise", or "stall" to let requests that meet at a bank wait, and everything with them.
    exposed : False raises where an operation reads a register that an earlier bundle has not yet written; True reads the old
        value, as the machine does.

    Attributes
    ----------
    registers, memory : their values.

    Raises
    ------
    TypeError, ValueError : other options.
    """

    @checked
    def __init__(self, *, conflicts: str = "raise", exposed: bool = False):
        check_choice("conflicts", conflicts, ("raise", "stall"))
        self.registers, self.memory = Registers(), DataMemory()
        self._conflicts, self._exposed = conflicts, exposed

    def __repr__(self) -> str:
        return f"Tile(conflicts={self._conflicts!r}, exposed={self._exposed})"

    @checked
    def run(self, bundles: Sequence[Bundle], *, limit: int = 1 << 20) -> TileReport:
        """Issue a bundle a cycle until nothing is on its way.

        Parameters
        ----------
        limit : bundles that a schedule may have.

        Raises
        ------
        HazardError : a read before the write's cycle, two writes of one register in one cycle, a slot that is still taken,
            requests that meet at a bank unless `conflicts` is "stall". Registers and memory are then those of that cycle.
        TypeError, ValueError : something else in the schedule, more than `limit`, or what the operations themselves raise.
        """
        integer("bundles", len(bundles), range(integer("limit", limit, range(1 << 30)) + 1))
        _check_slots(bundles)
        flights: list[_Flight] = []
        cycle = stalls = 0
        while cycle < len(bundles) or flights:
            if cycle < len(bundles):
                flights += [self._issue(cycle, each) for each in bundles[cycle].operations.values()]
            self._read(cycle, flights)
            stalls += self._access(cycle, flights)
            self._land(cycle, flights)
            flights = [each for each in flights if each.waits or _last(each) > cycle]
            cycle += 1
        issued = Counter(slot for bundle in bundles for slot in bundle.operations)
        products = sum(each.products for bundle in bundles for each in bundle.operations.values())
        return TileReport(cycles=cycle + stalls, stalls={"banks": stalls}, issued=issued, products=products)

    def _issue(self, cycle: int, operation: Operation) -> _Flight:
        flight = _Flight(cycle, operation, operation.steps(self.memory), operation.lands())
        _advance(flight, None)
        return flight

    def _read(self, cycle: int, flights: list[_Flight]) -> None:
        """Answer the reads of this cycle; an operation may have several."""
        for flight in flights:
            while isinstance(flight.waits, Read) and _core_cycle(flight, flight.waits.cycle) == cycle:
                read = flight.waits
                values = [self._value(cycle, flight, name, read.path, flights) for name in read.names]
                _advance(flight, values)

    def _value(self, cycle: int, reader: _Flight, name: str, path: str, flights: list[_Flight]) -> np.ndarray | int:
        """Return a register's value in a cycle: the old one, but for what lands now on the reader's path."""
        forwarded: list[tuple[str, np.ndarray | int]] = []
        for writer in flights:
            if writer.bundle >= reader.bundle:
                continue
            for to, (landing, own_path) in writer.lands.items():
                at = _core_cycle(writer, landing)
                if at < cycle or not _overlap(to, name):
                    continue
                if at == cycle and path and path == own_path:
                    forwarded.append((to, writer.made[to]))
                elif not self._exposed:
                    raise HazardError(
                        f"bundle {reader.bundle} must not read {name} in cycle {cycle}, since bundle {writer.bundle} "
                        f"writes {to} in cycle {at}"
                    )
        before = [(to, self.registers.read(to)) for to, _ in forwarded]
        for to, value in forwarded:
            self.registers.write(to, value)
        value = self.registers.read(name)
        for to, old in reversed(before):
            self.registers.write(to, old)
        return value

    def _access(self, cycle: int, flights: list[_Flight]) -> int:
        """Perform this cycle's accesses, loads first, and return the cycles that they stall."""
        due = [
            (flight, flight.waits)
            for flight in flights
            if isinstance(flight.waits, Access) and _core_cycle(flight, flight.waits.cycle) == cycle
        ]
        stalls = conflict_cycles([(access.address, access.width) for _, access in due])
        if stalls and self._conflicts == "raise":
            meeting = ", ".join(f"bundle {flight.bundle} at {access.address:#x}" for flight, access in due)
            raise HazardError(f"accesses must not meet at a bank in cycle {cycle}: {meeting}")
        for flight, access in sorted(due, key=lambda each: each[1].data is not None):
            if access.data is None:
                _advance(flight, self.memory.load(access.address, access.width))
                continue
            line = self.memory.load(access.address, access.width)
            line[access.offset : access.offset + len(access.data)] = access.data
            self.memory.store(access.address, line)
            _advance(flight, None)
        return stalls

    def _land(self, cycle: int, flights: list[_Flight]) -> None:
        landing = [
            (flight, to)
            for flight in flights
            for to, (at, _) in flight.lands.items()
            if _core_cycle(flight, at) == cycle and to in flight.made
        ]
        for i, (second, name) in enumerate(landing):
            for first, other in landing[:i]:
                if _overlap(name, other):
                    raise HazardError(
                        f"bundle {second.bundle} must not write {name} in cycle {cycle}, "
                        f"in which bundle {first.bundle} writes {other}"
                    )
        for flight, name in landing:
            self.registers.write(name, flight.made[name])


def _advance(flight: _Flight, answer: object) -> None:
    """Let an operation go on to its next read or access, and keep its results."""
    flight.waits = None
    try:
        event = flight.steps.send(answer)
        while not isinstance(event, (Read, Access)):
            flight.made.update(event)
            event = next(flight.steps)
        flight.waits = event
    except StopIteration:
        return


def _core_cycle(flight: _Flight, cycle: int) -> int:
    return flight.bundle + cycle - 1


def _last(flight: _Flight) -> int:
    return max((_core_cycle(flight, at) for at, _ in flight.lands.values()), default=flight.bundle)


@cache
def _spans(name: str) -> tuple[tuple[str, int, int], ...]:
    kind, number = REGISTERS[name]
    starts = [span.first + number * span.step for span in kind.spans]
    return tuple((span.storage, at, at + span.width) for span, at in zip(kind.spans, starts, strict=True))


@cache
def _overlap(first: str, second: str) -> bool:
    """Return whether two register names share bits."""
    return any(
        a == b and low < other_high and other_low < high
        for a, low, high in _spans(first)
        for b, other_low, other_high in _spans(second)
    )


def _check_slots(bundles: Sequence[Bundle]) -> None:
    """Raise unless each operation finds its slot free, and no two results of the vec slot land in one cycle."""
    for index, bundle in enumerate(bundles):
        check_instance(f"bundles[{index}]", bundle, Bundle)
    macs = [(index, bundle.vec) for index, bundle in enumerate(bundles) if bundle.vec is not None]
    for (index, first), (other, _) in pairwise(macs):
        if other < index + first.busy:
            raise HazardError(
                f"bundle {other} must not issue to vec, which bundle {index} takes for {first.busy} cycles"
            )
    landings: dict[int, int] = {}
    for index, operation in macs:
        for at, _ in operation.lands().values():
            earlier = landings.setdefault(index + at, index)
            if earlier != index:
                raise HazardError(f"bundles {earlier} and {index} must not write results of vec in one cycle")
