"""``bitpath check``: runs a unit's bench on somebody's own design."""

import shlex
from pathlib import Path
from typing import Any

import click

from bitpath.sim.commands._click import Command, Printer, examples, output_options
from bitpath.sim.engine import paths
from bitpath.sim.engine.unit_options import FILE, bench_options, unit_options


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath check my_dot.v --unit quad_mx_dot",
        "bitpath check dot.sv lane.sv -I include --top dot --unit dot16 --map ports.toml --sim icarus",
        "bitpath check my_dot.v --unit quad_mx_dot --latency 3 --filter exhaustive --junit results.xml",
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
@bench_options
@click.option("--junit", type=FILE, help="Write the tests' results as JUnit XML.")
@unit_options
@output_options
def command(files: tuple[Path, ...], unit: str, top: str | None, map_file: Path | None, **options: Any) -> None:
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

    --json prints the record of the run, also of one that fails.
    """
    from bitpath.rtl.units import find_unit
    from bitpath.sim.engine.check.port_map import read_map

    names = ("simulator", "waves", "latency", "seed", "tests", "timeout", "includes", "junit", "printer")
    run_options = {name: options.pop(name) for name in names}
    find_unit(unit)
    _check(files, unit, top or files[0].stem, map_file, read_map(map_file), options, **run_options)


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
) -> None:
    from bitpath.rtl.units import find_unit
    from bitpath.sim.engine.bench_tests import check_filter
    from bitpath.sim.engine.check import bench, records
    from bitpath.sim.engine.check.design import read_design
    from bitpath.sim.engine.errors import SimulationError
    from bitpath.sim.engine.runner import run
    from bitpath.verif.kit.pipeline import LATENCY

    if junit:
        junit.unlink(missing_ok=True)
    design = read_design(files, top, includes, port_map.parameters)
    # Before the run, during which a file may be edited.
    identity = {"unit": unit, "top": top, "files": bench.digests(design), "simulator": simulator}
    config = bench.configuration(unit, design, port_map, settings)
    module, env = find_unit(unit).bench, {LATENCY: str(latency or "any")}
    check_filter(module, config, tests, env)
    built = bench.build_design(unit, config, design, port_map, simulator, waves=waves)
    printer.say(
        f"{top} as {unit} on {simulator}: "
        + (f"built in {built.seconds:.1f} s" if built.seconds else "build up to date")
    )
    folder = bench.new_folder(top, simulator)
    lines: list[str] = []

    def replay(seed: int, test: str | None) -> str:
        words = ["bitpath", "check", *files, "--unit", unit, "--top", top, *(("--map", map_file) if map_file else ())]
        words += [word for each in includes for word in ("-I", each)]
        words += ["--latency", latency] if latency else []
        words += ["--config", paths.shown(folder / "config.json"), "--sim", simulator, "--seed", seed]
        words += [*(["--filter", test] if test else []), "--waves"]
        lines.append(shlex.join(map(str, words)))
        return lines[-1]

    message = ""
    try:
        result = run(
            built,
            module,
            seed=seed,
            tests=tests,
            env=env,
            timeout=timeout,
            folder=folder,
            replay=replay,
        )
    except SimulationError as error:
        message = str(error)
        raise
    finally:
        if (folder / "run.json").exists():
            content = records.record(folder, identity, lines[-1] if lines else None)
            printer.result(content)
            if junit:
                records.write_junit(junit, folder, content, message)
    skipped = f"{len(result.skipped)} skipped, " if result.skipped else ""
    printer.say(
        f"{len(result.tests)} tests passed, {skipped}{result.compared} values compared, seed {result.seed}, {result.seconds:.1f} s"
    )
    printer.say(f"wave: {paths.shown(result.wave)}" if result.wave else f"log: {paths.shown(folder / 'run.log')}")
