"""Takes reports into their records: ``python -m parts.take [NAME] --machine "x86-64, 2 cores" --set minutes=58`` in docs.

It reads ``build/reports``, dates a record by the report's file, and keeps the figures that no report holds unless ``--set`` gives
them. The README's figures follow. ``make records`` takes all whole reports and commits them together.
"""

import json
import subprocess
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from bitpath.sim.study.functions import cells
from bitpath.sim.study.ledger.run import changed, counts, rows
from bitpath.sim.study.synth import QUOTED
from parts.readme import README, write_figures
from parts.records import RECORDS, record

REPORTS = Path(__file__).resolve().parents[2] / "build" / "reports"
Taken = tuple[dict[str, Any], dict[str, list[list[Any]]]]


def _percent(value: float) -> str:
    return "100 %" if value == 100 else f"{value:.2f} %"


def _score(records: Sequence[dict[str, Any]]) -> float:
    real = sum(each["mutants"] - each["equivalent"] for each in records)
    return 100 * sum(each["killed"] for each in records) / real if real else 100.0


def coverage(found: list[dict[str, Any]]) -> Taken:
    """Take a row for each unit and the least percentages."""
    rows = [
        [
            f"`{each['unit']}`",
            each["bins"],
            _percent(each["functional_percent"]),
            each["lines"] - each["lines_waived"],
            _percent(each["line_percent"]),
            each["bits"] - each["bits_waived"],
            _percent(each["toggle_percent"]),
            each["bits_proved_constant"],
            each["waived"],
        ]
        for each in sorted(found, key=lambda each: each["unit"])
    ]
    least = {name: f"{min(each[key] for each in found):.2f}" for name, key in LEAST.items()}
    return {"units": len(found), **least}, {"units": rows}


LEAST = {"least_line_percent": "line_percent", "least_bit_percent": "toggle_percent"}


def agreement(found: list[dict[str, Any]]) -> Taken:
    """Take a row for each unit; a unit that failed stops it."""
    if failed := [each["unit"] for each in found if each["status"] != "agrees"]:
        raise SystemExit(f"agreement: {', '.join(failed)} failed")
    rows = [[f"`{each['unit']}`", each["steps"], each["values"]] for each in found]
    return {"units": len(found), "seed": found[0]["seed"]}, {"units": rows}


def mutation(found: list[dict[str, Any]]) -> Taken:
    """Take a row for each judge of RTL files, the one of most files first, and golden's totals."""
    rtl, golden = ([each for each in found if each["target"].startswith(side)] for side in ("rtl/", "golden/"))
    survived = [each["survived"] + each["broken"] for each in rtl]
    rows = []
    for unit in {each["unit"]: None for each in rtl}:
        files = [each for each in rtl if each["unit"] == unit]
        least = min(files, key=lambda each: _score([each]))
        counts = [sum(each[key] for each in files) for key in ("mutants", "killed", "equivalent")]
        left = sum(each["survived"] + each["broken"] for each in files)
        worst = f"{_score([least]):.1f} %, `{least['target'].rpartition('/')[2]}`"
        rows.append([f"`{unit}`", len(files), *counts, left, f"{_score(files):.1f} %", worst])
    totals = {key: sum(each[key] for each in rtl) for key in ("mutants", "killed", "equivalent")}
    figures = {"rtl_files": len(rtl), **totals, "survived": sum(survived)}
    figures |= {"killed_percent": f"{_score(rtl):.1f}", "least_percent": f"{min(_score([each]) for each in rtl):.1f}"}
    figures |= {"golden_files": len(golden)}
    figures |= {
        f"golden_{key}": sum(each[key] for each in golden)
        for key in ("mutants", "killed", "killed_by_time", "survived")
    }
    return figures, {"judges": sorted(rows, key=lambda row: -row[1])}


def formal(found: list[dict[str, Any]]) -> Taken:
    """Take the numbers of proved properties and refuted sabotages."""
    seconds = sum(each["seconds"] + each["sabotage_seconds"] for each in found)
    proved = sum(each["status"] == "proved" for each in found)
    return {
        "proved": proved,
        "refuted": sum(each["sabotage_caught"] for each in found),
        "solver_seconds": round(seconds),
    }, {}


def volume(found: list[dict[str, Any]]) -> Taken:
    """Take the random dot products and the whole ranges."""
    tables: dict[str, list[list[Any]]] = {"random": [], "ranges": []}
    for each in found:
        unit = each["unit"] if each["unit"] == "golden" else f"`{each['unit']}`"
        row = [each["what"], unit, each["vectors"], each["mismatches"], round(each["seconds"])]
        if each["name"].startswith("volume"):
            rates = [f"{each['vectors'] / each[side] / 1e6:.1f}" for side in ("rtl_seconds", "golden_seconds")]
            tables["random"].append([*row, *rates])
        else:
            tables["ranges"].append(row)
    return {"seed": found[0]["seed"], "mismatches": sum(each["mismatches"] for each in found)}, tables


