"""Mutants of one target, judged by its host's bench, each verdict kept as soon as it is known."""

import json
import os
import random
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache as once
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import bitpath.verif
from bitpath.golden.formats.records import to_dict
from bitpath.rtl.common.config import digest
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.mutation.equivalence import Proof, Prover
from bitpath.sim.campaigns.mutation.hosts import DRAWN, MUTATED, PREPARED, Host, Mutant, build_mutants, select_bits
from bitpath.sim.campaigns.mutation.verdicts import (
    BROKEN,
    EQUIVALENT,
    KILLED,
    SURVIVED,
    TIMED_OUT,
    Judged,
    Ledger,
    Progress,
    judged,
    scratch,
    side_by_side,
)
from bitpath.sim.engine import cache, paths, process, tools
from bitpath.sim.engine.build import HEADER, Built, build, model_program, port_table, recorded_words
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.process import FULL_BYTES
from bitpath.sim.engine.runner import run
from bitpath.sim.engine.stepped import variable
from bitpath.verif.kit.bench import MUTANT, RECORDING
from bitpath.verif.kit.recording import recordings

# Records the ports of a host under its own bench once, and replays the recording on mutants without Python.


OWN = (__name__, "bitpath.sim.engine.build", "bitpath.sim.engine.runner")
"""Modules that record and replay a bench."""
REPLAY = Path(__file__).with_name("replay.cpp")
REPLAY_SECONDS = 900
RUN_SECONDS = 1800
MOST_CASES = 500
"""Most cases of a test, as the bench counts them, so that all targets take one evening."""


@dataclass(frozen=True)
class Traffic:
    """A bench's run on the design as it is.

    Attributes
    ----------
    file : port changes of every test, in the replay's file format.
    tests : the bench's tests, in the order in which they ran.
    inputs, outputs : names and bits of the ports.
    seconds : duration of the run.
    """

    file: Path
    tests: tuple[str, ...]
    inputs: tuple[dict[str, Any], ...]
    outputs: tuple[dict[str, Any], ...]
    seconds: float


@dataclass(frozen=True)
class Difference:
    """First difference of a mutant's outputs from those recorded.

    Attributes
    ----------
    kind : "compared" if the bench compares the value; "other" if it may not; "same" if there is no difference; "broken" if
        the simulator cannot run the mutant, with its message in ``output``.
    test, cycle, output : test, cycle and output name of the first difference.
    """

    kind: str
    test: int
    cycle: int
    output: str


def bench_module(host: Host) -> str:
    """Return the module of the host's own bench."""
    return UNITS[host.unit].bench


def bench_settings(host: Host) -> dict[str, str]:
    """Return the bench's environment: the settings of its coverage run, with the cases that faults need."""
    measured = UNITS[host.unit].covered
    return {**measured.env, "BITPATH_CASES": str(host.cases or min(measured.cases, MOST_CASES))}


def bench_key(host: Host) -> dict[str, Any]:
    """Return the key of the bench: its module and imports, the vectors, the runner, its settings, those of the shell, and the
    libraries."""
    return {
        "files": cache.hash_files([*_bench_files(host), *map(module_file, OWN), HEADER, REPLAY]),
        "settings": bench_settings(host),
        "tests": UNITS[host.unit].covered.tests,
        "shell": settings_of_the_shell(),
        "versions": tools.simulator_versions("verilator") | tools.library_versions(),
    }


