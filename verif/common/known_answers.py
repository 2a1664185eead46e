"""Archives of known answers of any size: an empty one is an error; a test skips visibly if the archive lacks an array
that it needs."""

from collections.abc import Mapping

import numpy as np
import pytest


class Archive(dict[str, np.ndarray]):
    """Arrays of an archive by name; reading one that is absent skips the test.

    Raises
    ------
    ValueError : the archive has no arrays, or one without elements.
    """

    def __init__(self, name: str, arrays: dict[str, np.ndarray]):
        super().__init__(arrays)
        self.name = name
        empty = [key for key, array in arrays.items() if not array.size]
        if empty or not arrays:
            raise ValueError(f"{name} must hold known answers, not {', '.join(empty) or 'nothing'} without elements")

    def __missing__(self, key: str) -> np.ndarray:
        pytest.skip(f"{self.name} has no array {key}, whose known answers this test compares")


def skip_absent(archive: str, found: Mapping[object, object]) -> None:
    """Skip the test if the archive lacks one of the names; a test first compares the arrays that are present."""
    absent = [str(name) for name, count in found.items() if not count]
    if absent:
        pytest.skip(f"{archive} has no known answers of {', '.join(absent)}")
