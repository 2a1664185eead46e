"""Player of schedules on the array of all modes: drives every input, and compares the outputs of every cycle."""

from functools import partial

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.trainium3.array.core_edge import core_word
from bitpath.rtl.trainium3.array.operand_row import control_layout
from bitpath.rtl.trainium3.array.systolic_array import (
    CoreArrayConfig,
    SystolicArray,
    Tiling,
    leader,
    operand_write_layout,
)
from bitpath.rtl.trainium3.dot.element_map import MapTable
from bitpath.verif.kit import pauses
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.kit.scoreboard import Scoreboard
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.unit_bench import UnitBench
from bitpath.verif.trainium3.array.core_products import Step, fp4_table

BENCH = UnitBench(SystolicArray, CoreArrayConfig, ms=20)
CONFIG = BENCH.config
ROWS, COLS, GROUPS = CONFIG.rows, CONFIG.cols, CONFIG.groups
SIGNATURE = BENCH.signature
CONTROL, WRITE, WORD = control_layout(CONFIG), operand_write_layout(CONFIG), core_word(CONFIG.dot)
VECTOR_BITS = COLS * FP32.width


class Player:
    """Drives a schedule and compares the outputs of every cycle, stalled ones included."""

    def __init__(self, frame, freeze: float):
        self.frame, self.dut = frame, frame.dut
        self.freezes = pauses.scattered(freeze, pauses.rng("advance"))
        self.junk = pauses.rng("junk")
        self.boards: dict[int, Scoreboard] = {}
        frame.onlook("write", lambda: WRITE.from_bits(resolved(self.dut.write)).groups)
        for group in range(GROUPS):
            frame.onlook(f"control {group}", partial(self._enters, group), "advance")
            frame.onlook(f"result {group}", lambda group=group: resolved(self.dut.result_valid) >> group & 1, "advance")

    def _enters(self, group: int) -> int:
        control = resolved(self.dut.control) >> group * width(CONTROL) & (1 << width(CONTROL)) - 1
        leads = leader(CONFIG, group, Tiling(resolved(self.dut.tiling))) == group
        return int(leads and CONTROL.from_bits(control).valid)

    async def play(self, tiling: Tiling, steps: list[Step]) -> None:
        leaders = [group for group in range(GROUPS) if leader(CONFIG, group, tiling) == group]
        for group in set(leaders) - self.boards.keys():
            place = group * VECTOR_BITS
            self.boards[group] = self.frame.scoreboard(
                f"group {group}", VECTOR_BITS, {"": FP32}, output="result", lowest=place
            )
        latency = ROWS // len(leaders) * CONFIG.row_latency + COLS + 1
        idle = [Step() for _ in range(latency + 1)]
        results: dict[int, list] = {cycle + latency: step.result for cycle, step in enumerate(steps) if step.result}
        self.dut.tiling.value = tiling.value
        self.dut.fp4_table.value = pack(MapTable, fp4_table())
        for cycle, step in enumerate([*steps, *idle]):
            while next(self.freezes):
                self._drive(leaders, step, frozen=True)
                await self._compare(leaders, results.get(cycle))
            self._drive(leaders, step)
            await self._compare(leaders, results.get(cycle))

    async def _compare(self, leaders: list[int], vectors: list | None) -> None:
        await FallingEdge(self.dut.clk)
        valid = resolved(self.dut.result_valid)
        expected = sum(1 << group for group in leaders) if vectors else 0
        assert valid & sum(1 << group for group in leaders) == expected, f"result_valid is {valid:b}"
        shown = resolved(self.dut.result) if vectors else 0
        for tile, group in enumerate(leaders if vectors else ()):
            vector = sum(code << FP32.width * c for c, code in enumerate(vectors[tile]))
            self.boards[group].expect(vector, f"tile {tile}")
            self.boards[group].got(shown >> group * VECTOR_BITS & (1 << VECTOR_BITS) - 1)
        await RisingEdge(self.dut.clk)

    def _drive(self, leaders: list[int], step: Step, *, frozen: bool = False) -> None:
        """Set every input; what nothing reads is junk."""
        junk, dut = self.junk.getrandbits, self.dut
        dut.advance.value = int(not frozen)
        write = junk(width(WRITE)) & ~((1 << GROUPS) - 1 << WRITE["groups"].offset)
        if step.write:
            address, words = step.write
            packed = sum(word << width(WORD) * row for row, word in enumerate(words))
            write = pack(WRITE, {"words": packed, "address": [address] * GROUPS, "groups": (1 << GROUPS) - 1})
        dut.write.value = write
        control = partial = 0
        for tile, group in enumerate(leaders):
            control |= self._control(step) << group * width(CONTROL)
            vector = step.partial[tile] if step.partial else [junk(32) for _ in range(COLS)]
            partial |= sum(code << FP32.width * c for c, code in enumerate(vector)) << group * VECTOR_BITS
        followers = set(range(GROUPS)) - set(leaders)
        control |= sum(junk(width(CONTROL)) << group * width(CONTROL) for group in followers)
        dut.control.value, dut.partial.value = control, partial

    def _control(self, step: Step) -> int:
        fields = {"valid": int(step.move is not None), "swap": step.swap, "load": int(step.load is not None)}
        control = self.junk.getrandbits(width(CONTROL))
        if step.move:
            product, number, address = step.move
            fields |= {"moving_address": address, "moving_format": product.moving_format, "mode": product.mode}
            fields |= {"number": number, "first": step.first}
            if CONFIG.dot.sparse:
                fields["pattern"] = product.pattern[0] | product.pattern[1] << 2
        if step.load:
            product, column, address = step.load
            fields |= {"stationary_address": address, "stationary_format": product.stationary_format}
            fields |= {"stationary_mode": product.stationary_mode, "column": column}
        for name, value in fields.items():
            place = CONTROL[name]
            mask = (1 << width(place.shape)) - 1
            control = control & ~(mask << place.offset) | pack(place.shape, value) << place.offset
        return control
