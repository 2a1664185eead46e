"""How loops become kernels: compiled at their first call, and kept for later processes where a folder can hold them."""

import gc
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from errno import ENOENT
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock, Timer
from time import monotonic
from typing import Any

from numba import config, njit
from numba.core import event
from numba.core.caching import FunctionCache

QUIET = "BITPATH_QUIET"
"""Any value but an empty one hides the lines of `_say`."""
FIRST_SECONDS = 1.0
"""Seconds of compilation in a process before it is announced."""

_HERE = Path(__file__).parent
_GOLDEN = _HERE.parent
_LOOPS = (*_HERE.glob("*.py"), *_GOLDEN.glob("*/*/*_loop.py"))
_DECLARATIONS = (*_GOLDEN.glob("formats/*.py"), *_GOLDEN.glob("*/declarations/*.py"))
_SOURCES = sorted([*_LOOPS, *_DECLARATIONS])
_DIGEST = sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()[:16]


def _roots() -> list[Path]:
    """Return where compiled code may be kept, best first: numba's own setting, this package, the user's cache."""
    homes = [Path(each) for each in (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache"))]
    user = [home / "bitpath" for home in homes if home.is_absolute()]
    given = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    return [*given, _HERE / "__pycache__", *user[:1]]


def _folder(roots: Iterable[Path]) -> Path | None:
    """Return the folder of code of these sources, below the first root that can be written; None if no root can be.

    Other sources' folders stay: a process that still runs on them writes there, and fails where its folder vanishes.
    """
    for root in roots:
        folder = root / f"kernels-{_DIGEST}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return folder
    return None


_FOLDER = _folder(_roots())
_SETTING = Lock()
"""Lock for numba's folder setting, which is global to the process, since several threads may import kernels."""

piece = njit(forceinline=True, no_cfunc_wrapper=True)
"""Compile a function into the kernels that call it."""


def kernel(function: Callable[..., None] | None = None, *, fused: bool = False) -> Callable[..., Any]:
    """Compile a function at its first call, and keep the code for later processes.

    The compiler reorders nothing, and fuses a product and an addition only with ``fused``, for functions whose products are
    all exact. numba checks only the kernel's own file for changes, but kernels also use `bits` and the declarations. The
    cache folder is therefore named by the digest of all of them, and nothing is kept where that folder cannot be written.
    """
    if function is None:
        return partial(kernel, fused=fused)
    fastmath = {"contract"} if fused else False
    compiled = njit(nogil=True, no_cfunc_wrapper=True, error_model="numpy", fastmath=fastmath)(function)
    if _FOLDER is None or config.DISABLE_JIT:
        return compiled
    with _SETTING:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(_FOLDER)
        try:
            kept = _Kept(function)
            # If that folder is lost, numba takes one beside the source, which does not distinguish digests.
            if _FOLDER not in Path(kept.cache_path).parents:
                raise FileNotFoundError(ENOENT, "no such folder any more")
            compiled._cache = kept
        except (OSError, RuntimeError) as error:  # numba's RuntimeError says that it can write to no folder
            _cannot_keep(error)
        finally:
            config.CACHE_DIR = before
    return compiled


class _Kept(FunctionCache):
    """numba's cache of a kernel's code, without which the kernel is compiled: its folder may be full or lost at any time."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError as error:
            return _cannot_keep(error)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _cannot_keep(error)


@cache
def _say(line: str) -> None:
    """Write a line to stderr once, unless `QUIET` is set or it would come between the data that stdout has."""
    if not (os.environ.get(QUIET) or sys.stderr is None or _in_one_pipe()):
        print(f"bitpath: {line}", file=sys.stderr, flush=True)


def _in_one_pipe() -> bool:
    """Return True if stdout and stderr go to one file or pipe, which no person reads line by line."""
    try:
        return os.path.samestat(os.fstat(1), os.fstat(2)) and not os.isatty(2)
    except OSError:  # one of them is closed
        return False


def _cannot_keep(error: Exception) -> None:
    reason = getattr(error, "strerror", None) or error
    _say(f"{_FOLDER} cannot keep compiled loops, so each process compiles them: {reason}")


class _Compilations(event.Listener):
    """Announces compilations that take time, and rests the garbage collector, which would take an eighth of it.

    numba compiles one function at a time, behind a lock, with those that it calls inside.
    """

    def __init__(self) -> None:
        self.depth, self.seconds, self.began, self.collects = 0, 0.0, 0.0, False
        self.timer: Timer

    def on_start(self, event: event.Event) -> None:
        own = event.data["dispatcher"].py_func.__module__.startswith("bitpath.")
        if not (own or self.depth):
            return
        self.depth += 1
        if self.depth > 1:
            return
        self.began, self.collects = monotonic(), gc.isenabled()
        gc.disable()
        where = f"kept in {_FOLDER}" if _FOLDER else "which no folder can keep"
        line = f"compiling loops for a first use, {where}; {QUIET}=1 hides this line"
        self.timer = Timer(max(FIRST_SECONDS - self.seconds, 0.0), _say, [line])
        self.timer.daemon = True
        with suppress(RuntimeError):  # the interpreter is ending, or the system starts no more threads
            self.timer.start()

    def on_end(self, event: event.Event) -> None:
        if not self.depth:
            return
        self.depth -= 1
        if self.depth:
            return
        self.seconds += monotonic() - self.began
        self.timer.cancel()
        if self.collects:
            gc.enable()


compilations = _Compilations()
event.register("numba:compile", compilations)
