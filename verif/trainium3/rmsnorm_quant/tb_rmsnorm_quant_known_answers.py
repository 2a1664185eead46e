"""Known answers of the vendor kernel's instruction sequence through the RTL row unit.

``BITPATH_KAT_DIR`` is the folder that holds them; cases whose rows fit the row memory are played. Bytes that the RTL gives
are compared with the archive's, not with golden.
"""

import os
from functools import partial
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import Timer

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP16
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig
from bitpath.rtl.trainium3.rmsnorm_quant.rmsnorm_quant import RmsNormQuant
from bitpath.verif.kit.bench import PERIOD_NS, bench, config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows, beats, lower

CONFIG = config_from_environment(RmsNormQuantConfig)
POLL_CYCLES = 256
"""Between looks at what is left: a row's passes take longer than a bench waits for a result by itself."""
SOURCES = {"bfloat16": DTYPES[BF16], "float16": DTYPES[FP16]}


def cases() -> list[tuple[Rows, np.ndarray]]:
    """The archive's cases of rows that fit, with the bytes of the serial row sum."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_rmsnorm_quant.npz") as archive:
        answers = dict(archive)
    found = []
    for meta in answers["meta"]:
        if meta["H"] > CONFIG.max_row_length:
            continue
        name, dtype = f"r{meta['id']:03}", SOURCES[str(meta["dtype"])]
        static = str(meta["qtype"]) == "STATIC"
        hidden, gamma = (answers[f"{name}_{each}_bits"].view(dtype) for each in ("hidden", "gamma"))
        options = Options(
            quant_type=str(meta["qtype"]).lower(),
            quant_only=bool(meta["quant_only"]),
            lower_bound=float(meta["lower_bound"]),
        )
        rows = Rows(
            hidden=hidden.reshape(-1, meta["H"]),
            gamma=None if options.quant_only else gamma,
            in_scale=answers[f"{name}_in_scale"] if static else None,
            options=options,
        )
        found.append((rows, answers[f"{name}_kernel_bytes"].reshape(len(rows.hidden), -1)))
    return found


@covers("rmsnorm_quant.lengths")
@covers("rmsnorm_quant.known_answers", "They come from neither golden nor RTL")
@cocotb.test(timeout_time=100, timeout_unit="ms")
async def kernel_bytes(dut):
    """Nine BF16 cases and one of FP16 from the vendor kernel's instruction sequence: 440,344 bytes."""
    async with bench(dut, RmsNormQuant(CONFIG).signature, drain=False) as frame:
        streams = {name: frame.driver(name) for name in ("command", "hidden", "gamma")}
        board = frame.scoreboard("o", frame.payload_shape("o"))
        masks: list[int] = []
        taken = iter(masks)
        frame.monitor("o", lambda payload: board.got(payload & next(taken)))
        for rows, expected in cases():
            for batch in lower(CONFIG, rows):
                streams["command"].send_bits(batch.command)
                for name in ("hidden", "gamma"):
                    for bits in getattr(batch, name):
                        streams[name].send_bits(bits)
                own = np.zeros((CONFIG.lanes, rows.row_bytes), np.uint8)
                own[: batch.count] = expected[batch.first : batch.first + batch.count]
                # The last flag stands above all lanes.
                mask = (1 << 8 * batch.count) - 1 | 1 << 8 * CONFIG.lanes
                masks += [mask] * rows.row_bytes
                for index, payload in enumerate(beats(CONFIG, own)):
                    board.expect(payload, partial(rows.shown, index, first=batch.first))
        while board.pending:
            await Timer(POLL_CYCLES * PERIOD_NS, unit="ns")
        # A surplus byte fails in the scoreboard.
        await Timer(POLL_CYCLES * PERIOD_NS, unit="ns")
