"""A bug put back into a function, as long as a test looks at it."""

import importlib
import importlib.util
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType

VERIF = Path(__file__).resolve().parents[1]


def function_of(target: str) -> FunctionType:
    """The function ``module:qualified.name``."""
    module, _, name = target.partition(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part) if inspect.isclass(found) else getattr(found, part)
    return found.__func__ if isinstance(found, classmethod | staticmethod) else found


@contextmanager
def mutated(target: str, old: str, new: str) -> Iterator[None]:
    """With ``old``, which stands once in the function's source, replaced by ``new``.

    The function's code is exchanged, so that whoever holds the function runs the mutant.

    Raises
    ------
    ValueError : ``old`` does not stand there once: the source has changed, and the mutant has to be written anew.
    """
    function = function_of(target)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(old) != 1:
        raise ValueError(f"{target} has {source.count(old)} times {old!r}, once is needed")
    space = dict(function.__globals__)
    exec(compile(source.replace(old, new), f"<mutant of {target}>", "exec"), space)
    mutant, original = space[function.__name__], function.__code__
    function.__code__ = inspect.unwrap(getattr(mutant, "__func__", mutant)).__code__
    try:
        yield
    finally:
        function.__code__ = original


def named_test(name: str) -> Callable[..., None]:
    """The test function ``file::name``, its file below ``verif/``."""
    file, _, function = name.partition("::")
    path = VERIF / file
    spec = importlib.util.spec_from_file_location(f"field_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)
