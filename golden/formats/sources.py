"""Source and standing of each statement about a machine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Generic, Literal, TypeVar, cast

Kind = Literal["documented", "measured", "inferred", "chosen"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """The standing of one numerics field.

    Attributes
    ----------
    kind : "documented" by the vendor or a standard, "measured" on the machine or in its published logs,
        "inferred" from other statements, or "chosen" by this project because nothing public says.
    where : the document and section, or the reason for the choice.
    """

    kind: Kind
    where: str


def documented(where: str) -> Source:
    """Return the source of a statement that the vendor or a standard documents."""
    return Source(kind="documented", where=where)


def measured(where: str) -> Source:
    """Return the source of a measurement of the machine."""
    return Source(kind="measured", where=where)


def inferred(where: str) -> Source:
    """Return the source of a statement that follows from others."""
    return Source(kind="inferred", where=where)


def chosen(where: str) -> Source:
    """Return the source of what this project chose, with its reason."""
    return Source(kind="chosen", where=where)


DOCUMENTS: Mapping[str, str] = {
    "AM027": "Versal Adaptive SoC AIE-ML v2 Architecture Manual, AMD",
    "AM029": "Versal Adaptive SoC AIE-ML v2 Register Reference, AMD",
    "AP": "NKI access patterns, AWS Neuron documentation",
    "API": "AIE API, AMD's C++ library of vector operations",
    "ARCH1": "Trainium and Inferentia2 Architecture Guide for NKI, AWS Neuron documentation",
    "ARCH2": "Trainium2 Architecture Guide for NKI, AWS Neuron documentation",
    "ARCH3": "Trainium3 Architecture Guide for NKI, AWS Neuron documentation",
    "BW": "DMA bandwidth guide, AWS Neuron documentation",
    "COLL": "intra-node collective communications, AWS Neuron documentation",
    "COST": "cost paragraphs of the nki.isa reference pages, AWS Neuron documentation",
    "DD": "deep dive on MXFP matmul with its device log, AWS Neuron documentation",
    "DGE": "descriptor generation, AWS Neuron documentation",
    "DMA": "DMA overview, AWS Neuron documentation",
    "DRV": "the Neuron driver, aws-neuron-driver",
    "ISA": "nki.isa reference pages, AWS Neuron documentation",
    "ISA07": "nki.isa reference pages of NKI 0.7, AWS Neuron documentation",
    "LANG": "nki.language reference pages, AWS Neuron documentation",
    "LLK": "tt-llk, Tenstorrent's kernel library",
    "LLVM": "llvm-aie, AMD's compiler, target aie2ps",
    "MLP": "the quantised MLP's projection, nki-library",
    "NC3": "NeuronCore-v3 architecture, AWS Neuron documentation",
    "NC4": "NeuronCore-v4 architecture, AWS Neuron documentation",
    "OCP MX": "Microscaling Formats (MX) 1.0, Open Compute Project",
    "OZAKI": "What trn1 and trn2 tell us about the Ozaki frontier, trnsci.dev",
    "PAPER": "arXiv 2302.08007, shared microexponents",
    "QUARK": "amd-quark, AMD's quantiser",
    "RN": "release notes of NKI and Neuron, AWS",
    "RQ": "the RMSNorm-Quant kernel, nki-library",
    "SHARED": "NKI ISA API common fields, AWS Neuron documentation",
    "SIL": "lanes measured on first-generation AIE2 silicon, FIM43-Redeye/xdna-emu",
    "SPEC": "RMSNorm-Quant Kernel Design Specification, AWS Neuron documentation",
    "TEST": "tests of instructions in aws-neuron-sdk",
    "TT-ISA": "tt-isa-documentation, Tenstorrent",
    "UG1583": "AI Engine-ML Intrinsics User Guide, AMD",
    "UG1603": "AIE-ML Kernel and Graph Programming Guide, AMD",
    "UG1639": "AIE-ML v2 Intrinsics User Guide, AMD",
    "XDNA2": "blocks and products measured on XDNA2 silicon, MicroPerceptron/virtio-accel",
    "tt-metal": "issues of Tenstorrent's tt-metal",
    "ttsim": "Tenstorrent's simulator, v1.10.0",
}
"""Documents by the abbreviations that sources use; the declarations' docstrings give editions and dates."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A statement about a machine that this project fixes without a switch."""

    statement: str
    source: Source


def choices(statements: Mapping[str, Source]) -> tuple[Choice, ...]:
    """Return choices given as statements with their sources."""
    if not isinstance(statements, Mapping):
        raise TypeError(f"statements must be a mapping of statements to sources, not a {type(statements).__name__}")
    return tuple(Choice(statement=statement, source=source) for statement, source in statements.items())


# Numerics with a name, and the standing of every field.


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


# Rates of a machine: declared numbers, and those computed from them.


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
