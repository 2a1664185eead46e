"""Recorder of a design's ports, cycle by cycle, in a file that a C++ loop can replay.

A cycle is sampled shortly before a rising edge, which is the same on every simulator: benches drive and read at or just after
the falling edge before it. A design without a clock is sampled after each change of an input, once all signals have settled.
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
from bitpath.verif.kit.pauses import test_name
from bitpath.verif.kit.streams import integer_of

ANSWERS = "data"
"""Name of the stream of an engine's results."""
STREAM = ("valid", "ready", "payload")
"""Suffixes of a stream's signals."""
PAYLOAD = "__payload"
"""Suffix of a stream's payload port."""
SETTLED_NS = 4
"""Nanoseconds from a falling edge to the sample; less than half a period."""
READ, COMPARED = 1, 2
"""Use of an output in a cycle: read by the bench, or compared by a scoreboard."""


class Recorder:
    """Record all port changes, the cycles in which the bench read each output, and the payloads of the stream ``data``.

    An output counts as compared in a cycle if the bench read it and a scoreboard of it, or of its stream, got the whole value.
    A read between a rising and the next falling edge counts for both cycles.

    Parameters
    ----------
    dut, signature : the design and its ports.
    path : .npz file to write; if it exists, a number is added: ``traffic-1.npz`` after ``traffic.npz``. Arrays: ``changes`` of
        inputs and ``outputs`` of outputs, uint32 words: cycle, index of the port, value from the lowest word on; ``looks``:
        cycle, index of the output, :data:`READ` or :data:`COMPARED`; ``answers``: payloads in words; ``meta``, JSON: the name
        of the ``test``, names and widths of inputs (``ports``) and outputs (``output_ports``), the number of cycles, and the
        first cycle outside of reset in which each output with a valid signal was valid, for outputs in parts by
        ``NAME[PART]``.
    enough : end the test after this many cycles in all and after the first valid cycle of each such output or part; None to
        record the whole test.
    """

    def __init__(self, dut: Any, signature: wiring.Signature, path: Path, enough: int | None = None):
        self.dut, self.path, self.enough = dut, _unused(path), enough
        self.inputs = {"rst": dut.rst} if hasattr(dut, "rst") else {}
        self.outputs: dict[str, Any] = {}
        for port, member, _ in signature.flatten(signature.create()):
            name = "__".join(map(str, port))
            # Constant and zero-width members are not ports.
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
        # Value of each output in the latest cycle and in the one before.
        self._shown: dict[int, str] = {}
        self._before: dict[int, str] = {}

    async def run(self) -> None:
        """Record until the test ends or ``enough`` cycles are recorded."""
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
                    # Read as in `resolved`, ten times as fast as `handle.value`.
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
                    # An always-valid stream has no valid port.
                    for place, bit in enumerate(reversed(last.get(valid, "1"))):
                        part = _part(name, place, self._parts[name])
                        if bit == "1" and self.offers[part] is None:
                            self.offers[part] = self.cycles
            self.cycles += 1
            await self._end_if_enough()
            if not self.clocked:
                await select(*(ValueChange(handle) for handle in self.inputs.values()))

    async def _end_if_enough(self) -> None:
        """End the test with its clock high, the level at which the next test's clock starts."""
        if self.enough is None or None in self.offers.values():
            return
        if self.cycles >= self.enough + max(self.offers.values(), default=0):
            self.save()
            if self.clocked:
                await RisingEdge(self.dut.clk)
            cocotb.end_test()

    def _look(self, edge: int | None) -> None:
        """Assign the reads since the last cycle; ``edge`` is the time of this cycle's falling edge, or None."""
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
            # A read between a rising and the next falling edge may belong to either cycle.
            sure = place in self.looks and place not in self._unsure and len(shown) == bits
            if sure and "X" not in shown.upper() and int(shown, 2) == value:
                self.looks[place] = COMPARED

    def _cycles(self, when: int, edge: int | None) -> tuple[int, ...]:
        """Return the cycles of a read; without a clock, the cycle before the inputs changed."""
        if edge is not None and when >= edge:
            return (self.cycles,)
        return (self.cycles - 1, self.cycles) if self.clocked else (self.cycles - 1,)

    def save(self) -> None:
        """Write the file and stop recording; later calls do nothing, since a test may end early."""
        if looks.noted is None:
            return
        self._before = self._shown
        self._look(None)
        looks.noted = None
        meta = {
            "test": test_name(),
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
    """Return the files of a run whose first file is ``path``, in the order of its tests."""
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
