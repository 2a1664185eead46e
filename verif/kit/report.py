"""Reports: lists of flat records, written atomically."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the records as JSON, atomically: a reader sees the old or the new file, never a partial one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(list(records), indent=2) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically, also if two runs write it at once or the disk is full."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
