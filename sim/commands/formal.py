"""``bitpath formal``: proves properties and detects their sabotages; ``--list`` prints the table of docs/properties.md."""

import time
from typing import Any

import click

from bitpath.sim.commands._click import Command, cluster_options, examples


@click.command(cls=Command, epilog=examples("bitpath formal --list", "bitpath formal common.align --seconds 60"))
@click.argument("units", metavar="[UNIT]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Print the properties as Markdown, prove nothing.")
@click.option(
    "--seconds", type=click.FloatRange(1), default=600, show_default=True, help="Limit of a proof, and of a refutation."
)
@cluster_options
def command(units: tuple[str, ...], listed: bool, seconds: float, cluster: Any) -> None:
    """Prove properties of the RTL and refute them for sabotaged designs.

    Takes the properties of each UNIT, of all by default. A unit is a file of rtl/ such as common.align, or align. Updates the units' records in build/reports/formal.json. Every answer is
    kept at once: a run after an interruption resumes. Fails unless all is proved and every sabotage caught.
    """
    from bitpath.sim.campaigns.formal import failed_record, listing, prove, result_line, select
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.errors import SimulationError
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
