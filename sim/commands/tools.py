"""``bitpath tools``: prints installed tools, and commands that install the missing ones."""

import click

from bitpath.sim.commands._click import Command, examples
from bitpath.sim.engine import tools
from bitpath.sim.engine.errors import MissingToolError
from bitpath.sim.engine.options import SIMULATORS


@click.command(cls=Command, epilog=examples("bitpath tools", "bitpath tools --need icarus --install"))
@click.option("--need", "simulator", type=SIMULATORS, help="Fail unless this simulator can run.")
@click.option("--install", is_flag=True, help="With --need: install what is missing through apt.")
def command(simulator: str | None, install: bool) -> None:
    """Print the versions of the tools that really run."""
    if simulator is not None:
        _ensure(simulator, install)
        return
    for name, package in tools.PACKAGES.items():
        path = tools.find(name)
        hint = "make setup" if name == "verilator" else f"sudo apt-get install {package}"
        where = f"{tools.version(name)}  [{path}]" if path else f"not found; run: {hint}"
        click.echo(f"{name:10} {where}")
    library = tools.libpython()
    click.echo(f"{'libpython':10} {library or f'not found; run: sudo apt-get install {tools.LIBPYTHON_PACKAGE}'}")


def _ensure(simulator: str, install: bool) -> None:
    try:
        tools.require_simulator(simulator)
    except MissingToolError:
        if not install:
            raise
        missing = [tools.PACKAGES[name] for name in tools.SIMULATORS[simulator] if tools.find(name) is None]
        missing += [] if tools.libpython() else [tools.LIBPYTHON_PACKAGE]
        tools.install(*dict.fromkeys(missing))
        tools.libpython.cache_clear()
        tools.require_simulator(simulator)
