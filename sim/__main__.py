"""Entry point of the ``bitpath`` command line."""

import errno
import os
import signal
import sys
from pathlib import Path

import click

from bitpath.sim.commands._click import LazyGroup, examples
from bitpath.sim.engine import paths
from bitpath.sim.engine.options import (
    EXIT_CODES,
    FAILED,
    INTERRUPTED,
    MISSING,
    REFUSED,
    MissingToolError,
    SimulationError,
)

USER_ERRORS = (ValueError, TypeError, OSError, MemoryError, SimulationError)
"""Errors whose message is meant for the user: bad input, a missing tool or file, too little memory, a failed simulation."""
NOBODY_READS = 128 + signal.SIGPIPE
"""Exit code when the reader of the output has ended, as the shell has it."""
NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
"""No right to write there, or a disk that nobody may write to."""
LINE = 2000
"""Longest line of an error, in characters."""
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No room on the disk, in the user's share of it, or for a file of that size."""

COMMANDS = {
    **dict.fromkeys(("asm", "export-c", "nki", "numerics", "rates"), "golden"),
    **dict.fromkeys(("identify", "ledger", "oracle", "probe"), "devices"),
    **dict.fromkeys(("emit", "units", "waves"), "units"),
    **{name: name for name in ("check", "explain", "lm", "run", "tensix")},
}
"""Module of each command for users."""
SELF = {
    **dict.fromkeys(("agree", "coverage", "deep", "formal", "mutate", "test-sim"), "campaigns"),
    **dict.fromkeys(("bench", "explore", "functions", "report", "synth", "tools"), "measures"),
}
"""Module of each command that checks or measures bitpath itself."""


def adapted(words: list[str]) -> list[str]:
    """Return a line of version 0.1 in today's words: ``agree`` is ``self agree``, and ``run --flow layer`` is ``run layer``."""
    if words and words[0] in SELF:
        return ["self", *words]
    if words[:1] == ["run"]:
        for place, word in enumerate(words):
            option, equal, value = word.partition("=")
            if option == "--flow":
                rest = words[place + 1 :]
                return ["run", *([value] if equal else rest[:1]), *words[1:place], *(rest if equal else rest[1:])]
    return words


class _Commands(LazyGroup):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, adapted(args))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])
        super().format_epilog(ctx, formatter)


@click.group(
    cls=_Commands,
    modules=COMMANDS,
    context_settings={"max_content_width": 100},
    epilog=examples("bitpath run", "bitpath units dot16", "bitpath COMMAND -h"),
)
@click.version_option(package_name="bitpath")
def cli() -> None:
    """Compare bit-exact golden models of AI matrix engines with their RTL.

    Generated files go to build/ of the checkout around the current folder, or of the current folder outside of a checkout;
    BITPATH_BUILD names another folder.
    """


@cli.group("self", cls=LazyGroup, modules=SELF, epilog=examples("bitpath self test-sim dot16", "bitpath self report"))
def own() -> None:
    """Check and measure bitpath itself."""


def main() -> None:
    """Run the command line; an error prints one sentence, with BITPATH_DEBUG=1 a traceback.

    The exit status is one of EXIT_CODES. SIGTERM and SIGHUP act like Ctrl-C: child processes end too, and half-written files
    are removed.
    """
    for request in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, signal.default_int_handler)
    try:
        sys.exit(cli(prog_name="bitpath", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        # Omit click's usage lines: the error sentence names the accepted values.
        click.echo(f"bitpath: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("bitpath: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has ended, as head does. Python would fail again when it flushes the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(NOBODY_READS)
    except USER_ERRORS as error:
        if os.environ.get("BITPATH_DEBUG") == "1":
            raise
        click.echo(f"bitpath: {_shortened(_text(error))}", err=True)
        sys.exit(_code(error))


def _text(error: Exception) -> str:
    """Return the sentence of an error; that of a system call is only a word or two."""
    if not isinstance(error, OSError):
        return str(error)
    if error.errno in DISK_FULL:
        return f"the disk is full ({error}); what was complete is kept"
    if error.errno in NOT_WRITABLE and error.filename and Path(error.filename).is_relative_to(paths.build_root()):
        return f"{error.filename} cannot be written ({error.strerror}); {paths.VARIABLE} names another folder"
    return str(error)


def _shortened(text: str) -> str:
    """Return an error without the middle of its long lines: a sentence may quote a line of a file, as long as that is."""
    lines = text.split("\n")
    return "\n".join(each if len(each) <= LINE else f"{each[: LINE // 2]} ... {each[-LINE // 2 :]}" for each in lines)


def _code(error: Exception) -> int:
    if isinstance(error, MissingToolError):
        return MISSING
    return FAILED if isinstance(error, SimulationError) else REFUSED


if __name__ == "__main__":
    main()
