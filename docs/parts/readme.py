"""The README's figures, one line each with its date, and its table of a language model, from the records."""

import re
from pathlib import Path

from parts.records import figures, markdown, record

README = Path(__file__).resolve().parents[2] / "README.md"
PARTS = {
    name: re.compile(rf"(?<=<!-- {name} -->\n).*?(?=\n<!-- /{name} -->)", re.DOTALL) for name in ("model", "figures")
}
SHOWN = ("mxfp8_e4m3", "mxfp4", "w8a8", "bf16_hifi4", "bf16_lofi", "bfp8_hifi2", "mx9", "mx6", "mx4")
"""Formats of the model's table."""
ANSWERS = ("mx9", "mxfp8_e4m3", "mxfp4")
"""Formats whose answers are shown."""

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


def model() -> str:
    """Return the table of what a language model loses, and some answers."""
    table = record("lm")["tables"]["losses"]
    rows = {row[0]: row for row in table["rows"]}
    columns = [table["columns"].index(each) for each in ("format", "machine", "perplexity", "KL", "top-1", "standing")]
    answers = "; ".join(f'`{name}` "{rows[name][-1]}"' for name in ANSWERS)
    shown = markdown(
        [table["columns"][each] for each in columns], [[rows[name][each] for each in columns] for name in SHOWN]
    )
    found = figures("lm")
    return (
        f"{shown}\n\n`bitpath lm`, {found['date']}; float32 has perplexity {found['perplexity']}. "
        f'"What is the capital of France?": {answers}.'
    )


def write_figures() -> None:
    """Write the README's figures anew."""
    text = README.read_text()
    for name, part in PARTS.items():
        text = part.sub(lambda _, of=TEXTS[name]: of(), text)
    README.write_text(text)


TEXTS = {"model": model, "figures": lines}
