"""Fixtures of the golden models' tests."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def kat() -> Callable[[str], dict[str, np.ndarray]]:
    """Load an archive of known answers from the folder that BITPATH_KAT_DIR names."""
    folder = os.environ.get("BITPATH_KAT_DIR")
    if folder is None:
        pytest.skip("BITPATH_KAT_DIR is not set: no known answers to compare with")
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"BITPATH_KAT_DIR is {folder!r}; the path of an existing folder is allowed")

    def load(name: str) -> dict[str, np.ndarray]:
        with np.load(Path(folder) / name) as archive:
            return dict(archive)

    return load
