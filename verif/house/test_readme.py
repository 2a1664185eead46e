"""README and pages quote records of runs, and cheap figures are those of the code."""

import json
import re
import tomllib
from datetime import date
from pathlib import Path

import pytest
from parts import readme, records, take, transcripts

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.agreement import COMPARED_UNITS
from bitpath.sim.flows.machines import RECORDS
from bitpath.sim.study import synth
from bitpath.verif.properties import PROPERTIES

ROOT = Path(__file__).resolve().parents[2]
README = readme.README.read_text()
NAMES = sorted(path.stem for path in records.RECORDS.glob("*.toml"))
LAYER = 128 * 384
"""Elements of the layer's activations."""


def rows(name, table):
    return records.record(name)["tables"][table]["rows"]


def units(name, table):
    return [row[0].strip("`") for row in rows(name, table)]


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 150


def test_the_readme_quotes_the_records():
    for name, text in readme.TEXTS.items():
        assert readme.PARTS[name].search(README)[0] == text()


def test_the_readmes_examples_print_what_it_shows():
    assert len(list(transcripts.commands(README))) == 1
    assert transcripts.differences(README, "README") == []


def test_an_example_that_prints_something_else_is_found():
    assert transcripts.differences("```pycon\n>>> 1 + 1\n3\n\n```\n", "sabotage")
    assert transcripts.differences("```console\n$ bitpath --version\nbitpath, version 0\n```\n", "sabotage")


def test_pictures_are_small():
    assert all(file.stat().st_size < 200_000 for file in (ROOT / "docs/images").iterdir())


