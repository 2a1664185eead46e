"""Reports that hold what a run found beside what earlier runs found of other things."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from bitpath.verif.kit.report import write_records

Record = Mapping[str, Any]


def merge(
    records: Sequence[Record], path: Path, key: str = "name", keep: Callable[[Record], bool] = lambda record: True
) -> list[Record]:
    """Write the records beside those that are there already, and return all; of the same ``key`` the new one stays.

    Of two runs that write at once the second keeps what the first wrote. What is damaged is left out.

    Parameters
    ----------
    keep : whether a record that is there already stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = {record[key] for record in records}
    with FileLock(f"{path}.lock"):
        before = [each for each in _whole(path, key) if each[key] not in new and keep(each)]
        write_records(path, [*before, *records])
    return [*before, *records]


def began_since(since: float) -> Callable[[Record], bool]:
    """Whether the run of a record began at that time, in seconds of the epoch, or later."""
    return lambda record: record.get("began", 0.0) >= since


def _whole(path: Path, key: str) -> list[Record]:
    """A report's records; none where there is no whole report."""
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return []
    return [record for record in found if isinstance(record, dict) and key in record] if isinstance(found, list) else []
