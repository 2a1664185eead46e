"""Programs of Tensix instructions as text: `assemble`, `functions` and `disassemble`.

An instruction a line, in either of two forms::

    MVMUL flip=3, modifier=2, dst=0x10  # the name, then fields in any order; a field that is not given is 0
    SFPMAD L1, L0, L13, L14, 0          // operands in the order of the published compiler's assembly
    TTINCRWC 0, 2, 0, 0                 /* which writes TT before the names that are not of the Vector unit */
    .ttinsn 0x26C18010                  # the word itself

Numbers are decimal, or hexadecimal with 0x; an immediate operand may be negative. ``.word`` holds the word rotated left by 2, as
RISC-V code does. A label begins a function, unless it is a number or begins with a dot. Other directives and sections without
code are skipped. ``ret`` may end a function; every other RISC-V instruction is refused.

Ref: tenstorrent/sfpi before a146005, tests/{wormhole,blackhole}/{sfpi,gcc}/gold.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bitpath.golden.arrays.arguments import check_choice, check_instance, checked
from bitpath.golden.tensix.declarations.encodings import WORD_BITS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa.words import Instruction, decode, encoding_of, word_of

_FORMS = {
    form.split()[0]: tuple(form.replace(",", "").split()[1:])
    for form in (
        "SFPABS Lvd, Lvc, mod",
        "SFPADD Lvd, Lva, Lvb, Lvc, mod",
        "SFPADDI Lvd, imm, mod",
        "SFPAND Lvd, Lvc",
        "SFPARECIP Lvd, Lvc, 0, mod",
        "SFPCAST Lvd, Lvc, mod",
        "SFPCOMPC",
        "SFPCONFIG vd, imm, mod",
        "SFPDIVP2 Lvd, Lvc, imm, mod",
        "SFPENCC imm, mod",
        "SFPEXEXP Lvd, Lvc, mod",
        "SFPEXMAN Lvd, Lvc, mod",
        "SFPGT Lvd, Lvc, 0, mod",
        "SFPIADD Lvd, Lvc, imm, mod",
        "SFPLE Lvd, Lvc, 0, mod",
        "SFPLOAD Lvd, address, mod, modifier",
        "SFPLOADI Lvd, imm, mod",
        "SFPLUT Lvd, mod",
        "SFPLUTFP32 Lvd, mod",
        "SFPLZ Lvd, Lvc, mod",
        "SFPMAD Lvd, Lva, Lvb, Lvc, mod",
        "SFPMOV Lvd, Lvc, mod",
        "SFPMUL Lvd, Lva, Lvb, Lvc, mod",
        "SFPMUL24 Lvd, Lva, Lvb, Lvc, mod",
        "SFPMULI Lvd, imm, mod",
        "SFPNOP",
        "SFPNOT Lvd, Lvc",
        "SFPOR Lvd, Lvc",
        "SFPPOPC mod",
        "SFPPUSHC mod",
        "SFPSETCC Lvc, imm, mod",
        "SFPSETEXP Lvd, Lvc, imm, mod",
        "SFPSETMAN Lvd, Lvc, imm, mod",
        "SFPSETSGN Lvd, Lvc, imm, mod",
        "SFPSHFT Lvd, Lvc, imm, mod",
        "SFPSHFT2 Lvd, Lvc, imm, mod",
        "SFPSTOCHRND Lvd, Lvb, Lvc, mod, rounding, imm",
        "SFPSTORE address, Lvd, mod, modifier",
        "SFPSWAP Lvd, Lvc, mod",
        "SFPTRANSP",
        "SFPXOR Lvd, Lvc",
        "TTINCRWC cr, dst, src_b, src_a",
        "TTREPLAY start, count, execute, load",
    )
}
"""Operands of each published mnemonic: fields, an L before those that are lane registers; 0 is an operand without a field."""
_NAMES = {each: each.removeprefix("TT") for each in _FORMS} | {"SFPSTOCHRND": "SFP_STOCH_RND"}
"""Names of the instructions by published mnemonic."""
_MNEMONICS = {name: each for each, name in _NAMES.items()}
_TTINSN_LOW = 0b11
"""Low bits of a code word: both are 1 in a RISC-V instruction and in no other word."""
_LABEL = re.compile(r"([\w.$]+)\s*:")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass
class _Function:
    """A function of a text: its words, or the reason why it has none."""

    name: str
    words: list[int] = field(default_factory=list)
    refusal: str | None = None
    returned: bool = False


@checked
def assemble(text: str, *, chip: Chip | str = Chip.WORMHOLE, function: str | None = None) -> list[int]:
    """Return the words of a program.

    Parameters
    ----------
    function : name of the function whose words are returned; None is all functions, one after the other.

    Raises
    ------
    TypeError, ValueError : no text, another chip, a function that the text does not have; a line that is no Tensix instruction,
        or repeats a label, with its number.
    """
    check_instance("text", text, str)
    found = _functions(text, Chip(chip))
    if function is not None:
        check_choice("function", function, [each.name for each in found])
        found = [each for each in found if each.name == function]
    for each in found:
        if each.refusal:
            raise ValueError(each.refusal)
    return [word for each in found for word in each.words]


@checked
def functions(text: str, *, chip: Chip | str = Chip.WORMHOLE) -> dict[str, list[int]]:
    """Return the words of each function of a text that has Tensix instructions alone, by its name.

    A function with another line is left out; ``assemble(text, function=name)`` says why. Instructions before the first label
    have the name "".

    Raises
    ------
    TypeError, ValueError : no text, another chip; a label again.
    """
    check_instance("text", text, str)
    return {each.name: each.words for each in _functions(text, Chip(chip)) if not each.refusal}


@checked
def disassemble(words: Sequence[int], *, chip: Chip | str = Chip.WORMHOLE, style: str = "fields") -> str:
    """Return a program as text, a line for each word; `assemble` gives the same words.

    Parameters
    ----------
    style : "fields" writes the fields that are not 0, in the order of the encoding; "gnu" operands as the published compiler
        does, and ``.ttinsn`` for instructions that it has no operands for.

    Raises
    ------
    TypeError, ValueError : another chip or style; a word that `decode` refuses, with its position, from 0.
    """
    check_choice("style", style, ("fields", "gnu"))
    lines = []
    for number, word in enumerate(words):
        try:
            decoded = decode(word, chip=chip)
        except ValueError as error:
            raise ValueError(f"words[{number}]: {error}") from None
        lines.append(f"{_gnu(decoded, word) if style == 'gnu' else decoded}\n")
    return "".join(lines)


def _functions(text: str, chip: Chip) -> list[_Function]:
    """Return the functions of a text, in their order."""
    found = [_Function("")]
    for number, code in _statements(text):
        label = _LABEL.fullmatch(code)
        if label:
            if not label[1].startswith(".") and not label[1].isdecimal():
                if any(each.name == label[1] for each in found):
                    raise ValueError(f"line {number}: a label must be given once, not {label[1]} again")
                found.append(_Function(label[1]))
            continue
        own = found[-1]
        try:
            if own.returned:
                raise ValueError("ret must be the last instruction of a function")
            if code == "ret":
                own.returned = True
            else:
                own.words.append(_word(code, chip))
        except ValueError as error:
            own.refusal = own.refusal or f"line {number}: {error}"
    return [each for each in found if each.name or each.words or each.refusal]


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield labels, instructions, ``.ttinsn`` and ``.word`` of sections with code, each with the number of its line."""
    in_code = True
    text = _COMMENT.sub(lambda comment: " " + "\n" * comment[0].count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition("#")[0].partition("//")[0].strip()
        while label := _LABEL.match(code):
            if in_code:
                yield number, label[0]
            code = code[label.end() :].strip()
        name = code.partition(" ")[0].partition("\t")[0]
        if name in (".text", ".data", ".bss", ".section"):
            in_code = name == ".text" or (name == ".section" and code[len(name) :].strip().startswith(".text"))
        elif in_code and code and (not name.startswith(".") or name in (".ttinsn", ".word")):
            yield number, code


def _word(code: str, chip: Chip) -> int:
    name, *rest = code.split(maxsplit=1)
    operands = [each.strip() for each in rest[0].split(",")] if rest else []
    if name in (".ttinsn", ".word"):
        return _raw(name, operands)
    if name == name.lower():
        raise ValueError(f"the instruction must be one of Tensix, not RISC-V's {code.expandtabs(1)}")
    if operands and not any("=" in each for each in operands) and name in _FORMS:
        return _positional(name, operands, chip)
    return word_of(encoding_of(_NAMES.get(name, name), chip).name, _fields(name, operands), chip)


def _raw(directive: str, operands: list[str]) -> int:
    if len(operands) != 1:
        raise ValueError(f"{directive} must have one number, not {len(operands)}")
    number = _number(directive, operands[0].strip("()")) % (1 << WORD_BITS)
    if directive == ".ttinsn":
        return number
    if number & _TTINSN_LOW == _TTINSN_LOW:
        raise ValueError(f"the word must be an instruction of Tensix, not RISC-V's {number:#010x}")
    return number >> 2 | number << WORD_BITS - 2 & (1 << WORD_BITS) - 1


def _fields(name: str, operands: list[str]) -> dict[str, int]:
    """Return the fields of the form NAME=NUMBER."""
    fields: dict[str, int] = {}
    for each in operands:
        own, equals, value = map(str.strip, each.partition("="))
        if not (own and equals):
            raise ValueError(f"a field must be NAME=NUMBER, not {each!r}")
        if own in fields:
            raise ValueError(f"{own} must be given once in {name}")
        fields[own] = _number(own, value)
    return fields


def _positional(name: str, operands: list[str], chip: Chip) -> int:
    """Return the word of a published mnemonic with its operands."""
    form = _FORMS[name]
    if len(operands) != len(form):
        expected = f"the operands {', '.join(form)}" if form else "no operands"
        raise ValueError(f"{name} must have {expected}, not {len(operands)}")
    widths = {each.name: each.width for each in encoding_of(_NAMES[name], chip).fields}
    fields: dict[str, int] = {}
    for own, text in zip(form, operands, strict=True):
        if own.startswith("L"):
            fields[own[1:]] = _register(own, text)
        elif own == "0":
            if _number("the operand", text):
                raise ValueError(f"the operand without a field must be 0 in {name}, not {text}")
        else:
            fields[own] = _number(own, text)
            if own == "imm" and -(1 << widths[own] >> 1) <= fields[own] < 0:
                fields[own] += 1 << widths[own]
    return word_of(_NAMES[name], fields, chip)


def _register(own: str, text: str) -> int:
    if not re.fullmatch(r"L\d+", text):
        raise ValueError(f"{own[1:]} must be a lane register, L0 to L15, not {text!r}")
    return int(text[1:])


def _number(own: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f"{own} must be a decimal or hexadecimal number, not {text!r}") from None


def _gnu(instruction: Instruction, word: int) -> str:
    """Return an instruction in the published compiler's form, or as ``.ttinsn`` where that has no place for a field."""
    mnemonic = _MNEMONICS.get(instruction.name)
    form = _FORMS.get(mnemonic, ())
    placed = {own.removeprefix("L") for own in form}
    if mnemonic is None or any(value and name not in placed for name, value in instruction.fields.items()):
        return f".ttinsn {word:#010x}"
    operands = [
        f"L{instruction[own[1:]]}" if own.startswith("L") else f"{instruction.fields.get(own, 0)}" for own in form
    ]
    return f"{mnemonic} {', '.join(operands)}".rstrip()
