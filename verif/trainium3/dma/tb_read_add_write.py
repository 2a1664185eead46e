"""Bench of read-add-write: chains onto one word, pairs of special values, beats in any order at every pace, resets.

Expected values come from golden.
"""

import os
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.rtl.trainium3.dma.read_add_write import ReadAddWrite, ReadAddWriteConfig, WriteMode
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.unit_bench import UnitBench, cases, pauses, resolved
from bitpath.verif.trainium3.dma.read_add_write import FORMATS, Beat, Memory, any_beat
from bitpath.verif.trainium3.refusals import Faults

BENCH = UnitBench(ReadAddWrite, ReadAddWriteConfig)
CONFIG = BENCH.config
CASES = cases(300)
ADDRESSES = 1 << CONFIG.address_bits
MODES = list(WriteMode)
PACES = {"full_speed": (0.0, 0.0), "gaps": (0.5, 0.0), "stalls": (0.0, 0.5), "both": (0.4, 0.4)}
KNOWN = "BITPATH_KAT_DIR"


@BENCH.test(
    "read_add_write.order",
    "A word may wait for its write in two places, and the memory's order within a cycle is not the unit's",
    pace=list(PACES),
)
async def beats_in_any_order(frame, pace):
    """Each mode behind each onto one word, with masks of whole elements, at full speed, with gaps, stalls of fetch and
    write, and both; a fetch beside a write of its word returns the old one or the new one."""
    gap, stall = PACES[pace]
    rng = pauses.rng("beats")
    coverage = frame.coverage(
        f"{before.name} then {after.name} onto one word" for before, after in product(MODES, MODES)
    )
    memory = Memory(frame, CONFIG, pauses.rng("memory"), stall)
    driver = frame.driver("i", pauses.scattered(gap, pauses.rng("gaps")))
    last = None
    beats = [any_beat(rng, CONFIG, 1, [mode]) for pair in product(MODES, MODES) for mode in pair]
    beats += [any_beat(rng, CONFIG, 2 if each < CASES // 2 else ADDRESSES, MODES) for each in range(CASES)]
    for beat in beats:
        if last is not None and last.address == beat.address:
            coverage.hit(f"{last.mode.name} then {beat.mode.name} onto one word")
        last = beat
        driver.send_bits(memory.expect(beat))
    await driver.drained()
    assert memory.fetched > 0


@BENCH.test(
    "read_add_write.chain",
    "A sum must see the one before it, which is not in memory yet",
    mode=[mode.name for mode in MODES],
)
async def a_chain_onto_one_word(frame, mode):
    """Stores, BF16 and FP32 sums onto one word in every cycle."""
    rng = pauses.rng("beats")
    memory = Memory(frame, CONFIG, pauses.rng("memory"))
    driver = frame.driver("i")
    for _ in range(CASES):
        driver.send_bits(memory.expect(any_beat(rng, CONFIG, 1, [WriteMode[mode]])))
    await driver.drained()
    await frame.drain()
    cycles = memory.write_cycles
    assert cycles[-1] - cycles[0] == CASES - 1, "a beat must be written in every cycle"
    assert memory.fetched == (CASES if WriteMode[mode] in FORMATS else 0)


async def add_all(frame, mode, pairs, sums=None):
    """Add pairs of codes, as many at once as a beat has elements; compare with golden's sums, which are those given."""
    size = FORMATS[mode].width // 8
    count = CONFIG.beat_bytes // size
    # The first pairs fill the last beat.
    fill = -len(pairs) % count
    pairs, sums = [*pairs, *pairs[:fill]], sums and [*sums, *sums[:fill]]
    memory = Memory(frame, CONFIG, pauses.rng("memory"))
    driver = frame.driver("i")
    for place in range(0, len(pairs), count * ADDRESSES):
        for address in range(ADDRESSES):
            first = place + address * count
            part = pairs[first : first + count]
            if not part:
                break
            present, added = (b"".join(int(each[k]).to_bytes(size, "little") for each in part) for k in range(2))
            memory.set(address, present)
            driver.send_bits(memory.expect(Beat(address, added, (1 << CONFIG.beat_bytes) - 1, mode)))
            if sums is not None:
                known = b"".join(int(each).to_bytes(size, "little") for each in sums[first : first + count])
                assert memory.shadow[address] == known
        await driver.drained()
        while memory.board.pending:
            await RisingEdge(frame.dut.clk)
    assert memory.board.compared == len(pairs) // count


@BENCH.test(
    "read_add_write.sums",
    "Each word has adders of its own, and BF16 rounds a second time",
    mode=[mode.name for mode in FORMATS],
)
async def edges_onto_edges(frame, mode):
    """Zeros, subnormals, ties, largest, infinities and NaNs of both signs, each onto each, in BF16 and FP32;
    cancellation to the last place."""
    fmt = FORMATS[WriteMode[mode]]
    one, largest = fmt.bias << fmt.fraction_bits, fmt.max_code
    edges = [0, 1, fmt.fraction_mask, fmt.fraction_mask + 1, one, one + 1, one - 1]
    edges += [one - (each << fmt.fraction_bits) for each in (fmt.fraction_bits, fmt.precision, fmt.precision + 1)]
    edges += [largest, largest - 1, fmt.infinity_code, fmt.infinity_code + 1, fmt.nan_code]
    edges += [each | fmt.sign_mask for each in edges]
    await add_all(frame, WriteMode[mode], list(product(edges, edges)))


@BENCH.test(
    "read_add_write.known_answers",
    "Another author derived them independently",
    skip=KNOWN not in os.environ,
    mode=[mode.name for mode in FORMATS],
)
async def known_answers(frame, mode):
    """600 sums in each of BF16 and FP32."""
    name = FORMATS[WriteMode[mode]].name.lower()
    with np.load(Path(os.environ[KNOWN]) / "trn_core_rmw.npz") as archive:
        b, a, sums = (archive[f"raw_{name}_{part}"].tolist() for part in ("b", "a", "sum"))
    await add_all(frame, WriteMode[mode], list(zip(b, a, strict=True)), sums)


@BENCH.test(
    "read_add_write.refused",
    "It would add as BF16 does",
    "Beats of the mode that there is not, alone, in a row and among others onto the same words",
    skip=not CONFIG.checks,
)
async def refused_beats(frame):
    """Beats of the mode that there is not, alone, in a row and among others onto the same words: a fault in the cycle in which each is
    taken, and nothing fetched or written."""
    rng = pauses.rng("beats")
    memory = Memory(frame, CONFIG, pauses.rng("memory"), 0.3)
    driver = frame.driver("i")
    faults = Faults(frame)
    for _ in range(CASES):
        beat = any_beat(rng, CONFIG, ADDRESSES, MODES)
        wrong = rng.random() < 0.5
        faults.expect(Fault.OPERATION if wrong else Fault.NONE, beat)
        if wrong:
            driver.send_bits(replace(beat, mode=3).payload(CONFIG))
        else:
            driver.send_bits(memory.expect(beat))
    await driver.drained()
    while memory.board.pending:
        await RisingEdge(frame.dut.clk)


@BENCH.test("read_add_write.reset", "Data registers have no reset", beats=[1, 2, 3])
async def resets(frame, beats):
    """Resets with one to three beats on their way, with and without a stall: none of them is written."""
    rng = pauses.rng("beats")
    dut = frame.dut
    for stall in (1, 0):
        dut.fetch__ready.value, dut.write__ready.value = 1, 1 - stall
        for _ in range(beats):
            dut.i__valid.value = 1
            dut.i__payload.value = any_beat(rng, CONFIG, ADDRESSES, MODES).payload(CONFIG)
            await RisingEdge(dut.clk)
        await frame.reset()
        for _ in range(4):
            assert not resolved(dut.write__valid), "a write of before a reset"
            assert not resolved(dut.fetch__valid), "a fetch of before a reset"
            await RisingEdge(dut.clk)
    memory = Memory(frame, CONFIG, pauses.rng("memory"))
    driver = frame.driver("i")
    for _ in range(10):
        driver.send_bits(memory.expect(any_beat(rng, CONFIG, ADDRESSES, MODES)))
    await driver.drained()
