"""What enters and leaves a design, cycle by cycle, in a file that a loop without Python can replay.

A cycle is what stands at the design's ports shortly before a rising edge, which takes it, on every simulator: benches drive and
read at the falling edge before it, or just behind that. Of a design without a clock it is what stands there once an input has
changed and everything has settled.
"""

import json
from collections.abc import Iterator
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from cocotb.simtime import get_sim_time
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, Timer, ValueChange, select

from bitpath.verif.kit import looks
from bitpath.verif.kit.streams import integer_of

ANSWERS = "data"
"""The stream of an engine's results."""
STREAM = ("valid", "ready", "payload")
"""Its signals."""
PAYLOAD = "__payload"
"""How the port of a stream's payload ends."""
SETTLED_NS = 4
"""From a falling edge to what the rising edge takes; less than half a period."""
READ, COMPARED = 1, 2
"""What the bench made of an output in a cycle: it read it; a scoreboard compared it."""


class Recorder:
    """Records every change of a port, in which cycles the bench looked at which outputs, and every payload that the stream
    ``data`` hands over, where there is one.

    An output was compared in a cycle if a scoreboard of its name, or its stream's, was given the whole value that it has
    there, and the bench read it there. What was looked at behind a rising edge, before the falling one, is taken as read in both
    cycles.

    Parameters
    ----------
    dut, signature : the design and its ports.
    path : of the file, .npz: ``changes`` of inputs and ``outputs``, those of outputs, uint32 words: cycle, index of the
        port, its value from the lowest word on; ``looks``: cycle, index of the output, :data:`READ` or :data:`COMPARED`;
        ``answers``, the payloads in words; ``meta``, as JSON the ports' names and widths, ``ports`` the inputs and
        ``output_ports`` the others, the number of cycles, and of each output with a valid beside it the first cycle in which it
        was, outside of reset; of one in parts the first of each, by ``NAME[PART]``. Where the file is there already, it is one beside it, with a number: ``traffic-1.npz`` after
        ``traffic.npz``.
    enough : so many cycles are, and as many behind that first cycle of each such output or part: with them the test ends. None
        where all of it is wanted.
    """

    def __init__(self, dut: Any, signature: wiring.Signature, path: Path, enough: int | None = None):
        self.dut, self.path, self.enough = dut, _unused(path), enough
        self.inputs = {"rst": dut.rst} if hasattr(dut, "rst") else {}
        self.outputs: dict[str, Any] = {}
        for port, member, _ in signature.flatten(signature.create()):
            name = "__".join(map(str, port))
            # Constant members and those of no bits are no ports.
            if hasattr(dut, name):
                (self.inputs if member.flow is In else self.outputs)[name] = getattr(dut, name)
        stream = [getattr(dut, f"{ANSWERS}__{part}", None) for part in STREAM]
        self.stream = None if None in stream else stream
        self.changes: list[bytes] = []
        self.output_changes: list[bytes] = []
        self.answers: list[bytes] = []
        self.cycles = 0
        streams = [name.removesuffix(PAYLOAD) for name in self.outputs if name.endswith(PAYLOAD)]
        self._valids = {name: f"{name}__valid" for name in streams}
        self._valids |= {name: f"{name}_valid" for name in self.outputs if f"{name}_valid" in self.outputs}
        self._parts = {name: len(getattr(dut, valid, "1")) for name, valid in self._valids.items()}
        self.offers: dict[str, int | None] = {
            _part(name, place, count): None for name, count in self._parts.items() for place in range(count)
        }
        self.clocked = hasattr(dut, "clk")
        self.looks: dict[tuple[int, int], int] = {}
        self._unsure: set[tuple[int, int]] = set()
        indices = {name: index for index, name in enumerate(self.outputs)}
        self._index = indices | {name.removesuffix(PAYLOAD): index for name, index in indices.items()}
        # What stood at each output in the latest cycle and in the one before.
        self._shown: dict[int, str] = {}
        self._before: dict[int, str] = {}

    async def run(self) -> None:
        """Record for ever, or until it is enough."""
        looks.noted = looks.Looks()
        last: dict[str, str] = {}
        while True:
            edge = None
            if self.clocked:
                await FallingEdge(self.dut.clk)
                edge = get_sim_time()
                await Timer(SETTLED_NS, unit="ns")
            await ReadOnly()
            for ports, changes in ((self.inputs, self.changes), (self.outputs, self.output_changes)):
                for index, (name, handle) in enumerate(ports.items()):
                    # As `resolved` reads it, which is ten times as fast as `handle.value`.
                    value = handle._handle.get_signal_val_binstr()
                    if last.get(name) != value:
                        last[name] = value
                        changes.append(
                            _words(self.cycles, 32) + _words(index, 32) + _words(integer_of(handle), len(handle))
                        )
            if self.stream is not None:
                valid, ready, payload = self.stream
                if integer_of(valid) and integer_of(ready):
                    self.answers.append(_words(integer_of(payload), len(payload)))
            self._before = self._shown
            self._shown = {index: last[name] for index, name in enumerate(self.outputs)}
            self._look(edge)
            if last.get("rst") != "1":
                for name, valid in self._valids.items():
                    # A stream that is always valid has no such port.
                    for place, bit in enumerate(reversed(last.get(valid, "1"))):
                        part = _part(name, place, self._parts[name])
                        if bit == "1" and self.offers[part] is None:
                            self.offers[part] = self.cycles
            self.cycles += 1
            await self._end_if_enough()
            if not self.clocked:
                await select(*(ValueChange(handle) for handle in self.inputs.values()))

    async def _end_if_enough(self) -> None:
        """End the test, with its clock as the next one's begins: high."""
        if self.enough is None or None in self.offers.values():
            return
        if self.cycles >= self.enough + max(self.offers.values(), default=0):
            self.save()
            if self.clocked:
                await RisingEdge(self.dut.clk)
            cocotb.end_test()

    def _look(self, edge: int | None) -> None:
        """Take what was looked at since the last cycle; ``edge``, when this one's falling edge was, if it has one."""
        noted, looks.noted = looks.noted, looks.Looks()
        for when, name in noted.reads:
            if (index := self._index.get(name)) is not None:
                cycles = self._cycles(when, edge)
                for cycle in cycles:
                    self.looks.setdefault((cycle, index), READ)
                if len(cycles) > 1:
                    self._unsure |= {(cycle, index) for cycle in cycles}
        for when, name, value, bits in noted.compared:
            cycles = self._cycles(when, edge)
            index = self._index.get(name)
            shown = (self._shown if cycles[0] == self.cycles else self._before).get(index, "X")
            place = cycles[0], index
            # What was read behind a rising edge, before the falling one, may be of either cycle.
            sure = place in self.looks and place not in self._unsure and len(shown) == bits
            if sure and "X" not in shown.upper() and int(shown, 2) == value:
                self.looks[place] = COMPARED

    def _cycles(self, when: int, edge: int | None) -> tuple[int, ...]:
        """To which cycles a look belongs; of a design without a clock to the one before the inputs changed."""
        if edge is not None and when >= edge:
            return (self.cycles,)
        return (self.cycles - 1, self.cycles) if self.clocked else (self.cycles - 1,)

    def save(self) -> None:
        """Write the file, and note no more; once: a test may end by itself where enough of it is recorded."""
        if looks.noted is None:
            return
        self._before = self._shown
        self._look(None)
        looks.noted = None
        meta = {
            "ports": _described(self.inputs),
            "output_ports": _described(self.outputs),
            "cycles": self.cycles,
            "offers": self.offers,
            "answer_bits": 0 if self.stream is None else len(self.stream[-1]),
        }
        changes, outputs, answers = (
            np.frombuffer(b"".join(words), "<u4") for words in (self.changes, self.output_changes, self.answers)
        )
        seen = np.array([(*place, how) for place, how in sorted(self.looks.items())], "<u4").ravel()
        np.savez(self.path, changes=changes, outputs=outputs, looks=seen, answers=answers, meta=json.dumps(meta))


def recordings(path: Path) -> list[Path]:
    """The files of a run whose first one is ``path``, in the order of its tests."""
    return list(takewhile(Path.exists, _numbered(path)))


def _unused(path: Path) -> Path:
    return next(candidate for candidate in _numbered(path) if not candidate.exists())


def _numbered(path: Path) -> Iterator[Path]:
    return (path.with_stem(f"{path.stem}-{number}") if number else path for number in count())


def _part(name: str, place: int, count: int) -> str:
    return name if count == 1 else f"{name}[{place}]"


def _described(ports: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "bits": len(handle)} for name, handle in ports.items()]


def _words(value: int, bits: int) -> bytes:
    return value.to_bytes(-(-bits // 32) * 4, "little")
