"""Append-only files of JSON lines, which keep each result as soon as it is known."""

import fcntl
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def read(path: Path) -> list[dict[str, Any]]:
    """Return all records, oldest first; skip truncated or damaged lines. A missing file has no records."""
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
    """Append a record atomically, also with concurrent runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(record).encode() + b"\n"
    with path.open("ab+", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        whole = file.seek(0, 2)
        # End a line that an interruption truncated.
        if whole:
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                line = b"\n" + line
        try:
            while line:
                # A disk that fills up may write only a part.
                line = line[file.write(line) :]
        except OSError:
            # A full disk: remove the partial record.
            file.truncate(whole)
            raise


def extend(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Append the records that the file does not have yet, such as those of a worker on another machine."""
    known = {json.dumps(record) for record in read(path)}
    for record in records:
        if json.dumps(record) not in known:
            append(path, record)
