"""Files of ``bitpath asm`` and ``bitpath oracle``: Tensix instructions, and operands and results of kernel tests."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden.arrays import files
from bitpath.golden.arrays.files import FileError, read_text
from bitpath.golden.tensix import isa, llk

# Files of Tensix instructions and of words, as `bitpath asm` reads them.


def assembled(file: Path, chip: str, style: str, function: str | None = None) -> tuple[list[int], list[str]]:
    """Return the words of a file of instructions, or of one of its functions, and its instructions in a style."""
    text = read_text(file)
    try:
        words = isa.assemble(text, chip=chip, function=function)
    except ValueError as error:
        raise FileError(f"{file}: {error}") from None
    return words, isa.disassemble(words, chip=chip, style=style).splitlines()


def disassembled(file: Path, chip: str, style: str) -> tuple[list[int], list[str]]:
    """Return the words of a file, one a line with comments from #, and the instruction of each in a style."""
    words = []
    for number, line in enumerate(read_text(file).splitlines(), 1):
        code = line.partition("#")[0].strip()
        try:
            if code:
                words.append(_word(code))
                isa.decode(words[-1], chip=chip)
        except ValueError as error:
            raise FileError(f"{file}: line {number}: {error}") from None
    return words, isa.disassemble(words, chip=chip, style=style).splitlines()


def _word(code: str) -> int:
    try:
        return int(code, 16)
    except ValueError:
        raise ValueError(f"word must be a hexadecimal number, not {code!r}") from None


# Files of kernel tests, as `bitpath oracle` reads them, and its report.


WORD_BYTES = 4
OPERANDS = ("l1_a", "l1_b", "l1_before", "pack_bits")


@dataclass(frozen=True)
class StoredCase:
    """A case, the bytes of its operands, the result's bytes before, and the packer's random bits; None where the case has none."""

    file: Path
    case: llk.Case
    l1_a: np.ndarray
    l1_b: np.ndarray | None
    l1_before: np.ndarray | None
    pack_bits: np.ndarray | None

    def expected(self) -> bytes:
        """Return the result of golden; ValueError names the case's file."""
        return self._run(llk.expected).l1.tobytes()

    def compare(self, device_l1: np.ndarray) -> llk.Report:
        """Compare a device's result with golden's; ValueError names the case's file."""
        return self._run(llk.compare, device_l1)

    def _run(self, function: Callable[..., Any], *more: np.ndarray) -> Any:
        try:
            more_operands = {"l1_before": self.l1_before, "pack_bits": self.pack_bits}
            return function(self.case, self.l1_a, self.l1_b, *more, **more_operands)
        except ValueError as error:
            raise FileError(f"{self.file}: {error}") from None


def read_case(file: Path) -> StoredCase:
    """Return the case of a JSON file, with its operands.

    Raises
    ------
    FileError : as `read_json`; no JSON object, or no case; a file of operands that cannot be read.
    """
    values = files.read_json(file)
    if not isinstance(values, dict):
        raise FileError(f"{file} must hold a JSON object")
    names = {name: values.pop(name, None) for name in OPERANDS}
    if not isinstance(names["l1_a"], str) or not all(isinstance(each, str | None) for each in names.values()):
        raise FileError(
            f"{file}: l1_a, l1_b of two operands, l1_before of l1_accumulate and pack_bits of stochastic_rounding must be "
            "names of files"
        )
    try:
        case = llk.Case.from_dict(values)
    except (TypeError, ValueError) as error:
        raise FileError(f"{file}: {error}") from None
    a, b, before, bits = (None if name is None else read_bytes(file.parent / name) for name in names.values())
    if a is None or (b is None) != (case.in_b is None):
        raise FileError(f"{file}: l1_b must be {'left out' if case.in_b is None else 'given'} with op {values['op']}")
    if (before is None) == case.l1_accumulate:
        given = "given with" if case.l1_accumulate else "left out without"
        raise FileError(f"{file}: l1_before must be {given} l1_accumulate")
    rounds = case.stochastic_rounding is not llk.StochasticRounding.NONE
    if (bits is None) == rounds or (bits is not None and bits.size % WORD_BYTES):
        given = "given, as 32-bit words, with" if rounds else "left out without"
        raise FileError(f"{file}: pack_bits must be {given} stochastic_rounding")
    words = None if bits is None else bits.view("<u4").astype(np.uint32)
    return StoredCase(file, case, a, b, before, words)


def read_bytes(file: Path, option: str = "") -> np.ndarray:
    """Return the bytes of a file of L1; raise FileError as `files.read_bytes`."""
    return np.frombuffer(files.read_bytes(file, option), np.uint8)


def record_of(report: llk.Report) -> dict[str, Any]:
    """Return a report as JSON has it."""
    record = asdict(report)
    return record | {"histogram": {str(distance): count for distance, count in report.histogram.items()}}


def report_text(report: llk.Report) -> str:
    """Return the lines that `bitpath oracle` prints."""
    count = sum(report.histogram.values())
    first = report.first_difference
    if first is None:
        return f"equal: {count:,} datums"
    codes = f"expected {first.expected:#x}, device {first.device:#x}"
    lines = [
        f"different: at most {report.ulp:,} units in the last place",
        f"first difference: row {first.row}, column {first.column}, datum {first.datum} in L1: {codes}",
        f"stage: {report.stage or 'no known departure gives these bits'}",
        *(f"  {cause}" for cause in report.causes),
        "distance   datums",
    ]
    lines += [f"{f'to {high:,}' if high > 1 else high:>8}  {number:>7,}" for high, number in report.histogram.items()]
    return "\n".join(lines)
