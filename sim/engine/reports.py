"""Reports: lists of flat records, written atomically, and merged with those of earlier runs."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from bitpath.rtl.common.files import write_whole

Record = Mapping[str, Any]


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Write the records as JSON, atomically: a reader sees the old or the new file, never a partial one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(list(records), indent=2) + "\n")


def merge(
    records: Sequence[Record], path: Path, key: str = "name", keep: Callable[[Record], bool] = lambda record: True
) -> list[Record]:
    """Write the records together with the existing ones and return all; a new record replaces the one with the same ``key``.

    Of two concurrent runs, the second keeps the records of the first. Damaged records are dropped.

    Parameters
    ----------
    keep : returns True if an existing record stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = {record[key] for record in records}
    with FileLock(f"{path}.lock"):
        before = [each for each in _whole(path, key) if each[key] not in new and keep(each)]
        write_records(path, [*before, *records])
    return [*before, *records]


def began_since(since: float) -> Callable[[Record], bool]:
    """Return True if the run of a record began at that time, in seconds of the epoch, or later."""
    return lambda record: record.get("began", 0.0) >= since


def _whole(path: Path, key: str) -> list[Record]:
    """Return the records of a report; empty if the report is missing or damaged."""
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return []
    return [record for record in found if isinstance(record, dict) and key in record] if isinstance(found, list) else []
