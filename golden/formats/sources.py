"""Source and standing of each statement about a machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["documented", "measured", "inferred", "chosen"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """The standing of one numerics field.

    Attributes
    ----------
    kind : "documented" by the vendor or a standard, "measured" on the machine or in its published logs,
        "inferred" from other statements, or "chosen" by this project because nothing public says.
    where : the document and section, or the reason for the choice.
    """

    kind: Kind
    where: str


def documented(where: str) -> Source:
    """Return the source of what the vendor or a standard documents."""
    return Source(kind="documented", where=where)


def measured(where: str) -> Source:
    """Return the source of what the machine was measured to do."""
    return Source(kind="measured", where=where)


def inferred(where: str) -> Source:
    """Return the source of what follows from other statements."""
    return Source(kind="inferred", where=where)


def chosen(where: str) -> Source:
    """Return the source of what this project chose, with its reason."""
    return Source(kind="chosen", where=where)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A statement about a machine that this project fixes without a switch."""

    statement: str
    source: Source


def choices(statements: Mapping[str, Source]) -> tuple[Choice, ...]:
    """Return choices given as statements with their sources."""
    if not isinstance(statements, Mapping):
        raise TypeError(f"statements must be a mapping of statements to sources, not a {type(statements).__name__}")
    return tuple(Choice(statement=statement, source=source) for statement, source in statements.items())
