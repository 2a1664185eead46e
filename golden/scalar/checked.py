"""`checked`: the arguments of a public function are checked by their annotations, before it runs."""

import types
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum, Flag
from fractions import Fraction
from functools import partial, wraps
from inspect import Parameter, signature
from itertools import repeat
from operator import is_
from typing import Any, TypeVar, Union, cast, get_args, get_origin
from weakref import ref

import numpy as np

from bitpath.golden.scalar.arguments import check_flag, check_instance, check_length, integer, member, shown
from bitpath.golden.scalar.as_numpy import as_array, as_numpy, holds_numbers, is_array

Public = TypeVar("Public", bound=Callable[..., Any])
Check = Callable[[str, Any], Any]
"""Returns an argument, given its name and value, converted; raises TypeError or ValueError."""
_PASSED = 64
"""Most records that a check remembers; it does not check these again."""
_PLURALS = {
    int: "integers",
    bool: "flags",
    Fraction: "fractions",
    np.ndarray: "numpy arrays",
    tuple: "tuples",
    Sequence: "sequences",
}


def checked(public: Public) -> Public:
    """Check the arguments of a public function or class by their annotations, before it runs.

    ======================  ===========================================================================
    annotation              argument
    ======================  ===========================================================================
    int                     any integer type, handed on as Python's int; bool is no integer
    bool                    True or False, handed on as Python's bool
    Fraction                a fraction or an integer
    an enum                 a member or its value, of a flag any integer; also joined with the values' type
    a dataclass             an instance; its fields are checked as its arguments
    numpy.ndarray           what `as_array` takes, handed on as a numpy array
    another class           an instance; str, float and dtypes are left to the function
    Sequence[X], tuple[X]   a sequence, or an array with axes, whose elements are X
    Callable                a function
    X | None                None, or X
    ======================  ===========================================================================

    Other annotations are left to the function. A call costs 0.5 us and 0.1 us for each argument.
    """
    if isinstance(public, type):
        public.__init__ = checked(public.__init__)  # type: ignore[misc]  # each class of ours has an __init__ of its own
        return public
    parameters = signature(public).parameters.values()
    checks = {each.name: _check(each.annotation) for each in parameters}
    rest = next((checks[each.name] for each in parameters if each.kind is Parameter.VAR_KEYWORD), _as_is)
    in_order = [
        (each.name, _passing(each.annotation), checks[each.name])
        for each in parameters
        if each.kind is Parameter.POSITIONAL_OR_KEYWORD
    ]

    @wraps(public)
    def call(*args: Any, **named: Any) -> Any:
        values = [
            value if type(value) is passing else check(name, value)
            for (name, passing, check), value in zip(in_order, args, strict=False)
        ]
        if not named:
            return public(*values, *args[len(values) :])
        options = {name: checks.get(name, rest)(name, value) for name, value in named.items()}
        return public(*values, *args[len(values) :], **options)

    return cast(Public, call)


def _passing(annotation: Any) -> type | None:
    """Return the type whose instances need no check, or None."""
    passes = isinstance(annotation, type) and (annotation in _CHECKS or issubclass(annotation, Enum))
    return annotation if passes else None