def settings_of_the_shell() -> dict[str, str]:
    """Variables of the environment by which a user steers benches and models."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("BITPATH_")}


@once
def _bench_files(host: Host) -> tuple[Path, ...]:
    vectors = Path(bitpath.verif.__file__).parent / "vectors"
    modules = sorted(reached(bench_module(host)))
    return (*map(module_file, modules), *sorted(file for file in vectors.iterdir() if file.is_file()))


def record(host: Host, seed: int) -> Traffic:
    """Run the bench on the design, or return the recording of an earlier run.

    Raises SimulationError if the bench fails; no mutant can be judged by it.
    """
    built = build(host.unit, host.config, "verilator")
    key = {
        "verilog": cache.hash_files(built.verilog),
        "bench": bench_key(host),
        "config": to_dict(host.config),
        "seed": seed,
    }

    def make(folder: Path) -> dict[str, Any]:
        run_folder = folder / "run"
        run_folder.mkdir()
        first = folder / "traffic.npz"
        result = run(
            built,
            bench_module(host),
            seed=seed,
            tests=UNITS[host.unit].covered.tests,
            env={RECORDING: str(first), **bench_settings(host)},
            timeout=RUN_SECONDS,
            folder=run_folder,
            check_bins=False,
        )
        files = recordings(first)
        if len(files) != len(result.tests):
            raise SimulationError(f"{host.unit}: {len(result.tests)} tests ran and {len(files)} were recorded")
        with (folder / "traffic.bin").open("wb") as out:
            for file in files:
                meta = _append(out, file)
                file.unlink()
        ports = {"inputs": meta["ports"], "outputs": meta["output_ports"]}
        return {"tests": result.tests, "seconds": result.seconds, **ports}

    # The key is part of the name, so a run with other sources or another seed does not overwrite this traffic.
    name = cache.hash_json(key)[:8]
    folder = paths.build_root() / "mutate" / f"{host.unit}-{digest(host.unit, host.config)}-{name}"
    made = cache.ensure(folder, key, make)
    return Traffic(
        folder / "traffic.bin", tuple(made["tests"]), tuple(made["inputs"]), tuple(made["outputs"]), made["seconds"]
    )


def _append(out: Any, file: Path) -> dict[str, Any]:
    """Append a test to the replay's file, and return the recording's metadata."""
    with np.load(file) as content:
        meta = json.loads(str(content["meta"]))
        parts = [content[name] for name in ("looks", "changes", "outputs")]
    out.write(np.array([meta["cycles"], *map(len, parts)], "<u4").tobytes())
    out.write(b"".join(part.tobytes() for part in parts))
    return meta


def compile_replay(built: Built, traffic: Traffic, folder: Path) -> Path:
    """The program that replays the traffic on a netlist of mutants."""
    return model_program(built, REPLAY, folder, ports_table(traffic))


def ports_table(traffic: Traffic) -> str:
    """The design's part of the replay."""
    names = {port["name"] for port in (*traffic.inputs, *traffic.outputs)}
    kinds = []
    for port in traffic.outputs:
        stream, _, signal = port["name"].rpartition("__")
        is_stream = f"{stream}__payload" in names
        kind = "HANDSHAKE" if is_stream and signal in ("valid", "ready") else "VALUE"
        beside = (f"{stream}__{other}" for other in ("valid", "ready"))
        transfer = ", ".join(f"&{variable(name)}" if is_stream and name in names else "nullptr" for name in beside)
        kinds.append(f"    {{{kind}, {transfer}}},")
    clocked = "rst" in names
    return "\n".join(
        [
            port_table("INPUTS", recorded_words(traffic.inputs)),
            port_table("OUTPUTS", recorded_words(traffic.outputs)),
            "const Output KINDS[] = {",
            *kinds,
            "};",
            "uint8_t unclocked = 0;",
            f"uint8_t& CLK = {'top->clk' if clocked else 'unclocked'};",
            "",
        ]
    )


def replay(program: Path, traffic: Traffic, mutants: Sequence[int]) -> Iterator[tuple[int, Difference]]:
    """Yield each mutant's first difference.

    Raises SimulationError if the replay dies, or runs too long, on mutant 0, which is the design itself.
    """
    try:
        found = _replay(program, traffic, mutants)
    except SimulationError as error:
        if not any(mutants) or shutil.disk_usage(program.parent).free < FULL_BYTES:
            raise
        if len(mutants) == 1:
            # The design itself can be replayed: this one closes a loop, say, and nothing in it settles.
            yield mutants[0], Difference("broken", 0, 0, str(error).splitlines()[-1])
            return
        for mutant in mutants:
            yield from replay(program, traffic, [mutant])
        return
    for each in found:
        output = traffic.outputs[each["output"]]["name"]
        yield each["mutant"], Difference(each["difference"], each["test"], each["cycle"], output)


def _replay(program: Path, traffic: Traffic, mutants: Sequence[int]) -> list[dict[str, Any]]:
    command = [str(program), str(traffic.file), *map(str, mutants)]
    log = program.with_name(f"replay-{mutants[0]}-{len(mutants)}.log")
    try:
        status = process.run_logged(command, env=os.environ, log=log, timeout=REPLAY_SECONDS)
    except TimeoutError as error:
        raise SimulationError(f"{TIMED_OUT}: the replay of {traffic.file}: {error}") from None
    found = []
    if not status:
        found = [json.loads(line) for line in log.read_text(errors="replace").splitlines() if line.startswith("{")]
    if [each["mutant"] for each in found] != list(mutants):
        raise SimulationError(f"the replay of {traffic.file} ended with status {status}: {process.tail(log)}")
    return found


