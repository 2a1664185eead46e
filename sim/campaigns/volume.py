"""Volume comparison: C++ plays millions of vectors on a unit's Verilated model, and golden computes every answer."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache as once
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Column, Table

from bitpath.golden.arrays.arguments import integer
from bitpath.sim.engine import cache, paths, process, tools
from bitpath.sim.engine.build import HEADER, OPTIONS, Built, build, model_program, port_table, rtl_emitter
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.process import children_seconds
from bitpath.sim.engine.runner import SimResult, run
from bitpath.sim.engine.stepped import module_ports, variable
from bitpath.verif.aie_ml_v2.convert import sweeps as aie_ml_v2_convert
from bitpath.verif.aie_ml_v2.mac import volume as mac
from bitpath.verif.common.dot import volume as dot
from bitpath.verif.common.fp32 import functions as fp32
from bitpath.verif.kit.batches import Batch, Place, decoded, words_of
from bitpath.verif.kit.volume import SHOWN, Found, Mismatch, VolumeTask
from bitpath.verif.tensix.dot import volume as tensix_dot
from bitpath.verif.tensix.pack import pack
from bitpath.verif.tensix.unpack import unpack
from bitpath.verif.trainium3.dot import volume as trainium3_dot
from bitpath.verif.trainium3.golden.e2m1_dots import E2m1Dots

# Tasks of the volume comparison.


AnyTask = VolumeTask | E2m1Dots
VOLUMES = (*trainium3_dot.VOLUMES, *tensix_dot.VOLUMES, *mac.VOLUMES, *dot.VOLUMES)
SWEEP_MODULES = (trainium3_dot, fp32, tensix_dot, unpack, pack, aie_ml_v2_convert)
SWEEPS = (*(sweep for module in SWEEP_MODULES for sweep in module.SWEEPS), E2m1Dots())
TASKS: dict[str, AnyTask] = {task.name: task for task in (*VOLUMES, *SWEEPS)}
"""Tasks by name, in the order in which they run."""


def chosen(names: tuple[str, ...]) -> list[AnyTask]:
    """Return the tasks of these names, or with these prefixes if no name matches exactly; all without names.

    Raises ValueError if a name matches no task.
    """
    for name in names:
        if not any(each.startswith(name) for each in TASKS):
            raise ValueError(f"unknown task {name!r}, known are {', '.join(TASKS)}")
    beginnings = tuple(name for name in names if name not in TASKS)
    return [task for each, task in TASKS.items() if not names or each in names or each.startswith(beginnings)]


# Compiles and runs the program that plays vectors on a unit's Verilated model.


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


# Plays blocks of a task on its unit's model and compares every answer with golden's.


BLOCK_SECONDS = 1800
"""Limit on one block in the player. None takes a minute by itself."""


def identity(task: AnyTask) -> dict[str, Any]:
    """Return the key of the answers, beside the sources of golden, verif and this package."""
    return {} if isinstance(task, E2m1Dots) else player_of(task).identity()


def run_block(task: AnyTask, seed: int, block: int) -> Found:
    """Make a block and compare all of it."""
    if isinstance(task, E2m1Dots):
        return task.run(block)
    start = time.process_time()
    batches = list(task.batches(task.config(), task.rng(seed, block), block))
    return compare(player_of(task), batches, task.layout, time.process_time() - start)


@once
def player_of(task: VolumeTask) -> Player:
    """The player of a task's unit, looked up once in a process."""
    return player(task.unit, task.config())


def compare(
    player: Player, batches: list[Batch], layout: Callable[[], dict[str, Place]], seconds: float = 0.0
) -> Found:
    """Play batches, run golden meanwhile, and compare every word; ``seconds`` is the time that making them took.

    Raises SimulationError if the player failed, or gave another number of answers; ValueError if golden's answers and
    the unit's differ in their number of words.
    """
    start, before = time.process_time(), children_seconds()
    scratch = scratch_folder()
    scratch.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=scratch, prefix=f"{os.getpid()}-") as folder,
        player.start(Path(folder), batches) as playing,
    ):
        written = time.process_time()
        expected = [np.ascontiguousarray(batch.golden()).reshape(batch.count, -1) for batch in batches]
        answered = time.process_time()
        got = playing.answers(BLOCK_SECONDS)
    wrong = 0
    first: list[Any] = []
    for number, (batch, given, true) in enumerate(zip(batches, got, expected, strict=True)):
        if given.shape != true.shape:
            # numpy would compare one word with many.
            raise ValueError(f"{batch.kind}: golden gave answers {true.shape}, the unit {given.shape}")
        differs = np.flatnonzero((given != true).any(axis=1))
        wrong += len(differs)
        for vector in differs[: SHOWN - len(first)].tolist():
            words = batch.words(np.array([vector]))[0]
            answers = given[vector].tolist(), true[vector].tolist()
            first.append(
                Mismatch(number, vector, batch.kind, decoded(layout(), words), *answers, tuple(words.tolist()))
            )
    return Found(
        vectors=sum(len(each) for each in got),
        mismatches=wrong,
        first=tuple(first),
        stimulus_seconds=seconds + written - start,
        golden_seconds=answered - written,
        rtl_seconds=children_seconds() - before,
    )


