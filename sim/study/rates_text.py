"""Markdown table of a machine's rates."""

from collections.abc import Iterable

from bitpath.golden.formats.rates import Rate


def rates_text(rates: Iterable[Rate]) -> str:
    """Return rates as a Markdown table."""
    lines = [
        "| quantity | value | unit | computed from | published | standing | source |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in rates:
        origin = (each.source.kind, each.source.where) if each.source else ("", "")
        cells = (each.quantity, f"{each.value:.8g}", each.unit, each.formula or "declared", each.published, *origin)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
