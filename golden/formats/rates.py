"""Rates of a machine: declared numbers, and those computed from them."""

from dataclasses import dataclass

from bitpath.golden.formats.sources import Source


@dataclass(frozen=True, kw_only=True)
class Rate:
    """One rate, with its origin.

    Attributes
    ----------
    quantity : what is counted, and where.
    value : the number.
    unit : its unit.
    formula : the computation from declared numbers; empty for a declared number.
    source : origin of a declared number, or of the published figure beside a computed one; None where nothing is published.
    published : the vendor's figure, as published; empty where there is none.
    """

    quantity: str
    value: float
    unit: str
    formula: str = ""
    source: Source | None = None
    published: str = ""