CONFIRMED = 3
"""Kills of the replay that the bench itself must find too, in each target."""
SCRIPTS = ("judge.py", "replay.cpp", "hosts.py", "equivalence.py", "verdicts.py")


def judge(target: str, host: Host, count: int, seed: int, progress: Progress, *, again: bool = False) -> Judged:
    """Judge a number of mutants of a component, or all. Verdicts of earlier runs come from the journal; with ``again``, mutants
    that ran out of time are judged once more.

    Raises MissingToolError without a tool, and SimulationError if the bench fails without a mutant, something else than
    a bench's test failed, or a source changed.
    """
    start = time.monotonic()
    built = build_mutants(host, target, count, seed)
    folder = built.verilog[0].parent
    (about, *fields) = json.loads((folder / DRAWN).read_text())
    mutants = [Mutant(**each) for each in fields]

    return judged(
        start,
        partial(_key, host, built, seed),
        mutants,
        lambda ledger: _Session(host, built, mutants, seed, progress, ledger).work(),
        again=again,
        target=target,
        unit=host.unit,
        config=to_dict(host.config),
        possible=about["possible"],
        seed=seed,
    )


def _key(host: Host, built: Built, seed: int) -> str:
    """Return the digest of everything that decides a verdict."""
    folder = built.verilog[0].parent
    scripts = [Path(__file__).with_name(name) for name in SCRIPTS]
    scripts += map(module_file, ("bitpath.sim.engine.process", "bitpath.sim.campaigns.circuits"))
    parts = {
        "netlist": cache.hash_files([folder / PREPARED, folder / DRAWN, folder / MUTATED, *built.verilog]),
        "host": [host.unit, to_dict(host.config)],
        "bench": bench_key(host),
        "scripts": cache.hash_files(scripts),
        "versions": tools.simulator_versions("verilator")
        | {"yosys": process.yosys_version(), "z3": version("z3-solver")},
        "seed": seed,
    }
    return cache.hash_json(parts)


