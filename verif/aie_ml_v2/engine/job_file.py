"""A product of the AIE-ML v2 engine as a file, on its way to the simulator's process."""

import json
from pathlib import Path

import numpy as np

from bitpath.verif.aie_ml_v2.engine.images import NativeMatmul


def save_job(path: Path, matmul: NativeMatmul) -> None:
    """Write it as .npz: the words, and the rest as JSON in ``meta``."""
    meta = {"mode": matmul.mode, "element_format": matmul.element_format}
    np.savez(path, x=matmul.x, y=matmul.y, meta=json.dumps(meta))


def load_job(path: Path) -> NativeMatmul:
    """What :func:`save_job` wrote."""
    with np.load(path) as file:
        return NativeMatmul(x=file["x"], y=file["y"], **json.loads(str(file["meta"])))
