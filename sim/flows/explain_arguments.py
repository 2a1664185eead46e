"""Arguments of the explain commands: outputs, words, numbers and lists."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from bitpath.golden.explain.explanation import Explanation
from bitpath.golden.explain_output import explain
from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.machines import find_machine
from bitpath.golden.scalar.codec import Overflow, decode
from bitpath.golden.scalar.rounding import round_to_format


def output_explanation(
    machine: str, a: np.ndarray, b: np.ndarray, format_name: str, place: str, step: int | None, **arguments: Any
) -> Explanation:
    """Explain the output at `place` ("M,N") of ``a @ b``, or one step of it; other arguments are those of the machine's matmul.

    Raises
    ------
    TypeError, ValueError : another place; as `explain`; numbers that are not whole for a format of integers.
    """
    match = re.fullmatch(r"(\d+),(\d+)", place)
    if not match or not (int(match[1]) < a.shape[0] and int(match[2]) < b.shape[1]):
        raise ValueError(f"--output must be M,N up to {a.shape[0] - 1},{b.shape[1] - 1}, not {place!r}")
    if format_name in find_machine(machine, format_name).integers:
        a, b = whole_numbers(a, format_name), whole_numbers(b, format_name)
    output = int(match[1]), int(match[2])
    return explain(a, b, machine=machine, format=format_name, output=output, step=step, **arguments)


def read_word(option: str, text: str, width: int, name: str, encode: Callable[[Fraction], int | None]) -> int:
    """Read a hexadecimal word of `width` bits, or a number that `encode` can encode; raise ValueError otherwise."""
    found = None
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        found = int(text, 16)
        found = None if found >> width else found
    elif re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", text):
        found = encode(Fraction(text))
    if found is None:
        raise ValueError(
            f"{option} must be a number that {name} holds, or a word of {width} bits that begins with 0x, not {text!r}"
        )
    return found


def float_code(value: Fraction, fmt: FloatFormat) -> int | None:
    """Return the code of a number, None if the format does not hold it exactly."""
    code = round_to_format(value, fmt, overflow=Overflow.SATURATE)
    return code if decode(fmt, code).value == value else None


def whole_numbers(matrix: np.ndarray, format_name: str) -> np.ndarray:
    """Return a matrix of whole numbers as integers; raise ValueError, which names the format, for other numbers."""
    whole = np.rint(matrix).astype(np.int64)
    if np.any(whole != matrix):
        raise ValueError(f"--a and --b must be matrices of whole numbers with --format {format_name}")
    return whole


def split_list(option: str, text: str, count: int, noun: str) -> list[str]:
    """Return the parts of a list separated by commas; raise ValueError for more than `count`."""
    parts = text.split(",")
    if len(parts) > count:
        raise ValueError(f"{option} must have up to {count} {noun}, not {len(parts)}")
    return parts
