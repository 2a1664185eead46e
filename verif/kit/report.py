"""Reports: lists of flat records, written whole or not at all."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the records as JSON; a reader sees the old file or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(list(records), indent=2) + "\n")
    partial.replace(path)
