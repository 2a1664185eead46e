"""A row of the ledger: a public statement about a machine, its evidence, and what golden finds when it computes the same."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden.arrays.files import read_json, read_npz

# A row of the ledger: a public statement about a machine, and what golden finds when it computes the same thing.


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


# Published answers of silicon, read from the folder that BITPATH_KAT_DIR names.


VARIABLE = "BITPATH_KAT_DIR"


class AbsentEvidenceError(LookupError):
    """A file of published answers is absent, or lacks the rows that a statement is about."""


class Rows(dict[str, dict[str, Any]]):
    """Entries of a file by their `id`; reading one that is absent raises `AbsentEvidenceError`."""

    def __init__(self, name: str, entries: list[dict[str, Any]]):
        super().__init__({each["id"]: each for each in entries})
        self.name = name

    def __missing__(self, identifier: str) -> dict[str, Any]:
        raise AbsentEvidenceError(f"{self.name} has no row {identifier}")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Published answers in a folder.

    Attributes
    ----------
    folder : the folder of the known answers; None if the variable is not set.
    """

    folder: Path | None

    @classmethod
    def here(cls) -> "Evidence":
        """Return the evidence in the folder that BITPATH_KAT_DIR names."""
        named = os.environ.get(VARIABLE)
        if named is not None and not Path(named).is_dir():
            raise FileNotFoundError(f"{VARIABLE} must be the path of an existing folder, not {named!r}")
        return cls(folder=None if named is None else Path(named))

    def archive(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays of an .npz file."""
        return read_npz(self._file(name))

    def rows(self, name: str, key: str = "rows") -> Rows:
        """Return the entries of a .json file by their `id`."""
        return Rows(name, read_json(self._file(name))[key])

    def _file(self, name: str) -> Path:
        if self.folder is None:
            raise AbsentEvidenceError(f"{name} is absent: {VARIABLE} is not set")
        file = self.folder / name
        if not file.is_file():
            raise AbsentEvidenceError(f"{name} is absent from the folder that {VARIABLE} names")
        return file


# Operands of rows: BF16 codes and numbers, and random matrices.


def bf16_codes(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the BF16 codes of numbers, uint16, rounded to nearest even."""
    return np.asarray(values, np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)


def bf16_values(words: np.ndarray) -> np.ndarray:
    """Return 16-bit BF16 words as float32."""
    return words.astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)


def matrices(rows: int, depth: int, columns: int, *, uniform: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return random BF16 matrices [M, K] and [K, N] of N(0, 1), or uniform below 1, as float32; always the same."""
    rng = np.random.Generator(np.random.PCG64(31))
    draw = rng.random if uniform else rng.standard_normal
    left, right = (bf16_values(bf16_codes(draw(size))) for size in ((rows, depth), (depth, columns)))
    return left, right
