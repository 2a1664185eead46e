"""Functional coverage: named bins that must all be hit."""

from collections.abc import Iterable
from itertools import product


def cross(*axes: Iterable[object]) -> list[str]:
    """Return the bins of every combination: ``cross(("rne", "rtz"), (0, 1))`` is "rne/0", "rne/1", "rtz/0", "rtz/1"."""
    return ["/".join(map(str, combination)) for combination in product(*axes)]


class Coverage:
    """Counter of hits for a fixed set of bins.

    Parameters
    ----------
    bins : all bins, declared in advance so that a misspelt hit raises an error.
    hits : bins that are hit already, once for each time they occur.
    """

    def __init__(self, bins: Iterable[str], hits: Iterable[str] = ()):
        self.counts = dict.fromkeys(bins, 0)
        for each in hits:
            self.hit(each)

    def hit(self, *parts: object) -> None:
        """Count one hit of a bin; several arguments name a bin of :func:`cross`."""
        name = "/".join(map(str, parts))
        if name not in self.counts:
            raise ValueError(f"coverage: no bin {name!r}, there are {', '.join(self.counts)}")
        self.counts[name] += 1

    @property
    def missing(self) -> list[str]:
        """Names of the bins that were never hit."""
        return [name for name, count in self.counts.items() if not count]

    def finish(self) -> None:
        """Raise an error unless every bin was hit."""
        if self.missing:
            raise AssertionError(
                f"coverage: {len(self.missing)} of {len(self.counts)} bins not hit: {', '.join(self.missing)}"
            )
