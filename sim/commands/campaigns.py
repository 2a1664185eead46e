"""``bitpath self agree, coverage, deep, formal, mutate`` and ``test-sim``: the campaigns that check bitpath itself."""

import json
import sys
import time
from dataclasses import asdict
from functools import partial
from typing import Any

import click
from rich.table import Table

from bitpath.sim.commands._click import Command, Printer, cluster_options, examples, output_options
from bitpath.sim.engine import paths, results
from bitpath.sim.engine.options import SIMULATORS, SimulationError, bench_options, unit_options

REPORT = "agreement"
AGREES, FAILED = "agrees", "failed"


@click.command(
    cls=Command, epilog=examples("bitpath self agree dot16 psum --steps 50", "bitpath self agree --no-netlist --seed 7")
)
@click.argument("units", nargs=-1)
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    help="Steps of each test of a bench; more if an output stream has no transfer in them.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the benches.")
@click.option("--no-netlist", is_flag=True, help="Skip the netlist of gates, which needs Yosys.")
@cluster_options
def agree_command(units: tuple[str, ...], steps: int, seed: int, no_netlist: bool, cluster: Any) -> None:
    """Give four engines the same stimulus and compare their bits.

    The engines are Amaranth's simulator, Icarus, Verilator and the netlist of gates; the stimulus is that of the bench of each
    of UNITS, by default of all but those that are too large for a netlist. Prints a table, updates the units' records in
    build/reports/agreement.json, and fails when a bit differs. Each unit that agreed is kept at once: a repeated call with the same
    sources, tools, steps and seed does not simulate it again.
    """
    from bitpath.rtl.common.config import digest
    from bitpath.rtl.units import UNITS, find_unit
    from bitpath.sim.campaigns.agreement import COMPARED_UNITS, ENGINES, NETLIST, agreements
    from bitpath.sim.engine.results import began_since, merge
    from bitpath.sim.engine.tools import require_extra
    from bitpath.sim.flows.builds import counted
    from bitpath.sim.flows.outcome import console as make_console

    chosen = list(dict.fromkeys(find_unit(name).name for name in units or COMPARED_UNITS))
    for name in chosen:
        if reason := UNITS[name].uncompared:
            raise click.UsageError(f"{name} is not compared: {reason}")
    engines = tuple(engine for engine in ENGINES if engine != NETLIST or not no_netlist)
    if not no_netlist:
        # Check for Yosys before hours of other work.
        require_extra("synth")
    console = make_console()
    began, since = time.time(), results.newest_source()
    records: list[dict[str, Any]] = []
    failures: list[str] = []
    found = agreements(chosen, engines=engines, steps=steps, seed=seed, cluster=cluster)
    for unit, agreed in counted(console, "units", found, len(chosen)):
        record: dict[str, Any] = {"unit": unit, "digest": digest(unit, UNITS[unit].agreed_config), "began": began}
        if isinstance(agreed, SimulationError):
            failures.append(str(agreed))
            failure = failures[-1].splitlines()[0]
            record |= {"status": FAILED, "error": failure}
            console.print(failure, style="bold red", markup=False)
        else:
            record |= {"status": AGREES, **asdict(agreed)}
            console.print(f"{unit}: {agreed.values:,} values in {agreed.steps:,} steps agree")
        records.append(record)
        # Keep complete results when a later unit fails.
        merge([record], paths.reports() / f"{REPORT}.json", "unit", began_since(since))
    table = Table("unit", "engines", "steps", "values each", "seed", title="Agreement of engines")
    for record in records:
        if record["status"] == AGREES:
            counts = (f"{record['steps']:,}", f"{record['values']:,}")
            table.add_row(record["unit"], ", ".join(record["engines"]), *counts, str(record["seed"]))
        else:
            table.add_row(record["unit"], f"[bold red]{FAILED}[/]")
    console.print(table)
    for failure in failures:
        click.echo(f"bitpath: {failure}", err=True)
    sys.exit(bool(failures))


