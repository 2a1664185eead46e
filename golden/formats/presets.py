"""Numerics with a name, and the standing of every field."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

from bitpath.golden.formats.sources import Source

Numerics = TypeVar("Numerics")


@dataclass(frozen=True, kw_only=True)
class Preset(Generic[Numerics]):
    """Numerics with a name, and the standing of every field.

    Attributes
    ----------
    name : as the command line takes it.
    numerics : the machine's numerics dataclass, for example `DotNumerics`.
    sources : for each field of ``numerics``, where its value comes from.
    """

    name: str
    numerics: Numerics
    sources: Mapping[str, Source]

    def __post_init__(self) -> None:
        missing = {field.name for field in fields(self.numerics)} ^ set(self.sources)
        if missing:
            raise ValueError(f"preset {self.name!r}: fields and sources differ in {sorted(missing)}")
