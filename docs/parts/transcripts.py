"""Examples that are run: doctests in Python, and command lines with their output.

A page holds Python as ```` ```pycon ```` fences and commands as ```` ```console ```` fences whose lines begin with ``$ bitpath``. All
fences of a page share one namespace.
"""

import doctest
import re
import shlex
from collections.abc import Iterator

FENCE = re.compile(r"^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def differences(text: str, name: str) -> list[str]:
    """Run the examples of a page and return one message for each that prints something else."""
    python = "\n".join(block for kind, block in FENCE.findall(text) if kind == "pycon")
    return [*_python(python, name), *_commands(text)]


def _python(text: str, name: str) -> list[str]:
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    messages: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(test, out=messages.append)
    return messages


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each ``bitpath`` command line of a page with the output below it; without output, it is not run."""
    for kind, block in FENCE.findall(text):
        if kind == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, output = part.partition("\n")
                if line.startswith("bitpath ") and output.strip():
                    yield line, output


def _commands(text: str) -> Iterator[str]:
    from click.testing import CliRunner

    from bitpath.sim.__main__ import cli

    for line, output in commands(text):
        ran = CliRunner().invoke(cli, shlex.split(line)[1:], prog_name="bitpath")
        if ran.exit_code:
            yield f"{line}: status {ran.exit_code}: {ran.output or ran.exception}"
        elif not doctest.OutputChecker().check_output(
            output.strip() + "\n", ran.output.strip() + "\n", doctest.ELLIPSIS
        ):
            yield f"{line}: the page shows\n{output}\nbut the command prints\n{ran.output}"
