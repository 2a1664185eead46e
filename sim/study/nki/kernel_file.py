"""A kernel of a file: loaded with the vendor's names, and its mistakes as one sentence."""

import importlib.util
import sys
import traceback
from bdb import BdbQuit
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import bitpath.golden
from bitpath.golden import nki
from bitpath.golden.arrays.files import PROGRAM_BYTES, check_file
from bitpath.golden.scalar.checked import one_of, suggestion

OWN = (str(Path(bitpath.golden.__file__).parent), str(Path(__file__).parent))
"""Folders whose frames are not the kernel's."""


def split(text: str) -> tuple[Path, str]:
    """Return file and name of ``FILE:KERNEL``.

    Raises ValueError unless the text has both.
    """
    file, _, name = text.rpartition(":")
    if not file or not name.isidentifier():
        raise ValueError(f"a kernel must be FILE:KERNEL, for example rows.py:softmax, not {text!r}")
    return Path(file), name


@contextmanager
def loaded(file: Path) -> Iterator[ModuleType]:
    """Load a file of kernels for a block, with bitpath's `nki` and its folder first in the module search path.

    Raises
    ------
    ValueError : as `check_file`; the file raises an error; the sentence names it and its line.
    """
    check_file(file, most=PROGRAM_BYTES)
    name = file.stem
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} must be a Python file, which ends with .py")
    module = importlib.util.module_from_spec(spec)
    before, folders = sys.modules.get(name), list(sys.path)
    with nki.installed():
        sys.path.insert(0, str(file.resolve().parent))
        # Dataclasses look their module up by its name.
        sys.modules[name] = module
        try:
            with mistakes(f"{file} cannot be loaded"):
                spec.loader.exec_module(module)
            yield module
        finally:
            sys.path[:] = folders
            if before is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = before


def kernel_of(module: ModuleType, file: Path, name: str) -> nki.Kernel:
    """Return a kernel of a module, or a plain function of it as a kernel.

    Raises ValueError if the module has no function of that name; the sentence lists its kernels.
    """
    found = vars(module).get(name)
    if isinstance(found, nki.Kernel):
        return found
    if callable(found) and not isinstance(found, type):
        return nki.jit(found)
    kernels = [each for each, value in vars(module).items() if isinstance(value, nki.Kernel)]
    known = f"it has {one_of(kernels)}" if kernels else "it has no function with @nki.jit"
    raise ValueError(f"{file} has no kernel {name!r}; {known}{suggestion(name, kernels)}")


@contextmanager
def mistakes(what: str) -> Iterator[None]:
    """Turn an error of a kernel's code into a ValueError: what failed, the error, and the kernel's line.

    Errors of the machine's rules have their line already. The debugger's quit interrupts the command.
    """
    try:
        yield
    except nki.NkiValidationError:
        raise
    except BdbQuit:
        raise KeyboardInterrupt from None
    except Exception as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if _is_kernels(each.filename)]
        line = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        raise ValueError(f"{what}: {type(error).__name__}: {error}{line}") from error


def _is_kernels(filename: str) -> bool:
    return not filename.startswith((*OWN, "<"))
