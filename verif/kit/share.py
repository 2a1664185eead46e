"""The share of a run that is done, for whoever follows its file."""

import json
import time
from pathlib import Path

EVERY_SECONDS = 1.0
"""Between writes, each of which may wait for a disk."""
_written: dict[Path, float] = {}


def write_share(path: Path, share: float) -> None:
    """Write a number from 0 to 1, whole or not at all; nothing where one was written just before, but for the last, 1."""
    now = time.monotonic()
    if share < 1 and now - _written.get(path, -EVERY_SECONDS) < EVERY_SECONDS:
        return
    _written[path] = now
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(min(1.0, share)))
    partial.replace(path)
