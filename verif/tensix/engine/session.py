"""Driver of the Tensix engine and comparison of its result memory with golden, for its benches."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np
from amaranth.lib import data

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    DST16_ROWS,
    DST32_ROWS,
    EXPONENT5_FORMATS,
    FACE,
    STYLE_FORMATS,
    STYLE_OWN_FORMAT,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.engine.command import TILE_ROWS, WORD_BYTES, TensixEngineConfig, command_layout
from bitpath.rtl.tensix.engine.tensix_engine import EngineMemory
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.pack.layouts import PackControl
from bitpath.rtl.tensix.unpack.layouts import UnpackControl
from bitpath.verif.kit.engine_host import EngineSession, FirstFault
from bitpath.verif.kit.player import Segment
from bitpath.verif.kit.unit_bench import Bench, pack
from bitpath.verif.tensix.engine.lowering import host_writes, memory_words
from bitpath.verif.tensix.engine.model import (
    SIDES,
    EngineModel,
    Product,
    Source,
    command_bits,
    command_fields,
    store_words,
)
from bitpath.verif.tensix.pack.pack import ALL_COLUMNS, Packing

# Commands that the engine refuses: why, by golden's conversions, and every code of the fields that have illegal ones.


Fields = dict[str, Any]
FORMAT_CODES = range(16)
REGISTERS = {"left": "b", "right": "a"}
"""Source of each side."""
LOADED = tuple(fmt for fmt in Format if fmt not in (Format.FP32, Format.INT32, Format.INT16, Format.INT8))
"""Formats that a tile has in memory and in a source, and that the packer makes of BF16."""
STORES = 4
"""Draws of flags and numbers for each pair of the packer's codes."""
TRIES = 1000
"""Draws of a command that is to be refused for a wanted reason; some states of the banks allow all moves."""
WORDS32 = (Format.FP32, Format.INT32)
"""Register formats of 32 bits, which the sources do not hold."""
PACK_BITS = {name: field.width for name, field in PackControl.as_shape()}
"""Widths of the packer's fields."""
STYLES = {StyleCode.of(style).value: style for style in Style}
IMAGE = np.zeros(FACE * COLUMNS * 4 * 4 + TILE_ROWS, np.uint8)
"""Bytes of the largest tile."""


