"""Records benches, reads the recordings and selects the steps to replay."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.agreement.reference import counting
from bitpath.sim.engine.build import build
from bitpath.sim.engine.runner import CASES, run
from bitpath.verif.kit.bench import ENOUGH, RECORDING
from bitpath.verif.kit.recording import ANSWERS, COMPARED, PAYLOAD, recordings

READING_STEPS = 32
"""Steps before the replay with every input at 1, reset included. They read the memories, whose read ports have no reset value
in Verilog, and flush the undefined values out of the pipelines."""
RECORD_SECONDS = 1800
"""Time limit of a bench run with recording, which slows it down."""


@dataclass(frozen=True)
class Recorded:
    """Stimulus that a bench's test gave its design.

    Attributes
    ----------
    test : the test's name, as a filter of tests takes it.
    inputs : widths of the design's inputs by name, "rst" included if it has a clock.
    changes : changes of inputs: step, index, value; the steps ascend.
    steps : number of cycles, or of input changes in a design without a clock.
    offers : first step with valid at 1, of every output with a valid port and each part of it; None without such a step.
    compared : step, output and value that the bench compared with golden's; the steps ascend. An output in parts, with a
        ``NAME_valid`` port, has its valid parts and 0.
    answers : step, output and value of the transfers on an engine's stream of results. A test compares them with golden's
        at its end.
    """

    test: str
    inputs: dict[str, int]
    changes: tuple[tuple[int, int, int], ...]
    steps: int
    offers: dict[str, int | None]
    compared: tuple[tuple[int, str, int], ...] = ()
    answers: tuple[tuple[int, str, int], ...] = ()

    def values(self, steps: int) -> list[list[int]]:
        """Return all inputs in each of the first steps."""
        return list(_levels(self.changes, len(self.inputs), steps))


def record(
    unit: str,
    config: Any,
    folder: Path,
    *,
    tests: str | None = None,
    cases: int,
    steps: int | None,
    seed: int | None,
    simulator: str = "verilator",
) -> tuple[list[Recorded], list[int], int]:
    """Run the unit's bench in an empty folder; return its tests, the number of steps to replay of each, and the seed.

    The run fails at the first value that differs from golden's. Parameters as in
    :func:`bitpath.sim.campaigns.agreement.agree.agree`; with steps None, tests are recorded to their ends.
    """
    recording, bench_folder = folder / "recording.npz", folder / "bench"
    bench_folder.mkdir()
    whole = UNITS[unit].covered
    variables = {RECORDING: str(recording), CASES: str(min(cases, whole.cases)), **whole.env}
    variables |= {} if steps is None else {ENOUGH: str(steps)}
    done = run(
        build(unit, config, simulator),
        UNITS[unit].bench,
        tests=tests or whole.tests,
        seed=seed,
        env=variables,
        timeout=RECORD_SECONDS,
        folder=bench_folder,
        # Tests end when enough is recorded, with or without a record of their own.
        min_compared=0,
        check_bins=False,
        # A test that ends early does not count its mismatches.
        first_failure=True,
    )
    played = [read(file) for file in recordings(recording)]
    return played, [test.steps for test in played] if steps is None else first_steps(played, steps), done.seed


def stimulus(played: Sequence[Recorded], chosen: Sequence[int]) -> list[list[int]]:
    """Return the inputs in the first steps of each test, of a clocked design after :data:`READING_STEPS`."""
    ones = [[(1 << bits) - 1 for bits in played[0].inputs.values()]] if "rst" in played[0].inputs else []
    return ones * READING_STEPS + [
        step for test, count in zip(played, chosen, strict=True) for step in test.values(count)
    ]


def read(file: Path) -> Recorded:
    """Read a test that :class:`bitpath.verif.kit.recording.Recorder` recorded."""
    with np.load(file) as content:
        meta = json.loads(str(content["meta"]))
        inputs, outputs, looks = (content[name].tolist() for name in ("changes", "outputs", "looks"))
    ports, output_ports, steps = meta["ports"], meta["output_ports"], meta["cycles"]
    widths, output_widths = ({port["name"]: port["bits"] for port in each} for each in (ports, output_ports))
    changes = tuple(_changes(inputs, ports))
    given = _levels(changes, len(ports), steps)
    shown = _levels(_changes(outputs, output_ports), len(output_ports), steps)
    levels = [
        dict(zip((*widths, *output_widths), (*left, *right), strict=True))
        for left, right in zip(given, shown, strict=True)
    ]
    compared, answers = [], []
    for step, index, how in zip(looks[::3], looks[1::3], looks[2::3], strict=True):
        # A read after the last sample belongs to no recorded step.
        if step == steps:
            continue
        name, level = output_ports[index]["name"], levels[step]
        if (parts := f"{name}_valid") in output_widths:
            mask = counting(output_widths[name], level[parts], output_widths[parts])
            compared.append((step, name, level[name] & mask))
        elif how == COMPARED:
            compared.append((step, name, level[name]))
        elif name == f"{ANSWERS}{PAYLOAD}" and level[f"{ANSWERS}__valid"] and level[f"{ANSWERS}__ready"]:
            answers.append((step, name, level[name]))
    return Recorded(meta["test"], widths, changes, steps, meta["offers"], tuple(compared), tuple(answers))


def _levels(changes: Iterable[tuple[int, int, int]], ports: int, steps: int) -> Iterator[list[int]]:
    """Yield the values of all ports in each of the first steps."""
    now, left = [0] * ports, iter(changes)
    change = next(left, None)
    for step in range(steps):
        while change is not None and change[0] == step:
            now[change[1]] = change[2]
            change = next(left, None)
        yield list(now)


def _changes(words: Sequence[int], ports: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int, int]]:
    """Yield the step, the index of the port and its new value."""
    place = 0
    while place < len(words):
        step, index = words[place : place + 2]
        end = place + 2 + -(-ports[index]["bits"] // 32)
        yield step, index, sum(word << 32 * each for each, word in enumerate(words[place + 2 : end]))
        place = end


def first_steps(tests: Sequence[Recorded], steps: int) -> list[int]:
    """Return the number of steps to replay of each test.

    It is `steps`. If a stream has no payload within them in any test, the test with its first payload is extended to
    `steps` beyond that payload.
    """
    chosen = [min(test.steps, steps) for test in tests]
    for stream in tests[0].offers:
        first = {index: step for index, test in enumerate(tests) if (step := test.offers[stream]) is not None}
        if first and all(step >= chosen[index] for index, step in first.items()):
            soonest = min(first, key=lambda index: first[index])
            chosen[soonest] = min(tests[soonest].steps, first[soonest] + steps)
    return chosen
