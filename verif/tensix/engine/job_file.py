"""A tile matmul as a file, on its way to the simulator's process."""

import json
from pathlib import Path

import numpy as np

from bitpath.golden.tensix.declarations.formats import Fidelity
from bitpath.verif.tensix.engine.lowering import TileMatmul


def save_job(path: Path, matmul: TileMatmul) -> None:
    """Write it as .npz: the tiles, and the rest as JSON in ``meta``."""
    meta = {"fmt": matmul.fmt, "fidelity": matmul.fidelity.value, "dst32": matmul.dst32}
    np.savez(path, left=matmul.left, right=matmul.right, meta=json.dumps(meta))


def load_job(path: Path) -> TileMatmul:
    """What :func:`save_job` wrote."""
    with np.load(path) as file:
        meta = json.loads(str(file["meta"]))
        fidelity = Fidelity(meta.pop("fidelity"))
        return TileMatmul(left=file["left"], right=file["right"], fidelity=fidelity, **meta)
