"""And-inverter graphs: binary AIGER files, as Yosys and ABC exchange them, and ABC on them.

Ref: A. Biere, The AIGER And-Inverter Graph (AIG) Format, version 20071012.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

# ABC, as bundled in Yosys, on and-inverter graphs in AIGER files.


TO_GATES = """memory_map
opt_clean
techmap
opt_clean
async2sync
dffunmap
"""
"""Passes that reduce a flat design to gates and flip-flops, as an and-inverter graph requires."""
# Yosys runs ABC on a design and reads back its result; the design itself is saved meanwhile.
_NOTHING = "module nothing(input a, b, output y); \\$_AND_ g(.A(a), .B(b), .Y(y)); endmodule\n"
_RUN = """design -reset
read_verilog -icells nothing.v
abc -script {name}.abc
"""
_REDUCE = """write_blif nothing.blif
read_aiger {name}.aig
strash
{steps}
write_aiger {reduced}
read_blif nothing.blif
"""


def reduction(folder: Path, name: str, steps: str) -> str:
    """Return lines of a Yosys script that let ABC reduce ``NAME.aig`` to :func:`reduced`; the design is deleted.

    ``steps`` are commands of ABC, such as "scorr"; ``folder`` is the working folder of the script.
    """
    (folder / "nothing.v").write_text(_NOTHING)
    (folder / f"{name}.abc").write_text(_REDUCE.format(name=name, steps=steps, reduced=reduced(folder, name).name))
    return _RUN.format(name=name)


def reduced(folder: Path, name: str) -> Path:
    """Return the graph that ABC wrote, or None if it does not exist yet."""
    return folder / f"{name}-reduced.aig"


@dataclass(frozen=True)
class Graph:
    """An and-inverter graph: variable 0 is the constant 0, followed by inputs, latches and gates.

    A literal is ``2 * variable + inverted``.

    Attributes
    ----------
    inputs : number of inputs.
    latches : next-state literal of each latch; all start at 0.
    outputs : literal of each output.
    gates : the two literals of each AND, of variables below its own.
    names : names of inputs, such as "a[1]", and their indices.
    """

    inputs: int
    latches: tuple[int, ...]
    outputs: tuple[int, ...]
    gates: tuple[tuple[int, int], ...]
    names: Mapping[str, int] = field(default_factory=dict)

    @property
    def leaves(self) -> int:
        """Variables before the first gate: the constant, inputs and latches."""
        return 1 + self.inputs + len(self.latches)

    def cut(self) -> "Graph":
        """Return the graph with each latch as a further input, and its next state as a further output."""
        return replace(self, inputs=self.inputs + len(self.latches), latches=(), outputs=(*self.outputs, *self.latches))

    def clauses(self) -> str:
        """Return the DIMACS file that is satisfiable if the first output can be 1; the graph must have no latches."""
        text = [f"p cnf {self.leaves - 1 + len(self.gates)} {3 * len(self.gates) + 1}\n"]
        for own, (one, other) in enumerate(self.gates, self.leaves):
            a, b = _signed(one), _signed(other)
            text.append(f"-{own} {a} 0\n-{own} {b} 0\n{own} {-a} {-b} 0\n")
        return "".join([*text, f"{_signed(self.outputs[0])} 0\n"])

    def binary(self) -> bytes:
        """Return the binary AIGER file, without names."""
        counts = self.leaves - 1 + len(self.gates), self.inputs, len(self.latches), len(self.outputs), len(self.gates)
        lines = [" ".join(["aig", *map(str, counts)]), *map(str, (*self.latches, *self.outputs))]
        packed = bytearray()
        for number, pair in enumerate(self.gates, self.leaves):
            low, high = sorted(pair)
            packed += _packed(2 * number - high) + _packed(high - low)
        return "".join(f"{line}\n" for line in lines).encode() + bytes(packed)


def read(data: bytes) -> Graph:
    """Return the graph of a binary AIGER file.

    Raises ValueError for a file that is not binary AIGER, a truncated one, or a latch that does not start at 0.
    """
    (inputs, latches, _, gates), lines, rest = _split(data)
    if any(b" " in line for line in lines):
        raise ValueError("this AIGER file has latches that do not start at 0")
    literals = tuple(map(int, lines))
    place = 0

    def number() -> int:
        nonlocal place
        value = shift = 0
        while rest[place] > 127:
            value |= (rest[place] & 127) << shift
            shift, place = shift + 7, place + 1
        place += 1
        return value | rest[place - 1] << shift

    pairs = []
    try:
        for own in range(1 + inputs + latches, 1 + inputs + latches + gates):
            high = 2 * own - number()
            pairs.append((high - number(), high))
    except IndexError:
        raise ValueError(f"this AIGER file is cut: {len(pairs)} of {gates} gates") from None
    symbols = re.findall(rb"^i(\d+) (\S+)$", rest[place:], re.MULTILINE)
    names = {name.decode(): int(which) for which, name in symbols}
    return Graph(inputs, literals[:latches], literals[latches:], tuple(pairs), names)


def constant_outputs(data: bytes) -> list[int | None]:
    """Return the constant of each output of a binary AIGER file, or None for an output that is not constant.

    Raises ValueError for a file that is not binary AIGER, or a truncated one.
    """
    (_, latches, *_), lines, _ = _split(data)
    return [int(line) if int(line) < 2 else None for line in lines[latches:]]


def _signed(literal: int) -> int:
    """Return a literal in DIMACS form."""
    return -(literal >> 1) if literal & 1 else literal >> 1


def _packed(number: int) -> bytes:
    """Encode seven bits a byte, the lowest first; the last byte is below 128."""
    return bytes([number & 127 | 128]) + _packed(number >> 7) if number > 127 else bytes([number])


def _split(data: bytes) -> tuple[list[int], list[bytes], bytes]:
    """Return numbers of inputs, latches, outputs and gates, the lines of latches and outputs, and the remaining bytes."""
    header, *lines = data.split(b"\n")
    magic, _, *counts = header.split()
    if magic != b"aig":
        raise ValueError(f"this is no binary AIGER file, it begins with {header[:20]!r}")
    inputs, latches, outputs, gates, *_ = map(int, counts)
    if len(lines) <= latches + outputs:
        raise ValueError(f"this AIGER file is cut: {max(0, len(lines) - 1 - latches)} of {outputs} outputs")
    lines = lines[: latches + outputs]
    return [inputs, latches, outputs, gates], lines, data[len(header) + 1 + sum(len(line) + 1 for line in lines) :]
