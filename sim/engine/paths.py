"""Where generated files go: below ``build/`` of the current folder, also when the package is installed as a wheel."""

from pathlib import Path


def build_root() -> Path:
    """``build/`` of the current folder, absolute."""
    return Path.cwd() / "build"


def simulations() -> Path:
    """Emitted Verilog and compiled simulations, a folder for each unit and configuration digest."""
    return build_root() / "sim"


def runs() -> Path:
    """A folder for each run: log, results, configuration, waves."""
    return build_root() / "runs"


def reports() -> Path:
    """Reports: lists of flat records."""
    return build_root() / "reports"


def shown(path: Path) -> str:
    """The path as a user types it: relative to the current folder where it is below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
