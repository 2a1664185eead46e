"""Matrix unit: a read of Dst is answered in the next cycle."""

from functools import partial

from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.verif.formal.contracts import answer_property
from bitpath.verif.formal.property import Sabotage

PROPERTIES = (
    answer_property(
        "tensix.matrix_unit",
        partial(MatrixUnit, MatrixUnitConfig(rows=1, cols=1)),
        "read_dst",
        "dst",
        Sabotage(
            "tensix/matrix/matrix_unit.py", "self.read_dst.ready.eq(free & clear)", "self.read_dst.ready.eq(clear)"
        ),
    ),
)
