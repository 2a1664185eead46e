"""What the commands that explain take: places, words, numbers, matrices of whole numbers."""

import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.codec import Overflow, decode
from bitpath.golden.scalar.rounding import round_to_format


def output_place(text: str, rows: int, columns: int) -> tuple[int, int]:
    """Read "M,N", an output of a matrix of that many rows and columns.

    Raises
    ------
    ValueError : something else, or a place outside.
    """
    match = re.fullmatch(r"(\d+),(\d+)", text)
    if not match or not (int(match[1]) < rows and int(match[2]) < columns):
        raise ValueError(f"--output is {text!r}; M,N up to {rows - 1},{columns - 1} is allowed")
    return int(match[1]), int(match[2])


def read_word(option: str, text: str, width: int, name: str, encode: Callable[[Fraction], int | None]) -> int:
    """Read a hexadecimal word of `width` bits, or a number that `encode` has a word for.

    Raises
    ------
    ValueError : neither.
    """
    found = None
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        found = int(text, 16)
        found = None if found >> width else found
    elif re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", text):
        found = encode(Fraction(text))
    if found is None:
        raise ValueError(
            f"{option} is {text!r}; numbers that {name} holds, and words of {width} bits that begin with 0x, are allowed"
        )
    return found


def float_code(value: Fraction, fmt: FloatFormat) -> int | None:
    """Return the code of a number, None where the format does not hold it exactly."""
    code = round_to_format(value, fmt, overflow=Overflow.SATURATE)
    return code if decode(fmt, code).value == value else None


def whole_numbers(matrix: np.ndarray, format_name: str) -> np.ndarray:
    """Return a matrix of floats as the integers that they are.

    Raises
    ------
    ValueError : other numbers; `format_name` is what they were to become.
    """
    whole = np.rint(matrix).astype(np.int64)
    if np.any(whole != matrix):
        raise ValueError(f"--format is {format_name}; matrices of whole numbers, by --a and --b, are allowed with it")
    return whole
