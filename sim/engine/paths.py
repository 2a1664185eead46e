"""Folders of generated files, below ``build/`` of the checkout or the folder that BITPATH_BUILD names."""

import os
from pathlib import Path

VARIABLE = "BITPATH_BUILD"
"""Environment variable that names the folder of generated files."""
OF_A_CHECKOUT = Path("sim", "engine", "bootstrap.py")
"""A file of each checkout."""


def build_root() -> Path:
    """Return the folder of generated files as an absolute path.

    It is the one that BITPATH_BUILD names, else ``build/`` of the checkout that holds the current folder, else ``build/`` of
    the current folder, as with an installed wheel.
    """
    if named := os.environ.get(VARIABLE):
        return Path(os.path.abspath(Path(named).expanduser()))
    here = Path.cwd()
    checkout = next((folder for folder in (here, *here.parents) if (folder / OF_A_CHECKOUT).is_file()), here)
    return checkout / "build"


def simulations() -> Path:
    """Return the folder of emitted Verilog and compiled simulations, by unit and configuration digest."""
    return build_root() / "sim"


def runs() -> Path:
    """Return the folder of runs: log, results, configuration and waves of each."""
    return build_root() / "runs"


def checks() -> Path:
    """Return the folder of runs of somebody's own designs, by their top modules."""
    return build_root() / "check"


def reports() -> Path:
    """Return the folder of reports, which are lists of flat records."""
    return build_root() / "reports"


def shown(path: Path) -> str:
    """Return the path for messages: relative to the current folder if below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
