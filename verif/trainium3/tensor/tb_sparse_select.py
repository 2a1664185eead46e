"""Bench of the sparse selection: every tag in every row under every pattern, illegal ones too, random columns at every pace,
patterns that the array does not have.

Expected elements come from golden's rule before anything is driven. ``BITPATH_CASES`` sets the random columns of a test.
"""

import os
from itertools import product
from random import Random

import cocotb
from cocotb.triggers import Timer

from bitpath.golden.trainium3.declarations.tensor import PATTERNS, TRAINIUM3_SPARSE
from bitpath.golden.trainium3.exact import selected
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.tensor.config import NARROW
from bitpath.rtl.trainium3.tensor.sparse_select import SelectConfig, SparseSelect, select_layout, selected_layout
from bitpath.rtl.trainium3.tensor.tag_select import SLOTS, TAG
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.packing import changed, pack, width
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(SelectConfig)
SIGNATURE = SparseSelect(CONFIG).signature
COLUMN, SELECTED = select_layout(CONFIG), selected_layout(CONFIG)
PES = SLOTS * CONFIG.cols
ELEMENT = width(NARROW)
TAGS = 1 << TAG
CASES = int(os.environ.get("BITPATH_CASES", "400"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


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


@covers(
    "sparse_select.tags",
    "The pattern alone decides which codes are legal, and the row which partitions belong to its group",
)
@covers("sparse_select.stream")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pattern=list(PATTERNS))
async def every_tag(dut, pattern):
    """All 16 codes in every row under each of the seven patterns; an illegal one gives +0 and its flag."""
    rng = pauses.rng("slots")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(cross(range(SLOTS), range(TAGS)))
        sent = []
        for first in range(TAGS):
            tags = [(first + 5 * pe) % TAGS for pe in range(PES)]
            for pe, tag in enumerate(tags):
                coverage.hit(pe // CONFIG.cols, tag)
            ones = [(1 << ELEMENT) - 1] * (SLOTS * SLOTS)
            sent += [request(pattern, slots, tags) for slots in (random_slots(rng), random_slots(rng), ones)]
        await Pipeline(frame, 0).sweep(sent)


@covers("sparse_select.stream", "A row of PEs reads four elements a cycle")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_columns(dut, pace):
    """Random columns and patterns at full speed, with gaps, stalls and both; a column a cycle."""
    rng = pauses.rng("columns")
    sent = []
    for _ in range(CASES):
        tags = [rng.randrange(TAGS) for _ in range(PES)]
        sent.append(request(rng.choice(list(PATTERNS)), random_slots(rng), tags))
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, 0).exchange(sent, pace)


@covers("sparse_select.patterns", "An unknown pattern would select elements of other groups")
@cocotb.test(**LIMIT)
async def every_pattern(dut):
    """All 16 codes of a pattern with every handshake: the nine that the array does not have give a fault and no column."""
    rng = pauses.rng("columns")
    names = {(each.kept - 1, each.ratio - 1): name for name, each in PATTERNS.items()}
    async with bench(dut, SIGNATURE, drain=False) as frame:
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
