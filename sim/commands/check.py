"""``bitpath check``: runs a unit's bench on somebody's own design."""

import shlex
from pathlib import Path
from typing import Any

import click

from bitpath.sim.commands._click import Command, Printer, examples, output_options
from bitpath.sim.engine import paths
from bitpath.sim.engine.options import FILE, bench_options, unit_options

SETTINGS = ("rows", "cols", "lanes", "max_row_length", "preset", "stages", "config")
"""Options of the unit's configuration."""


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath check my_dot.v --unit quad_mx_dot",
        "bitpath check dot.sv lane.sv -I include --top dot --unit dot16 --map ports.toml --sim icarus",
        "bitpath check my_dot.v --unit quad_mx_dot --latency 3 --filter exhaustive --junit results.xml",
        "bitpath check my_dot.v --unit quad_mx_dot --cases 20000 --volume 10000000",
    ),
)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--unit", required=True, help="Unit whose bench and golden model judge the design, for example quad_mx_dot."
)
@click.option("--top", help="Top module of the design; by default the name of the first file.")
@click.option("--map", "map_file", type=FILE, help="TOML file with the design's names of the ports.")
@click.option(
    "-I",
    "--include",
    "includes",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of included files; repeat it for more.",
)
@click.option(
    "--latency", type=click.IntRange(1), help="Cycles from a request to its result; any number when not given."
)
@click.option(
    "--cases", type=click.IntRange(1), help="Random cases of each test.  [default: the bench's own, a few hundred]"
)
@click.option(
    "--volume",
    type=click.IntRange(1),
    help="Before the bench, play this many random vectors from C++ and compare each result with golden.",
)
@click.option(
    "--vector",
    type=(str, int, int, int),
    metavar="TASK BLOCK BATCH VECTOR",
    help="Instead of the bench, play one vector of --volume: the replay of a mismatch.",
)
@bench_options
@click.option("--junit", type=FILE, help="Write the tests' results as JUnit XML.")
@unit_options
@output_options
def check_command(
    files: tuple[Path, ...], unit: str, top: str | None, map_file: Path | None, volume: int | None, **options: Any
) -> None:
    """Run the bench of a unit on a design in Verilog or SystemVerilog.

    FILES hold the design and its modules. Its ports are those that bitpath emit UNIT writes, packed or with --flat. A port map
    names others:

    \b
      i_stationary_scale = "w_scale"   # the design's name; groups of fields too
      rst = "~rst_n"                   # inverted
      i_ready = 1                      # the design has no such output: its level
      o_ready = "open"                 # the design cannot wait: results queue outside it
      o_valid = "delay 3"              # the design has no valid: its latency
      [design]
      clear = 0                        # a further input, tied to a level
      busy = "open"                    # a further output
      [parameters]
      WIDTH = 8                        # of the top module

    Requests and results that are streams with valid may have any latency; --latency also checks it. A unit without valid, such
    as quad_mx_pe, must have the latency of its configuration. The reset is synchronous, and drops what is in flight.

    --volume takes its vectors from the unit's tasks of bitpath self deep, in equal numbers of each class, and stalls nothing. If a
    result differs, the bench does not run, and the replay line plays that vector alone.

    --json prints the record of the run, also of one that fails.
    """
    from bitpath.rtl.units import find_unit
    from bitpath.sim.campaigns.volume_design import tasks_of
    from bitpath.sim.engine.design import read_map

    find_unit(unit)
    if volume and options["vector"]:
        raise click.UsageError("--volume and --vector go one at a time")
    if volume or options["vector"]:
        tasks_of(unit)
        if (options["seed"] or 0) < 0:
            raise ValueError(f"--seed must be 0 or more for the vectors of --volume, not {options['seed']}")
    if volume and options["simulator"] != "verilator":
        raise ValueError(f"--volume must run on verilator, not {options['simulator']}")
    settings = {name: options.pop(name) for name in SETTINGS}
    port_map = read_map(map_file)
    _check(files, unit, top or files[0].stem, map_file, port_map, settings, volume=volume, **options)


