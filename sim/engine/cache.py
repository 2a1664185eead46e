"""Kept results: folders of generated files, one for each key, and append-only files of JSON lines."""

import fcntl
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from bitpath.rtl.common.files import write_whole

# Cached folders of generated files, one for each key.
#
# A stamp marks a folder as complete. It is written last, by a rename, and records the key, the result and the digests of the
# files. A folder without a stamp, after an interruption or a failure, is deleted by the next call. A lock beside the folder makes
# concurrent callers wait for the first.


STAMP = "stamp.json"
STAMP_FIELDS = {"key", "made", "files"}


def hash_files(paths: Iterable[Path], suffixes: tuple[str, ...] = (".py",)) -> str:
    """Return a digest of names and contents of files, and of files with one of ``suffixes`` below folders."""
    digest = hashlib.sha256()
    for path in paths:
        inside = sorted(file for file in path.rglob("*") if file.suffix in suffixes) if path.is_dir() else [path]
        for file in inside:
            digest.update(f"{file.relative_to(path.parent)} {_digest(file)}\n".encode())
    return digest.hexdigest()


def hash_json(value: Any) -> str:
    """Return a digest of JSON values; the order of keys does not matter."""
    return hash_text(json.dumps(value, sort_keys=True))


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def ensure(folder: Path, key: Mapping[str, Any], make: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of ``make(folder)`` for this key, from this call or an earlier one.

    Parameters
    ----------
    folder : created empty before ``make`` fills it; its absolute path is part of the key, because build tools write paths
        into files.
    key : all inputs of the content, as JSON values.
    make : fills the folder and returns the result as JSON values.
    """
    full_key = json.loads(json.dumps({**key, "folder": str(folder)}))
    stamp = folder / STAMP
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        recorded = _read(stamp)
        if (
            recorded is not None
            and recorded["key"] == full_key
            and recorded["files"].items() <= _digests(folder).items()
        ):
            return recorded["made"]
        # Delete the stamp first, so that an interruption cannot leave it with an incomplete folder.
        stamp.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        made = make(folder)
        write_whole(stamp, json.dumps({"key": full_key, "made": made, "files": _digests(folder)}, indent=2) + "\n")
        return made


def _digests(folder: Path) -> dict[str, str]:
    """Return names and digests of the files in a folder, which show a lost or damaged one; 100 MB take 0.1 s to 0.3 s."""
    return {str(file.relative_to(folder)): _digest(file) for file in sorted(folder.rglob("*")) if file.is_file()}


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _read(stamp: Path) -> dict[str, Any] | None:
    try:
        recorded = json.loads(stamp.read_text())
    except (FileNotFoundError, ValueError):
        return None
    whole = isinstance(recorded, dict) and recorded.keys() == STAMP_FIELDS and isinstance(recorded["files"], dict)
    return recorded if whole else None


# Append-only files of JSON lines, which keep each result as soon as it is known.


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
