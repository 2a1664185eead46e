"""Tables of the silicon ledger: declared rows, with what golden gave in the recorded run."""

from bitpath.sim.study.ledger.row import Row
from bitpath.sim.study.ledger.run import address, rows
from parts.records import markdown, record, source


def ledger(letter: str) -> str:
    """Return the rows of one vendor, by the first letter of their ids."""
    golden = {row[0]: row[1] for row in record("ledger")["tables"]["rows"]["rows"]}
    cells = [
        [
            f"**{row.id}**",
            row.chip,
            f"{escaped(row.statement)} ({', '.join(map(link, row.sources))}; {row.standing}, {row.evidence})",
            escaped(golden[row.id]),
            verdicts(row),
            escaped(row.why),
        ]
        for row in rows().values()
        if row.id.startswith(letter)
    ]
    return markdown(["row", "chip", "statement", "golden gives", "verdict", "why"], cells)


def predictions() -> str:
    """Return what golden predicts for open questions."""
    found = record("ledger")["tables"]["predictions"]
    cells = [[row[0], *map(escaped, row[1:])] for row in found["rows"]]
    return f"{markdown(found['columns'], cells)}\n\n{source('ledger')}"


def verdicts(row: Row) -> str:
    """Return the acknowledged verdicts with the numerics under which they hold."""
    return "; ".join(f"{verdict.value} under `{name}`" for name, verdict in row.acknowledged.items())


def link(name: str) -> str:
    """Return a source as a link, named by its thread, its file or its host."""
    text = name.partition("://")[2].partition("/")[0] or name.partition("@")[0]
    return f"[{text}]({address(name)})"


def escaped(text: str) -> str:
    """Return text without Markdown's signs."""
    return text.replace("*", r"\*").replace("|", r"\|").replace("_", r"\_").replace("<", "&lt;")
