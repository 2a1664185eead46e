"""Lines and records of a probe's classes and of a device's fits."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from bitpath.sim.study.probe.identify import Fit
from bitpath.sim.study.probe.make import Separated
from bitpath.sim.study.probe.variants import Variant, reason


def separated_record(each: Separated) -> dict[str, Any]:
    """Return a unit's classes and dots as a record."""
    return {
        "unit": each.unit.name,
        "variants": sum(map(len, each.classes)),
        "classes": len(each.classes),
        "dots": len(each.selection.chosen),
        "bound": each.selection.bound,
        "minimal": each.selection.bound == len(each.selection.chosen),
        "pool": each.selection.pool,
        "proof": each.selection.proof,
        "not_separable": [_group(each, group) for group in each.classes if len(group) > 1],
        "left_out": dict(each.unit.left_out),
    }


def separated_lines(record: Mapping[str, Any]) -> list[str]:
    """Return the record as lines of text."""
    dots = f"{record['dots']} dot{'s' * (record['dots'] != 1)} of a pool of {record['pool']:,}"
    minimal = "no smaller set" if record["minimal"] else f"a smaller set has at least {record['bound']}"
    found = f"{record['variants']} variants in {record['classes']} classes"
    lines = [f"{record['unit']}: {found}, {dots}; {minimal} ({record['proof']})"]
    for group in record["not_separable"]:
        why = f" ({group['reason']})" if group["reason"] else ""
        lines.append(f"  equal on the whole pool: {' = '.join(group['variants'])}{why}")
    return lines + [f"  left out: {name}: {why}" for name, why in record["left_out"].items()]


def _group(each: Separated, group: Sequence[Variant]) -> dict[str, Any]:
    """Return variants that the pool does not tell apart, and why if that is known."""
    first = group[0].numerics
    changed = [
        field.name
        for field in fields(first)
        if any(getattr(variant.numerics, field.name) != getattr(first, field.name) for variant in group)
    ]
    known = [f"{name}: {reason(each.unit, name)}" for name in changed if reason(each.unit, name)]
    return {
        "variants": [variant.name for variant in group],
        "reason": "; ".join(known) if changed else "equal numerics",
    }


def fit_record(unit: str, fits: Sequence[Fit]) -> dict[str, Any]:
    """Return a device's fits in a unit as a record."""
    return {
        "unit": unit,
        "fits": not fits[0].differences,
        "nearest": [
            {"variants": list(fit.variants), "differences": [vars(each) for each in fit.differences]} for fit in fits
        ],
    }


def fit_lines(record: Mapping[str, Any]) -> list[str]:
    """Return the record as lines of text."""
    first = record["nearest"][0]
    if record["fits"]:
        return [f"{record['unit']}: {' = '.join(first['variants'])}"]
    lines = [f"{record['unit']}: no variant fits; the nearest are"]
    for each in record["nearest"]:
        lines.append(f"  {' = '.join(each['variants'])}, which differs in {len(each['differences'])}:")
        lines += [
            f"    {one['operation']}[{one['dot']}]: device {one['device']}, variant {one['variant']}"
            for one in each["differences"]
        ]
    return lines
