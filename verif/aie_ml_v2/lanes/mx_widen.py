"""Cases of the conversion from MX to FP32, with golden's results."""

from functools import partial
from itertools import cycle, islice, product
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_FORMATS, MX_PAIRS, MxFormat
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import MxCode
from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, mx_elements, mx_request
from bitpath.rtl.aie_ml_v2.lanes.mx_widen import MxWiden
from bitpath.verif.aie_ml_v2.lanes.bench import Case, Cases
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack

EXPONENTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 85, 127, 170, 250, 251, 252, 253, 254, 255)
"""Exponents of the directed cases: those at which a code of some format underflows or overflows, and a few more."""
CLASSES = ("zero", "-zero", "number", "-number", "infinity", "-infinity", "nan")


def class_of(code: int) -> str:
    """Return the class of an FP32 code, with its sign."""
    magnitude = code & ~FP32.sign_mask
    if magnitude > FP32.infinity_code:
        return "nan"
    kind = "zero" if not magnitude else "infinity" if magnitude == FP32.infinity_code else "number"
    return f"-{kind}" if code & FP32.sign_mask else kind


class MxCases(Cases):
    """Cases of the unit.

    Parameters
    ----------
    config : number of blocks, numerics.
    """

    latency = 1

    def __init__(self, config: MxWidenConfig):
        self.unit, self.config = MxWiden(config), config
        seen = [name for name in CLASSES if name != ("infinity" if config.numerics.mx_nan_block else "nan")]
        self.bins = tuple(f"{name}/{each}" for name, each in product(MX_FORMATS, seen))
        self.kinds = tuple(MX_FORMATS)
        self._request, self._result = mx_request(config.blocks), mx_elements(config.blocks)

    def cases(
        self,
        fmt: MxFormat,
        exponent: np.ndarray,
        shift: np.ndarray,
        codes: np.ndarray,
        results: np.ndarray | None = None,
    ) -> list[Case]:
        """Return cases of blocks: uint8 [n, blocks] twice, int8 [n, blocks, 16], and FP32 codes or None for golden's."""
        if results is None:
            blocks = aie.MxBlocks(fmt, exponent, shift, codes)
            results = aie.from_mx(blocks, numerics=self.config.numerics).view(np.uint32)
        rows = zip(exponent.tolist(), shift.tolist(), codes.tolist(), results.tolist(), strict=True)
        return [self._case(fmt, *row) for row in rows]

    def _case(self, fmt: MxFormat, exponent: list[int], shift: list[int], codes: list, results: list[int]) -> Case:
        rows = zip(exponent, shift, codes, strict=True)
        blocks = [dict(zip(("exponent", "shift", "codes"), row, strict=True)) for row in rows]
        return Case(
            pack(self._request, {"blocks": blocks, "block_format": MxCode.of(fmt)}),
            pack(self._result, results),
            partial(self._shown, fmt, blocks),
            (fmt.name, *{f"{fmt.name}/{class_of(code)}" for code in results}),
        )

    @staticmethod
    def _shown(fmt: MxFormat, blocks: list[dict], path: str) -> Shown:
        """Return the block of the element that differs."""
        block = blocks[int(path or 0) // MX_BLOCK]
        return Shown(
            operands={"format": fmt.name, **{name: str(value) for name, value in block.items()}}, formats={"": FP32}
        )

    def directed(self, rng: Random) -> list[Case]:
        """Every code with either shift bit and each of the exponents; neighbouring pairs have opposite shift bits."""
        cases = []
        for fmt in MX_FORMATS.values():
            every = [*range(fmt.min_code, fmt.max_code + 1)]
            whole = -(-len(every) // MX_BLOCK)
            codes = np.array([*islice(cycle(every), whole * MX_BLOCK)], np.int8).reshape(whole, MX_BLOCK)
            rows = [(e, s, row) for e, s in product(EXPONENTS, (0x55, 0xAA)) for row in codes]
            rows += rows[: -len(rows) % self.config.blocks]
            exponent, shift, codes = (np.array(each) for each in zip(*rows, strict=True))
            shape = (-1, self.config.blocks)
            cases += self.cases(
                fmt,
                exponent.astype(np.uint8).reshape(shape),
                shift.astype(np.uint8).reshape(shape),
                codes.reshape(*shape, MX_BLOCK),
            )
        return cases

    def random(self, rng: Random, count: int) -> list[Case]:
        return [case for fmt in islice(cycle(MX_FORMATS.values()), count) for case in self._any(rng, fmt)]

    def _any(self, rng: Random, fmt: MxFormat) -> list[Case]:
        count = self.config.blocks
        exponent = [rng.choice((rng.getrandbits(8), rng.choice(EXPONENTS))) for _ in range(count)]
        shift = [rng.getrandbits(MX_PAIRS) for _ in range(count)]
        codes = [[rng.randint(fmt.min_code, fmt.max_code) for _ in range(MX_BLOCK)] for _ in range(count)]
        return self.cases(fmt, np.array([exponent], np.uint8), np.array([shift], np.uint8), np.array([codes], np.int8))
