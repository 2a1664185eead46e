"""Files of Tensix instructions and of words, as `bitpath asm` reads them."""

from pathlib import Path

from bitpath.golden.arrays.files import FileError, read_text
from bitpath.golden.tensix import isa


def assembled(file: Path, chip: str) -> tuple[list[int], list[str]]:
    """Return the words of a file of instructions, and its instructions in the disassembler's form."""
    text = read_text(file)
    try:
        words = isa.assemble(text, chip=chip)
    except ValueError as error:
        raise FileError(f"{file}: {error}") from None
    return words, isa.disassemble(words, chip=chip).splitlines()


def disassembled(file: Path, chip: str) -> tuple[list[int], list[str]]:
    """Return the words of a file, one a line with comments from #, and the instruction of each."""
    words, lines = [], []
    for number, line in enumerate(read_text(file).splitlines(), 1):
        code = line.partition("#")[0].strip()
        try:
            if code:
                words.append(_word(code))
                lines.append(str(isa.decode(words[-1], chip=chip)))
        except ValueError as error:
            raise FileError(f"{file}: line {number}: {error}") from None
    return words, lines


def _word(code: str) -> int:
    try:
        return int(code, 16)
    except ValueError:
        raise ValueError(f"word must be a hexadecimal number, not {code!r}") from None
