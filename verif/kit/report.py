"""Reports: lists of flat records, written atomically."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bitpath.rtl.common.files import write_whole


def write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the records as JSON, atomically: a reader sees the old or the new file, never a partial one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(list(records), indent=2) + "\n")
