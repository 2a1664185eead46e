"""Folders of generated files below ``build/`` of the current folder, also for an installed wheel."""

from pathlib import Path


def build_root() -> Path:
    """Return ``build/`` of the current folder as an absolute path."""
    return Path.cwd() / "build"


def simulations() -> Path:
    """Return the folder of emitted Verilog and compiled simulations, by unit and configuration digest."""
    return build_root() / "sim"


def runs() -> Path:
    """Return the folder of runs: log, results, configuration and waves of each."""
    return build_root() / "runs"


def reports() -> Path:
    """Return the folder of reports, which are lists of flat records."""
    return build_root() / "reports"


def shown(path: Path) -> str:
    """Return the path for messages: relative to the current folder if below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
