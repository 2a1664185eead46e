"""A product of two pairs of tiles in the Matrix unit, cycle by cycle and word by word."""

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import Style
from bitpath.golden.tensix.matmul import cycles as golden_cycles
from bitpath.golden.tensix.matmul.matmul import TILE_ROWS
from bitpath.rtl.tensix.matrix.instruction import Opcode
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.tensix.matrix.hazards import timed
from bitpath.verif.tensix.matrix.kinds import CONFIG, LATENCY, NUMERICS
from bitpath.verif.tensix.matrix.model import Operation, Place, issue_cycles
from bitpath.verif.tensix.matrix.player import Player


async def multiplied(frame: Bench, fmt: str) -> None:
    """Multiply random 32x64 and 64x32 matrices of a format by golden's program; read the whole tile of Dst."""
    rng = np.random.default_rng(pauses.rng(fmt).getrandbits(32))
    shapes = (32, 64), (64, 32)
    if fmt == "int8":
        a, b = (rng.integers(-127, 128, shape, dtype=np.int32) for shape in shapes)
    else:
        a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    dst32 = fmt != "fp16"
    program = tensix.matmul_program(a, b, fmt=fmt, fidelity="HiFi4", dst32=dst32, numerics=NUMERICS)
    expected = tensix.run_program(program, numerics=NUMERICS)[0, 0]
    player = Player(frame, NUMERICS)
    for k in range(2):
        player.fill("a", dict(enumerate(program.src_a[k, 0])))
        player.fill("b", dict(enumerate(program.src_b[0, k])))
    await player.idle()
    operations = [
        Operation(
            opcode=Opcode.MVMUL,
            style=program.fmt.style,
            dst32=dst32,
            phase=each.phase,
            formats=(program.fmt.register, program.fmt.register),
            src_a_row=each.src_a_row,
            src_b_row=each.src_b_row,
            dst_row=each.dst_row,
            release_a=each is program.instructions[-1],
            release_b=each is program.instructions[-1],
        )
        for _ in range(2)
        for each in program.instructions
    ]
    cycles = await timed(player, operations)
    assert cycles == issue_cycles(operations, passes=CONFIG.passes, latency=LATENCY)
    if CONFIG.passes == 1:
        assert cycles == golden_cycles.issue_cycles(2 * program.instructions)
    places = [Place(row, dst32, program.fmt.style is Style.FP16) for row in range(TILE_ROWS)]
    assert np.array_equal(np.stack([player.machine.now(place) for place in places]), expected)
    for place in places:
        player.read(place)
    await player.idle()
