"""Files between a flow's process and the simulator's: an input, the result, and the share that is done.

The simulator's environment names them: BITPATH_INPUT, BITPATH_RESULT and BITPATH_PROGRESS.
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


def write_input(folder: Path, content: Any) -> dict[str, Path]:
    """Write the input of a run bench, and return the paths of all files for its environment."""
    files = {
        "BITPATH_INPUT": folder / "input.pickle",
        "BITPATH_RESULT": folder / "result.npz",
        "BITPATH_PROGRESS": folder / "progress.json",
    }
    files["BITPATH_INPUT"].write_bytes(pickle.dumps(content))
    return files


def read_input() -> Any:
    """Return the content given to `write_input`; called in the simulator."""
    return pickle.loads(Path(os.environ["BITPATH_INPUT"]).read_bytes())


def write_result(**arrays: Any) -> None:
    """Write the result as .npz; called in the simulator."""
    np.savez(os.environ["BITPATH_RESULT"], **arrays)


def show_share(share: float) -> None:
    """Write the completed share of the run; called in the simulator."""
    write_share(Path(os.environ["BITPATH_PROGRESS"]), share)


def write_share(path: Path, share: float) -> None:
    """Write a number from 0 to 1, atomically, at most once in `EVERY_SECONDS`; the last one, 1, is always written."""
    now = time.monotonic()
    if share < 1 and now - _written.get(path, -EVERY_SECONDS) < EVERY_SECONDS:
        return
    _written[path] = now
    write_whole(path, json.dumps(min(1.0, share)))
