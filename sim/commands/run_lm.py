"""The work of ``bitpath run lm``: the model and its text, the formats one after the other, and rows for their blocks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from bitpath.golden.arrays.files import read_text
from bitpath.sim.commands._click import Printer
from bitpath.sim.commands.run_report import Report
from bitpath.sim.engine.cluster import Cluster
from bitpath.sim.flows import lm
from bitpath.sim.flows.builds import built_ahead
from bitpath.sim.flows.lm_matmuls import settings
from bitpath.sim.flows.lm_programs import program_runs
from bitpath.sim.flows.outcome import FlowRun, mismatch_report
from bitpath.sim.lm.model import KINDS, forward
from bitpath.sim.lm.tokens import TEXT, read_tokens
from bitpath.sim.lm.weights import open_checkpoint, read_model


def run_lm(
    printer: Printer,
    cluster: Cluster,
    *,
    model: Path | None,
    text: Path | None,
    tokens: int | None,
    prompt: str | None,
    blocks: str,
    kinds: Sequence[str],
    machine: str | None,
    format_name: str | None,
    linear: str | None,
    simulator: str,
    scale_rule: str | None,
    waves: bool,
    program: bool,
) -> bool:
    """Run the blocks in each format; return True if a bit differs. Options are those of the command."""
    if prompt is not None and (text, tokens) != (None, None):
        raise ValueError("--prompt goes without --text and --tokens")
    if None not in (linear, format_name):
        raise ValueError("--linear goes without --format")
    given = {"--model": model, "--text": text, "--tokens": tokens, "--prompt": prompt}
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    formats = settings(machine, linear or format_name, simulator, scale_rule, waves=waves, words=tuple(words))
    checkpoint = open_checkpoint(model)
    tokenizer, whole = read_tokens(checkpoint), read_model(checkpoint)
    if prompt is not None:
        ids = tokenizer.prompt(prompt)
    else:
        ids = tokenizer.encode(TEXT if text is None else read_text(text))
        if (tokens or 1) > len(ids):
            raise ValueError(f"--tokens must be at most {len(ids)}, as many as the text has, not {tokens}")
        ids = ids[: tokens or lm.TOKENS]
    if program:
        return _run_programs(printer, list(program_runs(whole, ids, formats)))
    chosen = lm.chosen_blocks(blocks, len(whole.blocks))
    progress = Console(stderr=True, quiet=printer.quiet)
    wanted = tuple(kind for kind in KINDS if kind in (kinds or KINDS))
    with Report(printer, len(formats) * len(chosen) * len(wanted)) as report:
        for setting in formats:
            rows: list[lm.Row] = []
            for each in lm.play_blocks(whole, ids, setting, chosen, kinds=wanted, cluster=cluster, console=progress):
                rows += each.rows
                _add(report, each)
                if each.next_token is not None:
                    plain = int(forward(whole, ids)[-1].argmax())
                    names = [repr(tokenizer.decode([token])) for token in (each.next_token, plain)]
                    printer.say(f"{setting.format_name}: next token from RTL {names[0]}, of float32 {names[1]}")
                elif each.seconds_left:
                    progress.print(f"{each.done} of {each.total} blocks, about {_duration(each.seconds_left)} left")
            if len(chosen) > 1:
                by_kind = [_sum([row for row in rows if row["matmul"] == kind]) for kind in wanted]
                table = [[row["matmul"], *(f"{row[name]:,}" for name in TOTALS)] for row in by_kind]
                headings = ["matmul", *(name.replace("_", " ") for name in TOTALS)]
                printer.table(headings, table, f"{setting.format_name}, all blocks")
    return report.differs


def _run_programs(printer: Printer, runs: Sequence[FlowRun]) -> bool:
    progress = Console(stderr=True, quiet=printer.quiet)
    with Report(printer, len(runs)) as report, built_ahead(runs, progress) as builds:
        for each in runs:
            found = each.compare(progress, builds)
            report.add(found.record, found.kept, mismatch_report(each, found))
            report.show(found.record)
    return report.differs


def _add(report: Report, finished: lm.Finished) -> None:
    """Take the records of a block, and show a row for each if it is the only block, else one for all of them."""
    records = []
    for row in finished.rows:
        own = dict(row)
        kept, text = own.pop("kept"), own.pop("report")
        report.add(own, kept, text)
        records.append(own)
    for record in records if finished.total == 1 else [_sum(records) | {"matmul": "all"}]:
        report.show(record)


SHARED = ("machine", "format", "sim", "block", "matmul", "peak_mac_per_cycle")
SUMS = (
    "macs",
    "outputs_compared",
    "quantized_compared",
    "staged_compared",
    "mismatches",
    "cycles",
    "wall_seconds",
)
TOTALS = ("macs", "outputs_compared", "mismatches", "cycles", "mac_per_cycle", "wall_seconds")
"""Columns of the sums over all blocks."""


def _sum(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of several matmuls that a row shows: sums, and those that all of them have."""
    first = records[0]
    named = {name: first[name] for name in SHARED if name in first}
    sums = {name: round(sum(each[name] for each in records), 2) for name in SUMS if name in first}
    return named | sums | {"mac_per_cycle": round(sums["macs"] / sums["cycles"], 1)}


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min" if minutes else "1 min"
