"""Files that are written whole: a complete new file replaces the old one, which stays as it was after an error."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def replaceable(path: Path) -> Path:
    """Return the file that a write to ``path`` replaces: the target of a symbolic link, else ``path``.

    Raises OSError for anything but a regular file, and without the permission to write to it and its folder.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} is not a file in a folder that exists")
    if os.path.lexists(target) and not target.is_file():
        raise FileExistsError(f"{path} is not a regular file; only such a file is replaced")
    for needed in (target.parent, target):
        if needed.exists() and not os.access(needed, os.W_OK):
            raise PermissionError(f"{needed} cannot be written to")
    return target


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` at the end of the block, or is removed after an error.

    It has the permissions of the file that it replaces, or those that the umask leaves. Raises as :func:`replaceable`.
    """
    target = replaceable(path)
    # A fresh name in the target's folder: a rename replaces a file only within one file system.
    new = target.with_name(f".bitpath-{secrets.token_hex(8)}")
    try:
        with new.open("xb") as file:
            if target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            yield file
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole, also if two processes write it at once."""
    with replacing(path) as file:
        file.write(text.encode())
