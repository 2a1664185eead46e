"""``bitpath numerics``: prints the machines' numerics with sources."""

from collections.abc import Sequence

import click

from bitpath.golden.scalar.checked import suggestion
from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine.options import MACHINES


@click.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath numerics",
        "bitpath numerics trainium3",
        "bitpath numerics aie_ml_v2 align_rounding",
        "bitpath numerics --json",
    ),
)
@click.argument("machine", required=False, type=Choice(MACHINES))
@click.argument("field", required=False)
@output_options
def command(machine: str | None, field: str | None, printer: Printer) -> None:
    """Print the numerics of a machine, or of all machines, with the source of each rule.

    Prints tables of the presets and of the choices that are fixed, and the documents that their sources name. FIELD is a
    field of the presets, or a text in fixed choices: only their rows are printed.
    """
    from bitpath.sim.flows.texts import TEXTS
    from bitpath.sim.study.numerics_table import documents, numerics_rows

    named = MACHINES if machine is None else (machine,)
    tables = [(name, *numerics_rows(rows)) for name in named for rows in TEXTS[name].numerics]
    if field is not None:
        fields = {row[1] for _, headings, rows in tables for row in rows if headings[1] == "field"}
        tables = [(name, headings, _matching(field, headings, rows)) for name, headings, rows in tables]
        if not any(rows for _, _, rows in tables):
            close = suggestion(field, fields)
            raise click.UsageError(
                f"FIELD must be a field or a text in a choice of {' or '.join(named)}, not {field!r}{close}"
            )
    for _, headings, rows in tables:
        if rows:
            printer.table(headings, rows)
    printer.table(("document", "title"), documents(row[-1] for _, _, rows in tables for row in rows))
    printer.result(
        [{"machine": name, **dict(zip(headings, row, strict=True))} for name, headings, rows in tables for row in rows]
    )


def _matching(field: str, headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the rows of a field of presets, or those of choices whose statement contains the text, in any case."""
    if headings[1] == "field":
        return [row for row in rows if row[1] == field]
    return [row for row in rows if field.lower() in row[0].lower()]
