"""The page of ``bitpath self report``: one HTML file, which needs neither server nor network."""

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from bitpath.rtl.common.files import write_whole
from bitpath.sim.engine import paths, results
from bitpath.sim.engine.results import Records, Result, read_json
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.flows.history import Kept, commit, kept_runs
from bitpath.sim.study.numerics import TEXTS, numerics_rows, standings
from bitpath.verif.kit.testplan import Item

# Charts of a run as SVG elements, which take the page's colour of text, also in the dark.
#
# matplotlib draws them: SVG is sharp on paper and on telephones, and a chart has a few KB. A library that draws in the browser
# would add megabytes of JavaScript to every page.


INK = "#010203"
"""Stands for the page's colour of text."""
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "bitpath",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
} | dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
BAR, TRACK, EMPTY = "#3d7ea6", "#8080802e", "#80808024"
WIDTH = 5.2
"""Inches. On a telephone a chart shrinks to about seven tenths, and its text stays legible."""

_NUMBERS = count()
"""Number of each chart, which its identifiers begin with: two charts with the same content stand on one page."""


def bars(labels: Sequence[str], values: Sequence[float | None], texts: Sequence[str], full: float, title: str) -> str:
    """Return horizontal bars, each with a text behind it; A None has no bar. The axis ends at ``full``."""
    with _figure(0.7 + 0.27 * len(labels)) as figure:
        axes = figure.subplots()
        axes.barh(labels, [full] * len(labels), 0.62, color=TRACK)
        axes.barh(labels, [value or 0 for value in values], 0.62, color=BAR)
        for row, text in enumerate(texts):
            axes.annotate(text, (full, row), xytext=(5, 0), textcoords="offset points", va="center")
        axes.invert_yaxis()
        axes.set_xlim(0, full)
        axes.tick_params("y", length=0)
        axes.spines["left"].set_visible(False)
        return _svg(figure, title)


def curves(lines: Mapping[str, Sequence[float]], across: str, up: str) -> str:
    """Return a line for each name over 0, 1, 2 and so on, on a logarithmic scale; zeros have no point."""
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    # Twenty colours, the ten strong ones first.
    colours = [colormaps["tab20"](number) for number in range(20)]
    with _figure(3.4) as figure:
        axes = figure.subplots()
        axes.set_prop_cycle(color=(*colours[::2], *colours[1::2]))
        for name, values in lines.items():
            axes.plot(range(len(values)), [value if value > 0 else np.nan for value in values], ".-", label=name)
        axes.set_yscale("log")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel=across, ylabel=up)
        figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
        return _svg(figure, f"{up} by {across}")


def heat_map(cells: Sequence[Sequence[float | None]], block: Sequence[int], label: str, *, log: bool = False) -> str:
    """Return a map of a matrix; a cell covers a block of rows and columns, and an empty or zero one stays grey.

    ``log`` gives the scale powers of ten; without it the numbers are counts.
    """
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    values = np.array([[np.nan if cell is None else cell for cell in row] for row in cells], float)
    shown = np.ma.masked_where(~(values > 0), values)
    low, high = (float(shown.min()), float(shown.max())) if shown.count() else (1.0, 1.0)
    norm = LogNorm(low, max(high, 10 * low)) if log else Normalize(0, high)
    rows, columns = len(cells) * block[0], len(cells[0]) * block[1]
    with _figure(float(np.clip(4 * rows / columns, 1.2, 4.6)) + 0.6) as figure:
        axes = figure.subplots()
        axes.set_facecolor(EMPTY)
        around = {"extent": (0, columns, rows, 0), "aspect": "auto", "interpolation": "none"}
        # Without the darkest fifth, which would not show on a dark page.
        colours = ListedColormap(colormaps["plasma"](np.linspace(0.2, 1, 256)))
        picture = axes.imshow(shown, cmap=colours, norm=norm, **around)
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(integer=True)
        axes.set(xlabel="column", ylabel="row")
        figure.colorbar(picture, ax=axes, label=label, ticks=None if log else MaxNLocator(integer=True))
        return _svg(figure, f"map: {label}")


