"""Units of the unpacker room: the unpacker."""

from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.unpack.config import ConversionConfig
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
)
