"""Fixtures of the golden models' tests."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[Any]]:
    """Compute something with numpy and with numba; a list of what each gives."""

    def compute(call: Callable[[], Any]) -> list[Any]:
        results = []
        for name in ("numpy", "numba"):
            monkeypatch.setenv("BITPATH_FAST", name)
            results.append(call())
        return results

    return compute