def scratch_folder() -> Path:
    """Return the folder of vectors and answers; each process has subfolders that begin with its number."""
    return paths.build_root() / "deep" / "vectors"


def clear_scratch() -> None:
    """Remove the files of killed processes."""
    for folder in scratch_folder().glob("*-*"):
        if not Path(f"/proc/{folder.name.partition('-')[0]}").exists():
            shutil.rmtree(folder, ignore_errors=True)


# One vector of a task again, by itself, in a bench with waves.


BENCH = "bitpath.verif.kit.tb_one_vector"


def replay(task: VolumeTask, seed: int, block: int, batch: int, vector: int, simulator: str) -> SimResult:
    """Make a vector again and play it through the unit's ports, one cycle after another.

    Raises ValueError if there is no such vector, and SimulationError if unit and golden differ.
    """
    config = task.config()
    variables = one_vector(task, config, seed, block, batch, vector)
    return run(build(task.unit, config, simulator, waves=True), BENCH, seed=seed, env=variables)


def one_vector(task: VolumeTask, config: Any, seed: int, block: int, batch: int, vector: int) -> dict[str, str]:
    """Return the environment in which :data:`BENCH` plays a vector; raise ValueError if there is no such vector."""
    if task.blocks is not None:
        integer("block", block, range(task.blocks), f" of {task.name}")
    batches = list(task.batches(config, task.rng(seed, block), block))
    given = batches[integer("batch", batch, range(len(batches)), f" of block {block} of {task.name}")]
    integer("vector", vector, range(given.count), f" of batch {batch} of {task.name}")
    timing = {"beats": given.beats, "latency": given.latency, "lead": given.lead}
    words = given.words(np.array([vector]))[0].tolist()
    answer = np.atleast_1d(given.golden()[vector]).tolist()
    return {
        "BITPATH_VECTOR": json.dumps(
            {"unit": task.unit, "kind": given.kind, "words": words, "answer": answer, **timing}
        )
    }


# Prints the results of the tasks.


GOLDEN = "golden"
"""Unit name of tasks without hardware."""
LISTED = 20
"""Largest number of mismatches shown."""


def show_tasks(console: Console, tasks: Sequence[AnyTask]) -> None:
    """Print the tasks: name, unit, number of vectors and subject."""
    table = Table("name", "unit", "vectors", "what")
    for task in tasks:
        vectors = "as asked" if task.blocks is None else f"{task.blocks * task.block_vectors:,}"
        table.add_row(task.name, task.unit, vectors, task.what)
    console.print(table)


def show(console: Console, records: Sequence[dict[str, Any]]) -> None:
    """One row for each record; times are the processor's."""
    headings = ("vectors", "mismatches", "seconds", "unit M/s", "golden M/s")
    table = Table("name", "unit", *(Column(heading, justify="right") for heading in headings))
    for record in records:
        rates = (_rate(record, name) for name in ("rtl_seconds", "golden_seconds"))
        counts = f"{record['vectors']:,}", str(record["mismatches"]), f"{record['seconds']:.0f}"
        table.add_row(record["name"], record["unit"], *counts, *rates)
    console.print(table)


def _rate(record: dict[str, Any], seconds: str) -> str:
    return f"{record['vectors'] / record[seconds] / 1e6:.2f}" if record[seconds] else "-"


def show_mismatches(console: Console, records: Sequence[dict[str, Any]]) -> None:
    """Print the first mismatches between unit and golden, with operands and replay command."""
    found = [(record, each) for record in records for each in record["first"]]
    for record, each in found[:LISTED]:
        got, expected = (" ".join(f"0x{word:08x}" for word in each[name]) for name in ("got", "expected"))
        place = f"block {each['block']}, batch {each['batch']}, vector {each['vector']} ({each['kind']})"
        console.print(f"{record['name']}: {place}: {got} in {record['unit']} and {expected} in golden")
        console.print("  " + ", ".join(f"{name}=0x{value:x}" for name, value in each["operands"].items()))
        if record["unit"] != GOLDEN:
            where = f"{each['block']} {each['batch']} {each['vector']}"
            console.print(f"  replay: bitpath self deep {record['name']} --seed {record['seed']} --replay {where}")


