"""`checked`: the arguments of a public function are checked by their annotations, before it runs."""

import types
from collections.abc import Callable, Collection, Container, Iterable, Sequence, Sized
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from enum import Enum, Flag
from fractions import Fraction
from functools import cache, partial, wraps
from inspect import Parameter, signature
from itertools import repeat
from operator import index, is_
from typing import Any, TypeVar, Union, cast, get_args, get_origin
from weakref import ref

import numpy as np

from bitpath.golden.formats.catalogue import FixedFormat, FloatFormat

# Argument checks for all machines; each error reads "NAME must be ..., not ...".
#
# TypeError: an argument of another type. ValueError: the type is right, the value or range is not. Integers may be of any
# integer type, numpy's scalars and objects with ``__index__`` included; bool is not an integer.


Member = TypeVar("Member", bound=Enum)
Bits = TypeVar("Bits", bound=Flag)
_SHOWN_BITS = 128
"""Integers up to this width are shown in digits; Python refuses to write very long ones."""
MOST_LISTED = 100
"""Choices that an error lists."""
_NOUNS = {np.ndarray: "a numpy array", bytes: "bytes"}


def check_choice(name: str, value: Any, choices: Collection[Any]) -> Any:
    """Return a value, an integer as Python's int; raise unless `choices` holds it. True and 1.0 are not 1."""
    try:
        choice = value if isinstance(value, str) else integer(name, value)
    except TypeError:
        choice = None
    if not isinstance(choice, tuple({str if isinstance(each, str) else int for each in choices})):
        raise TypeError(f"{name} must be {_listed(choices)}, not {shown(value)}")
    if choice not in choices:
        close = suggestion(choice, choices) if isinstance(choice, str) else ""
        raise ValueError(f"{name} must be {_listed(choices)}, not {shown(value)}{close}")
    return choice


def _listed(choices: Collection[Any]) -> str:
    """Return all choices, or the first and the last of many."""
    if len(choices) <= MOST_LISTED:
        return one_of(map(repr, choices))
    first, *_, last = choices
    return f"one of {len(choices)} names from {first!r} to {last!r}"


def check_flag(name: str, value: bool) -> bool:
    """Return a flag as Python's bool; raise TypeError unless it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def check_length(name: str, values: Sized, length: int | None = None, why: str = "") -> None:
    """Raise ValueError unless a sequence has a length; without one, unless it has elements."""
    if len(values) != length if length is not None else not len(values):
        allowed = "at least 1 element" if length is None else f"{length} elements"
        raise ValueError(f"{name} must have {allowed}{why}, not {len(values)}")


def check_instance(name: str, value: object, kind: type, where: str = "") -> None:
    """Raise TypeError unless a value is an instance of a class; `where` says where the caller finds one."""
    if not isinstance(value, kind):
        noun = _NOUNS.get(kind) or _article(kind.__name__)
        raise TypeError(f"{name} must be {noun}{where}, not {shown(value)}")


def member(name: str, value: object, members: type[Member]) -> Member:
    """Return an enum's member, given itself, its value, or, where values are numbers, its name in any case of letters."""
    if isinstance(value, members):
        return value
    if isinstance(value, str) and isinstance(next(iter(members)).value, int):
        names = {each.name.lower(): each for each in members}
        return names[check_choice(name, value.lower(), names)]
    return members(check_choice(name, value, [each.value for each in members]))


def flag_bits(name: str, value: object, flag: type[Bits]) -> Bits:
    """Return bits of a flag, given themselves, their integer, True for all of them or False for none."""
    none = flag(0)
    if isinstance(value, bool | np.bool_):
        return ~none if value else none
    return flag(integer(name, value, range((~none).value + 1)))  # type: ignore[arg-type]  # it checks


def integer(name: str, value: int, allowed: range | None = None, why: str = "") -> int:
    """Return an integer as Python's int.

    Raises
    ------
    TypeError : another type, bool included.
    ValueError : an integer outside the range.
    """
    try:
        number = value if type(value) is int else index(None if isinstance(value, bool | np.bool_) else value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {shown(value)}") from None
    if allowed is not None and number not in allowed:
        raise ValueError(f"{name} must be {allowed[0]} to {allowed[-1]}{why}, not {shown(number)}")
    return number


def shown(value: Any) -> str:
    """Return how a sentence names a value: its digits or text where they are short, else its type."""
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, np.integer | np.floating):
        return str(value)
    return repr(value) if value is None or isinstance(value, str | int | float) else _article(type(value).__name__)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" with the known name closest to ``name`` in any case of letters; "" if none is close."""
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_lower, 1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def one_of(options: Iterable[Any]) -> str:
    """Return "a, b or c"."""
    *others, last = map(str, options)
    return f"{', '.join(others)} or {last}" if others else last


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"


