"""``bitpath waves``: opens a unit's last wave in GTKWave."""

import subprocess

import click

from bitpath.rtl.units import find_unit
from bitpath.sim.engine import paths, tools
from bitpath.sim.waves.save import last_wave, write_save_file


@click.command()
@click.argument("unit")
@click.option("--open/--no-open", "opened", default=True, help="Open GTKWave, or only write the save file.")
def command(unit: str, opened: bool) -> None:
    """Show the last wave of UNIT from its first mismatch on, with signals grouped by stage and codes as numbers."""
    wave = last_wave(find_unit(unit).name)
    if opened:
        tools.require("gtkwave")
    save = write_save_file(unit, wave)
    click.echo(f"wave: {paths.shown(wave)}\nsave file: {paths.shown(save)}")
    if opened:
        done = subprocess.run([str(tools.find("gtkwave")), str(wave), str(save)], check=False)
        if done.returncode:
            raise OSError(
                f"gtkwave ended with status {done.returncode}; is there a display? The save file is {paths.shown(save)}"
            )
