"""Docstrings of this project as reStructuredText: sections become lists, and stars multiply."""

import re
from collections.abc import Iterator, Sequence

CODE = re.compile(r"(``.*?``|`.*?`)")
ENTRY = re.compile(r"(?P<names>[\w., /*-]+?) : (?P<text>.*)")
FREE = ("Returns", "Yields", "Notes")
"""Sections of plain text; the entries of all others are ``name : text``."""


def escaped(line: str) -> str:
    """Take stars and bars outside of code literally."""
    return "".join(piece if piece[:1] == "`" else re.sub(r"([*|])", r"\\\1", piece) for piece in CODE.split(line))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _text(lines: Sequence[str]) -> Iterator[str]:
    """Escape all lines except drawings, which stand indented below a line that ends with two colons."""
    literal = None
    for line in lines:
        if literal is not None and line.strip() and _indent(line) <= literal:
            literal = None
        yield line if literal is not None else escaped(line)
        if literal is None and line.rstrip().endswith("::"):
            literal = _indent(line)


def _entry(line: str) -> str:
    found = ENTRY.fullmatch(line)
    if not found:
        return escaped(line)
    names = ", ".join(f"``{name.strip()}``" for name in found["names"].split(","))
    return f"* {names}: {escaped(found['text'])}"


def to_rst(lines: Sequence[str]) -> list[str]:
    """Convert a docstring."""
    heads = [place for place, line in enumerate(lines[1:]) if re.fullmatch(r"-{3,}", line) and lines[place].strip()]
    ends = [*heads[1:], len(lines)]
    written = list(_text(lines[: heads[0] if heads else len(lines)]))
    for head, end in zip(heads, ends, strict=False):
        title, body = lines[head].strip(), lines[head + 2 : end]
        written += ["", f"*{title}*", ""]
        if title in FREE:
            written += _text(body)
            continue
        for line in body:
            # Below an entry stand its further lines; a new paragraph ends the list.
            written.append(_entry(line) if line and not line.startswith(" ") else f"  {escaped(line.strip())}".rstrip())
    return [*written, ""]
