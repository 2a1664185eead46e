"""A row of the ledger: a public statement about a machine, and what golden finds when it computes the same thing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Verdict(Enum):
    """How golden and a statement compare."""

    REPRODUCED = "reproduced"  # golden computes it: bits where bits are published, statistics within the row's bound
    REFUTED = "refuted"  # golden contradicts it
    UNDECIDED = "undecided"  # inputs, metric or outputs are not public, or the statement fits several models
    NOT_EXPRESSIBLE = "not expressible"  # golden has no operation, format, layout or field for it


@dataclass(frozen=True, kw_only=True)
class Row:
    """A statement as the files `*.toml` beside this one declares it.

    Attributes
    ----------
    id : A for AMD, T for Tenstorrent, R for AWS, and a number.
    chip : the chip that the source names.
    statement : what the source says.
    sources : `owner/repository#number` for a thread, `owner/repository@commit:path` for a file, else an address.
    standing : "measured", "documented" or "inferred", by the source.
    evidence : "printed" if the source prints the bits, "stated equal" if it publishes operands and says that all outputs
        equal a rule, "stated" for values, counts and sentences.
    under : the numerics under which `verdict` holds.
    verdict : the acknowledged verdict. A test fails when golden gives another.
    others : acknowledged verdicts under other numerics.
    why : the reason of the verdict.
    """

    id: str
    chip: str
    statement: str
    sources: tuple[str, ...]
    standing: str
    evidence: str
    under: str
    verdict: Verdict
    others: Mapping[str, Verdict]
    why: str

    @property
    def acknowledged(self) -> dict[str, Verdict]:
        """The acknowledged verdicts by numerics, the row's own first."""
        return {self.under: self.verdict, **self.others}


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """An experiment that would decide a row.

    Attributes
    ----------
    experiment : operands and operation.
    gives : for each model the result, hexadecimal bits where the result is a word.
    """

    experiment: str
    gives: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Golden's answer to a row.

    Attributes
    ----------
    golden : the result in words and numbers.
    verdicts : by numerics, as `Row.acknowledged`.
    predictions : experiments that would decide the row.
    """

    golden: str
    verdicts: Mapping[str, Verdict]
    predictions: tuple[Prediction, ...] = field(default=())


def decided(golden: str, **agrees: bool) -> Finding:
    """Return a finding whose verdicts follow from comparisons: for each numerics, True if golden agrees."""
    verdicts = {name: Verdict.REPRODUCED if each else Verdict.REFUTED for name, each in agrees.items()}
    return Finding(golden=golden, verdicts=verdicts)


def undecided(golden: str, under: str, *predictions: Prediction) -> Finding:
    """Return a finding that public evidence does not decide."""
    return Finding(golden=golden, verdicts={under: Verdict.UNDECIDED}, predictions=predictions)
