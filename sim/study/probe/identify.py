"""Compares a device's raw words with those of every variant, computed anew, and names the variants that fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bitpath.sim.study.probe.classes import Results, classes, results
from bitpath.sim.study.probe.machines import units_of
from bitpath.sim.study.probe.probe import Probe
from bitpath.sim.study.probe.unit import Unit
from bitpath.sim.study.probe.variants import Variant, variants

NEAREST = 3
"""Classes that are shown where none fits."""


@dataclass(frozen=True)
class Difference:
    """A dot in which a device and a variant differ: raw words in hexadecimal."""

    operation: str
    dot: int
    device: str
    variant: str


@dataclass(frozen=True)
class Fit:
    """Variants of equal results, and the dots in which the device differs from them."""

    variants: Sequence[str]
    differences: Sequence[Difference]


@dataclass(frozen=True)
class Prediction:
    """Classes of a unit's variants with their raw words on a probe's dots."""

    unit: Unit
    classes: Sequence[tuple[Sequence[Variant], Results]]


def predict(probe: Probe, operations: Sequence[str]) -> list[Prediction]:
    """Return golden's words of every variant on the dots of these operations; units without any are left out."""
    found = []
    for unit in units_of(probe.machine):
        dots = {each.name: probe.dots[each.name] for each in unit.operations if each.name in operations}
        if dots:
            own = variants(unit, probe.fields, probe.base)
            words = {each.name: results(unit, each.numerics, dots) for each in own}
            groups = classes(own, list(words.values()))
            found.append(Prediction(unit, [(group, words[group[0].name]) for group in groups]))
    return found


def identify(words: Mapping[str, np.ndarray], predictions: Sequence[Prediction]) -> dict[str, list[Fit]]:
    """Return for each unit the class that fits, alone, or else the nearest classes with their differences."""
    found = {}
    for each in predictions:
        fits = [Fit([one.name for one in group], _differences(words, own)) for group, own in each.classes]
        fits.sort(key=lambda fit: len(fit.differences))
        found[each.unit.name] = fits[:1] if not fits[0].differences else fits[:NEAREST]
    return found


def as_hex(words: np.ndarray) -> str:
    """Return the raw words of a dot in hexadecimal, of the width of their dtype."""
    return " ".join(f"{int(word):0{2 * words.dtype.itemsize}x}" for word in words)


def _differences(device: Mapping[str, np.ndarray], own: Results) -> list[Difference]:
    return [
        Difference(name, int(dot), as_hex(device[name][dot]), as_hex(expected[dot]))
        for name, expected in own.items()
        for dot in np.flatnonzero((device[name] != expected).any(axis=1))
    ]
