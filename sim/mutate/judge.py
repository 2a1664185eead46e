"""Mutants of one target, judged by its host's bench, each verdict kept as soon as it is known."""

import hashlib
import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bitpath.rtl.config import to_dict
from bitpath.sim import cache, tools
from bitpath.sim.build import Built
from bitpath.sim.errors import SimulationError
from bitpath.sim.mutate.equivalence import proved_equivalent
from bitpath.sim.mutate.hosts import Host
from bitpath.sim.mutate.netlist import DRAWN, PREPARED, Mutant, build_mutants
from bitpath.sim.mutate.traffic import (
    CASES,
    RUN_SECONDS,
    Difference,
    Traffic,
    bench_digest,
    bench_module,
    compile_replay,
    record,
    replay,
)
from bitpath.sim.mutate.verdicts import EQUIVALENT, KILLED, SURVIVED, Judged, Ledger, Progress, scratch, side_by_side
from bitpath.sim.runner import run
from bitpath.sim.yosys import yosys_version
from bitpath.verif.kit.bench import MUTANT

CONFIRMED = 3
"""Kills of the replay that the bench itself must find too, in each target."""


def judge(target: str, host: Host, count: int, seed: int, progress: Progress) -> Judged:
    """Judge so many mutants of a file, or all there are; what an earlier run found out is taken from the journal.

    Raises
    ------
    MissingToolError : a tool is not installed.
    SimulationError : the bench fails without a mutant, or something else than a bench's test failed.
    """
    start = time.monotonic()
    built = build_mutants(host, target, count, seed)
    folder = built.verilog[0].parent
    (about, *fields) = json.loads((folder / DRAWN).read_text())
    mutants = [Mutant(**each) for each in fields]
    ledger = Ledger(_key(host, built, seed), len(mutants))
    if ledger.missing:
        try:
            _Session(host, built, mutants, seed, progress, ledger).work()
        finally:
            ledger.spend(time.monotonic() - start)
    return Judged(
        target=target,
        unit=host.unit,
        config=to_dict(host.config),
        digest=ledger.key[:8],
        possible=about["possible"],
        mutants=tuple(mutants),
        verdicts=ledger.verdicts,
        confirmed=sum("confirmed" in each for each in ledger.entries.values()),
        seed=seed,
        seconds=round(ledger.seconds, 1),
    )


def _key(host: Host, built: Built, seed: int) -> str:
    """Of everything that decides a verdict."""
    scripts, folder = Path(__file__).parent, built.verilog[0].parent
    parts = {
        "netlist": cache.hash_files([folder / PREPARED, folder / DRAWN, *built.verilog]),
        "host": [host.unit, to_dict(host.config)],
        "bench": bench_digest(host),
        "scripts": cache.hash_files(
            scripts / name for name in ("judge.py", "traffic.py", "replay.cpp", "equivalence.py")
        ),
        "versions": tools.simulator_versions("verilator") | {"yosys": yosys_version()},
        "seed": seed,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class _Session:
    """The judging of what the journal does not know yet."""

    def __init__(
        self, host: Host, built: Built, mutants: Sequence[Mutant], seed: int, progress: Progress, ledger: Ledger
    ):
        self.host, self.mutants, self.seed, self.progress, self.ledger = host, mutants, seed, progress, ledger
        self.built = replace(built, unit=host.unit, config=host.config)

    def work(self) -> None:
        """Replay, then the bench where the replay does not decide, then the proofs."""
        missing = self.ledger.missing
        self.progress("recording the bench", 0, len(missing))
        traffic = record(self.host, self.seed)
        found = self._replay(traffic, missing)
        sure = [number for number in missing if found[number].kind == "payload"]
        others = [number for number in missing if found[number].kind == "other"]
        chosen = random.Random(self.seed).sample(sure, min(CONFIRMED, len(sure)))
        survivors = [number for number in missing if found[number].kind == "same"]
        wrong = False
        for number, how in self._bench(traffic, chosen, found):
            wrong |= how is None
            if how is not None:
                self.ledger.keep(number, KILLED, how, confirmed=True)
        # Where the bench does not see what the replay saw, none of its kills counts unless the bench finds it.
        others = [number for number in sure if number not in self.ledger.entries] + others if wrong else others
        for number in () if wrong else sure:
            if number not in self.ledger.entries:
                self.ledger.keep(number, KILLED, f"replay: {_where(traffic, found[number])}")
        for number, how in self._bench(traffic, others, found):
            if how is None:
                survivors.append(number)
            else:
                self.ledger.keep(number, KILLED, how)
        for number, how in side_by_side("proving", survivors, self._prove, self.progress):
            self.ledger.keep(number, SURVIVED if how is None else EQUIVALENT, how or "")

    def _replay(self, traffic: Traffic, missing: Sequence[int]) -> dict[int, Difference]:
        """The first difference of each; raises where the design without a mutant is not what was recorded."""
        found: dict[int, Difference] = {}
        with scratch() as folder:
            program = compile_replay(self.built, traffic, folder)
            for number, own in replay(program, traffic, [0]):
                if own.kind != "same":
                    raise SimulationError(
                        f"{self.host.unit}: the replay differs from the recorded run without a mutant, at {_where(traffic, own)}"
                    )
                found[number] = own
            # Few at a time: some die in the first cycle, others live to the last.
            parts = [missing[start : start + 10] for start in range(0, len(missing), 10)]
            replayed = side_by_side(
                "replaying", parts, lambda part: list(replay(program, traffic, part)), self.progress
            )
            for _, own in replayed:
                found |= dict(own)
        return found

    def _bench(
        self, traffic: Traffic, numbers: Sequence[int], found: dict[int, Difference]
    ) -> Iterator[tuple[int, str | None]]:
        """Run the bench itself: which test failed, None where all passed."""

        def call(number: int) -> str | None:
            # First the test in which something differed; then all.
            first = traffic.tests[found[number].test]
            return self._fails(traffic, number, first) or self._fails(traffic, number, None)

        return side_by_side("running the bench", numbers, call, self.progress)

    def _fails(self, traffic: Traffic, number: int, test: str | None) -> str | None:
        """The test that fails on a mutant, None where none does."""
        with scratch() as folder:
            try:
                run(
                    self.built,
                    bench_module(self.host),
                    seed=self.seed,
                    tests=None if test is None else f"{re.escape(test)}$",
                    env={MUTANT: str(number), **CASES},
                    timeout=RUN_SECONDS,
                    folder=folder,
                    first_failure=True,
                )
            except SimulationError as error:
                failed = json.loads((folder / "run.json").read_text())["failed"]
                if not failed:
                    # Not the bench's word: a simulator that could not run says nothing of the mutant.
                    raise SimulationError(f"mutant {number}, {self.mutants[number - 1].shown}: {error}") from None
                return f"bench: {failed[0]}"
        return None

    def _prove(self, number: int) -> str | None:
        with scratch() as folder:
            return proved_equivalent(self.mutants[number - 1], self.built.top, self.built.verilog[0].parent, folder)


def _where(traffic: Traffic, difference: Difference) -> str:
    return f"{difference.output}, cycle {difference.cycle} of {traffic.tests[difference.test]}"
