"""``bitpath ledger``: computes public statements about real machines anew and compares them with golden."""

import click

from bitpath.sim.commands._click import Command, Printer, examples, output_options


@click.command(cls=Command, epilog=examples("bitpath ledger", "bitpath ledger T2 A14", "bitpath ledger A21 --json"))
@click.argument("row", nargs=-1)
@output_options
def command(row: tuple[str, ...], printer: Printer) -> None:
    """Compare golden with public statements about the real machines.

    Each row of the ledger is a public measurement or a vendor's statement. Golden computes it anew, and the verdict says
    reproduced, refuted, undecided or not expressible. A row shows its sources, and for an open question the experiments
    that would decide it with golden's predictions. BITPATH_KAT_DIR names the folder of published answers; rows that
    need it say so without it. Writes build/reports/ledger.json; a verdict that is not the acknowledged one ends with 1.
    """
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.errors import FAILED
    from bitpath.sim.engine.results import merge
    from bitpath.sim.flows import outcome
    from bitpath.sim.flows.builds import counted
    from bitpath.sim.study.ledger.row import Evidence
    from bitpath.sim.study.ledger.run import changes, chosen, computed, show_row, show_table, summary

    wanted = chosen(row)
    console = outcome.console(quiet=printer.silent)
    records = list(counted(console, "rows", computed(wanted, Evidence.here()), len(wanted)))
    merge(records, paths.reports() / "ledger.json", key="id")
    if row:
        for each in records:
            show_row(console, each)
    else:
        show_table(console, records)
    printer.say(summary(records))
    printer.result(records)
    failures = changes(records)
    for sentence in failures:
        printer.fail(sentence)
    if failures:
        raise SystemExit(FAILED)
