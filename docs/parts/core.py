"""The layer on Trainium3's core, as golden's cycle rules have it: a picture of the engines, and what each class moved."""

from functools import cache
from html import escape

from bitpath.golden import trainium3
from bitpath.golden.trainium3.declarations.rates import TICKS_PER_NS
from bitpath.sim.flows.operands import normalised_layer
from parts.datapaths import COLORS, TINT
from parts.records import markdown

LANES = {"dma": "memory", "gpsimd": "logic", "scalar": "convert", "vector": "logic", "tensor": "sum"}
"""Engines from top to bottom, each with a key of `COLORS`."""
WIDTH, LANE, BAR = 900, 26, 9
"""Width of the time axis, height of an engine that runs one instruction at a time, and of one instruction."""


@cache
def layers() -> dict[str, trainium3.LayerResult]:
    """Return the layer with priorities and classes, without classes, and without both."""
    hidden, gamma, weight = normalised_layer()
    operands = trainium3.round_to_bfloat16(hidden), trainium3.round_to_bfloat16(gamma), weight
    return {
        "priorities and classes": trainium3.run_layer(*operands),
        "priorities alone": trainium3.run_layer(*operands, shaping=False),
        "neither": trainium3.run_layer(*operands, shaping=False, qos=False),
    }


def timeline() -> str:
    """Draw when each instruction of the layer runs."""
    report = layers()["priorities and classes"].report
    scale = WIDTH / report.end
    shapes, top = [], 0
    for engine, kind in LANES.items():
        rows: list[int] = []
        bars = []
        for span in (each for each in report.spans if each.engine == engine):
            row = next((number for number, end in enumerate(rows) if end <= span.start), len(rows))
            rows[row : row + 1] = [span.end]
            box = f'x="{100 + span.start * scale:.1f}" y="{top + row * (BAR + 2)}"'
            size = f'width="{max(1, (span.end - span.start) * scale):.1f}" height="{BAR}"'
            colour = f'fill="{COLORS[kind]}{TINT}" stroke="{COLORS[kind]}"'
            title = f"{span.name}: {span.start / TICKS_PER_NS:,.0f} to {span.end / TICKS_PER_NS:,.0f} ns"
            bars.append(f"<rect {box} {size} {colour}><title>{escape(title)}</title></rect>")
        shapes.append(f'<text x="0" y="{top + BAR}" font-size="12" fill="currentColor">{engine}</text>')
        shapes += bars
        top += max(LANE, len(rows) * (BAR + 2) + BAR)
    end = f'<text x="{100 + WIDTH}" y="{top}" font-size="12" text-anchor="end" fill="currentColor">'
    shapes.append(f"{end}{report.end / TICKS_PER_NS:,.0f} ns</text>")
    label = "Instructions of the layer by engine, over time"
    head = f'<svg role="img" aria-label="{label}" viewBox="0 0 {WIDTH + 110} {top + 8}" style="max-width:100%">'
    return head + "".join(shapes) + "</svg>"


def traffic() -> str:
    """Return the end of the layer, and the bandwidth of each class, under each rule of the queues."""
    rows = [
        [
            name,
            f"{layer.report.end / TICKS_PER_NS:,.0f}",
            *(f"{layer.report.traffic[number].gb_per_s:.1f}" for number in range(4)),
        ]
        for name, layer in layers().items()
    ]
    columns = ["queues have", "ns", *(f"class {number}, GB/s" for number in range(4))]
    return markdown(columns, rows)
