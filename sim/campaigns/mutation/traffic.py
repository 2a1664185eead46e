"""Records the ports of a host under its own bench once, and replays the recording on mutants without Python."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import Any

import numpy as np

import bitpath.verif
from bitpath.rtl.common.config import digest, to_dict
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.mutation.hosts import Host
from bitpath.sim.campaigns.mutation.verdicts import TIMED_OUT
from bitpath.sim.engine import cache, paths, process, runner, tools
from bitpath.sim.engine import model_program as programs
from bitpath.sim.engine.build import Built, build
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.engine.model_program import model_program, port_table, recorded_words
from bitpath.sim.engine.ports import variable
from bitpath.sim.engine.process import FULL_BYTES
from bitpath.sim.engine.runner import run
from bitpath.verif.kit.bench import RECORDING
from bitpath.verif.kit.recording import recordings

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
    own = Path(__file__)
    return {
        "files": cache.hash_files(
            [*_bench_files(host), Path(runner.__file__), Path(programs.__file__), programs.HEADER, own, REPLAY]
        ),
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
