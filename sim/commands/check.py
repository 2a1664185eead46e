"""``bitpath check``: runs a unit's bench on somebody's own design."""

import shlex
from pathlib import Path
from typing import Any

import click

from bitpath.sim.commands._click import Command, Printer, examples, output_options
from bitpath.sim.engine import paths
from bitpath.sim.engine.options import FILE, bench_options, unit_options

SETTINGS = ("rows", "cols", "lanes", "max_row_length", "preset", "stages", "config", "numerics")
"""Options of the unit's configuration."""
LETTERS = {"includes": "-I", "defines": "-D", "lists": "-f", "parameters": "-G"}
"""Options of the sources, as a replay line has them."""


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath check my_dot.v --unit quad_mx_dot",
        "bitpath check dot.sv lane.sv -I include --top dot --unit dot16 --map ports.toml --sim icarus",
        "bitpath check my_dot.v --unit quad_mx_dot --latency 3 --filter exhaustive --junit results.xml",
        "bitpath check my_dot.v --unit quad_mx_dot --cases 20000 --volume 10000000",
    ),
)
@click.argument("files", nargs=-1, type=FILE)
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
    "-D", "--define", "defines", multiple=True, metavar="NAME[=TEXT]", help="Macro of the sources; repeat it for more."
)
@click.option(
    "-f", "--file-list", "lists", multiple=True, type=FILE, help="File with names of sources and +incdir+ lines."
)
@click.option(
    "-G",
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the top module: a number, a Verilog text or a type; repeat it for more.",
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
@click.option(
    "--except",
    "exceptions",
    multiple=True,
    metavar="DIFFERENCE",
    help="Count a kind of difference apart and pass over it: zero-sign, nan-code, flushed, or an expression over got, expected "
    "and operands; repeat it for more.",
)
@click.option(
    "--mismatches",
    type=click.IntRange(0),
    help="Mismatches after which a test stops; 0 stops at none.  [default: 20]",
)
@click.option(
    "--numerics",
    type=FILE,
    help="JSON file with fields of the unit's numerics; others are those of its preset, or of the unit's default.",
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
      i_partial = "c_i[31:0]"          # some bits of a port
      i_moving_elements = "{x1, x0}"   # several ports, the highest first
      i_moving_format = {same_as = "i_stationary_format"}
      i_stationary_format = {port = "fmt_i", values = {0 = 3, 1 = 5}}
      i_moving_scale = {port = "b_scale", after = 1}  # taken a cycle later
      [design]
      clear = 0                        # a further input, tied to a level
      arst_n = "~rst"                  # or driven by an input of the unit
      en = {from = "i_valid", after = 1}  # or by that input a cycle later
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
    from bitpath.sim.engine.design import Sources, macros, read_map

    find_unit(unit)
    if volume and options["exceptions"]:
        raise click.UsageError("--volume compares without exceptions; leave out --except")
    if volume and options["vector"]:
        raise click.UsageError("--volume and --vector go one at a time")
    if volume or options["vector"]:
        tasks_of(unit)
        if (options["seed"] or 0) < 0:
            raise ValueError(f"--seed must be 0 or more for the vectors of --volume, not {options['seed']}")
    if volume and options["simulator"] != "verilator":
        raise ValueError(f"--volume must run on verilator, not {options['simulator']}")
    settings = {name: options.pop(name) for name in SETTINGS}
    given = {name: options.pop(name) for name in ("includes", "defines", "lists", "parameters")}
    sources = Sources(files, given["includes"], macros(given["defines"]))
    for each in given["lists"]:
        sources = sources.with_list(each)
    if not sources.files:
        raise click.UsageError("FILES or a file list must name the design's sources")
    pairs = [each.partition("=") for each in given["parameters"]]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise click.UsageError(f"-G must be NAME=VALUE, not {wrong[0]}")
    if junit := options["junit"]:
        junit.unlink(missing_ok=True)
    port_map = read_map(map_file, {name: value for name, _, value in pairs})
    words = [*files, *(word for name, letter in LETTERS.items() for each in given[name] for word in (letter, each))]
    _check(sources, words, unit, top or sources.files[0].stem, map_file, port_map, settings, volume=volume, **options)


def _check(
    sources: Any,
    words: list[Any],
    unit: str,
    top: str,
    map_file: Path | None,
    port_map: Any,
    settings: dict[str, Any],
    *,
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
    exceptions: tuple[str, ...],
    mismatches: int | None,
) -> None:
    import random

    from bitpath.sim.campaigns import volume_design
    from bitpath.sim.engine import check
    from bitpath.sim.engine.configure import check_filter
    from bitpath.sim.engine.design import read_design
    from bitpath.sim.engine.options import SimulationError
    from bitpath.sim.engine.runner import run

    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    design = read_design(sources, top, port_map.parameters)
    # Before the run, during which a file may be edited.
    identity = {"unit": unit, "top": top, "files": check.digests(design), "simulator": simulator}
    config = check.configuration(unit, design, port_map, settings)
    module, env = _bench(unit, config, latency, seed, cases, vector)
    tests = None if vector else tests
    check_filter(module, config, tests, env)
    check.check_exceptions(unit, config, exceptions)
    built, held = check.build_design(unit, config, design, port_map, simulator, waves=waves)
    printer.say(
        f"{top} as {unit} on {simulator}: "
        + (f"built in {built.seconds:.1f} s" if built.seconds else "build up to date")
    )
    folder = check.new_folder(top, simulator)
    env |= _variables(
        held,
        volume or vector,
        exceptions,
        mismatches,
        folder / check.OBSERVED,
        settings["numerics"] or settings["config"],
    )
    check_command = ["bitpath", "check", *words, "--unit", unit, "--top", top]
    for option, value in {"--map": map_file, "--latency": latency, "--mismatches": mismatches}.items():
        check_command += [option, value] if value is not None else []
    check_command += [word for each in exceptions for word in ("--except", each)]
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
        message = "\n".join([str(error), *check.fitting_variants(unit, config, folder)])
        raise SimulationError(message) from None
    finally:
        if (folder / "run.json").exists():
            content = check.record(folder, identity, lines[-1] if lines else None, counts)
            printer.result(content)
            if junit:
                check.write_junit(junit, folder, content, message)
    counted = [f"{count} differences passed over: {name}, " for name, count in check.excepted(result.records).items()]
    skipped = "".join([f"{len(result.skipped)} skipped, "] * bool(result.skipped) + counted)
    tests_passed, compared = f"{len(result.tests)} tests passed", f"{result.compared} values compared"
    printer.say(f"{tests_passed}, {skipped}{compared}, seed {result.seed}, {result.seconds:.1f} s")
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


def _variables(
    held: list[Any],
    played: Any,
    exceptions: tuple[str, ...],
    mismatches: int | None,
    observed: Path,
    numerics: Path | None,
) -> dict[str, str]:
    """Return the bench's environment: held operands, excepted differences, the file of observed results, and the numerics.

    Raises ValueError for a design that lacks operands where vectors are ``played``.
    """
    if held and played:
        raise ValueError("--volume plays every operand; it needs a design that has them all")
    import json

    from bitpath.verif.common.dot.cases import NUMERICS
    from bitpath.verif.kit.exceptions import EXCEPT
    from bitpath.verif.kit.pipeline import HELD
    from bitpath.verif.kit.scoreboard import MOST, OBSERVED

    found = {HELD: json.dumps(held), EXCEPT: json.dumps(exceptions)}
    found = {name: value for name, value in found.items() if value != "[]"}
    found |= {} if numerics is None else {NUMERICS: str(numerics)}
    return found | ({} if mismatches is None else {MOST: str(mismatches)}) | {OBSERVED: str(observed)}
