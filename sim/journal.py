"""Files of JSON lines that only grow: each result is kept as soon as it is there."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read(path: Path) -> list[dict[str, Any]]:
    """All records, the oldest first; without a line that an interruption cut, and none where there is no file."""
    found = []
    for line in path.read_text().splitlines() if path.is_file() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Add a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        # Behind a line that an interruption cut.
        if file.tell():
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(record).encode() + b"\n")