class _Session:
    """Judges the mutants that are not in the journal."""

    def __init__(
        self, host: Host, built: Built, mutants: Sequence[Mutant], seed: int, progress: Progress, ledger: Ledger
    ):
        self.host, self.mutants, self.seed, self.progress, self.ledger = host, mutants, seed, progress, ledger
        self.built = replace(built, unit=host.unit, config=host.config)
        self.controlled: set[str | None] = set()

    def work(self) -> None:
        """Replay, then the bench where the replay does not decide, then the proofs."""
        self.progress("recording the bench", 0, len(self.ledger.missing))
        traffic = record(self.host, self.seed)
        found = self._replayed(traffic)
        of = {kind: [number for number in found if found[number].kind == kind] for kind in ("compared", "other")}
        for number in self._open(found):
            if found[number].kind == "broken":
                self.ledger.keep(number, BROKEN, f"replay: {found[number].output}")
        # The seed gives a resumed run the same choice.
        chosen = random.Random(self.seed).sample(of["compared"], min(CONFIRMED, len(of["compared"])))
        self._bench(traffic, chosen, found, confirmed=True)
        confirmed = [number for number in chosen if "confirmed" in self.ledger.entries.get(number, ())]
        if any(self._passes(number) for number in of["compared"]) or confirmed != chosen:
            # If the bench misses a difference that the replay found, only kills by the bench count.
            self._bench(traffic, of["compared"], found)
        else:
            for number in self._open(of["compared"]):
                self.ledger.keep(number, KILLED, f"replay: {_where(traffic, found[number])}")
        self._bench(traffic, of["other"], found)
        if self.ledger.missing:
            killed = [number for number, entry in sorted(self.ledger.entries.items()) if entry["verdict"] == KILLED]
            with scratch() as folder:
                prover = self._prover(folder)
                self._contradict(prover, random.Random(self.seed).sample(killed, min(CONFIRMED, len(killed))))
                for number, proof in self._proofs("proving", prover.prove, self.ledger.missing):
                    self.ledger.keep(number, EQUIVALENT if proof.proved else SURVIVED, proof.how)

    def _open(self, numbers: Iterable[int]) -> list[int]:
        """Return the mutants without a verdict."""
        return [number for number in numbers if number not in self.ledger.entries]

    def _passes(self, number: int) -> bool:
        """Return True if the bench is known to pass on the mutant."""
        return "bench" in self.ledger.steps[number]

    def _replayed(self, traffic: Traffic) -> dict[int, Difference]:
        """Return each mutant's first difference; raises if the unmodified design differs from the recording."""
        steps = self.ledger.steps
        missing = [number for number in steps if "replay" not in steps[number]]
        if missing:
            self._replay(traffic, missing)
        return {number: Difference(**step["replay"]) for number, step in steps.items()}

    def _replay(self, traffic: Traffic, missing: Sequence[int]) -> None:
        with scratch() as folder:
            program = compile_replay(self.built, traffic, folder)
            # Twice: nothing of one mutant's model is to be left for the next one's.
            for _, own in replay(program, traffic, [0, 0]):
                if own.kind != "same":
                    raise SimulationError(
                        f"{self.host.unit}: the replay differs from the recorded run without a mutant, at {_where(traffic, own)}"
                    )
            # Few at a time: some die in the first cycle, others live to the last.
            parts = [missing[start : start + 10] for start in range(0, len(missing), 10)]
            replayed = side_by_side(
                "replaying", parts, lambda part: list(replay(program, traffic, part)), self.progress
            )
            for _, own in replayed:
                for number, difference in own:
                    self.ledger.note(number, replay=asdict(difference))

    def _bench(
        self, traffic: Traffic, numbers: Sequence[int], found: dict[int, Difference], *, confirmed: bool = False
    ) -> None:
        """Run the bench itself on those that it has not seen yet."""

        def first(number: int) -> str:
            return traffic.tests[found[number].test]

        def call(number: int) -> tuple[str, str] | None:
            # First the test in which something differed; then all.
            return self._fails(number, first(number)) or self._fails(number, None)

        todo = [number for number in self._open(numbers) if not self._passes(number)]
        self._control([first(number) for number in todo])
        for number, verdict in side_by_side("running the bench", todo, call, self.progress):
            if verdict is None:
                self.ledger.note(number, bench="passes")
            else:
                more: dict[str, Any] = {"confirmed": True} if confirmed and verdict[0] == KILLED else {}
                self.ledger.keep(number, *verdict, **more)

    def _control(self, tests: Sequence[str]) -> None:
        """The tests that judge, each by itself and all, must pass on the same netlist without a mutant."""
        wanted = ({*tests, None} if tests else set()) - self.controlled
        for test, verdict in side_by_side(
            "running the bench without a mutant", list(wanted), lambda test: self._fails(0, test), self.progress
        ):
            if verdict is not None:
                what = "the bench" if test is None else test
                raise SimulationError(f"{self.host.unit}: {what} fails without a mutant: {verdict[1]}")
            self.controlled.add(test)

    def _fails(self, number: int, test: str | None) -> tuple[str, str] | None:
        """Return the verdict of a test, or of all, on a mutant, and how it came; None if the tests pass."""
        with scratch() as folder:
            try:
                run(
                    self.built,
                    bench_module(self.host),
                    seed=self.seed,
                    tests=UNITS[self.host.unit].covered.tests if test is None else f"{re.escape(test)}$",
                    env={MUTANT: str(number), **bench_settings(self.host)},
                    timeout=RUN_SECONDS,
                    folder=folder,
                    first_failure=True,
                    check_bins=False,
                )
            except SimulationError as error:
                failed = json.loads((folder / "run.json").read_text())["failed"]
                # If no test failed, the simulator could not run the mutant.
                return (KILLED, f"bench: {failed[0]}") if failed else (BROKEN, f"bench: {str(error).splitlines()[0]}")
        return None

    def _contradict(self, prover: Prover, killed: Sequence[int]) -> None:
        """A mutant that the bench killed must not be proved equivalent; such a proof would compare nothing."""
        # Proofs that compare nothing are quick, those of real faults last as long as they may.
        for number, proof in self._proofs("proving kills", partial(prover.prove, patient=False), killed):
            if proof.proved:
                shown = self.mutants[number - 1].shown
                raise SimulationError(f"{shown} is killed by the bench and proved equivalent by {proof.how}")

    def _proofs(
        self, what: str, prove: Callable[[int, str], Proof], numbers: Sequence[int]
    ) -> Iterator[tuple[int, Proof]]:
        def call(number: int) -> Proof:
            return prove(number, self.mutants[number - 1].module.removeprefix("\\"))

        return side_by_side(what, numbers, call, self.progress)

    def _prover(self, folder: Path) -> Prover:
        netlist, width = self.built.verilog[0].parent, select_bits(len(self.mutants))
        return Prover(f"proofs of {self.host.unit}", netlist, self.built.top, width, folder)


def _where(traffic: Traffic, difference: Difference) -> str:
    return f"{difference.output}, cycle {difference.cycle} of {traffic.tests[difference.test]}"
