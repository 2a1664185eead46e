"""Published answers of silicon, read from the folder that BITPATH_KAT_DIR names."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden.arrays.files import read_json, read_npz

VARIABLE = "BITPATH_KAT_DIR"


class AbsentEvidenceError(LookupError):
    """A file of published answers is absent."""


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

    def rows(self, name: str, key: str = "rows") -> dict[str, dict[str, Any]]:
        """Return the entries of a .json file by their `id`."""
        return {each["id"]: each for each in read_json(self._file(name))[key]}

    def _file(self, name: str) -> Path:
        if self.folder is None:
            raise AbsentEvidenceError(f"{name} is absent: {VARIABLE} is not set")
        file = self.folder / name
        if not file.is_file():
            raise AbsentEvidenceError(f"{name} is absent from the folder that {VARIABLE} names")
        return file
