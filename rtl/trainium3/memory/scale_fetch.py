"""Scale fetch: four rows of each quadrant of SBUF to one scale for every 8 rows of the array, a column a cycle.

    scale[4 * q + j] = SBUF partition 32 * q + offset + j, where quadrant q is used, else 0;  j = 0..3

Ref: "MXFP matmul" deep dive and "Trainium3 Architecture Guide for NKI", AWS Neuron documentation. The unit is chosen, the
layout documented.
"""

from dataclasses import dataclass

from amaranth import Array, Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import E8M0
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT, SCALE_OFFSETS, SCALE_PARTITIONS
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.word_memory import wide_array
from bitpath.rtl.common.unit import Covered, Judge, Unit


@dataclass(frozen=True, kw_only=True)
class ScaleFetchConfig(UnitConfig, unit="scale_fetch"):
    """Configuration of a scale fetch.

    Attributes
    ----------
    quadrants : quadrants of 32 rows that the array has.
    """

    quadrants: int = in_range(1, PARTITIONS // QUADRANT, PARTITIONS // QUADRANT)


SCALES = QUADRANT // SCALE_PARTITIONS
"""Scales of a quadrant."""
ROWS = SCALES * len(SCALE_OFFSETS)
"""Rows of a quadrant that may hold scales; the rows above them are not connected."""


def scale_rows(config: ScaleFetchConfig) -> data.StructLayout:
    """Layout of a column: the bytes of rows 0 to 15 of each quadrant, ``offset`` in units of 4 rows, quadrants in use."""
    rows = wide_array(E8M0.width, ROWS)
    return data.StructLayout(
        {
            "rows": data.ArrayLayout(rows, config.quadrants),
            "offset": range(len(SCALE_OFFSETS)),
            "quadrants": config.quadrants,
        }
    )


class ScaleFetch(wiring.Component):
    """Selects the scales of a column.

    Latency is one cycle; throughput is one column a cycle. A stall of ``o`` holds the register.

    Parameters
    ----------
    config : number of quadrants.

    Members
    -------
    i : In(stream of scale_rows)
    o : Out(stream of 8 bits for every 8 rows of the array)
    """

    def __init__(self, config: ScaleFetchConfig):
        self.config = config
        scales = wide_array(E8M0.width, SCALES * config.quadrants)
        super().__init__({"i": In(stream.Signature(scale_rows(config))), "o": Out(stream.Signature(scales))})

    def elaborate(self, platform):
        m = Module()
        registers = PipelineRegisters(m, ("scales",), valid=self.i.valid, ready=self.o.ready)
        found = {}
        for quadrant in range(self.config.quadrants):
            rows = self.i.p.rows[quadrant]
            for j in range(SCALES):
                scale = Array(rows[offset + j] for offset in SCALE_OFFSETS)[self.i.p.offset]
                found[f"scale_{SCALES * quadrant + j}"] = Mux(self.i.p.quadrants[quadrant], scale, 0)
        held = registers.hold("scales", **found)
        m.d.comb += [scale.eq(value) for scale, value in zip(self.o.p, held, strict=True)]
        m.d.comb += [self.o.valid.eq(registers.valid), self.i.ready.eq(registers.finish())]
        return m


RECORDS = (
    Unit(
        name="scale_fetch",
        config_type=ScaleFetchConfig,
        build=ScaleFetch,
        summary="Trainium3: scales of an MX operand out of SBUF's quadrants, a column a cycle",
        covered=Covered(ScaleFetchConfig(), 100),
        judges=(Judge(32, ScaleFetchConfig(), 40),),
    ),
)
