"""Source and standing of each statement about a machine."""

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


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A statement about a machine that this project fixes without a switch."""

    statement: str
    source: Source
