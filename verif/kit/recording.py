"""What enters and leaves a design, cycle by cycle, in a file that a loop without Python can replay.

A cycle is what stands at the design's ports at a falling edge: the next rising edge takes it, on every simulator.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from cocotb.triggers import FallingEdge, ReadOnly

from bitpath.verif.kit.streams import resolved

ANSWERS = "data"
"""The stream of an engine's results."""
STREAM = ("valid", "ready", "payload")
"""Its signals."""


class Recorder:
    """Records every change of an input, and every payload that the stream ``data`` hands over.

    Parameters
    ----------
    dut, signature : the design, an engine, and its ports.
    path : of the file, .npz: ``changes``, uint32 words: cycle, index of the port, its value from the lowest word on;
        ``answers``, the payloads in words; ``meta``, as JSON the ports' names and widths and the number of cycles.

    Raises
    ------
    ValueError : where the design has no such stream.
    """

    def __init__(self, dut: Any, signature: wiring.Signature, path: Path):
        if any(not hasattr(dut, f"{ANSWERS}__{part}") for part in STREAM):
            raise ValueError(f"recording: {dut._name} has no output stream {ANSWERS}, from which answers are taken")
        self.dut, self.path = dut, path
        names = ["rst"]
        for port, member, _ in signature.flatten(signature.create()):
            name = "__".join(map(str, port))
            # Constant members and those of no bits are no ports.
            if member.flow is In and hasattr(dut, name):
                names.append(name)
        self.inputs = {name: getattr(dut, name) for name in names}
        self.changes: list[bytes] = []
        self.answers: list[bytes] = []
        self.cycles = 0

    async def run(self) -> None:
        """Record, for ever."""
        last: dict[str, str] = {}
        valid, ready, payload = (getattr(self.dut, f"{ANSWERS}__{part}") for part in STREAM)
        while True:
            await FallingEdge(self.dut.clk)
            await ReadOnly()
            for index, (name, handle) in enumerate(self.inputs.items()):
                value = str(handle.value)
                if last.get(name) != value:
                    last[name] = value
                    self.changes.append(
                        _words(self.cycles, 32) + _words(index, 32) + _words(resolved(handle), len(handle))
                    )
            if resolved(valid) and resolved(ready):
                self.answers.append(_words(resolved(payload), len(payload)))
            self.cycles += 1

    def save(self) -> None:
        """Write the file."""
        ports = [{"name": name, "bits": len(handle)} for name, handle in self.inputs.items()]
        meta = {"ports": ports, "cycles": self.cycles, "answer_bits": len(getattr(self.dut, f"{ANSWERS}__payload"))}
        changes, answers = (np.frombuffer(b"".join(words), "<u4") for words in (self.changes, self.answers))
        np.savez(self.path, changes=changes, answers=answers, meta=json.dumps(meta))


def _words(value: int, bits: int) -> bytes:
    return value.to_bytes(-(-bits // 32) * 4, "little")
