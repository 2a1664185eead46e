"""Bench of address generation: every branch of every form, random registers at every pace, whole nests of loops.

Golden computes the expected registers first.
"""

from itertools import product
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.rtl.aie_ml_v2.tile.agu import Agu, AguConfig, AguMode, agu_request, agu_result
from bitpath.verif.kit.unit_bench import PACES, Pipeline, Request, UnitBench, cases, pack, pauses, resolved, unpack

BENCH = UnitBench(Agu, AguConfig)
CONFIG = BENCH.config
CASES = cases(400)
FIELDS = ("m", "dn", "dj", "dc", "dn2", "dj2", "dc2")
FORMS = {AguMode.POST_MODIFY: "post_modify", AguMode.TWO_D: "2d", AguMode.THREE_D: "3d", AguMode.INDEXED: "indexed"}
COUNTED = ("inner", "wrap", "preset wrap")
BRANCHES = {
    AguMode.POST_MODIFY: ("plain",),
    AguMode.TWO_D: COUNTED,
    AguMode.THREE_D: (*COUNTED, "outer", "preset outer"),
    AguMode.INDEXED: ("plain",),
}


def requests(config: AguConfig, mode: AguMode, pointers: np.ndarray, fields: np.ndarray) -> list[Request]:
    """Return requests of pointers [n] and modifiers [7, n] with golden's results, cut to the unit's address bits."""
    address, p, dims = aie.agu_step(pointers, aie.Dimensions(*fields), form=FORMS[mode])
    there = (1 << config.address_bits) - 1
    columns = ((np.broadcast_to(each, p.shape) & there).tolist() for each in (address, p, dims.dc, dims.dc2))
    rows = zip(pointers.tolist(), fields.T.tolist(), strict=True)
    results = zip(*columns, strict=True)
    return [
        Request(
            pack(agu_request(config), {"mode": mode.value, "p": pointer} | dict(zip(FIELDS, row, strict=True))),
            pack(agu_result(config), dict(zip(("address", "p", "dc", "dc2"), result, strict=True))),
            f"{FORMS[mode]}, p {pointer:#x}, "
            + ", ".join(f"{name} {each:#x}" for name, each in zip(FIELDS, row, strict=True)),
        )
        for (pointer, row), result in zip(rows, results, strict=True)
    ]


def random_codes(config: AguConfig, rng: Random, count: int) -> np.ndarray:
    """Return codes of all sizes, the smallest and the largest often."""
    top = (1 << config.address_bits) - 1
    draws = (
        lambda: rng.randint(0, top),
        lambda: rng.randint(0, 3),
        lambda: top - rng.randint(0, 3),
        lambda: rng.getrandbits(rng.randint(1, config.address_bits)),
    )
    return np.array([rng.choice(draws)() for _ in range(count)])


def branch(mode: AguMode, fields: np.ndarray) -> str:
    """Return which step a modifier [7] takes."""
    _, dn, _, dc, dn2, _, dc2 = fields.tolist()
    if mode in (AguMode.POST_MODIFY, AguMode.INDEXED):
        return "plain"
    if dc < dn:
        return "inner"
    preset = "preset " if dc > dn else ""
    return preset + ("outer" if mode is AguMode.THREE_D and dc2 < dn2 else "wrap")


@BENCH.test("agu.branches", "A counter that is preset above its size wraps at once, and all compares are unsigned")
async def every_branch(frame):
    """Every form with counters below, at and above their sizes, sizes 0 and the largest."""
    rng = pauses.rng("registers")
    top = (1 << CONFIG.address_bits) - 1
    corners = [(0, 0), (0, 1), (1, 1), (2, 1), (0, top), (top, top), (top, 0), (top // 2, top // 2 + 1), (top - 1, top)]
    sent = []
    coverage = frame.coverage([f"{mode.name}/{each}" for mode, branches in BRANCHES.items() for each in branches])
    for mode, (dc, dn), (dc2, dn2) in product(AguMode, corners, corners):
        fields = random_codes(CONFIG, rng, len(FIELDS))
        fields[[1, 3, 4, 6]] = dn, dc, dn2, dc2
        coverage.hit(mode.name, branch(mode, fields))
        sent += requests(CONFIG, mode, random_codes(CONFIG, rng, 1), fields[:, np.newaxis])
    await Pipeline(frame, 0).sweep(sent)


@BENCH.test("agu.stream", "An AGU makes an address a cycle; sums are modulo 2^20", pace=list(PACES))
async def random_registers(frame, pace):
    """Random registers in all forms at full speed, with gaps, stalls and both."""
    rng = pauses.rng("registers")
    sent = []
    for mode in AguMode:
        codes = np.stack([random_codes(CONFIG, rng, max(1, CASES // 4)) for _ in range(1 + len(FIELDS))])
        sent += requests(CONFIG, mode, codes[0], codes[1:])
    rng.shuffle(sent)
    await Pipeline(frame, 0).exchange(sent, pace)


@BENCH.test("agu.nests", "This is what software uses it for", skip=CONFIG.address_bits < 20)
async def nests_of_loops(frame):
    """Nests of two and three loops with the unit's own registers going round."""
    rng = pauses.rng("nests")
    dut = frame.dut
    pipeline, board = Pipeline(frame, 0), frame.scoreboard("addresses", CONFIG.address_bits, output="o")
    dut.i__valid.value, dut.o__ready.value = 1, 1
    for levels in (1, 2) * max(1, CASES // 50):
        sizes = [rng.randint(1, 6) for _ in range(levels)]
        steps = [rng.randint(-(1 << 19), (1 << 20) - 1) for _ in range(levels + 1)]
        dims = aie.dimensions_from_steps(sizes, steps)
        registers = {name: int(getattr(dims, name)) for name in FIELDS} | {"p": rng.getrandbits(20)}
        start, mode = registers["p"], AguMode.TWO_D if levels == 1 else AguMode.THREE_D
        for turn in product(*map(range, (3, *reversed(sizes)))):
            offset = sum(i * step for i, step in zip(turn, reversed(steps), strict=True))
            board.expect((start + offset) % (1 << 20), f"sizes {sizes}, steps {steps}, turn {turn}")
            dut.i__payload.value = pack(agu_request(CONFIG), {"mode": mode.value} | registers)
            await pipeline.step()
            found = unpack(agu_result(CONFIG), resolved(dut.o__payload))
            board.got(found.address)
            registers |= {name: found[name] for name in ("p", "dc", "dc2")}