def test_links_of_the_readme_lead_somewhere():
    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(targets) > 10
    assert [each for each in targets if not (ROOT / each).exists()] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_record_says_when_and_where_it_ran(name):
    record = records.record(name)
    assert record["command"]
    assert record["machine"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", str(record["date"]))
    for table in record.get("tables", {}).values():
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_every_record_is_quoted():
    pages = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    assert [name for name in NAMES if not re.search(rf'\{{\{{ (table\("{name}"|{name}\.)', pages)] == []


def test_the_run_has_every_format_and_no_mismatch():
    formats = [(name, fmt) for name, machine in RECORDS.items() for fmt in machine.matmul.FORMATS]
    assert [tuple(row[:2]) for row in rows("run", "formats")] == formats
    # All outputs of the layer, [128, 512].
    assert all(row[2:4] == [128 * 512, 0] for row in rows("run", "formats"))


def test_the_flows_have_every_format_and_no_mismatch():
    flows = {name: flow for machine in RECORDS.values() for name, flow in machine.flows.items()}
    assert [tuple(row[:2]) for row in rows("flows", "formats")] == [
        (name, fmt) for name, flow in flows.items() for fmt in flow.FORMATS
    ]
    compared = {
        "rmsnorm_quant": {"row": LAYER + 128 * 4, "static": LAYER},
        "layer": dict.fromkeys(flows["layer"].FORMATS, LAYER + LAYER // 32),
        # The largest of each row, powers with their sums, and reciprocals.
        "softmax": dict.fromkeys(flows["softmax"].FORMATS, 128 * 128 + 3 * 128),
        "relu_accumulate": dict.fromkeys(flows["relu_accumulate"].FORMATS, 128 * 512),
        # Two layers have 256 KiB of memory, 109 registers of up to eight words, and four counters.
        "tile": dict.fromkeys(flows["tile"].FORMATS, 2 * ((1 << 18) + 109 * 8 + 4)),
    }
    for flow, fmt, count, mismatches, *_ in rows("flows", "formats"):
        assert mismatches == 0
        assert flow in ("core", "program") or count.startswith(f"{compared[flow][fmt]:,} ")


def test_the_synthesis_has_the_designs_of_make_synth():
    names = [re.sub("[`*]", "", row[0]) for row in rows("synth", "designs")]
    assert names == [design.name for design in synth.QUOTED]


def test_every_unit_is_covered_and_agrees():
    for name, measured in (("coverage", UNITS), ("agreement", COMPARED_UNITS)):
        assert set(units(name, "units")) == set(measured)
        assert records.record(name)["figures"]["units"] == len(measured)


def test_the_least_coverage_is_that_of_the_table():
    figures = records.record("coverage")["figures"]
    for column, name in ((4, "least_line_percent"), (6, "least_bit_percent")):
        assert float(figures[name]) == min(float(row[column].split()[0]) for row in rows("coverage", "units"))


def test_all_properties_are_proved():
    figures = records.record("formal")["figures"]
    assert figures["proved"] == figures["refuted"] == len(PROPERTIES)


def test_the_mutants_add_up():
    figures, table = records.record("mutation")["figures"], rows("mutation", "judges")
    assert set(units("mutation", "judges")) <= set(UNITS)
    totals = [sum(row[column] for row in table) for column in range(1, 6)]
    assert totals == [figures[name] for name in ("rtl_files", "mutants", "killed", "equivalent", "survived")]
    assert figures["mutants"] == sum(totals[2:])


def test_the_volume_has_no_mismatch():
    figures = records.record("volume")["figures"]
    assert figures["mismatches"] == sum(row[3] for table in ("random", "ranges") for row in rows("volume", table))


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_written_as_it_was_read(name):
    assert tomllib.loads(take.text(records.record(name))) == records.record(name)


MUTANTS = {
    "unit": "dot16",
    "mutants": 10,
    "killed": 8,
    "equivalent": 1,
    "survived": 1,
    "broken": 0,
    "killed_by_time": 0,
}
DEEP = {"unit": "dot16", "what": "all", "vectors": 2_000_000, "mismatches": 0, "seconds": 3.2, "seed": 0}
REPORTS = {
    "agreement": [{"unit": "dot16", "status": "agrees", "steps": 3, "values": 4, "seed": 0}],
    "coverage": [
        {"unit": "dot16", "bins": 9, "lines": 8, "lines_waived": 1, "bits": 7, "bits_waived": 0}
        | {"functional_percent": 100.0, "line_percent": 98.5, "toggle_percent": 99.0}
        | {"bits_proved_constant": 2, "waived": 1}
    ],
    "block": [
        {"matmul": "k", "mismatches": 0},
        {"matmul": "ffn", "mismatches": 0, "outputs_compared": 64}
        | {"stages": [{"instruction": "wormhole norm", "count": 5, "compared": 9, "mismatches": 0, "rtl_cycles": 70}]}
        | {"chips": [{"chip": "wormhole", "programs": 5, "words": 4, "bytes": 5, "cycles": 70}]},
    ],
    "formal": [{"status": "proved", "sabotage_caught": True, "seconds": 1.0, "sabotage_seconds": 0.5}],
    "lm_vector": [
        {"model": "small", "tokens": 9, "float32_perplexity": 4.0, "answer": "Paris.\n", "kl": 0.5, "kl_spread": 0.25}
        | {
            "format": "bf16_hifi4 with norm on tensix",
            "kl_sums": 0.125,
            "kl_matmuls_alone": 0.125,
            "kl_norm_alone": 0.1,
        }
    ],
    "mutation": [MUTANTS | {"target": "rtl/tensix/dot/dot16"}, MUTANTS | {"target": "golden/tensix/matmul/matmul.py"}],
    "volume": [
        DEEP | {"name": "volume-tensix", "rtl_seconds": 1.0, "golden_seconds": 2.0},
        DEEP | {"name": "sweep-fidelity", "rtl_seconds": 1.0, "golden_seconds": 2.0},
    ],
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_taken_into_its_record(name):
    content = take.taken(name, REPORTS[name], "one core", date(2026, 1, 2), {"minutes": 5})
    assert (content["machine"], content["date"], content["figures"]["minutes"]) == ("one core", date(2026, 1, 2), 5)
    for table in content.get("tables", {}).values():
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}
    assert tomllib.loads(take.text(content)) == content


def test_whole_reports_are_taken_together(tmp_path, monkeypatch, capsys):
    """A report that lacks rows of its record is left; the README follows the records."""
    readme_file = tmp_path / "README.md"
    readme_file.write_text("<!-- figures -->\nold\n<!-- /figures -->\n")
    monkeypatch.setattr(readme, "README", readme_file)
    monkeypatch.setattr(take, "README", readme_file)
    monkeypatch.setattr(take, "REPORTS", tmp_path)
    monkeypatch.setattr(take, "RECORDS", tmp_path)
    for name in ("agreement", "formal"):
        (tmp_path / take.TAKERS[name][0]).write_text(json.dumps(REPORTS[name]))
    assert take.take((), "one core", {}) == [tmp_path / "formal.toml", readme_file]
    assert capsys.readouterr().out.startswith("agreement: the report is older than the record, or lacks rows")
    assert tomllib.loads((tmp_path / "formal.toml").read_text())["machine"] == "one core"
    assert readme.lines() in readme_file.read_text()


def test_a_block_has_a_row_for_each_operation_and_chip():
    figures, tables = take.block(REPORTS["block"])
    assert figures == {"outputs": 64}
    assert tables == {"operations": [["wormhole", "norm", 5, 9, 0, 70], ["wormhole", "all", 5, 9, 0, 70]]}
    with pytest.raises(SystemExit, match="block: a bit differs"):
        take.block([{"matmul": "ffn", "mismatches": 1}])


def test_operations_on_tensix_are_taken_alone():
    figures, tables = take.lm_vector(REPORTS["lm_vector"])
    assert figures == {"model": "small", "tokens": "9", "answer": "Paris.", "perplexity": "4"}
    assert tables == {"operations": [
        ["everything, bf16_hifi4", "0.5 ± 0.2"], ["matmuls", "0.12"], ["norm", "0.1"]
    ]}  # fmt: skip


def test_a_mutation_report_is_added_up():
    figures, tables = take.mutation(REPORTS["mutation"])
    assert figures | {"killed_percent": "88.9", "least_percent": "88.9", "survived": 1, "golden_killed": 8} == figures
    assert tables == {"judges": [["`dot16`", 1, 10, 8, 1, 1, "88.9 %", "88.9 %, `dot16`"]]}
