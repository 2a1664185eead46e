"""Programs of Tensix instructions as text: `assemble` and `disassemble`.

An instruction a line: the name, then fields in any order; a field that is not given is 0::

    MVMUL flip=3, modifier=2, dst=0x10  # a number is decimal, or hexadecimal with 0x
    NOP

`disassemble` writes the fields that are not 0, in the order of the encoding, so that `assemble` gives back the same words.
"""

from collections.abc import Sequence

from bitpath.golden.arrays.arguments import check_instance, checked
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.isa.words import decode, word_of


@checked
def assemble(text: str, *, chip: Chip | str = Chip.WORMHOLE) -> list[int]:
    """Return the words of a program; empty lines and comments, from # to the end of the line, give none.

    Raises
    ------
    TypeError, ValueError : no text, another chip; a line that is no instruction, with its number.
    """
    check_instance("text", text, str)
    words = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition("#")[0].strip()
        try:
            if code:
                words.append(_encoded(code, Chip(chip)))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return words


@checked
def disassemble(words: Sequence[int], *, chip: Chip | str = Chip.WORMHOLE) -> str:
    """Return a program as text, a line for each word.

    Raises
    ------
    TypeError, ValueError : another chip; a word that `decode` refuses, with its position, from 0.
    """
    lines = []
    for number, word in enumerate(words):
        try:
            lines.append(f"{decode(word, chip=chip)}\n")
        except ValueError as error:
            raise ValueError(f"words[{number}]: {error}") from None
    return "".join(lines)


def _encoded(code: str, chip: Chip) -> int:
    name, _, rest = code.partition(" ")
    fields: dict[str, int] = {}
    for each in rest.split(",") if rest.strip() else ():
        field, equals, value = map(str.strip, each.partition("="))
        if not (field and equals):
            raise ValueError(f"a field must be NAME=NUMBER, not {each.strip()!r}")
        if field in fields:
            raise ValueError(f"{field} must be given once in {name}")
        fields[field] = _number(field, value)
    return word_of(name, fields, chip)


def _number(field: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f"{field} must be a decimal or hexadecimal number, not {text!r}") from None
