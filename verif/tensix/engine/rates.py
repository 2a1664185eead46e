"""Timed runs for the bench of the Tensix engine, and whole matmuls compared with golden."""

from dataclasses import replace

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import Fidelity, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matmul.matmul import Program
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.engine_host import source_of
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.engine.lowering import lower, memory_words, result_words
from bitpath.verif.tensix.engine.model import Product
from bitpath.verif.tensix.engine.pace import BEGIN, DRAIN, PaceOfProducts, load_cycles, product_cycles
from bitpath.verif.tensix.engine.programs import as_it_is, slots
from bitpath.verif.tensix.engine.session import Session
from bitpath.verif.tensix.engine.tiles import CONVERSIONS, random_tile
from bitpath.verif.tensix.unpack.unpack import Conversion

PACED = 4
"""Number of products in a timed run."""
BY_L1_FORMAT = [(style, each) for style in Style for each in CONVERSIONS[style] if style is not Style.TF32]
"""Style and conversion of every L1 format that goes to a source."""
L1_FORMATS = list(dict.fromkeys(each.l1_format.name for _, each in BY_L1_FORMAT))

MATMULS = {
    "tf32": (Fidelity.HIFI2, True, (40, 150, 33)),
    "bfp8": (Fidelity.LOFI, True, (33, 520, 20)),
    "int8": (Fidelity.HIFI4, True, (20, 64, 140)),
    "fp16": (Fidelity.HIFI3, False, (33, 96, 70)),
}
"""Fidelity, width of Dst, and M, K, N: only K is a multiple of 32."""


def random_matmul(fmt: str, numerics: TensixNumerics) -> Program:
    """Return the program of random matrices of `MATMULS`."""
    fidelity, dst32, (m, k, n) = MATMULS[fmt]
    source = source_of("matrices")
    a, b = (source.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    if fmt == "int8":
        a, b = (np.clip(matrix * 40, -127, 127).astype(np.int32) for matrix in (a, b))
    return tensix.matmul_program(a, b, fmt=fmt, fidelity=fidelity, dst32=dst32, numerics=numerics)


def blocked_matmul(numerics: TensixNumerics) -> Program:
    """Return the program of random matrices in blocks of 2x2 output tiles, whose results are packed to BF16."""
    source = source_of("matrices")
    a, b = (source.standard_normal((64, 64), dtype=np.float32) for _ in range(2))
    packing = tensix.Packing(result=Format.BF16)
    return tensix.matmul_program(a, b, fmt="bfp4", fidelity="LoFi", numerics=numerics, block=(2, 2), packing=packing)


async def paced_products(session: Session, conversion: Conversion, fidelity: Fidelity) -> None:
    """Run products of every kind of `PaceOfProducts` and assert their cycles."""
    source, config = source_of("operands"), session.config
    cycles = PaceOfProducts(config.unit.passes, fidelity, conversion.l1_format, Format.BF16)
    for case in cycles.cases(PACED):
        products = []
        for index in range(PACED):
            stored = case.stores == "all" or (case.stores == "last" and index == PACED - 1)
            products.append(
                Product(
                    left=random_tile(source, conversion),
                    right=random_tile(source, conversion),
                    style=Style.BF16,
                    fidelity=fidelity,
                    dst32=False,
                    dst_tile=index % 2 * case.alternates,
                    clear=case.clears or index == 0,
                    store=as_it_is(Style.BF16, slots(config)[0], dst32=False) if stored else None,
                )
            )
        busy = await _busy(session, *products)
        assert busy == case.cycles, f"{PACED} products, {case}: busy for {busy} cycles"
    await session.compare()


async def timed_loads(session: Session, coverage: Coverage) -> None:
    """Load a tile of every L1 format beside one of another format, then alone, and assert the cycles of both."""
    source, config = source_of("operands"), session.config
    computes = product_cycles(config.unit.passes, Fidelity.LOFI)
    for style, conversion in BY_L1_FORMAT:
        other = CONVERSIONS[style][source.integers(len(CONVERSIONS[style]))]
        left, *right = (random_tile(source, each) for each in (other, conversion, conversion, conversion))
        # The left tile is kept, so that the second product waits for one load.
        both = Product(left=left, right=right[0], style=style, keep_left=True)
        alone = replace(both, right=right[1], clear=False)
        for name, each, formats in (
            ("two", both, (other.l1_format, conversion.l1_format)),
            ("alone", alone, (conversion.l1_format,)),
        ):
            busy = await _busy(session, each)
            expected = BEGIN + load_cycles(*formats) + computes + DRAIN
            assert busy == expected, f"{name}, {conversion.bin} beside {other.bin}: {busy} cycles, not {expected}"
            coverage.hit(name, conversion.l1_format.name)
        store = as_it_is(style, slots(config)[0], dst32=True)
        await session.queue(replace(alone, right=right[2], keep_left=False, store=store))
        await session.flush()


async def _busy(session: Session, *products: Product) -> int:
    """Run products; return the cycles for which they keep the engine busy."""
    before = resolved(session.dut.busy_cycles)
    for each in products:
        await session.queue(each)
    await session.player.play([session.take_segment()])
    return resolved(session.dut.busy_cycles) - before


async def compare_matmul(session: Session, program: Program) -> int:
    """Run a program and compare its stored tiles with golden's; return the number of segments."""
    config = session.config
    numerics = config.unit.numerics
    tiles = tensix.packed_tiles(program, tensix.run_program(program, numerics=numerics))
    segments = list(lower(config, program))
    async for row, column, got in session.player.output_tiles(segments, result_words(program)):
        image = tiles[row, column].view(np.uint8).reshape(-1)
        for place, (right, real) in enumerate(zip(memory_words(image), memory_words(got), strict=True)):
            session.board.expect(right, f"tile {row}, {column}, word {place}")
            session.board.got(real)
    return len(segments)
