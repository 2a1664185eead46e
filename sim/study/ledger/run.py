"""The ledger: all rows, the function that computes each, their records and their tables."""

import re
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bitpath.golden.arrays.arguments import one_of
from bitpath.sim.study.ledger import amd, statistics, tensix, trainium
from bitpath.sim.study.ledger.row import AbsentEvidenceError, Evidence, Finding, Row, Verdict

# All rows of the ledger, and the function that computes each.


FILES = tuple(Path(__file__).with_name(f"{vendor}.toml") for vendor in ("amd", "tenstorrent", "aws"))
FUNCTIONS: dict[str, Callable[[Evidence], Finding]] = {
    "A1": amd.one_product,
    "A2": amd.tile_layout,
    "A3": amd.initial_rounding,
    "A4": amd.ties,
    "A5": amd.saturation,
    "A6": amd.lowest_code,
    "A7": amd.largest_number,
    "A8": amd.subnormals,
    "A9": amd.not_finite,
    "A10": amd.zeros,
    "A11": amd.uniform_product,
    "A12": amd.wide_block,
    "A13": amd.chain_of_64,
    "A14": amd.order_contract,
    "A15": amd.quantised_by_host,
    "A16": amd.crafted_ties,
    "A17": amd.serial_fp32,
    "A18": amd.no_sticky,
    "A19": amd.vanishing_tails,
    "A20": amd.models_of_others,
    "A21": amd.eight_equal_terms,
    "A22": amd.ones,
    "A23": amd.norms,
    "A24": amd.relative_errors,
    "A25": amd.bias,
    "A26": amd.one_side,
    "A27": amd.bf16_and_numpy,
    "A28": amd.rounding_codes,
    "A29": amd.control_registers,
    "A30": amd.truncation,
    "A31": amd.five_outputs,
    "A32": amd.ten_modes,
    "A33": amd.bf16_lanes,
    "A34": amd.widened,
    "A35": amd.floors,
    "A36": amd.formats,
    "T1": tensix.x_plus_one,
    "T2": statistics.equal_signs,
    "T3": statistics.opposite_signs,
    "T4": statistics.products,
    "T5": tensix.overflow,
    "T6": tensix.specials,
    "T7": tensix.infinity_squared,
    "T8": tensix.two_fidelities,
    "T9": tensix.two_products,
    "T10": tensix.integers,
    "T11": tensix.rounded_twice,
    "T11b": tensix.deep_product,
    "T12": tensix.minus_one,
    "T13": tensix.wrong_values,
    "T14": tensix.above_half_a_unit,
    "T15": tensix.half_way_integers,
    "T16": tensix.fp16_overflow,
    "T17": tensix.sign_magnitude,
    "T18": tensix.bfp4_twice,
    "T19": tensix.bfp8_errors,
    "T20": tensix.bf16_to_bf16,
    "T21": tensix.zero_flag,
    "T22": tensix.tf32_truncates,
    "T23": tensix.conv1d,
    "T24": tensix.lofi_and_hifi2,
    "T25": tensix.hifi2_and_hifi4,
    "T26": tensix.uniform_products,
    "T27": tensix.long_product,
    "T28": tensix.integer_product,
    "T29": tensix.lofi_masks,
    "T30": tensix.pieces,
    "T31": tensix.bf16_by_bfp4,
    "T32": tensix.bf16_ties,
    "T33": tensix.bfp8_twice,
    "T34": tensix.reduced,
    "T35": tensix.implied_format,
    "T36": tensix.fp16_subnormals,
    "T37": tensix.throttled,
    "T38": tensix.cleared_faces,
    "T39": tensix.copied_partials,
    "T40": tensix.smallest_integer,
    "T41": tensix.stale_half,
    "T42": tensix.override_of_src_b,
    "T43": tensix.trailing_unpack,
    "R1": trainium.log_values,
    "R1b": trainium.odd_value,
    "R2": trainium.rounding,
    "R3": trainium.complex_products,
    "R4": trainium.scale_rule,
    "R4b": trainium.e2m1,
    "R5": trainium.stochastic,
}


@cache
def rows() -> dict[str, Row]:
    """Return all rows by id, as declared."""
    return {row.id: row for file in FILES for row in map(_row, tomllib.loads(file.read_text())["row"])}


def _row(fields: dict[str, Any]) -> Row:
    others = {name: Verdict(each) for name, each in fields.pop("others", {}).items()}
    sources, verdict = tuple(fields.pop("sources")), Verdict(fields.pop("verdict"))
    return Row(**fields, sources=sources, verdict=verdict, others=others)


THREAD = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")
FILE = re.compile(r"([\w.-]+/[\w.-]+)@(\w+):(.+)")


