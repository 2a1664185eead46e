"""The help of every command, misspelt names, and ``--filter``."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.__main__ import SELF, adapted, cli
from bitpath.sim.commands._click import summary
from bitpath.sim.engine import build, configure, runner
from bitpath.verif.kit.testplan import covers


def commands(group, path=()):
    """Yield path and command of a group and all below it."""
    yield path, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            yield from commands(group.get_command(context, name), (*path, name))


ALL = dict(commands(cli))
EXAMPLES = [(path, line) for path, command in ALL.items() for line in (command.epilog or "").splitlines()]


def test_every_help_has_a_sentence_and_examples():
    for path, command in ALL.items():
        # A call without the group decides nothing for the next one with it.
        CliRunner().invoke(command, ["--help"])
        texts = {CliRunner().invoke(cli, [*path, option]).output for option in ("-h", "--help")}
        assert len(texts) == 1, path
        (text,) = texts
        assert summary(command) in " ".join(text.split()), path
        assert re.fullmatch(r"[A-Z]\w+ [^.]*[^.\s]\.", summary(command)), f"{path}: not one sentence"
        assert not re.search(r"\.\.\.(?!\])", text.partition("\n")[2]), f"{path}: a text is cut"
        assert "\nExamples:\n  bitpath" in text, path


def test_a_group_shows_the_whole_summary_of_each_command():
    for path in [path for path, command in ALL.items() if isinstance(command, click.Group)]:
        shown = " ".join(CliRunner().invoke(cli, [*path, "-h"]).output.split())
        below = [each for each in ALL if len(each) == len(path) + 1 and each[: len(path)] == path]
        assert below, path
        assert all(f" {each[-1]} {summary(ALL[each])}" in shown for each in below), path


def test_spellings_of_the_first_version_are_answered_and_not_shown():
    for name in SELF:
        assert adapted([name, "-h"]) == ["self", name, "-h"]
        assert CliRunner().invoke(cli, [name, "-h"]).output == CliRunner().invoke(cli, ["self", name, "-h"]).output
    for line, meant in {
        "run --sim icarus --flow layer --json": "run layer --sim icarus --json",
        "run --flow=core --qos off": "run core --qos off",
        "run --flow": "run",
        "run layer": "run layer",
        "explain tensix -h": "explain tensix -h",
        "": "",
    }.items():
        assert adapted(line.split()) == meant.split(), line
    text = CliRunner().invoke(cli, ["-h"]).output
    assert not [name for name in SELF if f"\n  {name} " in text]
    assert "--flow" not in text + CliRunner().invoke(cli, ["run", "-h"]).output


def test_click_accepts_every_example():
    for path, line in EXAMPLES:
        program, *words = [word for word in shlex.split(line.replace("COMMAND", "run")) if word != "-h"]
        assert program == "bitpath"
        context, command, names = None, cli, []
        while isinstance(command, click.Group):
            context = command.make_context(program, words, parent=context)
            name, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
            names.append(name)
        assert command.make_context(program, words, parent=context).args == [], line
        assert tuple(names[: len(path)]) == path, f"{line}: an example of another command"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("rum", "run"),
        ("self test_sim dot16", "test-sim"),
        ("run lyer", "layer"),
        ("explain trainium2", "trainium3"),
        ("run --machin tensix", "--machine"),
        ("run --machine tensics", "tensix"),
        ("run --sim verilate", "verilator"),
        ("run --format MXFP8_E4M", "mxfp8_e4m3"),
        ("run --machine tensix --format bf16_hifi", "bf16_hifi4"),
        ("run --machine aie_ml_v2 --format fp8_e4m", "fp8_e4m3"),
        ("explain tensix --output 0,0 --format bf16_hifi", "bf16_hifi4"),
        ("units dot61", "dot16"),
        ("test-sim Quad_MX_dot", "quad_mx_dot"),
        ("export-c tensix -o out --preset tensix_wormhol", "tensix_wormhole"),
        ("emit dot16 --out out --preset tensix_wormhole_fix", "tensix_wormhole_fixed"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(bitpath, line, meant):
    status, out, err = bitpath(*line.split())
    assert (status, out) == (2, "")
    assert f"'{meant}'" in err[err.lower().index("did you mean") :]


# ``--filter`` finds tests by the names that cocotb will give them, before anything is built.


ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs/examples/mx_dot4"


@covers(
    "robustness.filters",
    "A filter with a mistake must not cost a build, and a replay line must run the test that it names",
)
@pytest.mark.parametrize(
    "line", ["test-sim psum", f"check {EXAMPLE}/mx_dot4.sv --unit quad_mx_dot --map {EXAMPLE}/ports.toml"]
)
def test_a_filter_that_finds_nothing_is_refused_before_the_build(bitpath, monkeypatch, tmp_path, line):
    """Filters that find no test or skipped ones alone, the names of every bench's tests, and values of any letters in a
    replay line."""
    monkeypatch.setattr(build, "build", lambda *_, **__: pytest.fail("a simulation was built"))
    monkeypatch.setattr(runner, "build", build.build)
    status, out, err = bitpath(*line.split(), "--filter", "resett?$")
    assert (status, out) == (2, "")
    assert err.startswith("bitpath: --filter: 'resett?$' matches no test of bitpath.verif.trainium3.")
    assert "; it has " in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@covers("robustness.filters")
def test_a_filter_that_finds_skipped_tests_alone_is_refused(monkeypatch):
    unit = find_unit("dot16")
    config = unit.config_type()
    names = configure.names_of(unit.bench, config)
    skipped = [name for name, left_out in names.items() if left_out]
    assert skipped
    monkeypatch.setattr(configure, "names_of", lambda *_: names)
    with pytest.raises(ValueError, match=r"^--filter: .* matches only tests that this configuration skips$"):
        configure.check_filter(unit.bench, config, f"^{skipped[0]}$")
    configure.check_filter(unit.bench, config, "random_classes/pace=gaps$")
    configure.check_filter(unit.bench, config, None)


@covers("robustness.filters")
def test_a_bench_that_is_none_is_named():
    with pytest.raises(ValueError, match=r"^bitpath\.verif\.nosuch cannot be imported: ModuleNotFoundError: "):
        configure.check_filter("bitpath.verif.nosuch", UNITS["psum"].config_type(), "reset")


@covers("robustness.filters")
@pytest.mark.deep
@pytest.mark.simulator
def test_the_names_are_those_of_the_run(elsewhere):
    config = UNITS["element_map"].config_type()
    ran = runner.run_bench("element_map", config, "icarus", cases=50, check_bins=False)
    names = configure.names_of(UNITS["element_map"].bench, config)
    assert sorted((*ran.tests, *ran.skipped)) == sorted(
        name.removeprefix(f"{UNITS['element_map'].bench}.") for name in names
    )


@covers("robustness.filters")
@pytest.mark.deep
def test_every_bench_tells_its_tests(subtests):
    for name, unit in UNITS.items():
        with subtests.test(name):
            assert not all(configure.names_of(unit.bench, unit.config_type()).values())


@covers("robustness.filters")
@pytest.mark.parametrize("text", ["a b", "$HOME $(HOME) `id`", "a\\d\"'$", "name/x=(1, 2)|[3]$"])
def test_a_value_in_a_replay_line_reaches_the_command_as_it_is(text):
    line = f"make -n --no-print-directory sim UNIT=psum FILTER={runner._for_make(text)}"
    shown = subprocess.run(
        ["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    words = shown.partition("bitpath self test-sim ")[2]
    done = subprocess.run(["sh", "-c", f"printf '%s\\n' {words}"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["psum", "--filter", text]
