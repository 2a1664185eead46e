"""``bitpath coverage``: coverage that the benches reach in their units."""

import sys
import time
from functools import partial
from typing import Any

import click

from bitpath.sim.commands._click import Command, cluster_options, examples


@click.command(cls=Command, epilog=examples("bitpath coverage dot16 --missing", "bitpath coverage psum --update"))
@click.argument("units", metavar="[UNIT]...", nargs=-1)
@click.option(
    "--update", is_flag=True, help="Write the bins hit to the units' lists; later runs of the benches must hit them."
)
@click.option("--missing", is_flag=True, help="Print every line and signal bit that is neither reached nor waived.")
@cluster_options
def command(units: tuple[str, ...], update: bool, missing: bool, cluster: Any) -> None:
    """Measure the bins, lines and signal bits that the benches reach.

    Runs the bench of each UNIT, or of all, on a build with coverage. Updates the units' records in build/reports/coverage.json, and draws all; fails when a unit is below its goal or lost a bin.
    Results are kept: an interrupted run resumes.
    """
    from bitpath.rtl.units import UNITS, find_unit
    from bitpath.sim.campaigns import coverage
    from bitpath.sim.campaigns.coverage import list_key, load_all, measure
    from bitpath.sim.engine import bins, paths
    from bitpath.sim.engine.cluster import Piece, finished
    from bitpath.sim.engine.errors import SimulationError
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
