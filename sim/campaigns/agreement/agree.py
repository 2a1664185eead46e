"""Records a unit's own bench and replays the recording on every engine."""

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from bitpath.rtl.common.config import digest
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.campaigns.agreement import flat, gates, recorded, reference
from bitpath.sim.campaigns.agreement.netlist import TOP, netlist
from bitpath.sim.engine import paths
from bitpath.sim.engine.build import build
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.runner import run

REFERENCE, NETLIST = "amaranth", "netlist"
ENGINES = ("icarus", "verilator", NETLIST)
"""Engines compared with Amaranth's simulator."""
COMPARED = tuple(name for name, unit in UNITS.items() if not unit.uncompared)
"""Units whose engines are compared."""
REPLAY = "BITPATH_REPLAY"
REPLAY_BENCH = "bitpath.verif.kit.tb_replay"
REPLAY_SECONDS = 2 * 3600
"""Limit on a replay by a simulator."""
Steps = list[list[int]]
"""Input values of each step, in the order of the ports."""
Widths = dict[str, int]
"""Bit widths of ports, by name."""
Answers = list[list[reference.Answer]]
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
    played, chosen, seed = recorded.record(
        unit, config, folder, tests=tests, cases=cases, steps=steps, seed=seed, simulator=recorded_on
    )
    inputs = list(played[0].inputs)
    given = recorded.stimulus(played, chosen)
    outputs, answers = reference.play(find_unit(unit).build(config), inputs, given)
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
    gate_level = flat.read(file, TOP)
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