def _check(annotation: Any) -> Check:
    """Return the check that an annotation asks for."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _check_of_union(parts)
    if origin is Callable:
        return _function
    if origin in (Sequence, list):
        return _Sequence(parts[0])
    if origin is tuple:
        return _Sequence(parts[0]) if ... in parts else _Sequence(parts[0], parts)
    if not isinstance(annotation, type) or annotation in (Any, str, float, np.dtype, Parameter.empty):
        return _as_is
    if annotation in _CHECKS:
        return _CHECKS[annotation]
    if issubclass(annotation, Flag):
        return lambda name, value: annotation(integer(name, value))
    if issubclass(annotation, Enum):
        return lambda name, value: member(name, value, annotation)
    return _Record(annotation) if is_dataclass(annotation) else partial(_instance, annotation)


def _check_of_union(parts: tuple[Any, ...]) -> Check:
    kinds = [each for each in parts if each is not types.NoneType]
    if np.ndarray in kinds and len(kinds) > 1:
        return _array_or_other
    enums = [each for each in kinds if isinstance(each, type) and issubclass(each, Enum)]
    if len(enums) == 1 and {type(each.value) for each in enums[0]} | {enums[0]} >= {*kinds}:
        kinds = enums
    if len(kinds) != 1:
        return _as_is
    check = _check(kinds[0])
    return (lambda name, value: None if value is None else check(name, value)) if types.NoneType in parts else check


class _Record:
    """The check of a frozen dataclass: an instance, whose fields are checked and converted by their annotations."""

    def __init__(self, kind: type):
        self.kind = kind
        self.checks = {each.name: _check(each.type) for each in fields(kind)}
        self.passed: dict[int, Callable[[], Any]] = {}
        """The latest records that passed, by identity and weakly held."""

    def __call__(self, name: str, record: Any) -> Any:
        passed = self.passed.get(id(record))
        if record is not None and passed is not None and passed() is record:
            return record
        check_instance(name, record, self.kind, " (preset.numerics)" if name == "numerics" else "")
        given = {field: getattr(record, field) for field in self.checks}
        taken = {field: check(f"{name}.{field}", given[field]) for field, check in self.checks.items()}
        changed = {field: value for field, value in taken.items() if value is not given[field]}
        if changed:
            return replace(record, **changed)
        if len(self.passed) >= _PASSED:
            self.passed.clear()
        self.passed[id(record)] = ref(record)
        return record


class _Sequence:
    """The check of a sequence, or of an array with axes, by its elements; `parts` are the annotations of a fixed number.

    The sequence is returned as it is where its elements stay what they are, else as a tuple.
    """

    def __init__(self, element: Any, parts: tuple[Any, ...] = ()):
        self.checks = [*map(_check, parts)]
        self.check = _check(element)
        self.of_integers = {element, *parts} == {int}
        noun = _PLURALS.get(get_origin(element) or element) or getattr(element, "__name__", "values")
        noun = "values" if {*parts} > {element} else noun
        self.noun = f"a pair of {noun}" if len(parts) == 2 else f"a sequence of {noun}"

    def __call__(self, name: str, values: Any) -> Any:
        is_array = isinstance(values, np.ndarray) and values.ndim
        if isinstance(values, str) or not (isinstance(values, Sequence) or is_array):
            raise TypeError(f"{name} must be {self.noun}, not {shown(values)}")
        if self.checks:
            check_length(name, values, len(self.checks))
        if self.of_integers and set(map(type, values)) <= {int}:
            return values
        checks = self.checks or repeat(self.check)
        taken = tuple(check(f"{name}[{i}]", each) for i, (check, each) in enumerate(zip(checks, values, strict=False)))
        return values if not is_array and all(map(is_, taken, values)) else taken


def _as_is(_: str, value: Any) -> Any:
    return value


def _instance(kind: type, name: str, value: Any) -> Any:
    check_instance(name, value, kind)
    return value


def _function(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name} must be a function, not {shown(value)}")
    return value


def _fraction(name: str, value: Any) -> Fraction:
    try:
        return value if isinstance(value, Fraction) else Fraction(integer(name, value))
    except TypeError:
        raise TypeError(f"{name} must be a fraction or an integer, not {shown(value)}") from None


def _array_or_other(name: str, value: Any) -> Any:
    """Convert arrays of other libraries and lists of numbers; leave the rest to the function."""
    if isinstance(value, np.ndarray | np.generic) or not is_array(value):
        return value
    array = as_numpy(name, value)
    return array if holds_numbers(array) else value


_CHECKS: dict[type, Check] = {int: integer, bool: check_flag, Fraction: _fraction, np.ndarray: as_array}
