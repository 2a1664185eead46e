"""Files of JSON lines that only grow: each result is kept as soon as it is there."""

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read(path: Path) -> list[dict[str, Any]]:
    """All records, the oldest first; without a line that an interruption cut or a disk damaged, and none where there is no
    file."""
    found = []
    for line in path.read_bytes().split(b"\n") if path.is_file() else []:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Add a record, in one piece also where two runs write at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(record).encode() + b"\n"
    with path.open("ab+", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        whole = file.seek(0, 2)
        # Behind a line that an interruption cut.
        if whole:
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                line = b"\n" + line
        try:
            while line:
                # A disk that fills up takes a part first.
                line = line[file.write(line) :]
        except OSError:
            # A full disk: what does not go in whole leaves nothing.
            file.truncate(whole)
            raise
