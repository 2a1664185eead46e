"""The datapaths of the three machines as block diagrams.

``python -m parts.datapaths`` in docs writes images/datapaths.svg, which the README shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

import schemdraw
from schemdraw import elements, flow

PICTURE = Path(__file__).resolve().parents[1] / "images" / "datapaths.svg"
COLUMN, ROW, DIAGRAM = 4.2, -1.9, -4.4
"""Distances of boxes and of diagrams, in schemdraw's units."""
COLORS = {"memory": "#4477aa", "logic": "#228833", "sum": "#ccbb44", "convert": "#ee6677"}
TINT = "28"
"""Opacity of a fill that stays legible on light and on dark pages."""

Box = tuple[str, str, str]
"""First line, second line, and a key of `COLORS`."""


@dataclass(frozen=True)
class Datapath:
    """A block diagram.

    Attributes
    ----------
    title : heading.
    chain : boxes from left to right, each with an arrow to the next.
    below : boxes below a column of the chain, by column; the arrow points "up", "down", or is "" for none.
    """

    title: str
    chain: Sequence[Box]
    below: dict[int, tuple[Box, str]]


DATAPATHS = {
    "trainium3": Datapath(
        "AWS Trainium3: quad-MX matmul",
        (
            ("QuantizeMX", "32 elements, 1 scale", "convert"),
            ("operand memory", "MXFP8, MXFP4, E8M0", "memory"),
            ("element map", "FP4 to FP8", "convert"),
            ("4 products", "FP8 x FP8, 2 scales", "logic"),
            ("exact sum", "4 products + FP32", "sum"),
            ("normalise, round", "1 RNE to FP32", "sum"),
            ("PSUM", "add FP32, or BF16", "memory"),
        ),
        {
            0: (("RMSNorm-Quant", "BF16 rows to FP8", "convert"), ""),
            6: (("XORWOW", "stochastic rounding", "logic"), "up"),
        },
    ),
    "trainium3_core": Datapath(
        "AWS Trainium3: a core",
        (
            ("HBM", "linear bytes", "memory"),
            ("DGE", "runs to descriptors", "logic"),
            ("16 DMA engines", "16 queues each", "logic"),
            ("SBUF", "128 x 256 KiB", "memory"),
            ("TensorE", "128 x 128 PEs", "sum"),
            ("PSUM", "8 banks", "memory"),
            ("VectorE, ScalarE", "back to SBUF", "convert"),
        ),
        {
            2: (("cast, add", "through FP32", "convert"), ""),
            3: (("scales", "4 rows a quadrant", "memory"), ""),
            4: (("second slot", "transposes", "logic"), ""),
        },
    ),
    "tensix": Datapath(
        "Tenstorrent Wormhole: Tensix Matrix unit",
        (
            ("L1", "BF16, FP16, FP8, BFP", "memory"),
            ("2 unpackers", "to 19-bit words", "convert"),
            ("SrcA, SrcB", "two banks each", "memory"),
            ("16 multipliers", "7 x 5 bits, 4 phases", "logic"),
            ("2 group sums", "8 aligned products", "sum"),
            ("add to Dst", "align, round, add", "sum"),
            ("Dst", "16 or 32 bits", "memory"),
        ),
        {6: (("packer", "ReLU, round, to L1", "convert"), "down")},
    ),
    "aie_ml_v2": Datapath(
        "AMD AIE-ML v2: vector unit",
        (
            ("MX conversion", "FP32 to MX9, 6, 4", "convert"),
            ("registers", "X, E, F, G", "memory"),
            ("permute", "native tile shapes", "logic"),
            ("multiply", "64 lanes", "logic"),
            ("post-add", "exact sum of a lane", "sum"),
            ("align, add", "23 fraction bits", "sum"),
            ("accumulators", "round, FP32 or int", "memory"),
        ),
        {
            5: (("cascade", "from the tile before", "memory"), "up"),
            6: (("SRS, to floats", "shift, round, saturate", "convert"), "down"),
        },
    ),
    "aie_tile": Datapath(
        "AMD AIE-ML v2: a tile",
        (
            ("data memory", "32 banks, 256 KiB", "memory"),
            ("2 loads", "pointers in 3 dimensions", "logic"),
            ("registers", "X, Y, EX, EY", "memory"),
            ("multiply-accumulate", "64 lanes", "sum"),
            ("accumulators", "8 of 2048 bits", "memory"),
            ("SRS, MX", "from accumulators", "convert"),
            ("store", "back to data memory", "logic"),
        ),
        {
            1: (("load FIFOs", "MX, sparse streams", "memory"), ""),
            2: (("shuffle", "58 modes", "logic"), ""),
            6: (("store FIFO", "MX", "memory"), ""),
        },
    ),
}


MACHINES = ("trainium3", "tensix", "aie_ml_v2")
"""Datapaths of the README's picture."""


def svg(*names: str) -> str:
    """Draw the datapaths of machines below each other."""
    schemdraw.use("svg")
    schemdraw.svgconfig.text = "text"
    drawing = schemdraw.Drawing(show=False, fontsize=11, color="currentColor", transparent=True, lw=1.4)
    for place, name in enumerate(names):
        _add(drawing, DATAPATHS[name], place * DIAGRAM)
    label = escape("; ".join(DATAPATHS[name].title for name in names))
    head = f'<svg role="img" aria-label="{label}" style="max-width:100%;height:auto" '
    return drawing.get_imagedata("svg").decode().replace("<svg ", head, 1)


def _add(drawing: schemdraw.Drawing, datapath: Datapath, top: float) -> None:
    title = elements.Label().theta(0).at((-1.8, top + 1)).label(datapath.title, halign="left", fontsize=14)
    drawing.add(title)
    chain = [_box(drawing, box, column, top) for column, box in enumerate(datapath.chain)]
    for left, right in pairwise(chain):
        drawing.add(flow.Arrow().at(left.E).to(right.W))
    for column, (box, arrow) in datapath.below.items():
        upper, lower = chain[column], _box(drawing, box, column, top + ROW)
        if arrow:
            start, end = (upper.S, lower.N) if arrow == "down" else (lower.N, upper.S)
            drawing.add(flow.Arrow().at(start).to(end))


def _box(drawing: schemdraw.Drawing, box: Box, column: int, y: float) -> flow.Box:
    first, second, kind = box
    shape = flow.Box(w=3.6, h=1.2).at((column * COLUMN, y)).anchor("center")
    shape.label(f"{first}\n{second}", color="currentColor").color(COLORS[kind]).fill(COLORS[kind] + TINT)
    return drawing.add(shape)


def picture() -> str:
    """Return all datapaths as one SVG file, whose text adapts to dark pages by itself."""
    style = "<style>svg{color:#1f2328}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}</style>"
    return svg(*MACHINES).replace("><", f">{style}<", 1) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture())
