"""Results of all variants on all dots, and the classes of variants whose results are equal."""

from collections.abc import Mapping, Sequence

import numpy as np

from bitpath.sim.study.probe.unit import Dots, Operation, Unit
from bitpath.sim.study.probe.variants import Variant

Results = Mapping[str, np.ndarray]
"""Raw words [N, W] by operation."""


def results(unit: Unit, numerics: object, dots: Mapping[str, Dots]) -> dict[str, np.ndarray]:
    """Return golden's raw words of a unit's operations, those that `dots` has."""
    return {
        each.name: each.golden(numerics, **each.settings, **dots[each.name])
        for each in unit.operations
        if each.name in dots
    }


def exact_results(unit: Unit, numerics: object, dots: Mapping[str, Dots]) -> dict[str, np.ndarray]:
    """Return the same from the scalar authority."""
    return {each.name: _exact(each, numerics, dots[each.name]) for each in unit.operations if each.name in dots}


def _exact(operation: Operation, numerics: object, dots: Dots) -> np.ndarray:
    rows = zip(*(dots[name].tolist() for name in operation.operands), strict=True)
    words = [
        operation.exact(numerics, **operation.settings, **dict(zip(operation.operands, row, strict=True)))
        for row in rows
    ]
    return np.array(words, operation.result.dtype)


def classes(variants: Sequence[Variant], found: Sequence[Results]) -> list[list[Variant]]:
    """Return the variants in groups of equal results, in the order of their first members."""
    groups: dict[bytes, list[Variant]] = {}
    for variant, words in zip(variants, found, strict=True):
        groups.setdefault(b"".join(each.tobytes() for each in words.values()), []).append(variant)
    return list(groups.values())


def labels(found: Sequence[Results]) -> np.ndarray:
    """Return integers [V, N]: two variants have the same one at a dot where their words are equal."""
    columns = []
    for name in found[0]:
        words = np.stack([each[name] for each in found])  # [V, N, W]
        for n in range(words.shape[1]):
            columns.append(np.unique(words[:, n], axis=0, return_inverse=True)[1].reshape(-1))
    return np.stack(columns, axis=1)
