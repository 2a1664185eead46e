"""Records of the mutants' verdicts, their table, and the list of survivors."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from bitpath.sim.campaigns.mutation.reasons import read_reasons
from bitpath.sim.campaigns.mutation.verdicts import BROKEN, EQUIVALENT, KILLED, SURVIVED, TIMED_OUT, Judged

NEEDED_PERCENT = 95.0
"""Percentage of a component's mutants, those proved equivalent excluded, that must be killed. Equivalence is not proved for
mutants of Python, so only the rule that every survivor needs a reason applies to them."""
VERDICTS = (KILLED, EQUIVALENT, SURVIVED, BROKEN)
COLUMNS = ("unit", "target", "mutants", "possible", *VERDICTS, "score %", "confirmed", "seconds")


def record_of(judged: Judged) -> dict[str, Any]:
    """Return the record of mutation.json; ``survivors`` lists surviving and broken mutants with their reason or None."""
    reasons = read_reasons(judged.target)
    survivors = [
        {
            "mutant": mutant.shown,
            "reason": next((reason.reason for reason in reasons if reason.holds(mutant)), None),
        }
        for mutant in (*judged.those(SURVIVED), *judged.those(BROKEN))
    ]
    # On a slower machine a proof may run out of time; its mutant then needs a reason.
    living = [*judged.those(SURVIVED), *judged.those(BROKEN), *judged.those(EQUIVALENT)]
    idle = [f"{reason.line}: {reason.reason}" for reason in reasons if not any(map(reason.holds, living))]
    late = sum(each.verdict == KILLED and each.how.startswith(TIMED_OUT) for each in judged.verdicts)
    return {
        "unit": judged.unit,
        "mutants": len(judged.mutants),
        **{verdict: len(judged.those(verdict)) for verdict in VERDICTS},
        "target": judged.target,
        "config": judged.config,
        "digest": judged.digest,
        "possible": judged.possible,
        "confirmed": judged.confirmed,
        "seed": judged.seed,
        "seconds": judged.seconds,
        "killed_by_time": late,
        "survivors": survivors,
        "idle_reasons": idle,
    }


def score(record: dict[str, Any]) -> float:
    """Return the percentage of killed mutants among those not proved equivalent, or 100 without such mutants."""
    real = record["mutants"] - record[EQUIVALENT]
    return 100 * record[KILLED] / real if real else 100.0


def complaints(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return the failures: no mutant, too low a score, a survivor without a reason, a reason whose mutants all die."""
    found = []
    for record in records:
        if not record["mutants"]:
            found.append(f"{record['target']}: there is nothing in its cells to be faulty")
        found += [f"{record['target']}: a reason of nothing that lives: {each}" for each in record["idle_reasons"]]
        if (percent := score(record)) < NEEDED_PERCENT and record["target"].startswith("rtl/"):
            found.append(f"{record['target']}: {percent:.1f} % die, at least {NEEDED_PERCENT:g} % must")
        if without := sum(each["reason"] is None for each in record["survivors"]):
            found.append(f"{record['target']}: {without} survivors have no reason")
    return found


def show_mutation(console: Console, records: Sequence[dict[str, Any]]) -> None:
    """One row for each target, and below the table each survivor."""
    table = Table(*COLUMNS[:2], *(Column(name, justify="right") for name in COLUMNS[2:]))
    for record in records:
        named = {**record, "score %": f"{score(record):.1f}"}
        table.add_row(*("-" if named[name] is None else str(named[name]) for name in COLUMNS))
    console.print(table)
    for record in records:
        for each in record["survivors"]:
            console.print(f"{each['mutant']}: {each['reason'] or 'no reason'}", soft_wrap=True, highlight=False)
