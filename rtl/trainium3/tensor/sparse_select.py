"""Selection of a sparse matmul on four rows of PEs: each reads its group's partitions, and each PE one slot by its tag.

    kept 4: rows 0-3 read partitions 0-3      kept 2: rows 0, 1 read 0, 1; rows 2, 3 read 2, 3      kept 1: each its own

Ref: "Trainium2 Architecture Guide for NKI", structured sparsity.
"""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.tensor import TRAINIUM3_SPARSE, SparseNumerics, TagMap
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal
from bitpath.rtl.trainium3.tensor.config import NARROW

# The moving element that a PE of a sparse matmul reads, by its tag.
#
#     tag  3        2 1        0
#         +----------+----------+
#         | partition|   slot   |    legal: partition < kept, slot < ratio
#         +----------+----------+
#
# Ref: "Trainium2 Architecture Guide for NKI", structured sparsity (four-bit tags; a row of PEs reads 4, 2 or 1 partitions). The
# code of a tag is chosen, see the declarations.


TAG = 4
"""Bits of a tag."""
SLOTS = 4
"""Largest number of partitions in a group, and of slots on one."""
PATTERN = data.StructLayout({"last_partition": range(SLOTS), "last_slot": range(SLOTS)})
"""A pattern kept:group as ``kept - 1`` and ``group / kept - 1``."""


def is_known(pattern: data.View, numerics: SparseNumerics) -> Value:
    """Return 1 for a pattern that the array takes."""
    places = [(kept - 1, group // kept - 1) for kept, group in numerics.patterns]
    return Cat((pattern.last_partition == place[0]) & (pattern.last_slot == place[1]) for place in places).any()


class TagSelect(wiring.Component):
    """Combinational; an illegal tag gives +0, whose layout is all zeros, and a flag.

    Parameters
    ----------
    element : layout of a moving element.

    Members
    -------
    slots : In(ArrayLayout(element, 16)), the group's slot r on partition q at ``4 * q + r``
    tag : In(4)
    pattern : In(PATTERN)
    o : Out(element), illegal : Out(1)
    """

    clocked = False

    def __init__(self, element: data.StructLayout):
        super().__init__(
            {
                "slots": In(data.ArrayLayout(element, SLOTS * SLOTS)),
                "tag": In(TAG),
                "pattern": In(PATTERN),
                "o": Out(element),
                "illegal": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        partition, slot = self.tag[2:], self.tag[:2]
        m.d.comb += [
            self.illegal.eq((partition > self.pattern.last_partition) | (slot > self.pattern.last_slot)),
            self.o.eq(Mux(self.illegal, 0, self.slots[self.tag].as_value())),
        ]
        return m


@dataclass(frozen=True, kw_only=True)
class SelectConfig(UnitConfig, unit="sparse_select"):
    """Configuration of the sparse selection on four rows of PEs.

    Attributes
    ----------
    cols : columns of PEs.
    numerics : patterns and code of the tags; RTL decodes tags of two fields.
    """

    cols: int = in_range(1, PARTITIONS, 2)
    numerics: SparseNumerics = TRAINIUM3_SPARSE.numerics

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.numerics.tag_map is not TagMap.FIELDS:
            raise ValueError(f"sparse_select: tag_map must be FIELDS, not {self.numerics.tag_map.name}")


def select_layout(config: SelectConfig) -> data.StructLayout:
    """Layout of a column: slot r of partition p at ``slots[4 * p + r]``, the tag of row p and column c at ``tags[cols * p + c]``."""
    return data.StructLayout(
        {
            "slots": data.ArrayLayout(NARROW, SLOTS * SLOTS),
            "pattern": PATTERN,
            "tags": data.ArrayLayout(TAG, SLOTS * config.cols),
        }
    )


def selected_layout(config: SelectConfig) -> data.StructLayout:
    """Layout of the elements that the PEs read, and a flag for each illegal tag, in the order of the tags."""
    pes = SLOTS * config.cols
    return data.StructLayout({"elements": data.ArrayLayout(NARROW, pes), "illegal": pes})


class SparseSelect(wiring.Component):
    """A moving column a cycle, combinational. A column whose pattern the array does not have is refused: nothing comes of it.

    Parameters
    ----------
    config : columns of PEs.

    Members
    -------
    i : In(stream of select_layout)
    o : Out(stream of selected_layout)
    fault : Out(Fault), OPERATION in the cycle in which a column is refused
    """

    clocked = False

    def __init__(self, config: SelectConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(select_layout(config))),
                "o": Out(stream.Signature(selected_layout(config))),
                "fault": Out(Fault),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pattern, slots = self.i.p.pattern, self.i.p.slots
        wrong = Mux(is_known(pattern, self.config.numerics), Fault.NONE, Fault.OPERATION)
        valid = taken_if_legal(m, self.i, self.fault, wrong)
        m.d.comb += [self.o.valid.eq(valid), self.i.ready.eq(self.o.ready)]
        for row in range(SLOTS):
            group = Signal(slots.shape(), name=f"group_{row}")
            m.d.comb += group.eq(slots)
            # The row's own partition comes first in a group of its own, and its pair's first in a group of two.
            with m.Switch(pattern.last_partition):
                with m.Case(0):
                    m.d.comb += [group[slot].eq(slots[SLOTS * row + slot]) for slot in range(SLOTS)]
                with m.Case(1):
                    first = SLOTS * (row - row % 2)
                    m.d.comb += [group[slot].eq(slots[first + slot]) for slot in range(2 * SLOTS)]
            for col in range(self.config.cols):
                place = self.config.cols * row + col
                select = instantiate(m, platform, f"select_{row}_{col}", TagSelect, NARROW)
                m.d.comb += [
                    select.slots.eq(group),
                    select.tag.eq(self.i.p.tags[place]),
                    select.pattern.eq(pattern),
                    self.o.p.elements[place].eq(select.o),
                    self.o.p.illegal[place].eq(select.illegal),
                ]
        return m


RECORDS = (
    Unit(
        name="sparse_select",
        config_type=SelectConfig,
        build=SparseSelect,
        summary="Trainium3: the moving elements that the tags of four rows of PEs select",
        covered=Covered(SelectConfig(), 100),
        judges=(Judge(42, SelectConfig(cols=1)),),
    ),
)
