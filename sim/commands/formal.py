"""``bitpath formal``: properties proved, and their sabotages caught; README's table is what ``--list`` prints."""

import click


@click.command()
@click.argument("units", metavar="[UNIT]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Print the properties as Markdown, prove nothing.")
@click.option(
    "--seconds", type=click.FloatRange(1), default=600, show_default=True, help="Limit of a proof, and of a refutation."
)
def command(units: tuple[str, ...], listed: bool, seconds: float) -> None:
    """Prove the properties of each UNIT, of all when none is named, and refute them for the sabotaged designs.

    A unit is a file of rtl/ such as common.align, or align. Writes build/reports/formal.json. Every answer is kept at once:
    called again after an interruption it goes on where it was; the report keeps what it has of other units. Status 1 unless all is proved and every sabotage caught.
    """
    from bitpath.sim import paths
    from bitpath.sim.errors import SimulationError
    from bitpath.sim.flows import results
    from bitpath.sim.flows.progress import counted_progress
    from bitpath.sim.formal.run import failed_record, others, prove, select
    from bitpath.sim.formal.table import listing, result_line
    from bitpath.verif.formal.table import PROPERTIES
    from bitpath.verif.kit.report import write_records

    chosen = select(list(PROPERTIES.values()), units)
    if listed:
        click.echo(listing(chosen))
        return
    report = paths.reports() / "formal.json"
    kept = others(report, chosen)
    # What is to be proved is not in the report until it is.
    write_records(report, kept)
    with counted_progress(results.console(), "proving") as progress:
        proofs, failures = prove(chosen, seconds, progress)
    whole = {proof.of.name for proof in proofs}
    failed = [failed_record(each) for each in chosen if each.name not in whole]
    write_records(report, [*kept, *(proof.record() for proof in proofs), *failed])
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
