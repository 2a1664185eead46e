"""Every argument of every public function: integers of any type give the same bits, flags are flags, mistakes a sentence."""

import re
import traceback
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import total_ordering
from inspect import Parameter, signature
from typing import get_args

import numpy as np
import pytest

from bitpath.golden import exact
from bitpath.verif.tests.golden.calls import SAMPLES, call, public


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


CALLS = [
    (f"{module.__name__.removeprefix('bitpath.golden.')}.{name}", function, samples.get(name))
    for module, samples in SAMPLES.items()
    for name, function in public(module).items()
]
"""Name, function and sample of its arguments."""


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


def test_integers_of_any_type(subtests):
    for called, function, sample in CALLS:
        with subtests.test(called):
            assert sample is not None, "add a sample of this function"
            integers = [each.name for each in parameters(function) if holds(each.annotation, int)]
            missing = [
                name
                for name in integers
                if sample.get(name) is None and not name.endswith("numerics") and name != "progress"
            ]
            assert not missing, "add these integers to the sample"
            expected = call(function, sample)
            for name in integers:
                for of in (*map(fitting, INTEGERS), Index):
                    value = with_integers(sample[name], of) if name in sample else None
                    if value is not None and value is not sample[name]:
                        assert call(function, sample | {name: value}) == expected, (name, value)


def test_flags(subtests):
    for called, function, sample in CALLS:
        with subtests.test(called):
            for name in [
                each.name
                for each in parameters(function)
                if each.annotation is bool and each.kind.name != "VAR_KEYWORD"
            ]:
                for value in (2, 1, 0, "x", None, 1.0, np.int64(1)):
                    with pytest.raises(
                        TypeError, match=f"^{name} must be True or False, not {re.escape(str(value))}|'x'$"
                    ):
                        call(function, sample | {name: value})
                for value in (True, False):
                    assert outcome(function, sample | {name: np.bool_(value)}) == outcome(
                        function, sample | {name: value}
                    )


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


def test_arrays_of_any_kind(subtests):
    """The same numbers give the same bits; other dtypes and lists give the bits of numpy's array of them, or a sentence."""
    for called, function, sample in CALLS:
        with subtests.test(called):
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


def test_wrong_arguments(subtests):
    for called, function, sample in CALLS:
        with subtests.test(called):
            for each in parameters(function):
                if each.kind is not Parameter.VAR_KEYWORD:
                    for value in WRONG:
                        outcome(function, sample | {each.name: value})
