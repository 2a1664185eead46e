"""The standing of a run: the weakest of the choices that its instructions' results depend on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bitpath.golden.nki.declarations.standing import ORDER, source_of


@dataclass(frozen=True)
class Standing:
    """The standing of a run.

    Attributes
    ----------
    word : the weakest of the choices' standings, "documented" without choices.
    keys : the choices that influenced the run, with the standing of each.
    """

    word: str
    keys: Mapping[str, str]

    def __str__(self) -> str:
        return self.word


def standing_of(used: Iterable[frozenset[str]]) -> Standing:
    """Return the standing of instructions, given the keys of each."""
    keys = {key: source_of(key).kind for each in used for key in sorted(each)}
    return Standing(max(keys.values(), key=ORDER.index, default=ORDER[0]), dict(sorted(keys.items())))
