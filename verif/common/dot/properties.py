"""Pipelines of the dot product of any shape; its sum and its rounding are those of `bitpath.verif.common.arithmetic`."""

from bitpath.rtl.common.dot.dot_product import DotProduct, DotProductConfig
from bitpath.verif.formal.contracts import stage_properties, staged_stream_properties
from bitpath.verif.formal.property import Properties

PROPERTIES = Properties(
    "common/dot",
    *stage_properties("common.dot_product", DotProduct, DotProductConfig),
    *staged_stream_properties("common.dot_product", DotProduct, DotProductConfig),
)
