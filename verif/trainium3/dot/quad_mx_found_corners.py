"""Operands of the quad-MX dot step that a solver found: each tells one small fault of the RTL from the design."""

from collections.abc import Iterator
from random import Random

from bitpath.golden.formats.catalogue import E4M3FN, E5M2
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.verif.trainium3.dot.quad_mx import DotCase, on_grid
from bitpath.verif.trainium3.dot.quad_mx_corner import Corner

FOUND = (
    ("d3b9f8fa", E5M2, 131, "851cf47b", E5M2, 131, 0xDC7FFFDF),
    ("9f038103", E5M2, 6, "818c8121", E5M2, 156, 0x870FF000),
    ("fb87fa90", E5M2, 38, "78997a10", E5M2, 34, 0x80014000),
    ("e6eefe87", E4M3FN, 103, "cf4b1e78", E5M2, 35, 0x00020001),
    ("f8818080", E5M2, 106, "00016a4a", E5M2, 106, 0x1A7FFFFD),
    ("80a68a80", E4M3FN, 127, "ce9585ec", E5M2, 188, 0xD7F98FFF),
    ("b1878187", E5M2, 103, "06c18d07", E5M2, 35, 0x00350012),
    ("03078181", E5M2, 2, "8385ac82", E5M2, 140, 0x804200B7),
    ("060e0301", E5M2, 7, "9189992c", E5M2, 140, 0x802FFFFC),
    ("fbf5e9f7", E5M2, 127, "f9af79ad", E5M2, 60, 0x97800000),
    ("bfbfbfbf", E4M3FN, 127, "bfbfbfbf", E4M3FN, 127, 0xB8D90001),
    ("b7d1a3a3", E4M3FN, 146, "8b821b91", E5M2, 2, 0x02000008),
    ("79057b86", E5M2, 3, "fb9ff99a", E5M2, 130, 0x98FFEE80),
    ("bebfbfbf", E5M2, 127, "85bfbfbf", E4M3FN, 7, 0x851DBC10),
    ("01010001", E5M2, 54, "e6e08067", E5M2, 62, 0x80000000),
    ("00808000", E5M2, 0, "80808080", E5M2, 124, 0xDFFFFFFF),
    ("08850f0e", E5M2, 149, "82838080", E5M2, 2, 0x80000000),
    ("dfdfbfbb", E5M2, 127, "dfdfc7fe", E4M3FN, 223, 0xF6D51D20),
    ("81010001", E5M2, 7, "e4de80e1", E5M2, 62, 0x80400000),
    ("f9fbfbdb", E5M2, 134, "fafbfb00", E5M2, 130, 0xE14FE02F),
    ("9ade83fb", E5M2, 123, "05782d7b", E5M2, 8, 0x1920530A),
    ("01008100", E5M2, 15, "bf80cd00", E5M2, 127, 0x8173FFFF),
    ("01010000", E5M2, 7, "8781bcf7", E5M2, 140, 0x00002000),
    ("bf3fbf84", E5M2, 127, "b43d3e01", E5M2, 69, 0x13800000),
    ("01000000", E5M2, 249, "81808000", E5M2, 60, 0x4B000001),
    ("042f503d", E4M3FN, 34, "f927501b", E4M3FN, 58, 0x80000000),
    ("61553b0e", E4M3FN, 17, "e672e9a5", E4M3FN, 71, 0x80000000),
    ("c6e8f2a9", E5M2, 182, "80007880", E4M3FN, 130, 0x57081E55),
)
"""Each row has the elements in hexadecimal, their format and the scale's code, for both sides; then the partial sum. Most
results are subnormal or have terms far below them."""


def found(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Yield the corners whose formats the numerics have."""
    for index, (x, x_format, x_scale, y, y_format, y_scale, partial) in enumerate(FOUND):
        if {x_format, y_format} <= set(numerics.element_formats) and len(bytes.fromhex(x)) == numerics.terms:
            sides = tuple(bytes.fromhex(x)), x_format, tuple(bytes.fromhex(y)), y_format
            case = DotCase(*sides, x_scale, y_scale, on_grid(numerics, partial))
            yield Corner(f"found/{index}", case, lambda trace: trace.exact is not None)
