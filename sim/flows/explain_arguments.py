"""Arguments of the explain commands: outputs, words, numbers, lists, steps; and the text of a matmul's output."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.codec import Overflow, decode
from bitpath.golden.scalar.rounding import round_to_format

Trace = TypeVar("Trace")


def output_place(text: str, rows: int, columns: int) -> tuple[int, int]:
    """Read "M,N", an output of a matrix of `rows` x `columns`; raise ValueError for other text or an output outside."""
    match = re.fullmatch(r"(\d+),(\d+)", text)
    if not match or not (int(match[1]) < rows and int(match[2]) < columns):
        raise ValueError(f"--output must be M,N up to {rows - 1},{columns - 1}, not {text!r}")
    return int(match[1]), int(match[2])


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


def chain_or_step(
    steps: Sequence[tuple[str, Trace]],
    step: int | None,
    *,
    title: str,
    noun: str,
    chain: Callable[[Sequence[tuple[str, Trace]]], str],
    one: Callable[[Trace], str],
    row: np.ndarray,
    column: np.ndarray,
) -> str:
    """Return the text of a chain of instructions with the float64 product of `row` and `column`, or of one step."""
    if step is None:
        reference = float(row.astype(np.float64) @ column.astype(np.float64))
        return f"{title}\n{chain(steps)}\nfloat64      {reference:.9g}, of the matrices before conversion"
    if not 0 <= step < len(steps):
        raise ValueError(f"--step must be 0 to {len(steps) - 1}, not {step}")
    name, trace = steps[step]
    return f"{noun} {name}\n{one(trace)}"