@contextmanager
def _figure(height: float) -> Iterator[Any]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: F401  registers the format
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        yield Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")


def _svg(figure: Any, title: str) -> str:
    """Return the SVG element alone, without identifiers that another chart has too."""
    text = io.StringIO()
    figure.savefig(text, format="svg")
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    used = set(re.findall(r'(?:href="|url\()#([\w-]+)', svg))
    chart = next(_NUMBERS)
    svg = re.sub(r' id="([^"]+)"', lambda found: f' id="chart{chart}-{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#chart{chart}-", svg)
    return svg.replace(INK, "currentColor").replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


# Links from the page to the files of runs below build.


def relative(file: Path) -> str:
    """Return the link from the page's folder to a file, so that the folder build may be moved."""
    return quote(Path(os.path.relpath(file, paths.reports())).as_posix())


def run_files(folder: Path) -> dict[str, str]:
    """Return links to the log and the wave of a run's folder, those that exist, by name."""
    files = {"log": folder / "run.log", "wave": next(iter(sorted(folder.glob("*.fst"))), folder / "none")}
    return {name: relative(file) for name, file in files.items() if file.is_file()}


def unit_runs() -> dict[str, dict[str, str]]:
    """Return the links of each unit's last bench run."""
    newest: dict[str, tuple[float, Path]] = {}
    for summary in paths.runs().glob("*/*/run.json"):
        run: Any = read_json(summary, [])
        if isinstance(run, dict) and isinstance(run.get("unit"), str):
            found = (summary.stat().st_mtime, summary.parent)
            newest[run["unit"]] = max(newest.get(run["unit"], found), found)
    return {unit: run_files(folder) for unit, (_, folder) in newest.items()}


# A kept run as the page shows it: the verdict, a row and maps for each format, and charts over all of them.


WORST = 5
"""Cells of a map of mismatches that are listed below it."""


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: 1 format, 2 formats, 1 mismatch, 2 mismatches."""
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"


def verdict(run: Kept) -> str:
    """Return in one sentence whether golden and RTL agreed, and on what."""
    formats = plural(len(run.records), "format")
    machines = ", ".join(dict.fromkeys(record["machine"] for record in run.records))
    if run.mismatches:
        wrong = [record for record in run.records if record["mismatches"]]
        names = ", ".join(f"{record['machine']} {record['format']}" for record in wrong)
        differ = f"differ in {run.mismatches:,} of {run.compared:,} values"
        return f"Golden and RTL {differ}, in {len(wrong)} of {formats}: {names}."
    return f"Golden and RTL agree in all bits of {plural(run.compared, 'value')}: {formats} on {machines}."


def when(run: Kept) -> str:
    """Return the time at which a run began."""
    return f"{datetime.fromisoformat(run.began):%Y-%m-%d %H:%M} UTC"


def format_rows(run: Kept) -> list[dict[str, Any]]:
    """Return the records of a run with their labels, shapes, rates and links."""
    return [_row(record) for record in run.records]


def _row(record: dict[str, Any]) -> dict[str, Any]:
    peak, folder = record.get("peak_mac_per_cycle"), record.get("folder")
    shape = record["config"].get("shape", [])
    return record | {
        "label": f"{record['machine']} {record['format']}",
        "shape": " x ".join(map(str, shape)),
        "share": record["mac_per_cycle"] / peak if peak and "mac_per_cycle" in record else None,
        "links": run_files(paths.build_root() / folder) if isinstance(folder, str) else {},
    }


def sqnr_chart(rows: Sequence[dict[str, Any]]) -> str:
    """Return the bars of SQNR; a format without a number has a dash."""
    values = [row.get("sqnr_db") for row in rows]
    texts = ["-" if value is None else f"{value:.1f} dB" for value in values]
    full = max(10.0, *(value or 0 for value in values))
    return bars([row["label"] for row in rows], values, texts, full, "SQNR in dB")


def rate_chart(rows: Sequence[dict[str, Any]]) -> str:
    """Return the bars of multiply-accumulates a cycle in percent of the peak; empty for flows without a peak."""
    rows = [row for row in rows if row["share"] is not None]
    if not rows:
        return ""
    texts = [f"{row['mac_per_cycle']:,.0f} of {row['peak_mac_per_cycle']:,.0f}" for row in rows]
    percent = [100 * row["share"] for row in rows]
    return bars([row["label"] for row in rows], percent, texts, 100, "percent of the peak")


def maps(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the maps of a format as captions and SVG: of its mismatches and distances, or of its error."""
    found, block = row["map"], row["map"].get("block")
    if not block:
        return []
    cell = "a cell is one output" if block == [1, 1] else f"a cell is {block[0]} x {block[1]} outputs"
    drawn = {
        "mismatches": ("mismatches", "mismatches", False),
        "ulp": ("largest distance", "ulp", True),
        "error": ("largest error", "error / RMS", True),
    }
    return [
        (f"{title}; {cell}", heat_map(found[name], block, label, log=log))
        for name, (title, label, log) in drawn.items()
        if name in found
    ]


def worst_cells(row: dict[str, Any]) -> list[tuple[str, str, int, str]]:
    """Return rows, columns, mismatches and largest distance of the cells with most mismatches, the most distant first."""
    found = row["map"]
    if "mismatches" not in found:
        return []
    height, width = found["block"]
    ulp = found.get("ulp")
    counted = [
        (count, ulp[m][n] if ulp else None, m, n)
        for m, line in enumerate(found["mismatches"])
        for n, count in enumerate(line)
        if count
    ]
    counted.sort(key=lambda each: (-each[0], -(each[1] or 0)))
    return [(_span(m, height), _span(n, width), count, _distance(far)) for count, far, m, n in counted[:WORST]]


def _distance(ulp: int | None) -> str:
    return "-" if ulp is None else f"{ulp:,} ulp"


def _span(index: int, side: int) -> str:
    first = index * side
    return str(first) if side == 1 else f"{first} to {first + side - 1}"


# The state of all checks: testplans with their last results, reports of other commands, and kept runs.


REPORT, RUN = "report", "run"
"""Reports that are no measurement: this command's own, and the last run's, which the history holds too."""


@dataclass(frozen=True)
class State:
    """Everything that ``bitpath self report`` shows.

    Attributes
    ----------
    items : testplan items with the last result of each test.
    measured, stale : reports of other commands by name, since the sources last changed and before.
    damaged : files that are not whole, from which nothing was taken.
    runs : kept runs, oldest first.
    newest_source : time of the last change of the sources, in seconds of the epoch.
    """

    items: Sequence[tuple[Item, dict[str, Result]]]
    measured: dict[str, Records]
    stale: dict[str, Records]
    damaged: Sequence[Path]
    runs: Sequence[Kept]
    newest_source: float

    @property
    def passed(self) -> int:
        """The number of items whose tests have all passed."""
        return passed([results.over(found) for _, found in self.items])

    @property
    def tally(self) -> str:
        """How many items have passed, or that none of their tests was run."""
        return tally([results.over(found) for _, found in self.items])

    def by_unit(self) -> dict[str, list[tuple[Item, Result]]]:
        """Return each unit's items with their results."""
        units: dict[str, list[tuple[Item, Result]]] = {}
        for item, found in self.items:
            units.setdefault(item.unit, []).append((item, results.over(found)))
        return units


def passed(items: Sequence[Result]) -> int:
    """Return the number of items whose tests have all passed."""
    return sum(each.status == results.PASSED for each in items)


def tally(items: Sequence[Result]) -> str:
    """Return "2 of 3 passed"; "not run" if no test of any item was run."""
    return f"{passed(items)} of {len(items)} passed" if any(each.runs for each in items) else results.MISSING


def gather(items: Sequence[Item]) -> State:
    """Read all results, reports and kept runs."""
    latest = results.latest_results()
    damaged = list(latest.damaged)
    measured, stale = results.run_reports(damaged)
    for each in (measured, stale):
        each.pop(REPORT, None)
    runs = kept_runs(damaged)
    return State([(item, latest.of(item)) for item in items], measured, stale, damaged, runs, results.newest_source())


def findings(measured: dict[str, Records], unit: str) -> list[str]:
    """Return what other commands found for a unit, in the order of `FOUND`; empty texts where they did not run."""
    # Formal's units have their folder in front.
    own = {name: [each for each in measured.get(name, []) if _unit(each) == unit] for name in FOUND}
    return [text(own[name]) if own[name] else "" for name, text in FOUND.items()]


def _unit(record: dict[str, Any]) -> str:
    return str(record.get("unit")).rpartition(".")[2]


def _sum(records: Records, name: str) -> int:
    return sum(record.get(name, 0) for record in records)


def _proved(record: dict[str, Any]) -> bool:
    """Return True if a property is proved and the proof detects its sabotage."""
    return record.get("status") == "proved" and record.get("sabotage_caught") is True


FOUND: dict[str, Callable[[Records], str]] = {
    "mutation": lambda own: f"{_sum(own, 'killed')} of {_sum(own, 'mutants') - _sum(own, 'equivalent')} killed",
    "formal": lambda own: f"{sum(map(_proved, own))} of {len(own)} proved",
    "coverage": lambda own: (
        "/".join(
            f"{min(each.get(f'{kind}_percent', 0) for each in own):.4g}" for kind in ("functional", "line", "toggle")
        )
        + " %"
    ),
    "deep": lambda own: f"{_sum(own, 'vectors'):,} vectors, {_sum(own, 'mismatches')} mismatches",
    "agreement": lambda own: ", ".join(dict.fromkeys(str(each.get("status")) for each in own)),
}
"""Summaries of records in each report, of one unit or of all, by name of the report."""


def columns(records: Records) -> list[str]:
    """Return the names of the scalar fields of flat records."""
    return [
        name
        for name in dict.fromkeys(name for record in records for name in record)
        if name != "began" and not any(isinstance(record.get(name), dict) for record in records)
    ]


def cell(value: Any) -> str:
    """Return a field of a record as text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# Writes the page of ``bitpath self report`` from the state of all checks.


TEMPLATE, PAGE = "page.html.jinja", "report.html"
SHOWN_RUNS = 100
"""Runs of the history that the page shows, the last ones."""
LISTED = 8
"""Entries of a list that a table's cell shows."""
CAMPAIGNS = {
    "ledger": ("Silicon ledger", "Public statements about the real chips, and what golden makes of them."),
    "mutation": ("Mutation", "Small faults put into the design and golden, and those that tests detect."),
    "formal": ("Formal", "Properties proved for all inputs, each with a sabotage that the proof detects."),
    "coverage": ("Coverage", "Bins, lines and bits that each unit's bench reaches."),
    "agreement": ("Agreement", "Amaranth's simulator, Icarus, Verilator and the gate netlist give the same bits."),
    "deep": ("Volume", "Random vectors and whole ranges through the units, compared with golden."),
    "deep_quick": ("Volume, short runs", "The same with fewer vectors."),
}
"""Reports of campaigns by name, each with its title and the meaning of its figures."""
COST = {
    "synth": ("Synthesis", "Area in gate equivalents and the longest path of each unit."),
    "explore": ("Exploration", "Area against error over numerics."),
    "bench": ("Speed", "Golden and the simulation of the engines."),
    "bench_quick": ("Speed, short runs", "The same with fewer rounds."),
}
"""The same for reports of cost."""


def write_page(state: State) -> Path:
    """Write build/reports/report.html and return its path.

    Raises MissingToolError if there is a run to draw and matplotlib is missing.
    """
    return rendered(TEMPLATE, PAGE, _content(state))


def rendered(template: str, page: str, content: Mapping[str, Any]) -> Path:
    """Write a page from a template of this folder below build/reports, and return its path."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"cell": _cell, "digits": _digits, "when": when, "verdict": verdict}
    environment.globals |= {"plural": plural}
    file = paths.reports() / page
    write_whole(file, environment.get_template(template).render(content))
    return file


def _content(state: State) -> dict[str, Any]:
    runs = state.runs[-SHOWN_RUNS:]
    shown = {*CAMPAIGNS, *COST, RUN}
    others = {name: (name, "") for name in sorted({*state.measured, *state.stale} - shown)}
    return {
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "commit": commit(),
        "last": _last(state.runs[-1], state) if state.runs else None,
        "runs": runs[::-1],
        "earlier": len(state.runs) - len(runs),
        "tally": state.tally,
        "units": _units(state),
        "found": tuple(FOUND),
        "campaigns": _reports(state, CAMPAIGNS),
        "cost": _reports(state, COST | others),
        "pictures": {file.name: relative(file) for file in sorted(paths.reports().glob("*.*")) if _is_picture(file)},
        "numerics": _numerics(),
        "damaged": [paths.shown(file) for file in state.damaged],
        "PASSED": results.PASSED,
        "FAILED": results.FAILED,
    }


def _last(run: Kept, state: State) -> dict[str, Any]:
    """Return the last run in full."""
    rows = format_rows(run)
    began = datetime.fromisoformat(run.began).timestamp()
    require_extra("plot")
    return {
        "run": run,
        "rows": rows,
        "stale": began < state.newest_source,
        "sqnr": sqnr_chart(rows),
        "rate": rate_chart(rows),
        # Formats with mismatches come first.
        "maps": [
            {"row": row, "maps": maps(row), "worst": worst_cells(row)}
            for row in sorted(rows, key=lambda row: not row["mismatches"])
        ],
    }


def _units(state: State) -> list[dict[str, Any]]:
    """Return each unit with its items, findings and links; units with a failed item first."""
    links = unit_runs()
    units = []
    for unit, items in state.by_unit().items():
        found = [whole for _, whole in items]
        units.append(
            {
                "name": unit,
                "items": items,
                "tally": tally(found),
                "passed": passed(found) == len(found),
                "failed": any(whole.status == results.FAILED for whole in found),
                "compared": sum(whole.compared for whole in found),
                "found": findings(state.measured, unit),
                "links": links.get(unit, {}),
            }
        )
    return sorted(units, key=lambda unit: not unit["failed"])


def _reports(state: State, titles: dict[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """Return tables of the reports that exist, current and older than the sources."""
    tables = []
    for name, (title, text) in titles.items():
        for stale, found in ((False, state.measured), (True, state.stale)):
            if name in found:
                summary = FOUND[name](found[name]) if name in FOUND else ""
                tables.append({"title": title, "text": text, "stale": stale, "summary": summary, **_table(found[name])})
    return tables


def _table(records: Records) -> dict[str, Any]:
    names = columns(records)
    return {"columns": names, "rows": [[record.get(name, "") for name in names] for record in records]}


def _numerics() -> list[dict[str, Any]]:
    """Return each machine with its counts of statements by standing, and its tables."""
    return [
        {
            "machine": name,
            "standings": standings(machine.numerics),
            "tables": [dict(zip(("columns", "rows"), numerics_rows(rows), strict=True)) for rows in machine.numerics],
        }
        for name, machine in TEXTS.items()
    ]


def _is_picture(file: Path) -> bool:
    """Return True for the pictures and pages that other commands leave among the reports."""
    return file.suffix in (".html", ".png") and file.name != PAGE


def _cell(value: Any) -> str:
    """Return a value of a table as text, with separated thousands."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        more = f" and {len(value) - LISTED} more" if len(value) > LISTED else ""
        return ", ".join(map(_cell, value[:LISTED])) + more
    return "-" if value is None else cell(value)


def _digits(value: float | None, digits: int, factor: float = 1, unit: str = "") -> str:
    """Return a number with a fixed number of digits behind the point."""
    return "-" if value is None else f"{value * factor:,.{digits}f}{unit}"