@click.command(
    cls=Command, epilog=examples("bitpath self coverage dot16 --missing", "bitpath self coverage psum --update")
)
@click.argument("units", metavar="[UNIT]...", nargs=-1)
@click.option(
    "--update", is_flag=True, help="Write the bins hit to the units' lists; later runs of the benches must hit them."
)
@click.option("--missing", is_flag=True, help="Print every line and signal bit that is neither reached nor waived.")
@cluster_options
def coverage_command(units: tuple[str, ...], update: bool, missing: bool, cluster: Any) -> None:
    """Measure the bins, lines and signal bits that the benches reach.

    Runs the bench of each UNIT, or of all, on a build with coverage. Updates the units' records in build/reports/coverage.json, and draws all; fails when a unit is below its goal or lost a bin.
    Results are kept: an interrupted run resumes.
    """
    from bitpath.rtl.units import UNITS, find_unit
    from bitpath.sim.campaigns import coverage
    from bitpath.sim.campaigns.coverage import list_key, load_all, measure
    from bitpath.sim.engine import bins, paths
    from bitpath.sim.engine.cluster import Piece, finished
    from bitpath.sim.engine.options import SimulationError
    from bitpath.sim.engine.results import merge
    from bitpath.sim.engine.tools import require_extra, require_simulator
    from bitpath.sim.flows import outcome
    from bitpath.sim.flows.builds import counted

    for unit in units:
        find_unit(unit)
    for extra in ("synth", "plot"):
        require_extra(extra)
    require_simulator("verilator")
    waivers, console, began = load_all(), outcome.console(), time.time()
    file = paths.reports() / coverage.REPORT
    found: dict[str, dict[str, Any]] = {}
    failed: list[str] = []
    pieces = [
        Piece(unit, unit, measure, (unit, UNITS[unit].covered, waivers)) for unit in dict.fromkeys(units or UNITS)
    ]
    for each in counted(console, "units", finished(pieces, cluster), len(pieces)):
        unit = each.piece.key
        try:
            measured = each.result()
        except (SimulationError, ValueError, OSError) as error:
            # Measure the remaining units: the run may have taken hours so far.
            failed.append(str(error) if unit in str(error) else f"{unit}: {error}")
            records = merge([], file, "unit", partial(_is_of_another, unit))
            continue
        found[unit] = measured.record | {"began": began}
        records = merge([found[unit]], file, "unit", coverage.is_whole)
        failed += coverage.failures(measured.record)
        gone = bins.missing(unit, measured.bins)
        said: list[str] = []
        if not update:
            failed += [f"{unit}: a bin of the unit's list is not hit: {name}" for name in gone]
            if new := bins.unlisted(unit, measured.bins):
                said.append(f"bins hit that its list does not hold: {len(new)}; UPDATE=1 writes them")
        elif measured.record["functional_percent"] < coverage.ALL:
            failed.append(f"{unit}: its list is not written while there are bins that are not hit")
        else:
            bins.save(unit, *list_key(unit, UNITS[unit].covered), measured.bins)
            said += [f"leaves the list: {name}" for name in gone]
        if missing:
            said += [*measured.bins.missing, *measured.uncovered]
        for line in said:
            console.print(f"{unit}: {line}", markup=False, highlight=False)
    if found:
        coverage.show(console, list(found.values()))
        coverage.draw(sorted(records, key=lambda record: record["unit"]), paths.reports() / coverage.PICTURE)
        console.print(f"records: {paths.shown(file)}; picture: {coverage.PICTURE} beside them")
    for line in failed:
        console.print(line, markup=False, highlight=False)
    sys.exit(bool(failed))


def _is_of_another(unit: str, record: dict[str, Any]) -> bool:
    from bitpath.sim.campaigns.coverage import is_whole

    return record["unit"] != unit and is_whole(record)


VECTORS = 100_000_000
QUICK_VECTORS = 1_000_000


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath self deep --list",
        "bitpath self deep volume --quick",
        "bitpath self deep volume-dot16 --replay 0 3 17",
    ),
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--quick", is_flag=True, help=f"{QUICK_VECTORS:,} random vectors a machine, and one block of every sweep."
)
@click.option("--vectors", type=click.IntRange(1), help=f"Random vectors of each machine.  [default: {VECTORS:,}]")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random vectors.")
@click.option(
    "--replay",
    type=click.IntRange(0),
    nargs=3,
    metavar="BLOCK BATCH VECTOR",
    help="Run only one vector of one task in a bench, with waves.",
)
@click.option(
    "--sim", "simulator", type=SIMULATORS, default="verilator", show_default=True, help="Simulator, with --replay."
)
@click.option("--list", "listed", is_flag=True, help="List the tasks and exit.")
@cluster_options
def deep_command(
    names: tuple[str, ...],
    quick: bool,
    vectors: int | None,
    seed: int,
    replay: tuple[int, int, int] | None,
    simulator: str,
    listed: bool,
    cluster: Any,
) -> None:
    """Compare units with golden on 10^8 random vectors and on whole ranges.

    C++ plays the vectors on the units' Verilog. NAME is a task, or a prefix of task names: volume, sweep; all tasks by default. Complete blocks are kept, and an interrupted run
    resumes. Updates the tasks' records in build/reports/deep.json; with fewer vectors than the default, in
    build/reports/deep_quick.json.
    """
    from bitpath.sim.campaigns.volume import chosen, run_task, show, show_mismatches, show_tasks
    from bitpath.sim.engine import paths, results
    from bitpath.sim.engine.options import SimulationError
    from bitpath.sim.engine.results import began_since, merge
    from bitpath.sim.flows.builds import counted_progress
    from bitpath.sim.flows.outcome import console as make_console

    if quick and vectors is not None:
        raise click.UsageError("--quick and --vectors go one at a time")
    tasks, console = chosen(names), make_console()
    if listed:
        show_tasks(console, tasks)
        return
    if replay is not None:
        _replay(tasks, seed, replay, simulator)
        return
    count = QUICK_VECTORS if quick else vectors or VECTORS
    # Quick results are no figures and must not replace them.
    file = paths.reports() / ("deep_quick.json" if count < VECTORS else "deep.json")
    records, began, since = [], time.time(), results.newest_source()
    for task in tasks:
        with counted_progress(console, task.name) as progress:
            most = 1 if quick and task.blocks else None
            found = run_task(task, vectors=count, seed=seed, blocks=most, cluster=cluster, progress=progress)
        records.append(found | {"began": began})
        # Keep complete results when a later one fails.
        merge(records[-1:], file, keep=began_since(since))
    show(console, records)
    show_mismatches(console, records)
    console.print(f"records: {paths.shown(file)}")
    if wrong := [record["name"] for record in records if record["mismatches"]]:
        raise SimulationError(f"{', '.join(wrong)}: unit and golden differ")
    if few := [record["name"] for record in records if record["vectors"] < record["asked"]]:
        raise SimulationError(f"{', '.join(few)}: fewer vectors were compared than requested")