def synth(found: list[dict[str, Any]]) -> Taken:
    """Take a row for each quoted design."""
    by_digest = {each["digest"]: each for each in found}
    rows = []
    for design in QUOTED:
        each = by_digest[design.digest]
        ratio = f"{each['ge_area'] / by_digest[design.yardstick.digest]['ge_area']:.2f}" if design.yardstick else ""
        name, _, rest = design.name.partition(",")
        title = f"`{name}`,{rest}" if design.yardstick else f"*{design.name}*"
        sizes = [round(each["ge_area"]), round(each["ge_fast"])]
        rows.append([title, *sizes, f"{each['ns_fast']:.2f}", each["flip_flops"], ratio])
    return {}, {"designs": rows}


def functions(found: list[dict[str, Any]]) -> Taken:
    """Take a row for each function, form, width of Dst and chip."""
    measured = {each["function"] for each in found}
    exp = next(each for each in found if (each["function"], each["dst"]) == ("exp", "BF16"))
    return {"functions": len(measured), "largest_exp": f"{exp['largest']:.2f}"}, {
        "accuracy": [cells(each) for each in found]
    }


def predictions(found: dict[str, Any]) -> list[list[str]]:
    """Return the rows of one record's predictions: id, experiment, and the result by model."""
    return [
        [found["id"], each["experiment"], "; ".join(f"{name}: {text}" for name, text in each["gives"].items())]
        for each in found["predictions"]
    ]


def ledger(found: list[dict[str, Any]]) -> Taken:
    """Take golden's answer and the predictions of each row; a verdict that is not the acknowledged one stops it."""
    if changes := changed(found):
        raise SystemExit(f"ledger: {', '.join(each['id'] for each in changes)} changed")
    found = sorted(found, key=lambda each: list(rows()).index(each["id"]))
    figures = {"rows": len(found), **{name.replace(" ", "_"): count for name, count in counts(found).items()}}
    return figures, {
        "rows": [[each["id"], each["golden"]] for each in found],
        "predictions": [row for each in found for row in predictions(each)],
    }


def lm(found: list[dict[str, Any]]) -> Taken:
    """Take what each format loses, and the KL of each kind of matmul and each block alone, a column for each format."""
    rows = [
        [
            each["format"],
            each["machine"],
            f"{each['perplexity']:.4g} ± {each['perplexity_spread']:.2g}",
            f"{each['kl']:.2g} ± {each['kl_spread']:.1g}",
            f"{each['top1']:.3f}",
            f"{each['kl_operands']:.2g}",
            f"{each['kl_sums']:.2g}",
            each["standing"],
            " ".join(each["answer"].split()),
        ]
        for each in found
    ]
    places = [name for name in found[0] if name.startswith("kl_") and name not in WHOLE_KL]
    parts = [[name.removeprefix("kl_").replace("_", " "), *(f"{each[name]:.2g}" for each in found)] for name in places]
    figures = {name: str(found[0][name]) for name in ("model", "tokens")}
    return figures | {"perplexity": f"{found[0]['float32_perplexity']:.4g}"}, {"losses": rows, "places": parts}


def lm_vector(found: list[dict[str, Any]]) -> Taken:
    """Take the KL of a format with all operations on Tensix, of its matmuls alone, and of each other operation alone."""
    each = found[0]
    alone = [name for name in each if name.startswith("kl_") and name.endswith("_alone")]
    parts = [[name.removeprefix("kl_").removesuffix("_alone").replace("_", " "), f"{each[name]:.2g}"] for name in alone]
    whole = [f"everything, {each['format'].partition(' ')[0]}", f"{each['kl']:.2g} ± {each['kl_spread']:.1g}"]
    figures = {name: str(each[name]) for name in ("model", "tokens")} | {"answer": " ".join(each["answer"].split())}
    return figures | {"perplexity": f"{each['float32_perplexity']:.4g}"}, {"operations": [whole, *parts]}


def block(found: list[dict[str, Any]]) -> Taken:
    """Take a row for each operation of a block's second half on Tensix' cores, and one for each chip; a difference stops it."""
    halves = [each for each in found if each.get("matmul") == "ffn"]
    if any(each["mismatches"] for each in halves):
        raise SystemExit("block: a bit differs")
    rows: list[list[Any]] = []
    for half in halves:
        for chip in half["chips"]:
            own = [each for each in half["stages"] if each["instruction"].startswith(chip["chip"])]
            rows += [[*each["instruction"].split(), *(each[key] for key in OF_A_STAGE)] for each in own]
            # No mismatches: a difference has stopped the taker.
            rows.append([chip["chip"], "all", chip["programs"], chip["words"] + chip["bytes"], 0, chip["cycles"]])
    return {"outputs": sum(each["outputs_compared"] for each in halves)}, {"operations": rows}


