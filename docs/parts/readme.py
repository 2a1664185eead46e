"""The README's figures, one line each with its date, from the records."""

import re
from pathlib import Path

from parts.records import figures

README = Path(__file__).resolve().parents[2] / "README.md"
PART = re.compile(r"(?<=<!-- figures -->\n).*?(?=\n<!-- /figures -->)", re.DOTALL)

VERDICTS = ("reproduced", "refuted", "undecided", "not expressible")


def lines() -> str:
    """Return one line for each command, from the records of its last whole run."""
    names = ("tests", "ledger", "mutation", "formal", "volume", "coverage", "agreement")
    tests, ledger, mutation, formal, volume, coverage, agreement = map(figures, names)
    verdicts = [f"{ledger[each.replace(' ', '_')]} {each}" for each in VERDICTS]
    rows = (
        (tests, f"{tests['passed']} tests pass in {tests['minutes']} min on two cores"),
        (
            ledger,
            f"{ledger['rows']} public statements about the chips: {', '.join(verdicts)}",
        ),
        (
            mutation,
            f"{mutation['mutants']} faults in {mutation['rtl_files']} RTL files: {mutation['killed_percent']} % detected",
        ),
        (formal, f"{formal['proved']} properties proved, each with a refuted sabotage"),
        (volume, f"10^8 dot products a machine in RTL and golden: {volume['mismatches']} mismatches"),
        (
            coverage,
            f"all bins, at least {coverage['least_line_percent']} % of lines, {coverage['least_bit_percent']} % of bits",
        ),
        (agreement, f"{agreement['units']} units: three simulators and the gate netlist give the same bits"),
    )
    return "\n".join(f"- `{record['command']}`: {text} ({record['date']})." for record, text in rows)


def write_figures() -> None:
    """Write the README's figures anew."""
    README.write_text(PART.sub(lambda _: lines(), README.read_text()))
