"""Runs a program of TensorE's modes on the array and writes the results of each pass over its rows; the caller compares them.

A pass begins with golden's partial sums below the rows of the pass before.

`verif.kit.exchange` has the files.
"""

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.trainium3.array.systolic_array import Tiling
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.exchange import show_share
from bitpath.verif.kit.flow_run import of_each_input
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.kit.pauses import rng
from bitpath.verif.kit.streams import resolved
from bitpath.verif.trainium3.array.core_player import COLS, CONFIG, GROUPS, SIGNATURE, VECTOR_BITS, WORD, WRITE, Player
from bitpath.verif.trainium3.array.core_products import Schedule
from bitpath.verif.trainium3.core.core_modes import column_tiles


class Recorder(Player):
    """Keeps the results instead of comparing them."""

    def __init__(self, frame):
        super().__init__(frame, 0.0)
        # One tile, and nothing is expected of it.
        self.boards[0] = None
        self.vectors: list[np.ndarray] = []
        self.wrote, self.partial = True, None

    def _drive(self, leaders, step, *, frozen=False):
        """Set what changes: a wide port takes long to set."""
        dut, control = self.dut, self._control(step)
        dut.advance.value = 1
        if step.write:
            address, words = step.write
            packed = sum(word << width(WORD) * row for row, word in enumerate(words))
            dut.write.value = pack(WRITE, {"words": packed, "address": [address] * GROUPS, "groups": (1 << GROUPS) - 1})
        elif self.wrote:
            dut.write.value = 0
        self.wrote = step.write is not None
        dut.control.value = control
        if step.partial and step.partial != self.partial:
            self.partial = step.partial
            dut.partial.value = sum(code << FP32.width * c for c, code in enumerate(step.partial[0]))

    async def _compare(self, leaders, vectors):
        await FallingEdge(self.dut.clk)
        if vectors:
            assert resolved(self.dut.result_valid) & 1
            words = resolved(self.dut.result) & (1 << VECTOR_BITS) - 1
            self.vectors.append(np.frombuffer(words.to_bytes(VECTOR_BITS // 8, "little"), "<u4"))
        await RisingEdge(self.dut.clk)


@of_each_input
async def run_program(dut, program):
    """``results_i`` are those of instruction i, uint32 [passes, M, N], M padded to whole tiles of columns; ``cycles`` are those of all instructions."""
    found, cycles = {}, 0
    async with bench(dut, SIGNATURE, drain=False, patience=None) as frame:
        player = Recorder(frame)
        for number, instruction in enumerate(program):
            tiles = []
            for product in column_tiles(instruction, COLS):
                player.vectors.clear()
                steps = Schedule(CONFIG, [[product]], rng("schedule")).steps
                await player.play(Tiling.FULL, steps)
                cycles += len(steps)
                passes = -(-len(product.stationary) // CONFIG.rows)
                # Results come pass after pass, moving word after moving word.
                tiles.append(np.array(player.vectors).reshape(passes, -1, COLS))
            # [passes, N, M] -> [passes, M, N]
            found[f"results_{number}"] = np.concatenate(tiles, axis=2).transpose(0, 2, 1)
            show_share((number + 1) / len(program))
    return found | {"cycles": cycles}
