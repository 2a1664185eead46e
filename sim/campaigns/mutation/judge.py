"""Mutants of one target, judged by its host's bench, each verdict kept as soon as it is known."""

import json
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bitpath.rtl.common.config import to_dict
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.circuits import abc, aiger
from bitpath.sim.campaigns.mutation.equivalence import Proof, Prover
from bitpath.sim.campaigns.mutation.hosts import Host
from bitpath.sim.campaigns.mutation.netlist import DRAWN, MUTATED, PREPARED, Mutant, build_mutants, select_bits
from bitpath.sim.campaigns.mutation.traffic import (
    RUN_SECONDS,
    Difference,
    Traffic,
    bench_key,
    bench_module,
    bench_settings,
    compile_replay,
    record,
    replay,
)
from bitpath.sim.campaigns.mutation.verdicts import (
    BROKEN,
    EQUIVALENT,
    KILLED,
    SURVIVED,
    Judged,
    Ledger,
    Progress,
    judged,
    scratch,
    side_by_side,
)
from bitpath.sim.engine import cache, tools, yosys
from bitpath.sim.engine.build import Built
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.runner import run
from bitpath.verif.kit.bench import MUTANT

CONFIRMED = 3
"""Kills of the replay that the bench itself must find too, in each target."""
SCRIPTS = ("judge.py", "traffic.py", "replay.cpp", "netlist.py", "equivalence.py", "difference.py", "verdicts.py")


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
    scripts += [Path(str(module.__file__)) for module in (yosys, abc, aiger)]
    parts = {
        "netlist": cache.hash_files([folder / PREPARED, folder / DRAWN, folder / MUTATED, *built.verilog]),
        "host": [host.unit, to_dict(host.config)],
        "bench": bench_key(host),
        "scripts": cache.hash_files(scripts),
        "versions": tools.simulator_versions("verilator")
        | {"yosys": yosys.yosys_version(), "z3": version("z3-solver")},
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
