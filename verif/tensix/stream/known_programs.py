"""Programs for the expanders in the archive of known answers, and a unit that plays them."""

import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import numpy as np

from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander
from bitpath.golden.tensix.isa.words import encode
from bitpath.verif.kit.bench import bench
from bitpath.verif.tensix.stream.table import Table

ARCHIVE = "tensix_bh_control.npz"
CHIPS = ("wh", "bh")
NOP = encode("NOP")


class Expanders(Enum):
    """The expanders that are in the unit; golden is the other one."""

    MOP = (MopExpander,)
    REPLAY = (ReplayExpander,)
    INSTRUCTION = (MopExpander, ReplayExpander)


def expander_programs() -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Yield nine words of configuration, the words of a program, and those that leave both expanders, NOPs left out."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / ARCHIVE) as archive:
        for chip in CHIPS:
            words, out, starts, ends, configs = (
                archive[f"{chip}_x_{name}"].tolist() for name in ("in", "out", "in_offset", "out_offset", "mop_cfg")
            )
            for case, config in enumerate(configs):
                yield config, words[starts[case] : starts[case + 1]], out[ends[case] : ends[case + 1]]


async def play_known_programs(dut, signature, unit: Expanders) -> None:
    """Play every program from a reset; the archive decides."""
    async with bench(dut, signature, drain=False) as frame:
        table, answers = Table(frame, *unit.value), frame.scoreboard("known answers", 32, output="o")
        for case, (config, words, expected) in enumerate(expander_programs()):
            await frame.reset()
            table.restart()
            if MopExpander in unit.value:
                table.writes.extend(enumerate(config))
                while table.writes:
                    await table.cycle()
                table.words.extend(words)
            else:
                mop = MopExpander(config)
                table.words.extend(each for word in words for each in mop.feed(word))
            await table.finish()
            given = table.given
            if ReplayExpander not in unit.value:
                replay = ReplayExpander()
                given = [each for word in given for each in replay.feed(word)]
            found = [word for word in given if word != NOP]
            assert len(found) == len(expected), f"program {case}"
            for word, answer in zip(found, expected, strict=True):
                answers.expect(answer, f"program {case}")
                answers.got(word)
