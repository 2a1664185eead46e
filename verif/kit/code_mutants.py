"""Temporary source mutation of a function or of a module of compiled loops, to show that a test detects a bug."""

import importlib
import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, ModuleType
from unittest.mock import patch

# Faults of the dot product's RTL that random operands do not meet: a sticky bit lost at one end of the result's range.


SHIFT = "bitpath.rtl.common.arithmetic.normalize:NormalizeShift.elaborate"
ROUND = "bitpath.rtl.common.arithmetic.round:RoundSigned._up"
LOST, STICKY = "(moved[:lost] ^ zero.replicate(lost)).any()", "sticky=self.i.sticky"
FAULTS = {
    # The first sticky bits of a sum whose normalisation ends at the smallest exponent: those far below the result.
    "zero/above tie": (SHIFT, LOST, f"{LOST} & (taken | free | (level < 6))"),
    "subnormal grid, even/above tie": (ROUND, STICKY, f"{STICKY} & self.i.digits[-1]"),
    "first unit of the normals/above tie": (ROUND, STICKY, f"{STICKY} & ((self.i.exponent != 1) | ~self.i.digits[-1])"),
    "largest/above tie": (ROUND, STICKY, f"{STICKY} & (self.i.exponent != 254)"),
}
"""Faults of the RTL by the bin that must find them."""
QUICK = "zero/above tie"


VERIF = Path(__file__).resolve().parents[1]


def function_of(target: str) -> FunctionType:
    """Import and return the function ``module:qualified.name``."""
    module, _, name = target.partition(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part) if inspect.isclass(found) else getattr(found, part)
    # A decorator such as `checked` wraps the function; a mutant changes the function itself.
    return inspect.unwrap(found.__func__ if isinstance(found, classmethod | staticmethod) else found)


@contextmanager
def mutated(target: str, old: str, new: str) -> Iterator[None]:
    """Replace ``old``, which must occur once in the source of the target, by ``new`` within the context.

    The target is a function, ``module:qualified.name``, or a module of compiled loops. The function's code object is
    exchanged, so all references to the function run the mutant. The module is exchanged as a whole, and nothing of its
    mutant is kept.

    Raises
    ------
    ValueError : ``old`` does not occur exactly once; update the mutant to the changed source.
    """
    module, _, name = target.partition(":")
    source = textwrap.dedent(inspect.getsource(function_of(target) if name else importlib.import_module(module)))
    if source.count(old) != 1:
        raise ValueError(f"{target} has {source.count(old)} times {old!r}, once is needed")
    with _other_function(target, source.replace(old, new)) if name else _other_module(module, source.replace(old, new)):
        yield


@contextmanager
def _other_function(target: str, source: str) -> Iterator[None]:
    function = function_of(target)
    space = dict(function.__globals__)
    exec(compile(source, f"<mutant of {target}>", "exec"), space)
    mutant, original = space[function.__name__], function.__code__
    function.__code__ = inspect.unwrap(getattr(mutant, "__func__", mutant)).__code__
    try:
        yield
    finally:
        function.__code__ = original


@contextmanager
def _other_module(name: str, source: str) -> Iterator[None]:
    from bitpath.golden.arrays import kernels

    original = importlib.import_module(name)
    mutant = ModuleType(name)
    # numba keeps compiled code by the file's name.
    with patch.object(kernels, "_FOLDER", None):
        exec(compile(source, f"<mutant of {name}>", "exec"), vars(mutant))
    package, _, own = name.rpartition(".")
    sys.modules[name] = mutant
    with patch.object(sys.modules[package], own, mutant):
        try:
            yield
        finally:
            sys.modules[name] = original


def named_test(name: str) -> Callable[..., None]:
    """Return the test function ``file::name``; the file is relative to ``verif/``."""
    file, _, function = name.partition("::")
    path = VERIF / file
    spec = importlib.util.spec_from_file_location(f"field_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)