OF_A_STAGE = ("count", "compared", "mismatches", "rtl_cycles")
MODEL = ("model", "tokens", "perplexity")
"""Figures of the model and its text in float32."""
WHOLE_KL = ("kl_spread", "kl_operands", "kl_sums", "kl_output")
TAKERS: dict[str, tuple[str, Callable[[list[dict[str, Any]]], Taken]]] = {
    "agreement": ("agreement.json", agreement),
    "block": ("run.json", block),
    "coverage": ("coverage.json", coverage),
    "formal": ("formal.json", formal),
    "functions": ("functions.json", functions),
    "ledger": ("ledger.json", ledger),
    "lm": ("lm.json", lm),
    "lm_vector": ("lm.json", lm_vector),
    "mutation": ("mutation.json", mutation),
    "synth": ("synth.json", synth),
    "volume": ("deep.json", volume),
}
"""For each record its report and what takes it."""


def text(content: dict[str, Any]) -> str:
    """Format a record as TOML."""
    lines = [f"{key} = {_value(content[key])}" for key in ("command", "date", "machine", "note") if key in content]
    if content.get("figures"):
        lines += ["", "[figures]", *(f"{key} = {_value(value)}" for key, value in content["figures"].items())]
    for name, table in content.get("tables", {}).items():
        lines += ["", f"[tables.{name}]", f"columns = {_value(table['columns'])}", "rows = ["]
        lines += [*(f"    {_value(row)}," for row in table["rows"]), "]"]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, int):
        return f"{value:_}" if abs(value) > 9999 else str(value)
    return value.isoformat() if isinstance(value, date) else json.dumps(value, ensure_ascii=False)


def taken(name: str, found: list[dict[str, Any]], machine: str, day: date, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a run: the present one with the run's figures and rows in their places."""
    before = record(name)
    figures, tables = TAKERS[name][1](found)
    columns = {table: {"columns": before["tables"][table]["columns"], "rows": rows} for table, rows in tables.items()}
    if name == "lm":
        columns["places"]["columns"] = ["alone", *(row[0] for row in tables["losses"])]
    content = before | {"date": day, "machine": machine, "figures": before.get("figures", {}) | figures | settings}
    return content | ({"tables": before["tables"] | columns} if columns else {})


def lost(before: dict[str, Any], content: dict[str, Any]) -> list[str]:
    """Return the first cells of the rows that a record would lose: the report is not of a whole run."""
    tables = before.get("tables", {})
    model = [before.get("figures", {}).get(name) for name in MODEL]
    if any(model) and model != [content["figures"][name] for name in MODEL]:
        return ["another model or text"]
    return [
        row[0]
        for name, table in tables.items()
        for row in table["rows"]
        if row[0] not in [each[0] for each in content["tables"][name]["rows"]]
    ]


def take(names: Sequence[str], machine: str, settings: dict[str, Any]) -> list[Path]:
    """Rewrite these records, or all whose reports are whole and not older than they, and the README's figures; return the files."""
    files = []
    for name in names or sorted(TAKERS):
        report, before = REPORTS / TAKERS[name][0], record(name)
        if not names and not report.is_file():
            continue
        day = date.fromtimestamp(report.stat().st_mtime)
        content = taken(name, json.loads(report.read_text()), machine, day, settings)
        if not names and (day < before["date"] or lost(before, content)):
            print(f"{name}: the report is older than the record, or lacks rows of it")
            continue
        files.append(RECORDS / f"{name}.toml")
        files[-1].write_text(text(content))
    record.cache_clear()
    write_figures()
    return [*files, README]


def main() -> None:
    """Take reports; with ``--commit`` one commit has all that changed."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(sorted(TAKERS))}; all of them when not given"
    )
    parser.add_argument("--machine", required=True, help="where the campaigns ran")
    parser.add_argument("--set", action="append", default=[], metavar="FIGURE=NUMBER")
    parser.add_argument("--commit", action="store_true")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - TAKERS.keys():
        parser.error(f"no record is named {', '.join(sorted(unknown))}")
    settings = {key: int(value) for key, _, value in (each.partition("=") for each in chosen.set)}
    files = take(chosen.names, chosen.machine, settings)
    if chosen.commit:
        message = f"docs.records: campaigns of {date.today()}"
        subprocess.run(["git", "commit", "--quiet", "-m", message, "--", *map(str, files)], check=True)


if __name__ == "__main__":
    main()
