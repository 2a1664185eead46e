"""Published answers of silicon, read from the folder that BITPATH_KAT_DIR names."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden.arrays.files import read_json, read_npz

VARIABLE = "BITPATH_KAT_DIR"


class AbsentEvidenceError(LookupError):
    """A file of published answers is absent, or lacks the rows that a statement is about."""


class Rows(dict[str, dict[str, Any]]):
    """Entries of a file by their `id`; reading one that is absent raises `AbsentEvidenceError`."""

    def __init__(self, name: str, entries: list[dict[str, Any]]):
        super().__init__({each["id"]: each for each in entries})
        self.name = name

    def __missing__(self, identifier: str) -> dict[str, Any]:
        raise AbsentEvidenceError(f"{self.name} has no row {identifier}")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Published answers in a folder.

    Attributes
    ----------
    folder : the folder of the known answers; None if the variable is not set.
    """

    folder: Path | None

    @classmethod
    def here(cls) -> "Evidence":
        """Return the evidence in the folder that BITPATH_KAT_DIR names."""
        named = os.environ.get(VARIABLE)
        if named is not None and not Path(named).is_dir():
            raise FileNotFoundError(f"{VARIABLE} must be the path of an existing folder, not {named!r}")
        return cls(folder=None if named is None else Path(named))

    def archive(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays of an .npz file."""
        return read_npz(self._file(name))

    def rows(self, name: str, key: str = "rows") -> Rows:
        """Return the entries of a .json file by their `id`."""
        return Rows(name, read_json(self._file(name))[key])

    def _file(self, name: str) -> Path:
        if self.folder is None:
            raise AbsentEvidenceError(f"{name} is absent: {VARIABLE} is not set")
        file = self.folder / name
        if not file.is_file():
            raise AbsentEvidenceError(f"{name} is absent from the folder that {VARIABLE} names")
        return file
