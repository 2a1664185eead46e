"""Entry point of the ``bitpath`` command line."""

import errno
import importlib
import os
import pkgutil
import signal
import sys

import click

from bitpath.sim import commands
from bitpath.sim.engine.errors import MissingToolError, SimulationError

USER_ERRORS = (ValueError, TypeError, OSError, MemoryError, SimulationError)
"""Errors whose message is meant for the user: bad input, a missing tool or file, too little memory, a failed simulation."""


DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No room on the disk, in the user's share of it, or for a file of that size."""


class _Commands(click.Group):
    """Commands, one a module of :mod:`bitpath.sim.commands`, imported on use; module test_sim is the command test-sim."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"bitpath.sim.commands.{cmd_name.replace('-', '_')}").command


@click.group(cls=_Commands)
@click.version_option(package_name="bitpath")
def cli() -> None:
    """Bit-exact golden models and RTL of AI matrix engines, checked against each other."""


def main() -> None:
    """Run the command line; an error prints one sentence, with BITPATH_DEBUG=1 a traceback.

    The exit status is 1 after a user's mistake or a failure, 2 for a wrong option and 3 for a missing program or package.
    SIGTERM and SIGHUP act like Ctrl-C: child processes end too, and half-written files are removed.
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
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read the output has ended, as head does. Python would fail again when it flushes the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except USER_ERRORS as error:
        if os.environ.get("BITPATH_DEBUG") == "1":
            raise
        full = isinstance(error, OSError) and error.errno in DISK_FULL
        text = f"the disk is full ({error}); what was complete is kept" if full else error
        click.echo(f"bitpath: {text}", err=True)
        sys.exit(3 if isinstance(error, MissingToolError) else 1)


if __name__ == "__main__":
    main()
