"""Source and standing of each statement about a machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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
    """Return the source of what the vendor or a standard documents."""
    return Source(kind="documented", where=where)


def measured(where: str) -> Source:
    """Return the source of what the machine was measured to do."""
    return Source(kind="measured", where=where)


def inferred(where: str) -> Source:
    """Return the source of what follows from other statements."""
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
