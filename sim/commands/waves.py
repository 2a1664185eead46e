"""``bitpath waves``: opens the last wave of a unit or a checked design in GTKWave or Surfer."""

import subprocess

import click

from bitpath.sim.commands._click import Choice, Command, examples
from bitpath.sim.engine import paths, tools
from bitpath.sim.engine.errors import MissingToolError

VIEWERS: dict[str, tuple[str, ...]] = {"gtkwave": (), "surfer": ("--command-file",)}
"""Viewers, and the option of each that takes the file."""


@click.command(
    cls=Command, epilog=examples("bitpath waves quad_mx_pe", "bitpath waves dot16 --no-open", "bitpath waves my_dot")
)
@click.argument("unit")
@click.option("--viewer", type=Choice(list(VIEWERS)), default="gtkwave", show_default=True)
@click.option("--open/--no-open", "opened", default=True, help="Open the viewer, or only write its file.")
def command(unit: str, viewer: str, opened: bool) -> None:
    """Open the last wave of a unit in a viewer.

    UNIT may also be the top module of a design that bitpath check ran. The wave is shown from its first mismatch on. Signals
    are grouped by stage, codes are numbers, and golden's values are beside the outputs.
    """
    from bitpath.sim.study.waves import last_wave, write_command_file, write_save_file

    wave = last_wave(unit)
    file = (write_command_file if viewer == "surfer" else write_save_file)(unit, wave)
    click.echo(f"wave: {paths.shown(wave)}\nsave file: {paths.shown(file)}")
    if not opened:
        return
    program = tools.find(viewer)
    if program is None:
        raise MissingToolError(f"{viewer} not found; open {paths.shown(file)} with it")
    # Surfer looks for number formats in its working folder.
    done = subprocess.run([str(program), *VIEWERS[viewer], file.name], cwd=wave.parent, check=False)
    if done.returncode:
        raise OSError(
            f"{viewer} ended with status {done.returncode}; is there a display? The file is {paths.shown(file)}"
        )
