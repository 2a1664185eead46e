"""GTKWave's save file of a wave."""

from pathlib import Path

from vcd.gtkw import GTKWColor, GTKWSave

from bitpath.rtl.common.unit import CLOCK
from bitpath.sim.waves.filters import FILE_BITS, Filters
from bitpath.sim.waves.traces import Trace, traces_of
from bitpath.verif.kit.scoreboard import FIRST_MISMATCH

ZOOM = -14.2
"""Zoom in GTKWave's logarithmic unit: a window of ten cycles, wide enough to read most numbers."""
LEAD_PS = 60_000
"""Time displayed before the first mismatch."""
SIGNALS_WIDTH = 520
"""Width in pixels of names and of the values at the marker."""
OPEN = ("clock", "inputs", "outputs", "output", "round")
"""Groups that are open initially; those with comparisons are open too."""
COLORS = {"": None, "expected": GTKWColor.yellow, "mismatch": GTKWColor.red}
"""Colors of the lines by their kind."""


def first_mismatch(wave: Path) -> int | None:
    """Return the time of the first mismatch in ps; None if all compared values agreed."""
    file = wave.with_name(FIRST_MISMATCH)
    return int(file.read_text()) if file.exists() else None


def write_save_file(unit: str, wave: Path) -> Path:
    """Write the save file and its filters beside the wave; it opens on the first mismatch, or else on the first cycles.

    Names in it, also those of filters, are relative to it, so that the folder can be moved.
    """
    path = wave.with_name(f"{unit}.gtkw")
    moment = first_mismatch(wave)
    written = Filters(wave.parent)
    with path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(wave.name, abspath=False)
        save.savefile(path.name, abspath=False)
        save.size(1600, 900)
        save.sst_expanded(False)
        save.signals_width(SIGNALS_WIDTH)
        save.timestart(max(0, (moment or 0) - LEAD_PS))
        if moment is None:
            save.zoom_markers(ZOOM)
        else:
            save.zoom_markers(ZOOM, marker=moment, a=moment)  # type: ignore[arg-type]
            file.write("[markername] Afirst mismatch\n")
        groups = traces_of(unit, wave)
        # The comparisons come first where one failed: the clock, which shows whether any did, and the outputs.
        compared = [title for title, members in groups.items() if any(trace.kind for trace in members)]
        for title in (
            groups if moment is None else sorted(groups, key=lambda title: title not in (CLOCK.title, *compared))
        ):
            members = groups[title]
            with save.group(title, closed=title not in (*OPEN, *compared)):
                for trace in members:
                    _write(save, trace, written)
    return path


def _write(save: GTKWSave, trace: Trace, filters: Filters) -> None:
    name, label, color, shown = trace.signal.full, trace.label, COLORS[trace.kind], trace.shown
    if shown is None:
        save.trace(name, alias=label, color=color)
    elif trace.signal.width <= FILE_BITS:
        save.trace(name, alias=label, color=color, translate_filter_file=filters.file(shown, trace.signal.width))
    else:
        save.trace(name, alias=label, color=color, translate_filter_proc=filters.process(shown))