def _check(
    files: tuple[Path, ...],
    unit: str,
    top: str,
    map_file: Path | None,
    port_map: Any,
    settings: dict[str, Any],
    *,
    includes: tuple[Path, ...],
    simulator: str,
    waves: bool,
    latency: int | None,
    seed: int | None,
    tests: str | None,
    timeout: float,
    junit: Path | None,
    printer: Printer,
    cases: int | None,
    volume: int | None,
    vector: tuple[str, int, int, int] | None,
) -> None:
    import random

    from bitpath.sim.campaigns import volume_design
    from bitpath.sim.engine import check
    from bitpath.sim.engine.configure import check_filter
    from bitpath.sim.engine.design import read_design
    from bitpath.sim.engine.options import SimulationError
    from bitpath.sim.engine.runner import run

    if junit:
        junit.unlink(missing_ok=True)
    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    design = read_design(files, top, includes, port_map.parameters)
    # Before the run, during which a file may be edited.
    identity = {"unit": unit, "top": top, "files": check.digests(design), "simulator": simulator}
    config = check.configuration(unit, design, port_map, settings)
    module, env = _bench(unit, config, latency, seed, cases, vector)
    tests = None if vector else tests
    check_filter(module, config, tests, env)
    built = check.build_design(unit, config, design, port_map, simulator, waves=waves)
    printer.say(
        f"{top} as {unit} on {simulator}: "
        + (f"built in {built.seconds:.1f} s" if built.seconds else "build up to date")
    )
    folder = check.new_folder(top, simulator)
    check_command = [
        "bitpath",
        "check",
        *files,
        "--unit",
        unit,
        "--top",
        top,
        *(("--map", map_file) if map_file else ()),
    ]
    check_command += [word for each in includes for word in ("-I", each)]
    check_command += ["--latency", latency] if latency else []
    check_command += ["--config", paths.shown(folder / "config.json"), "--sim", simulator, "--seed", seed]
    lines: list[str] = []

    def replay(*further: object) -> str:
        lines.append(shlex.join(map(str, [*check_command, *further, "--waves"])))
        return lines[-1]

    def replay_test(_seed: int, test: str | None) -> str:
        if vector:
            return replay("--vector", *vector)
        return replay(*(["--cases", cases] if cases else []), *(["--filter", test] if test else []))

    message, counts = "", None
    try:
        if volume:
            played = volume_design.checked(unit, built, volume, seed, folder, replay)
            counts = played.record()
            printer.say(f"{played.vectors:,} vectors compared in {played.seconds:.1f} s")
        result = run(
            built,
            module,
            seed=seed,
            tests=tests,
            env=env,
            timeout=timeout,
            folder=folder,
            replay=replay_test,
        )
    except SimulationError as error:
        message = str(error)
        raise
    finally:
        if (folder / "run.json").exists():
            content = check.record(folder, identity, lines[-1] if lines else None, counts)
            printer.result(content)
            if junit:
                check.write_junit(junit, folder, content, message)
    skipped = f"{len(result.skipped)} skipped, " if result.skipped else ""
    printer.say(
        f"{len(result.tests)} tests passed, {skipped}{result.compared} values compared, seed {result.seed}, {result.seconds:.1f} s"
    )
    printer.say(f"wave: {paths.shown(result.wave)}" if result.wave else f"log: {paths.shown(folder / 'run.log')}")


def _bench(
    unit: str, config: Any, latency: int | None, seed: int, cases: int | None, vector: tuple[str, int, int, int] | None
) -> tuple[str, dict[str, str]]:
    """Return the bench to run, the unit's own or that of one vector, and its environment."""
    from bitpath.rtl.units import find_unit
    from bitpath.sim.campaigns.volume import BENCH
    from bitpath.sim.campaigns.volume_design import one
    from bitpath.sim.engine.runner import CASES
    from bitpath.verif.kit.pipeline import LATENCY

    env = {LATENCY: str(latency or "any")} | ({CASES: str(cases)} if cases else {})
    return (BENCH, env | one(unit, config, vector, seed)) if vector else (find_unit(unit).bench, env)