# Arrays of any library as numpy's, at the door of each public function.


def as_numpy(name: str, value: Any) -> np.ndarray:
    """Return an array, a list, or an object with `__array__` or `__dlpack__`, as a numpy array with the same numbers.

    Tensors of torch, jax and cupy have one of these protocols; none of the three is imported.

    Raises
    ------
    TypeError, ValueError : an object that is no array; rows of different lengths.
    """
    if isinstance(value, np.ndarray):
        return value
    try:
        # torch: a tensor with a gradient, or on a device, gives its numbers only to those who ask for them.
        for method in ("detach", "cpu"):
            if hasattr(value, method):
                value = getattr(value, method)()
        # cupy raises the same error.
        if hasattr(value, "__cuda_array_interface__"):
            value = value.get()
        # numpy's protocols have no bfloat16; float32 holds all of torch's.
        if str(getattr(value, "dtype", "")) == "torch.bfloat16":
            value = value.float()
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        # Other libraries' exceptions are not made of a text alone, and their texts have many lines.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise kind(f"{name} must be an array or a list of rows, not {shown(value)}: {reason}") from error


def as_array(name: str, value: Any) -> np.ndarray:
    """Return what `as_numpy` takes if it holds numbers; raise TypeError for anything else."""
    array = as_numpy(name, value) if is_array(value) else None
    if array is None or not holds_numbers(array):
        check_instance(name, value, np.ndarray)
    return array


def is_array(value: Any) -> bool:
    """Return True for arrays, lists and objects that give an array, also for numpy's scalars."""
    return isinstance(value, np.ndarray | list | tuple) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def holds_numbers(array: np.ndarray) -> bool:
    """Return False for texts and objects."""
    return array.dtype.kind not in "OSU"


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
    an enum                 a member, its value, or the name of a numbered one; of a flag any integer; also joined with the values' type
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
        named = today(named, checks)
        options = {name: checks.get(name, rest)(name, value) for name, value in named.items()}
        return public(*values, *args[len(values) :], **options)

    return cast(Public, call)


def today(named: dict[str, Any], parameters: Container[str]) -> dict[str, Any]:
    """Return arguments by name, with `fmt`, the former name of `format`, by today's."""
    if "fmt" in named and "fmt" not in parameters and "format" in parameters and "format" not in named:
        return {"format" if name == "fmt" else name: value for name, value in named.items()}
    return named


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
    return _record(annotation) if is_dataclass(annotation) else partial(_instance, annotation)


def _check_of_union(parts: tuple[Any, ...]) -> Check:
    kinds = [each for each in parts if each is not types.NoneType]
    if np.ndarray in kinds and len(kinds) > 1:
        return _array_or_other
    enums = [each for each in kinds if isinstance(each, type) and issubclass(each, Enum)]
    if len(enums) == 1 and {type(each.value) for each in enums[0]} | {enums[0]} >= {*kinds}:
        kinds = enums
    if set(kinds) == {FloatFormat, FixedFormat}:
        return _number_format
    if len(kinds) != 1:
        return _as_is
    check = _check(kinds[0])
    return (lambda name, value: None if value is None else check(name, value)) if types.NoneType in parts else check


def _number_format(name: str, value: Any) -> Any:
    return _record(FixedFormat if isinstance(value, FixedFormat) else FloatFormat)(name, value)


@cache
def _record(kind: type[Any]) -> "_Record":
    """Return the check of a record type; a subclass is checked by its own fields."""
    return _Record(kind)


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
        if type(record) is not self.kind:
            return _record(cast(Any, type(record)))(name, record)
        given = {field: getattr(record, field) for field in self.checks}
        taken = {field: check(f"{name}.{field}", given[field]) for field, check in self.checks.items()}
        changed = {field: value for field, value in taken.items() if value is not given[field]}
        if changed:
            return replace(cast(Any, record), **changed)
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
