"""Programs for the bench of the tensor engine that fill a tile's queues, its chain and the banks it writes."""

from collections.abc import Iterator
from random import Random

import ml_dtypes
import numpy as np

from bitpath.golden.formats.catalogue import E2M1
from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.trainium3.engine.tensor_engine import IN_FLIGHT, QUEUE_DEPTH
from bitpath.verif.kit.coverage import cross
from bitpath.verif.trainium3.dot.quad_mx import word_formats
from bitpath.verif.trainium3.engine.programs import FP32_TYPE, Load, Pass

TABLE_TYPES = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
"""Format of an FP4 map's codes, indexed by code_format."""
FLAGS = [
    first | last
    for first in (AccumulateFlag(0), AccumulateFlag.FIRST_OVERWRITE, AccumulateFlag.FIRST_ACCUMULATE)
    for last in (AccumulateFlag(0), AccumulateFlag.LAST)
]
"""All flags of an instruction."""
KINDS = ("subnormal", "infinity", "NaN", "finite")
"""Kinds of results."""
WRITES = ("fp32", "bf16 rne", "bf16 sr")
"""Format and rounding of a destination."""
LOADS = 2 * QUEUE_DEPTH
LONG = 4 * QUEUE_DEPTH
"""Minimum number of words of a pass that fills the queues."""
SHORT = 2 * IN_FLIGHT
"""Passes of one word in a row: more than may be in flight."""
MOST_PLACES = 256
"""Maximum number of places written in a bank; a large bank would take minutes."""


def table_types(config: EngineConfig) -> tuple[type, ...]:
    """Formats of an FP4 map's codes that the PEs have."""
    return TABLE_TYPES[: len(config.array.dot.numerics.element_formats)]


def random_table(code_format: int, rng: Random) -> dict[str, object]:
    """An FP4 map of any finite codes of a format: fields of a MapTable."""
    codes = np.arange(256, dtype=np.uint8)
    finite = codes[np.isfinite(codes.view(TABLE_TYPES[code_format]).astype(np.float32))].tolist()
    return {"codes": rng.choices(finite, k=1 << E2M1.width), "code_format": code_format}


def filled_places(config: EngineConfig) -> int:
    """Words that one pass may fill at the start of each bank."""
    return min(config.psum_bank_depth, config.array.operand_depth, MOST_PLACES)


def filling_program(config: EngineConfig, group: int, rng: Random) -> list[Load | Pass]:
    """Program of one tile that fills every queue and memory.

    It has more passes into each bank than may be in flight behind a long one, and more loads than may queue. A chain as
    long as its memory waits for other passes, and one pass fills a bank.
    """
    program: list[Load | Pass] = []
    most = filled_places(config)
    part = min(config.chain_depth, most)
    for bank in range(config.psum_banks):
        program += [_load(config, group, rng) for _ in range(LOADS)]
        program += [_pass(config, group, rng, count, bank=bank) for count in (rng.randint(LONG, most), *[1] * SHORT)]
    program += [
        _load(config, group, rng),
        _pass(config, group, rng, config.chain_depth, chain_out=True),
        _load(config, group, rng),
        _pass(config, group, rng, LONG),
        *[_pass(config, group, rng, part, chain_in=True) for _ in range(config.chain_depth // part)],
        _load(config, group, rng),
        _pass(config, group, rng, most),
    ]
    return program


def _load(config: EngineConfig, group: int, rng: Random) -> Load:
    array = config.array
    address = rng.randrange(array.operand_depth - array.cols + 1)
    return Load(group=group, address=address, format=rng.choice(word_formats(array.dot.numerics)))


def _pass(
    config: EngineConfig,
    group: int,
    rng: Random,
    count: int,
    *,
    bank: int | None = None,
    chain_in: bool = False,
    chain_out: bool = False,
) -> Pass:
    bf16 = rng.random() < 0.6
    return Pass(
        group=group,
        address=rng.randrange(config.array.operand_depth - count + 1),
        format=rng.choice(word_formats(config.array.dot.numerics)),
        count=count,
        chain_in=chain_in,
        chain_out=chain_out,
        bank=rng.randrange(config.psum_banks) if bank is None else bank,
        index=0 if chain_out else rng.randrange(filled_places(config) - count + 1),
        flag=rng.choice(FLAGS),
        bf16=bf16,
        stochastic=bf16 and rng.random() < 0.6,
    )


def filling_bins(config: EngineConfig) -> list[str]:
    """Bins that the programs of all tiles hit together."""
    groups = range(config.array.groups)
    return [
        *cross(("map",), (each.__name__ for each in table_types(config)), ("stationary", "moving")),
        *cross(("bank",), groups, range(config.psum_banks)),
        *cross(("written",), groups, WRITES),
        *cross(("changed to",), KINDS),
    ]


def kinds_of(codes: np.ndarray) -> Iterator[tuple[str, str]]:
    """Bins of the kinds of results that there are among FP32 codes."""
    values = codes.view(FP32_TYPE)
    tiny = (values != 0) & (np.abs(values) < np.finfo(FP32_TYPE).tiny)
    for kind, found in zip(KINDS, (tiny, np.isinf(values), np.isnan(values), np.isfinite(values)), strict=True):
        if found.any():
            yield "changed to", kind


def bins_of(program: list[Load | Pass], code_format: int) -> Iterator[tuple[object, ...]]:
    """Bins of PSUM contents: group, bank and mode of each write, and side and format of each FP4 map used."""
    stationary = None
    for each in program:
        if isinstance(each, Load):
            stationary = each.format
            continue
        for side, fmt in (("stationary", stationary), ("moving", each.format)):
            if fmt is ElementFormat.E2M1:
                yield "map", TABLE_TYPES[code_format].__name__, side
        if not each.chain_out:
            yield "bank", each.group, each.bank
            yield "written", each.group, WRITES[each.bf16 * (1 + each.stochastic)]