# Runs the blocks of tasks side by side. Each finished block is saved at once and never computed again.


TABLE = "bitpath.sim.campaigns.volume"
"""The module that reaches all tasks."""
FIELDS = {field.name for field in fields(Found)}
"""Field names of a block's record."""
Progress = Callable[[int, int], None]


def journal_file(task: AnyTask) -> Path:
    """Return the journal of a task's blocks. An interrupted run resumes from it."""
    return paths.build_root() / "deep" / f"{task.name}.jsonl"


@once
def _sources() -> dict[str, Any]:
    """Return the key that all answers share, beside a unit's Verilog and its player."""
    # The units' Python too: layouts and timings make vectors, and need not show in the Verilog.
    models = (name for name in reached(TABLE) if name.startswith(("bitpath.golden", "bitpath.verif")))
    folders = [*map(module_file, sorted(models)), *rtl_emitter().sources]
    own = map(module_file, (__name__, "bitpath.sim.engine.build"))
    return {
        "sources": cache.hash_files([*folders, *own]),
        "packages": tools.library_versions(),
        "python": sys.version,
    }


def digest(task: AnyTask, seed: int) -> str:
    """Return the key of a task's blocks: sources, Verilog, tools, and the seed of a random task."""
    key = _sources() | identity(task) | {"name": task.name, "seed": seed if task.random else None}
    return cache.hash_json(key)[:16]


def run_task(
    task: AnyTask,
    *,
    vectors: int,
    seed: int,
    blocks: int | None = None,
    cluster: Cluster = HERE,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Compare the blocks of a task that are not on disk yet, and return the record of all blocks.

    Raises SimulationError if a player failed, a process died, or sources changed; finished blocks are kept.

    Parameters
    ----------
    vectors : number of vectors, for tasks with random ones.
    blocks : largest number of blocks.
    progress : called with the blocks done and their total.
    """
    key, file = digest(task, seed), journal_file(task)
    count = task.block_count(vectors)
    count = count if blocks is None else min(count, blocks)
    found = {
        each["block"]: each
        for each in cache.read(file)
        if each.get("key") == key and each.get("block") in range(count) and each.keys() >= FIELDS
    }
    missing = [block for block in range(count) if block not in found]
    progress(len(found), count)
    for block, record in _work(task, seed, missing, cluster, key):
        found[block] = {"key": key, "block": block} | record
        cache.append(file, found[block])
        progress(len(found), count)
    asked = count * task.block_vectors
    if task.blocks is None:
        asked = min(asked, vectors)
    return _record(task, seed, key, asked, [found[block] for block in sorted(found)])


def _work(
    task: AnyTask, seed: int, blocks: Sequence[int], cluster: Cluster, key: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and record of each block, as they come."""
    clear_scratch()
    pieces = [Piece(block, task.name, block_record, (task.name, seed, block, key)) for block in blocks]
    for each in finished(pieces, cluster):
        yield each.piece.key, each.result()


def block_record(name: str, seed: int, block: int, key: str) -> dict[str, Any]:
    """Run one block of a task in a worker.

    Raises SimulationError if the player failed, or this process has other sources than those of the key.
    """
    task = TASKS[name]
    if digest(task, seed) != key:
        raise SimulationError(f"{name}: the sources have changed since the command began; run it again")
    try:
        return run_block(task, seed, block).record()
    except SimulationError as error:
        raise SimulationError(f"{name}, seed {seed}, block {block}: {error}") from None


def _record(task: AnyTask, seed: int, key: str, asked: int, found: list[dict[str, Any]]) -> dict[str, Any]:
    totals = {
        name: sum(each[name] for each in found)
        for name in ("vectors", "mismatches", "stimulus_seconds", "golden_seconds", "rtl_seconds")
    }
    seconds = totals["stimulus_seconds"] + totals["golden_seconds"] + totals["rtl_seconds"]
    first = [{"block": block["block"]} | each for block in found for each in block["first"]]
    return {
        "machine": task.machine,
        "unit": task.unit,
        "name": task.name,
        "what": task.what,
        "asked": asked,
        **totals,
        # The processor's, of all processes together.
        "seconds": seconds,
        "seed": seed,
        "digest": key,
        "first": first,
    }
