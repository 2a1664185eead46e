"""Parts that the commands share: examples, lists of commands, and the form of the output."""

import functools
import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bitpath.sim.engine.options import Choice, with_options
from bitpath.sim.engine.tools import require_extra

if TYPE_CHECKING:
    from rich.text import Text

__all__ = [
    "Choice",
    "Command",
    "Group",
    "LazyGroup",
    "Printer",
    "cluster_options",
    "examples",
    "output_options",
    "summary",
]


def examples(*lines: str) -> str:
    """Return the end of a `Command`'s help: command lines that work as they stand."""
    return "\n".join(lines)


def summary(command: click.Command) -> str:
    """Return the first paragraph of a command's help, a sentence, as one line."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


class Command(click.Command):
    """A command whose help, for which -h asks too, ends with examples.

    Without the extra of pyproject.toml that it needs it prints the line that installs it; None is a command of golden alone.
    """

    def __init__(self, *arguments: Any, extra: str | None = "sim", **options: Any):
        super().__init__(*arguments, **options)
        self.extra = extra
        # click would take it from the group, but keeps the first answer, which a call without the group can be.
        self.context_settings["help_option_names"] = ["-h", "--help"]

    def invoke(self, ctx: click.Context) -> Any:
        if self.extra is not None:
            require_extra(self.extra)
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for line in (self.epilog or "").splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Group(Command, click.Group):
    """Commands, each with its whole summary; an unknown command is answered with the closest name."""

    title = "Commands"

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, extra=None, **options)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section(self.title):
            formatter.write_dl([(name, summary(command)) for name, command in commands.items() if command])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # click knows only the commands that are imported.
            raise click.NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from None


class LazyGroup(Group):
    """A group whose commands are imported on use: ``modules`` has the module of `bitpath.sim.commands` for each name."""

    def __init__(self, *arguments: Any, modules: Mapping[str, str], **options: Any):
        super().__init__(*arguments, **options)
        self.modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.modules, *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.modules:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"bitpath.sim.commands.{self.modules[cmd_name]}")
        return getattr(module, f"{cmd_name.replace('-', '_')}_command")


@dataclass(frozen=True)
class Printer:
    """Prints the results of a command in the form that --json and --quiet choose.

    Attributes
    ----------
    json : print one JSON value on stdout and no text beside it.
    quiet : print failures only.
    """

    json: bool
    quiet: bool

    @property
    def silent(self) -> bool:
        """True if stdout gets no text besides failures."""
        return self.json or self.quiet

    def say(self, text: Any) -> None:
        """Print text that is neither the result nor a failure."""
        if not self.silent:
            click.echo(text)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence["Text | str"]], title: str = "") -> None:
        """Print a table: fitted to the terminal; elsewhere as Markdown, a row a line, which nothing cuts or folds."""
        if self.silent:
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console()
        if console.is_terminal:
            table = Table(*headings, title=title or None)
            for row in rows:
                table.add_row(*(Text(each) if isinstance(each, str) else each for each in row))
            console.print(table)
            return
        lines = [headings, ["---"] * len(headings), *rows]
        click.echo(
            "\n".join([title, ""] * bool(title) + [f"| {' | '.join(map(str, line))} |" for line in lines]) + "\n"
        )

    def fail(self, text: str) -> None:
        """Print a failure, on stderr if stdout has JSON."""
        click.echo(text, err=self.json)

    def result(self, value: Any) -> None:
        """Print the result if it is wanted as JSON."""
        if self.json:
            click.echo(json.dumps(value, indent=2))


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --json and --quiet to a command, which takes them as the `Printer` ``printer``."""

    @with_options(
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON; nothing else goes to stdout."),
        click.option("--quiet", is_flag=True, help="Print failures only."),
    )
    @functools.wraps(command)
    def call(*arguments: Any, as_json: bool, quiet: bool, **options: Any) -> Any:
        return command(*arguments, printer=Printer(as_json, quiet), **options)

    return call


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --scheduler and --workers to a command, which takes them as the `Cluster` ``cluster``."""

    @with_options(
        click.option(
            "--scheduler", metavar="ADDRESS", help="A Dask scheduler, as tcp://host:8786; this machine when not given."
        ),
        click.option(
            "--workers", type=click.IntRange(1), help="Processes on this machine; one for each core when not given."
        ),
    )
    @functools.wraps(command)
    def call(*arguments: Any, scheduler: str | None, workers: int | None, **options: Any) -> Any:
        from bitpath.sim.engine.cluster import Cluster

        if scheduler is not None and workers is not None:
            raise ValueError("--scheduler and --workers go one at a time")
        return command(*arguments, cluster=Cluster(scheduler, workers), **options)

    return call
