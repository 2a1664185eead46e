"""Every argument of every public function: integers of any type give the same bits, flags are flags, mistakes a sentence."""

import re
import traceback
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import partial, total_ordering
from inspect import Parameter, isclass, isfunction, signature
from types import ModuleType
from typing import get_args

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2, exact, tensix, trainium3
from bitpath.golden.formats import presets, sources
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.verif.aie_ml_v2.golden import samples as aie_samples
from bitpath.verif.tensix.golden import samples as tensix_samples
from bitpath.verif.trainium3.core import samples as core_samples
from bitpath.verif.trainium3.golden import samples as trainium3_samples

SAMPLES = {
    trainium3: trainium3_samples.VECTORISED | core_samples.VECTORISED,
    tensix: tensix_samples.VECTORISED,
    tensix.llk: tensix_samples.LLK,
    aie_ml_v2: aie_samples.VECTORISED,
    exact.trainium3: trainium3_samples.EXACT | core_samples.EXACT,
    exact.tensix: tensix_samples.EXACT,
    exact.aie_ml_v2: aie_samples.EXACT,
    exact: trainium3_samples.EXACT | trainium3_samples.STEPS | trainium3_samples.SHARED,
    exact.fp32: trainium3_samples.SHARED,
    sources: {name: {"where": "x"} for name in ("documented", "measured", "inferred", "chosen")}
    | {"choices": {"statements": {"x": WORMHOLE.sources["group"]}}},
    presets: {"preset": {"name": "x", "numerics": partial(replace, WORMHOLE.numerics), "sources": WORMHOLE.sources}},
}


@total_ordering
class Index:
    """An integer of a foreign type, which compares as integers do."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other

    def __lt__(self, other):
        return self.value < other

    def __hash__(self):
        return hash(self.value)

    def __index__(self):
        return self.value


INTEGERS = [np.dtype(code).type for code in "bBhHiIqQ"]
WRONG = [None, [], [1.0], [1], "x", 1.5, object(), {}, np.ones(3), np.array(None)]


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


CALLS = [
    pytest.param(function, samples.get(name), id=f"{module.__name__.removeprefix('bitpath.golden.')}.{name}")
    for module, samples in SAMPLES.items()
    for name, function in public(module).items()
]


def call(function, arguments):
    """Call a function; generators of random numbers and other objects with a state are made anew."""
    made = {
        name: value() if callable(value) and name in ("self", "source") else value for name, value in arguments.items()
    }
    in_order = [each.name for each in signature(function).parameters.values() if each.kind is Parameter.POSITIONAL_ONLY]
    own = [made.pop(name) for name in ("self", *in_order) if name in made]
    return canonical(function(*own, **made))


def canonical(value):
    """Return a result with its types, which compares bit for bit."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if is_dataclass(value):
        return type(value), *(canonical(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, list | tuple):
        return type(value), *map(canonical, value)
    if type(value).__repr__ is object.__repr__:
        return type(value), canonical([*vars(value).items()])
    return type(value), repr(value)


def holds(annotation, kind: type) -> bool:
    """Return True if an annotation contains a type, also as a record's field."""
    inner = [each.type for each in fields(annotation)] if is_dataclass(annotation) else get_args(annotation)
    return annotation is kind or any(holds(each, kind) for each in inner if annotation is not Callable)


def with_integers(value, of):
    """Return an argument with every integer in it, also a record's, in another type."""
    if isinstance(value, int) and not isinstance(value, bool | Enum):
        return of(value)
    if is_dataclass(value) and not isinstance(value, type):
        changes = {each.name: with_integers(getattr(value, each.name), of) for each in fields(value)}
        return replace(value, **{name: each for name, each in changes.items() if each is not getattr(value, name)})
    if isinstance(value, list | tuple):
        parts = [with_integers(each, of) for each in value]
        return type(value)(parts) if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    return value


def fitting(kind: type) -> Callable:
    limits = np.iinfo(kind)
    return lambda value: kind(value) if limits.min <= value <= limits.max else value


def parameters(function) -> list[Parameter]:
    return [each for each in signature(function).parameters.values() if each.name != "self"]


def is_sentence(error: Exception) -> bool:
    """Return True for an error that the golden model raises itself, in one sentence."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "/golden/" in last.filename and last.line.startswith("raise ") and re.fullmatch(r"[^\n]+[^\n.]", str(error))


def outcome(function, arguments):
    """Return a result, or an error's sentence."""
    try:
        return call(function, arguments)
    except (TypeError, ValueError) as error:
        if not is_sentence(error):
            raise
        return type(error), str(error)


def test_every_sample_has_its_function():
    for module, samples in SAMPLES.items():
        if module not in (exact, exact.fp32):
            assert set(samples) == set(public(module))
    assert len(CALLS) > 150


@pytest.mark.parametrize(("function", "sample"), CALLS)
def test_integers_of_any_type(function, sample):
    assert sample is not None, "add a sample of this function"
    integers = [each.name for each in parameters(function) if holds(each.annotation, int)]
    missing = [
        name for name in integers if sample.get(name) is None and not name.endswith("numerics") and name != "progress"
    ]
    assert not missing, "add these integers to the sample"
    expected = call(function, sample)
    for name in integers:
        for of in (*map(fitting, INTEGERS), Index):
            value = with_integers(sample[name], of) if name in sample else None
            if value is not None and value is not sample[name]:
                assert call(function, sample | {name: value}) == expected, (name, value)


@pytest.mark.parametrize(("function", "sample"), CALLS)
def test_flags(function, sample):
    for name in [
        each.name for each in parameters(function) if each.annotation is bool and each.kind.name != "VAR_KEYWORD"
    ]:
        for value in (2, 1, 0, "x", None, 1.0, np.int64(1)):
            with pytest.raises(TypeError, match=f"^{name} must be True or False, not {re.escape(str(value))}|'x'$"):
                call(function, sample | {name: value})
        for value in (True, False):
            assert outcome(function, sample | {name: np.bool_(value)}) == outcome(function, sample | {name: value})


class Foreign:
    """An array of another library, which numpy reads by its protocol."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def spread(array):
    """Return an array whose elements do not lie side by side."""
    wide = np.zeros((*array.shape, 2), array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


def frozen(array):
    """Return a copy that cannot be written."""
    copied = array.copy()
    copied.flags.writeable = False
    return copied


@pytest.mark.parametrize(("function", "sample"), CALLS)
def test_arrays_of_any_kind(function, sample):
    """The same numbers give the same bits; other dtypes and lists give the bits of numpy's array of them, or a sentence."""
    for each in parameters(function):
        value = sample.get(each.name)
        if not holds(each.annotation, np.ndarray) or not isinstance(value, np.ndarray):
            continue
        expected = call(function, sample)
        for kind in (Foreign, spread, frozen):
            assert call(function, sample | {each.name: kind(value)}) == expected, (each.name, kind)
        listed = outcome(function, sample | {each.name: value.tolist()})
        assert listed == outcome(function, sample | {each.name: np.asarray(value.tolist())}), each.name
        for dtype in (np.float16, np.float64, np.complex128, np.bool_):
            with np.errstate(over="ignore", invalid="ignore"):
                converted = value.astype(dtype)
            outcome(function, sample | {each.name: converted})


@pytest.mark.parametrize(("function", "sample"), CALLS)
def test_wrong_arguments(function, sample):
    for each in parameters(function):
        if each.kind is not Parameter.VAR_KEYWORD:
            for value in WRONG:
                outcome(function, sample | {each.name: value})
