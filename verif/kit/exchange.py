"""Files between a flow's process and the simulator's: an input and a result for each play, and the share that is done.

The simulator's environment names those of the first play, and the number of plays: BITPATH_INPUT, BITPATH_RESULT,
BITPATH_PROGRESS and BITPATH_PLAYS. A bench has a test for each play, which says in BITPATH_PLAY which one it is.
"""

import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.rtl.common.files import write_whole

EVERY_SECONDS = 1.0
"""Minimum time between two writes of the share; a write may wait for the disk."""
_written: dict[Path, float] = {}


PLAYS, PLAY = "BITPATH_PLAYS", "BITPATH_PLAY"


def write_input(folder: Path, *contents: Any) -> dict[str, Path]:
    """Write the inputs of a run bench, one for each play, and return the paths of the first play's files for its environment."""
    files = {
        "BITPATH_INPUT": folder / "input.pickle",
        "BITPATH_RESULT": folder / "result.npz",
        "BITPATH_PROGRESS": folder / "progress.json",
    }
    for play, content in enumerate(contents):
        file_of(files["BITPATH_INPUT"], play).write_bytes(pickle.dumps(content))
    return files


def file_of(path: Path, play: int) -> Path:
    """Return the file of a play: further ones have their number in the name."""
    return path.with_stem(f"{path.stem}-{play}") if play else path


def plays() -> int:
    """Return the number of plays; called in the simulator."""
    return int(os.environ.get(PLAYS, "1"))


def begin_play(play: int) -> None:
    """Say which play the following calls belong to; called in the simulator."""
    os.environ[PLAY] = str(play)


def _play() -> int:
    return int(os.environ.get(PLAY, "0"))


def read_input() -> Any:
    """Return the content given to `write_input` for this play; called in the simulator."""
    return pickle.loads(file_of(Path(os.environ["BITPATH_INPUT"]), _play()).read_bytes())


def write_result(**arrays: Any) -> None:
    """Write the result of this play as .npz; called in the simulator."""
    np.savez(file_of(Path(os.environ["BITPATH_RESULT"]), _play()), **arrays)


def show_share(share: float) -> None:
    """Write the completed share of the run, from the one of this play; called in the simulator."""
    write_share(Path(os.environ["BITPATH_PROGRESS"]), (_play() + min(1.0, share)) / plays())


def write_share(path: Path, share: float) -> None:
    """Write a number from 0 to 1, atomically, at most once in `EVERY_SECONDS`; the last one, 1, is always written."""
    now = time.monotonic()
    if share < 1 and now - _written.get(path, -EVERY_SECONDS) < EVERY_SECONDS:
        return
    _written[path] = now
    write_whole(path, json.dumps(min(1.0, share)))
