"""nc_matmul_mx on the tensor engine: operand words, instructions and PSUM places.

An engine has fewer rows, columns and words of memory than the machine. The contraction is cut into passes over the rows,
M into column tiles and N into blocks; none of it changes a bit of the result, because the passes of a contraction are
chained partial sum by partial sum.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from bitpath.golden.arrays.codec import codes_of, format_of
from bitpath.golden.formats.catalogue import E2M1, E4M3FN, E5M2, E8M0, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, SCALE_PARTITIONS, X4
from bitpath.rtl.trainium3.array.systolic_array import Tiling, operand_write_layout, tile_groups
from bitpath.rtl.trainium3.dot.element_map import ElementFormat, OperandWord
from bitpath.rtl.trainium3.engine.instruction import EngineConfig, Opcode, instruction_layout
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.kit.player import Segment

WORD_BYTES = width(OperandWord) // 8
ENGINE_FORMATS = {E4M3FN: ElementFormat.E4M3FN, E5M2: ElementFormat.E5M2, E2M1: ElementFormat.E2M1}


@dataclass(frozen=True, kw_only=True, eq=False)
class PlacedMatmul:
    """One nc_matmul_mx, checked by its golden model, and the PSUM place of its destination.

    Attributes
    ----------
    stationary, moving, stationary_scale, moving_scale, psum_accumulate_flag : as nc_matmul_mx takes them.
    bf16, stochastic : format and rounding of the destination.
    tile_row, tile_rows : the row tile on the machine's 128 rows.
    psum : first place of the destination; place ``psum + t * N + n`` holds row n of column tile t.
    """

    stationary: np.ndarray
    moving: np.ndarray
    stationary_scale: np.ndarray
    moving_scale: np.ndarray
    psum_accumulate_flag: int = 3
    bf16: bool = False
    stochastic: bool = False
    tile_row: int = 0
    tile_rows: int = PARTITIONS
    psum: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.stationary.shape[1], self.moving.shape[1]


def psum_places(config: EngineConfig, shape: tuple[int, int]) -> int:
    """Places that a destination [M, N] takes."""
    return -(-shape[0] // config.array.cols) * shape[1]


def check_fits(config: EngineConfig, partitions: int, shape: tuple[int, int]) -> None:
    """Raise ValueError unless the whole array can execute a matmul of these partitions and M, N from PSUM place 0 on."""
    array = config.array
    places, capacity = psum_places(config, shape), config.psum_banks * config.psum_bank_depth
    if places > capacity:
        raise ValueError(
            f"tensor_engine: {array.rows}x{array.cols} PEs need {places} PSUM places for a result of "
            f"{shape[0]}x{shape[1]} and have {capacity}; more columns or a smaller result would do"
        )
    passes = -(-partitions // array.rows)
    if passes * (array.cols + 1) > array.operand_depth:
        raise ValueError(
            f"tensor_engine: {array.rows}x{array.cols} PEs need {passes * (array.cols + 1)} words of operand memory and "
            f"have {array.operand_depth}; more rows would do"
        )


def lower(config: EngineConfig, matmuls: Sequence[PlacedMatmul]) -> list[Segment]:
    """Segments that execute ``matmuls`` side by side, one in each row tile; a single one may take the whole array.

    Raises
    ------
    ValueError : the engine lacks the row tile, the PSUM places or the operand memory.
    """
    lowered = [list(_Lowering(config, each).segments()) for each in matmuls]
    merged = []
    for parts in zip_longest(*lowered):
        present = [part for part in parts if part is not None]
        # Instructions are dealt in turn, so that the tiles run at the same time.
        dealt = zip_longest(*(part.commands for part in present))
        merged.append(
            Segment(
                [write for part in present for write in part.writes],
                [word for deal in dealt for word in deal if word is not None],
            )
        )
    return merged


def read_address(config: EngineConfig, place: int) -> dict[str, int]:
    """The PSUM address of a place, as fields."""
    bank, index = divmod(place, config.psum_bank_depth)
    return {"bank": bank, "index": index}


def destination(config: EngineConfig, shape: tuple[int, int], words: np.ndarray) -> np.ndarray:
    """The destination [M, N] in uint32 from the words [places, cols] that were read at its places; for times likewise."""
    rows, columns = shape
    tiles = words.reshape(-1, columns, config.array.cols)
    return tiles.transpose(0, 2, 1).reshape(-1, columns)[:rows]


def place_words(config: EngineConfig, content: np.ndarray) -> np.ndarray:
    """The inverse of :func:`destination`: words [places, cols] of a content [M, N]; columns that M lacks are 0."""
    rows, columns = content.shape
    cols = config.array.cols
    padded = np.pad(content, ((0, -rows % cols), (0, 0)))
    return padded.reshape(-1, cols, columns).transpose(0, 2, 1).reshape(-1, cols)


class _Lowering:
    """One matmul on its row tile."""

    def __init__(self, config: EngineConfig, matmul: PlacedMatmul):
        array = config.array
        self.config, self.matmul = config, matmul
        self.tiling = Tiling((PARTITIONS // matmul.tile_rows).bit_length() - 1)
        if not tile_groups(array, self.tiling):
            raise ValueError(
                f"tensor_engine: {array.rows} rows have no tiles of {matmul.tile_rows} in {PARTITIONS} rows"
            )
        self.rows = array.rows >> self.tiling.value
        self.first_row = matmul.tile_row * array.rows // PARTITIONS
        self.group = self.first_row // array.group_rows
        self.passes = -(-matmul.stationary.shape[0] // self.rows)
        self.column_tiles = -(-matmul.shape[0] // array.cols)
        capacity = config.psum_banks * config.psum_bank_depth
        end = matmul.psum + psum_places(config, matmul.shape)
        if end > capacity:
            raise ValueError(f"tensor_engine: the destination ends at PSUM place {end}, there are {capacity}")
        # Rows that the contraction does not fill must leave partial sums as they are, -0 included: -0 * +0 is -0.
        self.stationary = self._words(matmul.stationary, matmul.stationary_scale, array.cols, E4M3FN.sign_mask)
        self.moving = self._words(matmul.moving, matmul.moving_scale, 1, 0)

    def segments(self) -> Iterator[Segment]:
        """Blocks of moving words times chunks of column tiles, each as large as operand memory allows."""
        array, columns = self.config.array, self.matmul.shape[1]
        tile_words = self.passes * array.cols
        block = (array.operand_depth - tile_words) // self.passes
        if self.passes > 1:
            block = min(block, self.config.chain_depth)
        block = min(block, columns)
        if block < 1:
            raise ValueError(
                f"tensor_engine: operand memory of {array.operand_depth} words cannot hold a column tile of {tile_words}"
            )
        chunk = (array.operand_depth - self.passes * block) // tile_words
        for start in range(0, columns, block):
            for tile in range(0, self.column_tiles, chunk):
                tiles = range(tile, min(tile + chunk, self.column_tiles))
                yield self._segment(tiles, start, min(start + block, columns))

    def _segment(self, tiles: range, start: int, stop: int) -> Segment:
        segment = Segment()
        cols = self.config.array.cols
        stationary = self.stationary[:, tiles.start * cols : tiles.stop * cols]
        moving = self.moving[:, start:stop]
        images = np.concatenate([image.reshape(-1, image.shape[-1]) for image in (stationary, moving)])
        segment.writes = self._writes(images)
        moving_base = stationary.shape[0] * stationary.shape[1]
        held = None
        for tile in tiles:
            for first, last in self._bank_cuts(tile, start, stop):
                for index in range(self.passes):
                    if held != (tile, index):
                        address = (index * len(tiles) + tile - tiles.start) * cols
                        segment.commands.append(self._load(address))
                        held = (tile, index)
                    address = moving_base + index * (stop - start) + first - start
                    segment.commands.append(self._multiply(address, tile, first, last, index))
        return segment

    def _bank_cuts(self, tile: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Ranges of moving words whose results stay inside one PSUM bank."""
        depth = self.config.psum_bank_depth
        base = self.matmul.psum + tile * self.matmul.shape[1]
        while start < stop:
            end = min(stop, (base + start) // depth * depth + depth - base)
            yield start, end
            start = end

    def _writes(self, images: Iterable[np.ndarray]) -> list[int]:
        """Payloads that write images to operand memory from its bottom on."""
        # Amaranth works out a field's place each time it is asked.
        layout = operand_write_layout(self.config.array)
        words, place, mask = (layout[name].offset for name in ("words", "address", "groups"))
        groups = ((1 << tile_groups(self.config.array, self.tiling)) - 1 << self.group) << mask
        first = words + 8 * WORD_BYTES * self.first_row
        return [
            int.from_bytes(image.tobytes(), "little") << first | address << place | groups
            for address, image in enumerate(images)
        ]

    def _load(self, address: int) -> int:
        return self._instruction(Opcode.LOAD_STATIONARY, format_of(self.matmul.stationary.dtype), address)

    def _multiply(self, address: int, tile: int, first: int, last: int, index: int) -> int:
        matmul = self.matmul
        chain_out = index < self.passes - 1
        place = matmul.psum + tile * matmul.shape[1] + first
        to = {
            "count": last - first,
            "address": read_address(self.config, place),
            "mode": {"flag": int(matmul.psum_accumulate_flag), "bf16": matmul.bf16, "stochastic": matmul.stochastic},
            "chain_out": chain_out,
        }
        moving_format = format_of(matmul.moving.dtype)
        return self._instruction(Opcode.MULTIPLY_MOVING, moving_format, address, chain_in=index > 0, destination=to)

    def _instruction(self, opcode: Opcode, fmt: FloatFormat, address: int, **fields: object) -> int:
        common = {
            "opcode": opcode,
            "tiling": self.tiling,
            "group": self.group,
            "format": ENGINE_FORMATS[fmt],
            "operand_address": address,
        }
        return pack(instruction_layout(self.config), common | fields)

    def _words(self, elements: np.ndarray, scale: np.ndarray, multiple: int, filler: int) -> np.ndarray:
        """Operand words in bytes [passes, free size up to a multiple, rows * WORD_BYTES], filled up with ``filler``."""
        fmt, codes = format_of(elements.dtype), codes_of(elements)
        partitions, free = codes.shape[:2]
        more = ((0, self.passes * self.rows - partitions), (0, -free % multiple))
        filler = filler >> (E4M3FN.width - fmt.width)
        codes = np.pad(codes, (*more, (0, 0)), constant_values=filler)
        if fmt.width < 8:
            codes = codes[..., ::2] | codes[..., 1::2] << fmt.width
        scales = np.pad(scale.repeat(SCALE_PARTITIONS, axis=0), more, constant_values=E8M0.bias)
        words = np.zeros((*codes.shape[:2], WORD_BYTES), np.uint8)
        words[..., : codes.shape[-1]] = codes
        words[..., X4] = scales
        passes = words.reshape(self.passes, self.rows, words.shape[1], WORD_BYTES)
        return passes.transpose(0, 2, 1, 3).reshape(self.passes, words.shape[1], -1)
