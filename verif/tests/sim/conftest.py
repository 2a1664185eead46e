"""What the tests of the runner share."""

import sys
from pathlib import Path

import pytest

TOY = Path(__file__).parent / "toy"


@pytest.fixture(autouse=True)
def toy_on_path(monkeypatch):
    """The toy design is no package; the bench inside the simulator finds it through PYTHONPATH."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(TOY)])
