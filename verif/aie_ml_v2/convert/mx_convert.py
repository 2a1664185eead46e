"""Requests for the conversion to blocks, with golden's results."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import BlockLayouts, Blocks, MxCode
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import array_bits, pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import Integer, Word, code_text, codes_text


def layouts_of(fmt: MxFormat) -> BlockLayouts:
    """Return the layouts of the streams that carry blocks of a format."""
    return (Blocks.MX if fmt.has_shifts else Blocks.BFP16EBS8).layouts


@dataclass(frozen=True)
class Conversion:
    """One request: the FP32 codes of a block, its format and the rounding code."""

    lanes: tuple[int, ...]
    fmt: MxFormat
    rounding: RoundingCode

    @property
    def bin(self) -> str:
        return f"{self.fmt.name}/{self.rounding.name}"

    @property
    def payload(self) -> int:
        """Return the request's payload."""
        layouts = layouts_of(self.fmt)
        choice = {"block_format": MxCode.of(self.fmt).value} if len(layouts.formats) > 1 else {}
        control = pack(layouts.control, choice | {"rounding": self.rounding.value})
        return pack(layouts.request, {"lanes": array_bits(np.array(self.lanes, np.uint32)), "control": control})

    def shown(self, path: str) -> Shown:
        """Return the lane that differs and the largest one, or all of a block whose exponent, shifts or image do."""
        lane = int(path.rpartition(".")[2]) if path.startswith("block.codes.") else None
        finite = [code for code in self.lanes if code & ~FP32.sign_mask <= FP32.max_code]
        largest = max(finite, key=lambda code: code & ~FP32.sign_mask, default=None)
        operands = {
            "control": f"{self.fmt.name}, {self.rounding.name}",
            "lanes" if lane is None else "lane": codes_text(FP32, self.lanes if lane is None else [self.lanes[lane]]),
            "largest": "none is finite" if largest is None else code_text(FP32, largest),
        }
        return Shown(operands=operands, formats={"block.codes": Integer(8), "image": Word(8)})


@dataclass(frozen=True)
class Converted:
    """A block, and its bytes in memory; those of bfp16ebs8, whose tiles hold eight, are empty."""

    fmt: MxFormat
    exponent: int
    shift: int
    codes: tuple[int, ...]
    image: bytes

    @property
    def bits(self) -> int:
        """Return the result's payload."""
        layouts = layouts_of(self.fmt)
        shift = {"shift": self.shift} if layouts.has_shifts else {}
        image = {"image": int.from_bytes(self.image, "little")} if layouts.has_shifts else {}
        codes = array_bits(np.array(self.codes, np.int8))
        block = pack(layouts.block, {"exponent": self.exponent, **shift, "codes": codes})
        return pack(layouts.result, {"block": block, **image})


def results_of(blocks: aie.MxBlocks) -> list[Converted]:
    """Blocks [n, 1] one by one."""
    images = aie.pack_mx(blocks)[:, 0] if blocks.fmt.has_shifts else np.zeros((len(blocks.exponent), 0), np.uint8)
    columns = (blocks.exponent[:, 0].tolist(), blocks.shift[:, 0].tolist(), blocks.codes[:, 0].tolist(), images)
    return [
        Converted(blocks.fmt, exponent, shift, tuple(codes), image.tobytes())
        for exponent, shift, codes, image in zip(*columns, strict=True)
    ]


def expected(requests: Sequence[Conversion], numerics: AieNumerics) -> list[Converted]:
    """Return the expected block of each request; golden converts all with the same control at once."""
    groups: dict[tuple[MxFormat, RoundingCode], list[int]] = defaultdict(list)
    for index, request in enumerate(requests):
        groups[request.fmt, request.rounding].append(index)
    results: dict[int, Converted] = {}
    for (fmt, rounding), indices in groups.items():
        words = np.array([requests[index].lanes for index in indices], np.uint32)
        blocks = aie.to_mx(words.view(np.float32), fmt, rounding=rounding, numerics=numerics)
        results.update(zip(indices, results_of(blocks), strict=True))
    return [results[index] for index in range(len(requests))]


def with_golden(requests: Sequence[Conversion], numerics: AieNumerics) -> list[Request]:
    """Return requests with golden's results."""
    results = expected(requests, numerics)
    return [Request(each.payload, result.bits, each.shown) for each, result in zip(requests, results, strict=True)]


def conversions(blocks: np.ndarray, fmt: MxFormat, rounding: RoundingCode) -> list[Conversion]:
    """Requests of float32 or uint32 [n, elements]."""
    words = blocks.view(np.uint32) if blocks.dtype == np.float32 else blocks
    return [Conversion(tuple(row), fmt, rounding) for row in words.tolist()]
