"""Compiles and runs the program that plays vectors on a unit's Verilated model."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.sim.engine import cache, process, tools
from bitpath.sim.engine.build import Built, build
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.model_program import HEADER, OPTIONS, model_program, port_table
from bitpath.sim.engine.ports import module_ports, variable
from bitpath.verif.kit.batches import Batch, words_of

SOURCE = Path(__file__).with_name("player.cpp")
STATUS = {
    2: "it could not read its vectors",
    3: "the model gave no further answer",
    4: "its vectors do not fit the model's ports",
    5: "the model gave an answer to nothing, or one answer twice",
    6: "its answers could not be written; is the disk full?",
}
"""Error texts of the player's exit codes."""


@dataclass(frozen=True)
class Interface:
    """Ports of a unit as the player drives them.

    Attributes
    ----------
    kind : member of the C++ enumeration.
    ports : names and bits of a vector's input ports; each starts at a word boundary.
    late : names and bits of inputs that follow later: a lane's accumulators.
    answer : name and bits of the compared output.
    handshake : valid and ready ports of the input stream, then of the output stream; None without handshake.
    """

    kind: str
    ports: tuple[tuple[str, int], ...]
    answer: tuple[str, int]
    late: tuple[tuple[str, int], ...] = ()
    handshake: tuple[str | None, str | None, str | None, str | None] = (None,) * 4

    @classmethod
    def of(cls, top: str, verilog: str) -> "Interface":
        """Return the interface of a module in emitted Verilog: two streams, a lane, or without a clock. Ports come by their
        names."""
        bits = {port.name: port.bits for port in sorted(module_ports(verilog, top), key=attrgetter("name"))}
        if "i__payload" in bits:
            kind = "STREAM" if "clk" in bits else "COMBINATIONAL"
            ports, answer = (("i__payload", bits["i__payload"]),), ("o__payload", bits["o__payload"])
            return cls(kind, ports, answer, handshake=("i__valid", "i__ready", "o__valid", "o__ready"))
        answer = ("o", bits.pop("o"))
        if "clk" not in bits:
            return cls("COMBINATIONAL", tuple(bits.items()), answer)
        late = tuple((name, bits[name]) for name in ("acc1", "acc2"))
        return cls("LANE", (("operands", bits["operands"]),), answer, late, ("valid", None, None, None))

    @property
    def answer_words(self) -> int:
        return words_of(self.answer[1])

    def text(self) -> str:
        """C++ that says it, of a model named ``top``."""

        def given(name: str | None) -> str:
            return "ABSENT" if name is None else variable(name)

        def table(name: str, ports: Sequence[tuple[str, int]]) -> str:
            return port_table(name, ((port, words_of(bits)) for port, bits in ports))

        clocks = (given(None if self.kind == "COMBINATIONAL" else name) for name in ("clk", "rst"))
        names = zip(
            ("CLK", "RST", "IN_VALID", "IN_READY", "OUT_VALID", "OUT_READY"),
            (*clocks, *map(given, self.handshake)),
            strict=True,
        )
        answer = variable(self.answer[0])
        lines = [
            f"static const Kind KIND = {self.kind};",
            f"static const uint32_t BEAT_WORDS = {sum(words_of(bits) for _, bits in self.ports)};",
            f"static const uint32_t LATE_WORDS = {sum(words_of(bits) for _, bits in self.late)};",
            f"static const uint32_t ANSWER_WORDS = {self.answer_words}, ANSWER_BYTES = sizeof {answer};",
            f"static const void* const ANSWER_AT = &{answer};",
            table("PORTS", self.ports),
            # C++ has no empty array; an entry that is never driven fills it.
            table("LATE_PORTS", self.late or self.ports[:1]),
            *(f"static uint8_t& {name} = {port};" for name, port in names),
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Player:
    """A compiled player of vectors: the simulation whose model it drives, the model's ports, and the program."""

    built: Built
    interface: Interface
    program: Path

    def identity(self) -> dict[str, Any]:
        """Return the key of the player's answers."""
        return {
            "verilog": cache.hash_files(self.built.verilog),
            "source": cache.hash_files([SOURCE, HEADER]),
            "ports": self.interface.text(),
            "options": OPTIONS,
            "make": tools.MAKE_SETTINGS,
            "versions": tools.simulator_versions("verilator"),
        }

    @contextmanager
    def start(self, folder: Path, batches: Sequence[Batch]) -> Iterator["Playing"]:
        """Play batches in a child process; ``folder``, which must exist, takes vectors and answers."""
        vectors, answers = folder / "vectors.bin", folder / "answers.bin"
        with vectors.open("wb") as file:
            for batch in batches:
                batch.write(file)
        command = [str(self.program), str(vectors), str(answers)]
        log = folder / "player.log"
        with process.logged(command, env=os.environ, log=log) as child:
            yield Playing(self, child, answers, log, tuple(batch.count for batch in batches))


@dataclass(frozen=True)
class Playing:
    """Result of a player's run."""

    player: Player
    child: subprocess.Popen
    file: Path
    log: Path
    counts: tuple[int, ...]

    def answers(self, timeout: float) -> list[np.ndarray]:
        """Wait for the end; return each batch's answers, uint32 [N, W].

        Raises SimulationError if the player failed, took longer than ``timeout`` seconds, or gave another number of
        answers.
        """
        title = f"playing {sum(self.counts)} vectors on {self.player.built.top}"
        try:
            status = self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise SimulationError(f"{title}: no end after {timeout:g} s") from None
        words = self.player.interface.answer_words
        found = np.fromfile(self.file, np.uint32) if self.file.is_file() else np.zeros(0, np.uint32)
        if status:
            reason = STATUS.get(status, process.tail(self.log) or f"it ended with status {status}")
            raise SimulationError(f"{title} failed behind answer {found.size // words}: {reason}")
        if found.size != sum(self.counts) * words:
            raise SimulationError(f"{title} failed: it gave {found.size // words} answers")
        return np.split(found.reshape(-1, words), np.cumsum(self.counts)[:-1])


def player(unit: str, config: Any) -> Player:
    """The player of a unit, from the model that the unit's benches run on Verilator; both are cached."""
    return from_built(build(unit, config, "verilator"))


def from_built(built: Built) -> Player:
    """The player of a compiled simulation."""
    interface = Interface.of(built.top, "".join(file.read_text() for file in built.verilog))
    folder = built.folder.parent / "player"
    program = folder / "player"
    made = Player(built, interface, program)
    cache.ensure(folder, made.identity(), partial(_compile, made))
    return made


def _compile(player: Player, folder: Path) -> dict[str, str]:
    model_program(player.built, SOURCE, folder, player.interface.text())
    return {}
