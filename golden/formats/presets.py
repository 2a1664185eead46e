"""Numerics with a name, and the standing of every field."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Generic, TypeVar, cast

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
        missing = {field.name for field in fields(cast(Any, self.numerics))} ^ set(self.sources)
        if missing:
            raise ValueError(f"preset {self.name!r}: fields and sources differ in {sorted(missing)}")

    def variant(self, name: str, **changes: tuple[Any, Source]) -> "Preset[Numerics]":
        """Return a preset with other values in some fields, each given with its source."""
        return preset(name, partial(replace, cast(Any, self.numerics)), self.sources, **changes)


def preset(
    name: str,
    numerics: Callable[..., Numerics],
    sources: Mapping[str, Source] | None = None,
    /,
    **values: tuple[Any, Source],
) -> Preset[Numerics]:
    """Return a preset whose fields are given as pairs of value and source."""
    if not callable(numerics):
        raise TypeError(f"numerics must be a class of numerics, not a {type(numerics).__name__}")
    if sources is not None and not isinstance(sources, Mapping):
        raise TypeError(f"sources must be a mapping of fields to sources, not a {type(sources).__name__}")
    return Preset(
        name=name,
        numerics=numerics(**{field: value for field, (value, _) in values.items()}),
        sources={**(sources or {}), **{field: source for field, (_, source) in values.items()}},
    )
