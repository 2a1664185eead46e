"""Public functions of golden with a sample call of each, for tests that walk all of them."""

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import partial
from inspect import Parameter, isclass, isfunction, signature
from types import ModuleType

import numpy as np

from bitpath.golden import aie_ml_v2, exact, tensix, trainium3
from bitpath.golden.formats import sources
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.verif.aie_ml_v2.golden import samples as aie_samples
from bitpath.verif.tensix.golden import samples as tensix_samples
from bitpath.verif.trainium3.core import samples as core_samples
from bitpath.verif.trainium3.golden import samples as trainium3_samples

SAMPLES = {
    trainium3: trainium3_samples.VECTORISED | core_samples.VECTORISED,
    tensix: tensix_samples.VECTORISED,
    tensix.llk: tensix_samples.LLK,
    tensix.sfpu: tensix_samples.SFPU,
    aie_ml_v2: aie_samples.VECTORISED,
    exact.trainium3: trainium3_samples.EXACT | core_samples.EXACT,
    exact.tensix: tensix_samples.EXACT,
    exact.aie_ml_v2: aie_samples.EXACT,
    exact: trainium3_samples.EXACT | trainium3_samples.STEPS | trainium3_samples.SHARED,
    exact.fp32: trainium3_samples.SHARED,
    sources: {name: {"where": "x"} for name in ("documented", "measured", "inferred", "chosen")}
    | {
        "choices": {"statements": {"x": WORMHOLE.sources["group"]}},
        "preset": {"name": "x", "numerics": partial(replace, WORMHOLE.numerics), "sources": WORMHOLE.sources},
    },
}


def public(module: ModuleType) -> dict[str, Callable]:
    """Return functions, classes that check their arguments, and these classes' methods, by name; aliases once.

    A module without ``__all__`` has its own functions only: records of declarations are checked where they enter. Methods that
    implement an abstract one are left out: their only caller is the class that asks for it.
    """
    found = {}
    names = [name for name, each in vars(module).items() if getattr(each, "__module__", None) == module.__name__]
    for name in getattr(module, "__all__", names):
        each = getattr(module, name)
        if isfunction(each) and not name.startswith("_"):
            found.setdefault(each.__name__, each)
        if (
            isclass(each)
            and hasattr(module, "__all__")
            and not issubclass(each, (Enum, Exception))
            and not is_result(each)
        ):
            own = {} if each.__init__ is object.__init__ else {each.__name__: each}
            methods = [(key, value) for key, value in vars(each).items() if isfunction(value)]
            asked = {key for base in each.__mro__ for key in getattr(base, "__abstractmethods__", ())}
            own |= {
                f"{each.__name__}.{key}": value
                for key, value in methods
                if not key.startswith("_") and key not in asked
            }
            found |= {key: value for key, value in own.items() if len(signature(value).parameters) > ("." in key)}
    return found


def is_result(kind: type) -> bool:
    """Return True for records that only functions make: their constructors check nothing."""
    return is_dataclass(kind) and not hasattr(kind.__init__, "__wrapped__") and not hasattr(kind, "__post_init__")


def call(function, arguments):
    """Call a function; generators of random numbers and other objects with a state are made anew."""
    made = {
        name: value() if callable(value) and name in ("self", "source") else value for name, value in arguments.items()
    }
    in_order = [each.name for each in signature(function).parameters.values() if each.kind is Parameter.POSITIONAL_ONLY]
    own = [made.pop(name) for name in ("self", *in_order) if name in made]
    return canonical(function(*own, **made))


def canonical(value):
    """Return a result with its types, which compares bit for bit, also with that of another process."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if is_dataclass(value):
        return type(value), *(canonical(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, list | tuple):
        return type(value), *map(canonical, value)
    if type(value).__repr__ is object.__repr__:
        return type(value), canonical([*getattr(value, "__dict__", {}).items()])
    return type(value), re.sub(r" at 0x[0-9a-f]+", "", repr(value))
