"""The C compiler of the host: C files to shared libraries."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bitpath.sim.engine.errors import MissingToolError, SimulationError

COMPILERS = ("cc", "gcc", "clang")


def compiler() -> list[str]:
    """Return the command of the C compiler, the variable CC's or the first that is found.

    Raises
    ------
    MissingToolError : there is none.
    """
    chosen = shlex.split(os.environ.get("CC", ""))
    found = next((name for name in (chosen[:1] or COMPILERS) if shutil.which(name)), None)
    if found is None:
        raise MissingToolError(
            f"no C compiler found ({', '.join(chosen[:1] or COMPILERS)}); run: sudo apt-get install gcc"
        )
    return chosen or [found]


def shared_library(source: Path, options: Sequence[str] = ("-O2",)) -> Path:
    """Compile a C99 file to ``libNAME.so`` beside it and return that.

    Raises
    ------
    MissingToolError : no compiler.
    SimulationError : the compiler fails.
    """
    library = source.with_name(f"lib{source.stem}.so")
    command = [*compiler(), "-std=c99", *options, "-shared", "-fPIC", "-o", str(library), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SimulationError(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")
    return library