def _replay(tasks: list[Any], seed: int, place: tuple[int, int, int], simulator: str) -> None:
    from bitpath.sim.campaigns.volume import replay
    from bitpath.sim.engine import paths
    from bitpath.verif.kit.volume import VolumeTask

    if len(tasks) != 1 or not isinstance(tasks[0], VolumeTask):
        raise click.UsageError("--replay goes with one task that has a unit")
    result = replay(tasks[0], seed, *place, simulator)
    click.echo(f"equal to golden, {result.compared} value compared")
    click.echo(f"wave: {paths.shown(result.wave)}" if result.wave else f"log: {paths.shown(result.folder / 'run.log')}")


@click.command(
    cls=Command, epilog=examples("bitpath self formal --list", "bitpath self formal common.align --seconds 60")
)
@click.argument("units", metavar="[UNIT]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Print the properties as Markdown, prove nothing.")
@click.option(
    "--seconds", type=click.FloatRange(1), default=600, show_default=True, help="Limit of a proof, and of a refutation."
)
@cluster_options
def formal_command(units: tuple[str, ...], listed: bool, seconds: float, cluster: Any) -> None:
    """Prove properties of the RTL and refute them for sabotaged designs.

    Takes the properties of each UNIT, of all by default. A unit is a file of rtl/ such as common.align, or align. Updates the units' records in build/reports/formal.json. Every answer is
    kept at once: a run after an interruption resumes. Fails unless all is proved and every sabotage caught.
    """
    from bitpath.sim.campaigns.formal import failed_record, listing, prove, result_line, select
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.options import SimulationError
    from bitpath.sim.engine.results import merge
    from bitpath.sim.engine.tools import require_extra
    from bitpath.sim.flows import outcome
    from bitpath.sim.flows.builds import counted_progress
    from bitpath.verif.properties import PROPERTIES

    chosen = select(list(PROPERTIES.values()), units)
    if listed:
        click.echo(listing(chosen))
        return
    require_extra("formal")
    report, began = paths.reports() / "formal.json", time.time()
    others = PROPERTIES.keys() - {each.name for each in chosen}
    # Drop old records of the properties to prove, and of properties that no longer exist.
    merge([], report, "property", lambda record: record["property"] in others)
    with counted_progress(outcome.console(), "proving") as progress:
        proofs, failures = prove(chosen, seconds, cluster, progress)
    whole = {proof.of.name for proof in proofs}
    failed = [failed_record(each) for each in chosen if each.name not in whole]
    merge([each | {"began": began} for each in (*(proof.record() for proof in proofs), *failed)], report, "property")
    for proof in proofs:
        click.echo(result_line(proof))
    proved = sum(proof.found["status"] == "proved" for proof in proofs)
    caught = sum(proof.caught for proof in proofs)
    spent = sum(proof.found["seconds"] + proof.sabotaged["seconds"] for proof in proofs)
    click.echo(
        f"{proved} of {len(proofs)} properties proved, {caught} of {len(proofs)} sabotages caught; {spent:.0f} s of solving"
    )
    if failures:
        raise SimulationError(f"{len(failures)} answers failed:\n" + "\n".join(failures))
    if not all(proof.good for proof in proofs):
        raise click.ClickException("not everything is proved, or not every sabotage is caught")


