"""The help of every command: whole sentences, and examples whose arguments click accepts."""

import re
import shlex

import click
import pytest
from click.testing import CliRunner

from bitpath.sim.__main__ import MAINTAINERS, cli
from bitpath.sim.commands._click import summary


def commands(group, path=()):
    """Yield path and command of a group and all below it."""
    yield path, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            yield from commands(group.get_command(context, name), (*path, name))


ALL = dict(commands(cli))
EXAMPLES = [(path, line) for path, command in ALL.items() for line in (command.epilog or "").splitlines()]


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_has_a_sentence_and_examples(path):
    # A call without the group decides nothing for the next one with it.
    CliRunner().invoke(ALL[path], ["--help"])
    texts = {CliRunner().invoke(cli, [*path, option]).output for option in ("-h", "--help")}
    assert len(texts) == 1
    (text,) = texts
    assert summary(ALL[path]) in " ".join(text.split())
    assert re.fullmatch(r"[A-Z]\w+ [^.]*[^.\s]\.", summary(ALL[path])), "not one sentence"
    assert not re.search(r"\.\.\.(?!\])", text.partition("\n")[2]), "a text is cut"
    assert "\nExamples:\n  bitpath" in text


@pytest.mark.parametrize(
    "path", [path for path, command in ALL.items() if isinstance(command, click.Group)], ids=" ".join
)
def test_a_group_shows_the_whole_summary_of_each_command(path):
    shown = " ".join(CliRunner().invoke(cli, [*path, "-h"]).output.split())
    below = [each for each in ALL if len(each) == len(path) + 1 and each[: len(path)] == path]
    assert len(below) > 2
    assert all(f" {each[-1]} {summary(ALL[each])}" in shown for each in below)


def test_users_commands_come_first():
    _, users, own = re.split(r"^(?=Commands)", CliRunner().invoke(cli, ["-h"]).output, flags=re.MULTILINE)
    assert all(f"\n  {name} " in own for name in MAINTAINERS)
    assert all(f"\n  {path[0]} " in users for path in ALL if len(path) == 1 and path[0] not in MAINTAINERS)


@pytest.mark.parametrize(("path", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_click_accepts_an_example(path, line):
    program, *words = shlex.split(line.replace("COMMAND", "run"))
    assert program == "bitpath"
    command, context, given = cli, click.Context(cli, **cli.context_settings), list(path)
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(context, words)
        assert given[:1] in ([], [name]), "an example of another command"
        given = given[1:]
        context = click.Context(command, info_name=name, parent=context)
    if "-h" in words:
        return
    command.parse_args(context, words)
    assert context.args == []


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("rum", "run"),
        ("test_sim dot16", "test-sim"),
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
