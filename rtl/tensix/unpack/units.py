"""Units of the unpacker room: the unpacker, its transposition and its addresses in tilise mode."""

from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig, TurnBufferConfig
from bitpath.rtl.tensix.unpack.tilise_address import TiliseAddress
from bitpath.rtl.tensix.unpack.turn_buffer import TurnBuffer
from bitpath.rtl.tensix.unpack.unpacker import Unpacker

UNITS = (
    Unit(
        name="unpacker",
        room="tensix/unpack",
        config_type=ConversionConfig,
        build=Unpacker,
        summary="Tensix: a row of 16 datums from L1 to SrcA, SrcB or Dst",
        covered=Covered(ConversionConfig(), 500),
        judges=(Judge(9, ConversionConfig()),),
        waves=(CLOCK, INPUTS, WaveGroup("datums", r"datum_"), OUTPUT),
    ),
    Unit(
        name="turn_buffer",
        room="tensix/unpack",
        config_type=TurnBufferConfig,
        build=TurnBuffer,
        summary="Tensix: faces of SrcA transposed behind the unpacker",
        covered=Covered(TurnBufferConfig(rows=4), 100),
        waves=(CLOCK, INPUTS, WaveGroup("faces", r"(face_|turns|whole|filling|emptying|arrived|left)"), OUTPUT),
    ),
    Unit(
        name="tilise_address",
        room="tensix/unpack",
        config_type=ConversionConfig,
        build=TiliseAddress,
        summary="Tensix: L1 addresses of an unpacker in tilise mode",
        covered=Covered(ConversionConfig(numerics=BLACKHOLE.numerics), 200),
        judges=(Judge(1, ConversionConfig(numerics=BLACKHOLE.numerics)),),
        waves=(CLOCK, INPUTS, WaveGroup("rows", r"(request|start|row|busy|words|wide)"), OUTPUT),
    ),
)

CONTROL = ("turn_buffer",)
"""A file without arithmetic: registers and their order. It has no mutants."""
