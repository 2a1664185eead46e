"""The share of a run that is done, for whoever follows its file."""

import json
from pathlib import Path


def write_share(path: Path, share: float) -> None:
    """Write a number from 0 to 1, whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(min(1.0, share)))
    partial.replace(path)
