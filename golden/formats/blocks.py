"""Block formats: elements that share one scale.

Ref: OCP Microscaling Formats (MX) 1.0, section 5.1 and table 1 (k = 32, E8M0 scales).
"""

from dataclasses import dataclass

from bitpath.golden.formats.catalogue import E2M1, E4M3FN, E5M2, E8M0, FloatFormat


@dataclass(frozen=True, kw_only=True)
class BlockFormat:
    """``k`` elements and the scale that multiplies them all.

    Attributes
    ----------
    name : as in the OCP text, with the element named where the text leaves a choice.
    element, scale : their formats.
    k : elements in a block.
    """

    name: str
    element: FloatFormat
    scale: FloatFormat
    k: int

    @property
    def bits(self) -> int:
        """Bits of one block, scale included."""
        return self.k * self.element.width + self.scale.width


MXFP8_E4M3 = BlockFormat(name="mxfp8_e4m3", element=E4M3FN, scale=E8M0, k=32)
MXFP8_E5M2 = BlockFormat(name="mxfp8_e5m2", element=E5M2, scale=E8M0, k=32)
MXFP4 = BlockFormat(name="mxfp4", element=E2M1, scale=E8M0, k=32)

MX_FORMATS = {fmt.name: fmt for fmt in (MXFP8_E4M3, MXFP8_E5M2, MXFP4)}
"""The MX formats of Trainium3 by the names that ``trainium3.matmul`` and the command line take."""
