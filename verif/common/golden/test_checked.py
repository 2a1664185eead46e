"""`checked` converts arguments by their annotations, keeps the signature, and names the refused argument."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, IntFlag
from fractions import Fraction
from inspect import signature

import numpy as np
import pytest

from bitpath.golden.scalar.checked import checked


class Mode(Enum):
    A = "a"


class Bits(IntFlag):
    LOW = 1


@dataclass(frozen=True)
class Record:
    count: int
    flag: bool = False


def plain(
    number: int = 0,
    flag: bool = False,
    exact: Fraction = Fraction(0),
    mode: Mode = Mode.A,
    by_value: Mode | str = Mode.A,
    bits: Bits = Bits.LOW,
    record: Record | None = None,
    numbers: Sequence[int] = (),
    pair: tuple[int, int] = (0, 0),
    mixed: Sequence[tuple[int, Mode]] = (),
    records: tuple[Record, ...] = (),
    progress: Callable[[int], None] | None = None,
    free: int | str = "",
    **rest: bool,
) -> dict:
    return dict(locals())


taken = checked(plain)
ONE, KEPT = np.uint8(1), Record(3)


def test_the_signature_and_the_text_stay():
    assert signature(taken) == signature(plain)
    assert (taken.__doc__, taken.__name__) == (plain.__doc__, plain.__name__)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("number", ONE, 1),
        ("number", Bits.LOW, 1),
        ("flag", np.True_, True),
        ("exact", ONE, Fraction(1)),
        ("mode", "a", Mode.A),
        ("by_value", "a", Mode.A),
        ("bits", ONE, Bits.LOW),
        ("bits", 6, Bits(6)),
        ("record", Record(ONE, np.True_), Record(1, True)),
        ("record", None, None),
        ("numbers", [ONE, 2], (1, 2)),
        ("numbers", np.array([1, 2]), (1, 2)),
        ("pair", (ONE, 2), (1, 2)),
        ("mixed", [(ONE, "a")], ((1, Mode.A),)),
        ("records", (Record(ONE),), (Record(1),)),
        ("free", ONE, ONE),
    ],
)
def test_arguments_are_converted(name, given, expected):
    for result in (
        taken(**{name: given})[name],
        taken(*list(plain().values())[: list(plain()).index(name)], given)[name],
    ):
        assert (repr(result), type(result)) == (repr(expected), type(expected))


@pytest.mark.parametrize(
    ("name", "given"), [("record", KEPT), ("numbers", [1, 2]), ("records", [KEPT]), ("progress", print)]
)
def test_arguments_that_fit_are_handed_on_themselves(name, given):
    assert taken(**{name: given})[name] is given is taken(**{name: given})[name]


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("number", True, "number must be an integer, not True"),
        ("flag", 1, "flag must be True or False, not 1"),
        ("exact", 0.5, "exact must be a fraction or an integer, not 0.5"),
        ("mode", 1, "mode must be 'a', not 1"),
        ("record", 1, "record must be a Record, not 1"),
        ("record", Record(0.5), "record.count must be an integer, not 0.5"),
        ("numbers", 1, "numbers must be a sequence of integers, not 1"),
        ("numbers", "12", "numbers must be a sequence of integers, not '12'"),
        ("numbers", np.array(1), "numbers must be a sequence of integers, not a ndarray"),
        ("numbers", [1, 0.5], "numbers[1] must be an integer, not 0.5"),
        ("pair", None, "pair must be a pair of integers, not None"),
        ("mixed", [3], "mixed[0] must be a pair of values, not 3"),
        ("mixed", [(1, 2)], "mixed[0][1] must be 'a', not 2"),
        ("records", [1], "records[0] must be a Record, not 1"),
        ("progress", 1, "progress must be a function, not 1"),
        ("other", 0, "other must be True or False, not 0"),
    ],
)
def test_other_types_are_refused(name, given, sentence):
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}$"):
        taken(**{name: given})


def test_a_pair_has_two_elements():
    with pytest.raises(ValueError, match=r"^pair must have 2 elements, not 3$"):
        taken(pair=(1, 2, 3))


def test_too_many_arguments_are_pythons_error():
    with pytest.raises(TypeError, match="takes from 0 to 13 positional arguments but 14 were given"):
        taken(*plain().values())