def fault_of(config: TensixEngineConfig, fields: Fields, sources: Mapping[str, Source]) -> Fault:
    """Return why a command with these fields is refused behind the tiles of both sides."""
    numerics, store = config.unit.numerics, fields["store"]
    style, dst32 = STYLES[fields["style"]], bool(store["control"]["dst32"])
    loads = [fields[side] for side in SIDES if sources[side].loads]
    codes = tuple(fields[side]["control"]["register_format"] for side in SIDES)
    packing = Packing(
        **{name: bool(value) if PACK_BITS[name] == 1 else value for name, value in store["control"].items()}
    )
    if not (
        all(_unpacks(numerics, **load["control"]) for load in loads)
        and _multiplies(style, dst32, *codes)
        and not (fields["stores"] and not _packs(numerics, packing, style, bool(store["fp16"])))
    ):
        return Fault.FORMAT
    ends = [load["address"] + _words(load["control"]["l1_format"]) > config.operand_depth for load in loads]
    if fields["stores"]:
        ends.append(store["address"] + _words(packing.out_format) > config.result_depth)
    if any(ends) or (dst32 and store["dst_tile"] >= DST32_ROWS // TILE_ROWS):
        return Fault.RANGE
    moves = {side: [bool(fields[f"{kind}_{REGISTERS[side]}"]) for kind in ("release", "flip")] for side in SIDES}
    return Fault.NONE if all(sources[side].allows(*moves[side]) for side in SIDES) else Fault.BANK


@cache
def _unpacks(numerics: TensixNumerics, **control: int) -> bool:
    """Return whether golden unpacks a tile so to words of a source."""
    if control["to_dst"] or control["register_format"] in WORDS32:
        return False
    options = {name: bool(control[name]) for name in ("unsigned", "e4m3")}
    try:
        tensix.unpack(IMAGE, control["l1_format"], control["register_format"], numerics=numerics, **options)
    except ValueError:
        return False
    return True


@cache
def _multiplies(style: Style, dst32: bool, left: int, right: int) -> bool:
    """Return whether golden multiplies tiles of these formats."""
    dst, src_b, src_a = (np.zeros((rows, COLUMNS), np.uint32) for rows in (BLOCK_ROWS, BLOCK_ROWS, FACE))
    try:
        tensix.mvmul(dst, src_b, src_a, style=style, dst32=dst32, phase=0, srcb_format=left, srca_format=right)
    except ValueError:
        return False
    return True


def _packs(numerics: TensixNumerics, packing: Packing, style: Style, fp16: bool) -> bool:
    """Return whether golden packs a tile so, whose 16-bit words have the style's format."""
    short = packing.mid_format in EXPONENT5_FORMATS and not packing.narrows
    if not packing.dst32 and not short == fp16 == (style is Style.FP16):
        return False
    threshold = packing.relu_threshold if packing.relu > 1 else 0
    try:
        tensix.pack(
            np.zeros(COLUMNS, np.uint32),
            **packing.arguments | {"relu_threshold": threshold},
            edge_mask=ALL_COLUMNS,
            l1=IMAGE if packing.accumulate else None,
            numerics=numerics,
        )
    except ValueError:
        return False
    return True


def _words(code: int) -> int:
    """Return the words of a tile in memory."""
    return store_words(Packing(Format(code), Format(code), False))


def random_fields(config: TensixEngineConfig, rng: Random, style: Style | None = None) -> Fields:
    """Return a command of a style's own format, with any bits in the fields of banks and phases, that stores 32 bits of Dst."""
    layout = command_layout(config)
    fields: Fields = {name: rng.getrandbits(field.width) for name, field in layout if field.width <= 2}
    style = rng.choice([*Style]) if style is None else style
    fields["style"] = StyleCode.of(style).value
    fmt = STYLE_OWN_FORMAT[style]
    for side in SIDES:
        fields[side] = {
            "address": rng.randrange(config.operand_depth // 2),
            "control": dict.fromkeys(UnpackControl.as_shape().members, 0) | {"l1_format": fmt, "register_format": fmt},
        }
    middle = Format.INT32 if style is Style.INT8 else Format.FP32
    control = dict.fromkeys(PackControl.as_shape().members, 0) | {
        "mid_format": middle,
        "out_format": middle,
        "dst32": 1,
    }
    store = {"address": rng.randrange(config.result_depth - TILE_ROWS), "control": control}
    return fields | {"store": store | {"dst_tile": rng.randrange(8), "fp16": rng.getrandbits(1)}}


def every_load(config: TensixEngineConfig, rng: Random) -> Iterator[Fields]:
    """Yield each pair of codes in memory and register with each flag, on both sides."""
    for side, l1_format, register_format, flags in product(SIDES, FORMAT_CODES, FORMAT_CODES, range(8)):
        fields = _of_style(config, rng, register_format)
        control = dict(zip(("unsigned", "e4m3", "to_dst"), map(int, f"{flags:03b}"), strict=True))
        fields[side]["control"] = control | {"l1_format": l1_format, "register_format": register_format}
        yield fields


def every_style(config: TensixEngineConfig, rng: Random) -> Iterator[Fields]:
    """Yield each style with each pair of codes of the registers and each width of Dst, without a store."""
    for style, left, right, dst32 in product(STYLES, FORMAT_CODES, FORMAT_CODES, range(2)):
        fields = random_fields(config, rng) | {"style": style, "stores": 0}
        fields["store"]["control"]["dst32"] = dst32
        for side, code in zip(SIDES, (left, right), strict=True):
            fields[side]["control"]["register_format"] = code
        yield fields


def every_store(config: TensixEngineConfig, rng: Random) -> Iterator[Fields]:
    """Yield each pair of codes of the packer from each width of Dst, rounded and raw, with random flags; in the middle format's style."""
    for middle, out, dst32, raw, _ in product(FORMAT_CODES, FORMAT_CODES, range(2), range(2), range(STORES)):
        short = middle in EXPONENT5_FORMATS
        fields = _of_style(config, rng, Format.FP16 if short else Format.BF16) | {"stores": 1}
        control = fields["store"]["control"] | {"mid_format": middle, "out_format": out, "dst32": dst32, "raw": raw}
        fields["store"] |= {"control": control | _some_flags(rng), "fp16": short ^ (rng.random() < 0.1)}
        yield fields


def every_end(config: TensixEngineConfig, rng: Random) -> Iterator[Fields]:
    """Yield tiles of each format that end a word before, at, and a word behind the end of a memory; each tile of Dst in each width."""
    for fmt, beyond in product(LOADED, (-1, 0, 1)):
        for side in SIDES:
            fields = _of_style(config, rng, fmt)
            fields[side]["control"] |= {"l1_format": fmt, "register_format": fmt}
            yield fields | {side: fields[side] | {"address": config.operand_depth - _words(fmt) + beyond}}
        fields = random_fields(config, rng, Style.BF16) | {"stores": 1}
        fields["store"]["control"] |= {"mid_format": Format.BF16, "out_format": fmt}
        yield fields | {"store": fields["store"] | {"address": config.result_depth - _words(fmt) + beyond}}
    for tile, dst32 in product(range(DST16_ROWS // TILE_ROWS), range(2)):
        fields = _of_style(config, rng, Format.BF16) | {"stores": 0}
        fields["store"] |= {"dst_tile": tile, "control": fields["store"]["control"] | {"dst32": dst32}}
        yield fields


def every_number(config: TensixEngineConfig, rng: Random) -> Iterator[Fields]:
    """Yield each flag and number of the packer alone, with each middle format to itself and to floats."""
    outs = (None, Format.FP32, Format.BF16, Format.FP16, Format.FP8)
    names = [name for name in PACK_BITS if name not in ("mid_format", "out_format", "dst32", "raw")]
    for middle, out, dst32, raw, name in product(Format, outs, range(2), range(2), names):
        short = middle in EXPONENT5_FORMATS
        fields = _of_style(config, rng, Format.FP16 if short else Format.BF16) | {"stores": 1}
        control = fields["store"]["control"] | {"mid_format": middle, "out_format": middle if out is None else out}
        control |= {"dst32": dst32, "raw": raw, name: 1 + rng.randrange((1 << PACK_BITS[name]) - 1)}
        if name == "relu_threshold":
            control["relu"] = rng.choice((2, 3))  # the other modes have none
        fields["store"] |= {"control": control, "fp16": int(short)}
        yield fields


def _some_flags(rng: Random) -> Fields:
    """Return flags and numbers of the packer; at most two are not 0."""
    names = [name for name in PACK_BITS if name not in ("mid_format", "out_format", "dst32", "raw")]
    chosen = rng.sample(names, rng.choice((0, 1, 1, 2)))
    return {name: rng.getrandbits(PACK_BITS[name]) if name in chosen else 0 for name in names}


def _of_style(config: TensixEngineConfig, rng: Random, code: int) -> Fields:
    """Return a command whose style and sides take a register format, if any style does."""
    styles = [style for style in Style if code in STYLE_FORMATS[style]]
    style = rng.choice(styles or [*Style])
    return random_fields(config, rng, style)


def refused_like(
    config: TensixEngineConfig, fields: Fields, sources: Mapping[str, Source], rng: Random, wanted: Fault
) -> Fields:
    """Return a command with a few random fields that the engine refuses, for a wanted reason unless that takes too long."""
    layout = command_layout(config)
    tries = 0
    while True:
        found = _redrawn(layout, fields, rng)
        fault, tries = fault_of(config, found, sources), tries + 1
        if fault is wanted or (fault is not Fault.NONE and tries > TRIES):
            return found


def _redrawn(layout: Any, fields: Fields, rng: Random) -> Fields:
    """Return fields of a layout; one in eight has random bits."""
    found = {}
    for name, field in layout:
        shape = field.shape
        inner = shape.as_shape() if isinstance(shape, type) and issubclass(shape, data.Struct) else shape
        if isinstance(inner, data.StructLayout):
            found[name] = _redrawn(inner, fields.get(name, {}), rng)
        else:
            found[name] = rng.getrandbits(field.width) if rng.random() < 1 / 8 else int(fields.get(name, 0))
    return found


SIDE_MEMORIES = {"left": EngineMemory.LEFT, "right": EngineMemory.RIGHT}


class Session(EngineSession):
    """A session with the Tensix engine.

    Attributes
    ----------
    results : the result memory, uint8.
    sources : golden's banks of each side.
    """

    def __init__(self, frame: Bench, config: TensixEngineConfig, **how: Any):
        super().__init__(frame, config, **how)
        self.results = self._junk.integers(0, 256, config.result_depth * WORD_BYTES, dtype=np.uint8)
        self.model = EngineModel(config, self.results)
        self.sources = {side: Source() for side in SIDES}
        self._next = dict.fromkeys(SIDES, 0)
        self.products = 0

    async def preset(self) -> None:
        """Write the contents of `results` to the result memory."""
        writes = host_writes(self.config, EngineMemory.RESULT, 0, memory_words(self.results))
        await self.player.play([Segment(writes=writes)])

    def contents(self) -> np.ndarray:
        """Return a copy of the result memory after all queued products, uint8."""
        return self.results.copy()

    async def begin_on(self, results: np.ndarray) -> None:
        """Start after a reset, with these contents of the result memory, uint8."""
        self.results[:] = results
        self.forget()

    async def queue(self, product: Product) -> None:
        """Place the tiles and queue the command; run the queue first if there is no room."""
        images = {
            side: memory_words(getattr(product, side).image) for side, source in self.sources.items() if source.loads
        }
        if any(self._next[side] + len(words) > self.config.operand_depth for side, words in images.items()):
            await self.flush()
        addresses: dict[str, int | None] = dict.fromkeys(SIDE_MEMORIES)
        for side, words in images.items():
            addresses[side] = self._next[side]
            self._segment.writes += host_writes(self.config, SIDE_MEMORIES[side], self._next[side], words)
            self._next[side] += len(words)
            self.sources[side].load(None)
        self.model.execute(product)
        self.products += 1
        self.faults.taken += 1
        for side, source in self.sources.items():
            source.banks.move(*product.move(side))
        self._segment.commands.append(command_bits(self.config, product, addresses, self._junk))

    def queue_refused(self, like: Product, rng: Random, wanted: Fault) -> Fault:
        """Queue a command that the engine refuses, in a few fields unlike a product; return its fault, mostly the wanted one."""
        fields = command_fields(self.config, like, self._next, self._junk)
        fields = refused_like(self.config, fields, self.sources, rng, wanted)
        fault = fault_of(self.config, fields, self.sources)
        self.refuse(fault, pack(command_layout(self.config), fields))
        return fault

    def take_segment(self) -> Segment:
        """Return the queued products for a test that drives them itself."""
        segment, self._segment = self._segment, Segment()
        self._next = dict.fromkeys(SIDE_MEMORIES, 0)
        return segment

    def forget(self) -> None:
        """Model a reset: Dst and kept tiles are lost, memories are kept."""
        self.model = EngineModel(self.config, self.results)
        self.take_segment()
        self.sources = {side: Source() for side in SIDE_MEMORIES}
        self.products = 0
        self.faults = FirstFault()