@click.command(
    cls=Command,
    epilog=examples("bitpath self mutate rtl/common/arithmetic/normalize", "bitpath self mutate dot16 --count 20"),
)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every datapath file of the RTL, golden, and what compares and reports results.",
)
@click.option("--golden", is_flag=True, help="Every file of golden, compiled loops too.")
@click.option("--again", is_flag=True, help="Retry mutants that timed out in an earlier run.")
@click.option("--count", type=click.IntRange(min=1), help="Mutants a component; 200, of golden 10, when not given.")
@click.option("--seed", type=int, default=20261122, show_default=True, help="Seed of the selection and of the bench.")
@cluster_options
def mutate_command(
    targets: tuple[str, ...],
    everything: bool,
    golden: bool,
    again: bool,
    count: int | None,
    seed: int,
    cluster: Any,
) -> None:
    """Insert small faults, which the tests of the mutated file must detect.

    Inserts single-bit faults into each TARGET, a component such as Round, or the components of an RTL file such as
    rtl/common/arithmetic/normalize or of a unit, one at a time, and runs a unit's bench on each; for a golden TARGET, or one that
    compares results, such as sim/flows/outcome, inserts faults into single lines and runs its tests. A faulty compiled loop is
    compiled anew, with bounds checks. Strings, annotations, decorators and error texts get no faults.

    Prints how many mutants died, were proved equivalent and survived, and writes build/reports/mutation.json. Known verdicts are
    kept. Fails when fewer than 95 % of the nonequivalent mutants of a component die, or a mutant of any file survives without a
    reason. A row of fewer mutants than without --count is printed, but not written to mutation.json.
    """
    from bitpath.sim.campaigns.mutation.sweep import Rows, chosen, sweep
    from bitpath.sim.campaigns.mutation.verdicts import complaints, show_mutation
    from bitpath.sim.engine import tools
    from bitpath.sim.engine.options import SimulationError
    from bitpath.sim.flows import outcome

    found: list[dict[str, Any]] = []
    failures: list[str] = []
    console = outcome.console()
    tasks = chosen(targets, everything=everything, golden=golden, again=again)
    if any(task.is_rtl for task in tasks):
        tools.require_extra("formal")
        tools.require_simulator("verilator")
    usual = {task.target: task.count for task in tasks}
    rows = Rows(target for target, most in usual.items() if count is None or count >= most)
    try:
        for record in sweep(tasks, count, seed, console, failures, cluster):
            found.append(record)
            if record["mutants"] >= min(usual[record["target"]], record["possible"]):
                rows.add(record)
    finally:
        if found:
            show_mutation(console, found)
    if wrong := failures + complaints(found):
        raise SimulationError("\n".join(wrong))


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath self test-sim dot16",
        "bitpath self test-sim quad_mx_pe --sim icarus --seed 7 --waves",
        "bitpath self test-sim psum --cols 8 --json",
    ),
)
@click.argument("unit")
@bench_options
@click.option("--bench", metavar="MODULE", help="Another bench of the unit, as a failed run names it.")
@unit_options
@output_options
def test_sim_command(
    unit: str,
    simulator: str,
    seed: int | None,
    bench: str | None,
    tests: str | None,
    waves: bool,
    timeout: float,
    printer: Printer,
    **settings: Any,
) -> None:
    """Run the bench of a unit in a simulator.

    The bench of UNIT compares its outputs with golden. --json prints the record of the run, also of one that
    fails, with its folder and its wave.
    """
    from bitpath.rtl.units import find_unit
    from bitpath.sim.engine.configure import check_filter, chosen
    from bitpath.sim.engine.runner import WAVE, build, new_folder, run

    config, module = chosen(unit, **settings), bench or find_unit(unit).bench
    check_filter(module, config, tests, {"BITPATH_UNIT": unit})
    built = build(unit, config, simulator, waves=waves)
    printer.say(
        f"{built.top} on {simulator}: built in {built.seconds:.1f} s"
        if built.seconds
        else f"{built.top}: build up to date"
    )
    folder = new_folder(built)
    try:
        result = run(built, module, seed=seed, tests=tests, timeout=timeout, folder=folder)
    finally:
        if (folder / "run.json").exists():
            record, wave = json.loads((folder / "run.json").read_text()), folder / WAVE
            printer.result(record | {"folder": str(folder), "wave": str(wave) if wave.exists() else None})
    skipped = f"{len(result.skipped)} skipped, " if result.skipped else ""
    printer.say(
        f"{len(result.tests)} tests passed, {skipped}{result.compared} values compared, seed {result.seed}, {result.seconds:.1f} s"
    )
    printer.say(f"wave: {paths.shown(result.wave)}" if result.wave else f"log: {paths.shown(folder / 'run.log')}")
