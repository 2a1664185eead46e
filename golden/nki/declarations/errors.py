"""What a kernel does wrong, as one sentence with its line; warnings for what the machine leaves undefined."""

import sys
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

_HERE = str(Path(__file__).parents[1])
WARN: ContextVar[Callable[[str, str], None] | None] = ContextVar("warn", default=None)
"""The present machine's `warn`, for views, which know no machine; None outside a kernel."""


class NkiValidationError(ValueError):
    """A kernel breaks a rule of the machine."""


class NkiWarning(UserWarning):
    """A kernel does what the machine leaves undefined, or what this model chose."""


def kernel_frame() -> FrameType | None:
    """Return the innermost frame of a kernel's own code: the first one outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def kernel_line() -> str:
    """Return file and line of the kernel's code that runs, as ``rope.py:210``."""
    frame = kernel_frame()
    return "?" if frame is None else f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def doubtful(kind: str, sentence: str) -> None:
    """Warn of a line of the kernel, where a machine runs it."""
    warn = WARN.get()
    if warn is not None:
        warn(kind, sentence)


def invalid(sentence: str) -> NkiValidationError:
    """Return the error of a rule that the kernel's line breaks."""
    return NkiValidationError(f"{sentence} ({kernel_line()})")
