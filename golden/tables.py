"""Tables of results, as text for terminals and as HTML for notebooks."""

import html
from collections.abc import Sequence


def as_text(rows: Sequence[Sequence[str]], left: int) -> str:
    """Return rows, the head first, in aligned columns: the first `left` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def as_html(rows: Sequence[Sequence[str]]) -> str:
    """Return rows, the head first, as an HTML table."""
    head, *body = rows
    titles = "".join(f"<th>{html.escape(each)}</th>" for each in head)
    lines = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in body)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"
