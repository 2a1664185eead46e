"""Known answers of conversions and scalar functions; ``BITPATH_KAT_DIR`` is the folder that holds them."""

import os
from pathlib import Path

import numpy as np


def archive(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of one archive."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / f"aie_tile_{name}.npz") as answers:
        return dict(answers)
