"""Prints tables of properties and proofs."""

from collections.abc import Sequence
from itertools import groupby

from bitpath.sim.campaigns.formal.run import Proof
from bitpath.verif.formal.property import Engine, Property


def listing(properties: Sequence[Property]) -> str:
    """Return the table of properties as Markdown."""
    lines = ["| unit | property | says | engine |", "|---|---|---|---|"]
    for unit, group in groupby(sorted(properties, key=lambda each: each.unit), key=lambda each: each.unit):
        for index, each in enumerate(group):
            lines.append(f"| {'' if index else f'`{unit}`'} | {each.name} | {each.says} | {_engine(each)} |")
    return "\n".join(lines)


def _engine(each: Property) -> str:
    if each.engine is Engine.INDUCTION:
        return f"z3, {each.depth}-induction"
    return "bitwuzla" + (f", {each.depth} cycle{'s' * (each.depth > 1)}" if each.depth else "")


def result_line(proof: Proof) -> str:
    """A proof's outcome in one line, and the counterexample below it where it was refuted."""
    caught = "caught" if proof.caught else f"NOT caught ({proof.sabotaged['status']})"
    line = (
        f"{proof.of.name}: {proof.found['status']} in {proof.found['seconds']} s; "
        f"sabotage {caught} in {proof.sabotaged['seconds']} s"
    )
    if proof.found["status"] == "refuted":
        for cycle, values in enumerate(proof.found["counterexample"]):
            line += f"\n  cycle {cycle}: " + ", ".join(f"{name} = {value:#x}" for name, value in values.items())
    return line
