"""Bench of the sparse selection: every tag in every row under every pattern, illegal ones too, random columns at every pace,
patterns that the array does not have.

Expected elements come from golden's rule before anything is driven. ``BITPATH_CASES`` sets the random columns of a test.
"""

from collections.abc import Sequence
from itertools import product
from random import Random

import cocotb
from cocotb.triggers import Timer

from bitpath.golden.trainium3.declarations.tensor import PATTERNS, TRAINIUM3_SPARSE
from bitpath.golden.trainium3.exact import selected
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.tensor.config import NARROW
from bitpath.rtl.trainium3.tensor.sparse_select import (
    SLOTS,
    TAG,
    SelectConfig,
    SparseSelect,
    select_layout,
    selected_layout,
)
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import Coverage, cross
from bitpath.verif.kit.packing import changed, pack, width
from bitpath.verif.kit.pipeline import LIMIT, Made, Request, StreamBench
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(SelectConfig)
COLUMN, SELECTED = select_layout(CONFIG), selected_layout(CONFIG)
PES = SLOTS * CONFIG.cols
ELEMENT = width(NARROW)
TAGS = 1 << TAG


def request(pattern: str, slots: list[int], tags: list[int]) -> Request:
    """A column with slots as integers, and what golden's rule selects of it."""
    shape = PATTERNS[pattern]
    fields = {"last_partition": shape.kept - 1, "last_slot": shape.ratio - 1}
    places = [selected(TRAINIUM3_SPARSE.numerics, shape, pe // CONFIG.cols, tag) for pe, tag in enumerate(tags)]
    elements = sum(slots[SLOTS * at[0] + at[1]] << ELEMENT * pe for pe, at in enumerate(places) if at)
    illegal = sum((at is None) << pe for pe, at in enumerate(places))
    payload = pack(COLUMN, {"slots": 0, "pattern": fields, "tags": tags})
    payload |= sum(slot << ELEMENT * place for place, slot in enumerate(slots))
    return Request(payload, elements | illegal << ELEMENT * PES, f"{pattern}, tags {tags}")


def random_slots(rng: Random) -> list[int]:
    return [rng.getrandbits(ELEMENT) for _ in range(SLOTS * SLOTS)]


def draw(kinds: Sequence[str], rng: Random) -> list[Request]:
    made = []
    for pattern in kinds:
        tags = [rng.randrange(TAGS) for _ in range(PES)]
        made.append(request(pattern, random_slots(rng), tags))
    return made


BENCH = StreamBench(
    __name__, SelectConfig, SparseSelect, list(PATTERNS), draw, cycles=0, default_cases=400, draws="columns"
)
random_columns = BENCH.random("random_columns")
covers(
    "sparse_select.stream",
    "A row of PEs reads four elements a cycle",
    "Random columns and patterns at full speed, with gaps, stalls and both; a column a cycle",
    random_columns,
)


@covers(
    "sparse_select.tags",
    "The pattern alone decides which codes are legal, and the row which partitions belong to its group",
)
@covers("sparse_select.stream")
@BENCH.sweep(pattern=list(PATTERNS))
def every_tag(pattern: str) -> Made:
    """All 16 codes in every row under each of the seven patterns; an illegal one gives +0 and its flag."""
    rng, ones = pauses.rng("slots"), [(1 << ELEMENT) - 1] * (SLOTS * SLOTS)
    columns = [[(first + 5 * pe) % TAGS for pe in range(PES)] for first in range(TAGS)]
    sent = [request(pattern, slots, tags) for tags in columns for slots in (random_slots(rng), random_slots(rng), ones)]
    hit = (f"{pe // CONFIG.cols}/{tag}" for tags in columns for pe, tag in enumerate(tags))
    return sent, Coverage(cross(range(SLOTS), range(TAGS)), hit)


@covers("sparse_select.patterns", "An unknown pattern would select elements of other groups")
@cocotb.test(**LIMIT)
async def every_pattern(dut):
    """All 16 codes of a pattern with every handshake: the nine that the array does not have give a fault and no column."""
    rng = pauses.rng("columns")
    names = {(each.kept - 1, each.ratio - 1): name for name, each in PATTERNS.items()}
    async with bench(dut, BENCH.unit.signature, drain=False) as frame:
        coverage = frame.coverage(cross(range(SLOTS), range(SLOTS), range(2), range(2)))
        board, faults = frame.scoreboard("o", SELECTED), frame.scoreboard("fault", Fault)
        for *places, valid, ready in product(range(SLOTS), range(SLOTS), range(2), range(2)):
            name = names.get(tuple(places))
            tags = [rng.randrange(TAGS) for _ in range(PES)]
            column = request(name or rng.choice(list(PATTERNS)), random_slots(rng), tags)
            pattern = dict(zip(("last_partition", "last_slot"), places, strict=True))
            dut.i__payload.value = changed(COLUMN, column.payload, {"pattern": pattern})
            dut.i__valid.value, dut.o__ready.value = valid, ready
            await Timer(1, unit="ns")
            assert (resolved(dut.o__valid), resolved(dut.i__ready)) == (valid and name is not None, ready)
            fault = Fault.OPERATION if valid and ready and name is None else Fault.NONE
            faults.expect(fault.value, f"{pattern}, valid {valid}, ready {ready}")
            faults.got(resolved(dut.fault))
            if valid and name is not None:
                board.expect(column.expected, column.shown)
                board.got(resolved(dut.o__payload))
            coverage.hit(*places, valid, ready)
