"""Transposition of faces behind the converter: two buffers of 16 rows that fill and empty in turn::

      i, rows a cycle -> face 0 or 1 (16 x 16) -> o, rows a cycle: the face's rows, or its columns

Ref: tt-isa-documentation, UNPACR_Regular: row and column are exchanged within each aligned 16 rows.
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import FACE
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Unit, WaveGroup
from bitpath.rtl.tensix.dot.layouts import SrcRow
from bitpath.rtl.tensix.unpack.layouts import TurnBufferConfig

FaceRows = data.ArrayLayout(SrcRow, FACE)
FACES = 2


def turn_request(rows: int) -> data.StructLayout:
    """Return the layout of rows that enter together; ``turn`` counts with the first rows of a face."""
    return data.StructLayout({"rows": data.ArrayLayout(SrcRow, rows), "turn": 1})


class TurnBuffer(wiring.Component):
    """Faces of 16 rows in, the same rows or, with ``turn``, the columns as rows out: ``o[k][j] = i[j][k]``.

    Throughput is ``rows`` rows a cycle. Latency is ``16 / rows`` cycles from the first rows of a face to the first rows out.
    A face waits until it is whole, and a third one until the first has left.

    Parameters
    ----------
    config : rows a cycle.

    Members
    -------
    i : In(stream of turn_request)
    o : Out(stream of rows)
    """

    def __init__(self, config: TurnBufferConfig):
        self.config = config
        rows = data.ArrayLayout(SrcRow, config.rows)
        super().__init__({"i": In(stream.Signature(turn_request(config.rows))), "o": Out(stream.Signature(rows))})

    def elaborate(self, platform):
        m = Module()
        rows = self.config.rows
        groups = FACE // rows
        faces = [Signal(FaceRows, name=f"face_{k}", reset_less=True) for k in range(FACES)]
        turns = Signal(FACES, reset_less=True)
        whole = Signal(FACES)
        filling, emptying = Signal(), Signal()
        arrived, left = Signal(range(groups)), Signal(range(groups))
        m.d.comb += [
            self.i.ready.eq(~whole.bit_select(filling, 1)),
            self.o.valid.eq(whole.bit_select(emptying, 1)),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += arrived.eq(arrived + 1)
            for k, face in enumerate(faces):
                with m.If(filling == k):
                    for group in range(groups):
                        with m.If(arrived == group):
                            m.d.sync += [face[group * rows + row].eq(self.i.p.rows[row]) for row in range(rows)]
                    with m.If(arrived == 0):
                        m.d.sync += turns[k].eq(self.i.p.turn)
                    with m.If(arrived == groups - 1):
                        m.d.sync += [whole[k].eq(1), filling.eq(~filling)]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += left.eq(left + 1)
            with m.If(left == groups - 1):
                m.d.sync += [whole.bit_select(emptying, 1).eq(0), emptying.eq(~emptying)]

        shown = Signal(FaceRows)
        m.d.comb += shown.eq(Mux(emptying, faces[1].as_value(), faces[0].as_value()))
        for row in range(rows):
            straight, turned = [], []
            for group in range(groups):
                place = group * rows + row
                straight.append(shown[place].as_value())
                turned.append(Cat(shown[each][place] for each in range(FACE)))
            turn = turns.bit_select(emptying, 1)
            m.d.comb += self.o.p[row].eq(Mux(turn, Array(turned)[left], Array(straight)[left]))
        return m


RECORDS = (
    Unit(
        name="turn_buffer",
        config_type=TurnBufferConfig,
        build=TurnBuffer,
        summary="Tensix: faces of SrcA transposed behind the unpacker",
        covered=Covered(TurnBufferConfig(rows=4), 100),
        waves=(CLOCK, INPUTS, WaveGroup("faces", r"(face_|turns|whole|filling|emptying|arrived|left)"), OUTPUT),
    ),
)
