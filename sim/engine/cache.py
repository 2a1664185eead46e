"""Folders of generated files that are made once for each key.

A folder is whole when its stamp says so: the stamp is written last, by a rename, and records the key, what was made and the files' sizes.
Whatever an interrupted or failed making left behind has no stamp and is thrown away by the next one. A lock beside the
folder makes concurrent callers wait for the first.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, ItemsView, Iterable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

STAMP = "stamp.json"
STAMP_FIELDS = {"key", "made", "files"}


def hash_files(paths: Iterable[Path], suffixes: tuple[str, ...] = (".py",)) -> str:
    """A digest of names and contents of files, and of those with one of ``suffixes`` below folders."""
    digest = hashlib.sha256()
    for path in paths:
        inside = sorted(file for file in path.rglob("*") if file.suffix in suffixes) if path.is_dir() else [path]
        for file in inside:
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{file.relative_to(path.parent)} {content}\n".encode())
    return digest.hexdigest()


def ensure(folder: Path, key: Mapping[str, Any], make: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """What ``make(folder)`` returned for this key, now or in an earlier call.

    Parameters
    ----------
    folder : made afresh, empty, before ``make`` fills it; its absolute path is part of the key, since the files that
        build tools write hold paths.
    key : everything that the content depends on, as JSON values.
    make : fills the folder and returns what its users have to know, as JSON values.
    """
    full_key = json.loads(json.dumps({**key, "folder": str(folder)}))
    stamp = folder / STAMP
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        recorded = _read(stamp)
        if recorded is not None and recorded["key"] == full_key and _sizes(folder) >= recorded["files"].items():
            return recorded["made"]
        # Before anything else goes, lest an interruption leave it with half of what it vouches for.
        stamp.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        made = make(folder)
        partial = folder / f"{STAMP}.partial"
        partial.write_text(json.dumps({"key": full_key, "made": made, "files": dict(_sizes(folder))}, indent=2) + "\n")
        partial.replace(stamp)
        return made


def _sizes(folder: Path) -> ItemsView[str, int]:
    """Names and sizes of the files in a folder: what was lost or cut later is not there as it was made."""
    return {str(file.relative_to(folder)): file.stat().st_size for file in folder.rglob("*") if file.is_file()}.items()


def _read(stamp: Path) -> dict[str, Any] | None:
    try:
        recorded = json.loads(stamp.read_text())
    except (FileNotFoundError, ValueError):
        return None
    whole = isinstance(recorded, dict) and recorded.keys() == STAMP_FIELDS and isinstance(recorded["files"], dict)
    return recorded if whole else None
