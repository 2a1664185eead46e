"""What enters and leaves a design, cycle by cycle, in a file that a loop without Python can replay.

A cycle is what stands at the design's ports at a falling edge: the next rising edge takes it, on every simulator. Of a
design without a clock it is what stands there once an input has changed and everything has settled.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, ValueChange, select

from bitpath.verif.kit.streams import resolved

ANSWERS = "data"
"""The stream of an engine's results."""
STREAM = ("valid", "ready", "payload")
"""Its signals."""
PAYLOAD = "__payload"
"""How the port of a stream's payload ends."""


class Recorder:
    """Records every change of a port, and every payload that the stream ``data`` hands over, where there is one.

    Parameters
    ----------
    dut, signature : the design and its ports.
    path : of the file, .npz: ``changes`` of inputs and ``outputs``, those of outputs, uint32 words: cycle, index of the
        port, its value from the lowest word on; ``answers``, the payloads in words; ``meta``, as JSON the ports' names and
        widths, ``ports`` the inputs and ``output_ports`` the others, the number of cycles, of which outputs every
        transfer was compared, and of each output with a valid beside it the first cycle in which it
        was, outside of reset. Where the file is there already, it is one beside it, with a number: ``traffic-1.npz`` after
        ``traffic.npz``.
    enough : so many cycles are, and as many behind that first cycle of each such output: with them the test ends. None
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
        self.transfers = {name.removesuffix(PAYLOAD): 0 for name in self.outputs if name.endswith(PAYLOAD)}
        valids = {name: f"{name}__valid" for name in self.transfers}
        valids |= {name: f"{name}_valid" for name in self.outputs if f"{name}_valid" in self.outputs}
        self._valids = valids
        self.offers: dict[str, int | None] = dict.fromkeys(valids)

    async def run(self) -> None:
        """Record for ever, or until it is enough."""
        last: dict[str, str] = {}
        clocked = hasattr(self.dut, "clk")
        while True:
            if clocked:
                await FallingEdge(self.dut.clk)
            await ReadOnly()
            for ports, changes in ((self.inputs, self.changes), (self.outputs, self.output_changes)):
                for index, (name, handle) in enumerate(ports.items()):
                    # As `resolved` reads it, which is ten times as fast as `handle.value`.
                    value = handle._handle.get_signal_val_binstr()
                    if last.get(name) != value:
                        last[name] = value
                        changes.append(
                            _words(self.cycles, 32) + _words(index, 32) + _words(resolved(handle), len(handle))
                        )
            if self.stream is not None:
                valid, ready, payload = self.stream
                if resolved(valid) and resolved(ready):
                    self.answers.append(_words(resolved(payload), len(payload)))
            for name in self.transfers:
                # A stream that is always valid or always ready has no such port.
                both = last.get(f"{name}__valid", "1"), last.get(f"{name}__ready", "1")
                self.transfers[name] += both == ("1", "1")
            if last.get("rst") != "1":
                for name, valid in self._valids.items():
                    if self.offers[name] is None and "1" in last.get(valid, "1"):
                        self.offers[name] = self.cycles
            self.cycles += 1
            await self._end_if_enough()
            if not clocked:
                await select(*(ValueChange(handle) for handle in self.inputs.values()))

    async def _end_if_enough(self) -> None:
        """End the test, with its clock as the next one's begins: high."""
        if self.enough is None or None in self.offers.values():
            return
        if self.cycles >= self.enough + max(self.offers.values(), default=0):
            self.save({})
            if hasattr(self.dut, "clk"):
                await RisingEdge(self.dut.clk)
            cocotb.end_test()

    def save(self, compared: Mapping[str, int]) -> None:
        """Write the file.

        Parameters
        ----------
        compared : how many values the scoreboards of each name have compared.
        """
        meta = {
            "ports": _described(self.inputs),
            "output_ports": _described(self.outputs),
            "cycles": self.cycles,
            "compared": [name for name in self.outputs if self._all_compared(name, compared)],
            "offers": self.offers,
            "answer_bits": 0 if self.stream is None else len(self.stream[-1]),
        }
        changes, outputs, answers = (
            np.frombuffer(b"".join(words), "<u4") for words in (self.changes, self.output_changes, self.answers)
        )
        np.savez(self.path, changes=changes, outputs=outputs, answers=answers, meta=json.dumps(meta))

    def _all_compared(self, output: str, compared: Mapping[str, int]) -> bool:
        """Whether a scoreboard with the output's name has compared as many values as were handed over there: of a design
        without a clock, as many as there were states of its inputs."""
        name = output.removesuffix(PAYLOAD)
        expected = self.transfers.get(name) if name != output or hasattr(self.dut, "clk") else self.cycles
        return bool(expected) and compared.get(name) == expected


def recordings(path: Path) -> list[Path]:
    """The files of a run whose first one is ``path``, in the order of its tests."""
    return list(takewhile(Path.exists, _numbered(path)))


def _unused(path: Path) -> Path:
    return next(candidate for candidate in _numbered(path) if not candidate.exists())


def _numbered(path: Path) -> Iterator[Path]:
    return (path.with_stem(f"{path.stem}-{number}") if number else path for number in count())


def _described(ports: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "bits": len(handle)} for name, handle in ports.items()]


def _words(value: int, bits: int) -> bytes:
    return value.to_bytes(-(-bits // 32) * 4, "little")