def address(source: str) -> str:
    """Return the web address of a source."""
    if thread := THREAD.fullmatch(source):
        return f"https://github.com/{thread[1]}/issues/{thread[2]}"
    if file := FILE.fullmatch(source):
        return f"https://github.com/{file[1]}/blob/{file[2]}/{file[3]}"
    return source if "://" in source else f"https://github.com/{source}"


# Computes rows and makes the ledger's records.


NOT_COMPUTED = "not computed"
"""Verdict of a row whose evidence is absent."""


def chosen(ids: Sequence[str]) -> list[Row]:
    """Return the rows with these ids, all rows for none.

    Raises
    ------
    ValueError : there is no such row.
    """
    declared = rows()
    for each in ids:
        if each not in declared:
            raise ValueError(f"row must be {one_of(declared)}, not {each!r}")
    return [declared[each] for each in ids] if ids else list(declared.values())


def computed(wanted: Sequence[Row], evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Yield the record of each row, computed anew."""
    for row in wanted:
        began = time.monotonic()
        try:
            finding: Finding | AbsentEvidenceError = FUNCTIONS[row.id](evidence)
        except AbsentEvidenceError as absent:
            finding = absent
        yield {**_record(row, finding), "seconds": round(time.monotonic() - began, 2)}


def _record(row: Row, finding: Finding | AbsentEvidenceError) -> dict[str, Any]:
    declared = {
        "id": row.id,
        "chip": row.chip,
        "statement": row.statement,
        "sources": [{"name": each, "address": address(each)} for each in row.sources],
        "standing": row.standing,
        "evidence": row.evidence,
        "under": row.under,
        "why": row.why,
        "acknowledged": {name: each.value for name, each in row.acknowledged.items()},
    }
    if isinstance(finding, AbsentEvidenceError):
        return declared | {"verdict": NOT_COMPUTED, "verdicts": {}, "golden": str(finding), "predictions": []}
    return declared | {
        "verdict": finding.verdicts[row.under].value,
        "verdicts": {name: each.value for name, each in finding.verdicts.items()},
        "golden": finding.golden,
        "predictions": [{"experiment": each.experiment, "gives": dict(each.gives)} for each in finding.predictions],
    }


def changed(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records whose verdicts are not the acknowledged ones; rows without their evidence have none."""
    return [each for each in records if each["verdict"] != NOT_COMPUTED and each["verdicts"] != each["acknowledged"]]


def counts(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the number of rows by verdict, in the order of `Verdict`."""
    found = Counter(each["verdict"] for each in records)
    return {name: found[name] for name in (*(each.value for each in Verdict), NOT_COMPUTED) if found[name]}


# Prints the ledger as a table.


COLOURS = {"reproduced": "green", "refuted": "red"}


def show_table(console: Console, records: Sequence[dict[str, Any]]) -> None:
    """Print one line for each row."""
    table = Table("row", "chip", "verdict", "statement", "golden", box=None, pad_edge=False)
    for each in records:
        colour = COLOURS.get(each["verdict"], "default")
        table.add_row(each["id"], each["chip"], f"[{colour}]{each['verdict']}[/]", each["statement"], each["golden"])
    console.print(table)


def show_row(console: Console, record: dict[str, Any]) -> None:
    """Print everything about one row."""
    lines = Table.grid("", "", padding=(0, 2))
    lines.add_row("row", f"{record['id']}, {record['chip']}")
    lines.add_row("statement", record["statement"])
    for each in record["sources"]:
        lines.add_row("source", each["address"])
    lines.add_row("standing", f"{record['standing']}, {record['evidence']}")
    lines.add_row("golden", record["golden"])
    for name, verdict in record["verdicts"].items() or [(record["under"], record["verdict"])]:
        lines.add_row("verdict", f"{verdict} under {name}")
    lines.add_row("why", record["why"])
    for each in record["predictions"]:
        lines.add_row("experiment", each["experiment"])
        for name, result in each["gives"].items():
            lines.add_row("", f"{result} by {name}")
    console.print(lines)


def summary(records: Sequence[dict[str, Any]]) -> str:
    """Return the counts by verdict as a line."""
    return f"{len(records)} row{'s' * (len(records) != 1)}: {', '.join(f'{count} {name}' for name, count in counts(records).items())}"


def changes(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return a sentence for each row whose verdict has changed."""
    return [
        f"row {each['id']}: golden gives {_words(each['verdicts'])}, acknowledged is {_words(each['acknowledged'])}"
        for each in changed(records)
    ]


def _words(verdicts: dict[str, str]) -> str:
    return ", ".join(f"{verdict} under {name}" for name, verdict in verdicts.items())
