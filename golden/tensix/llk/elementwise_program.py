"""Programs of Tensix instructions for an element-wise kernel on tiles in L1: unpack, compute, run a function, pack.

::

    thread 0    configuration; for each tile its addresses, UNPACR to SrcA, UNPACR to SrcB or zeros there
    thread 1    for each tile: clear Dst, eight ELWADD, ELWSUB or ELWMUL a fidelity phase, the Vector unit's words
    thread 2    for each tile: PACR to the next tile of the result, then Dst is free

Datums are BF16 in L1 and in the sources, and FP32 in Dst.

Ref: tenstorrent/tt-llk 36b092e, llk_math_eltwise_binary.h and llk_unpack_AB.h.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked, member
from bitpath.golden.tensix.core import core as cores
from bitpath.golden.tensix.core.programs import CoreProgram, Line, assembled, config_lines, own_field
from bitpath.golden.tensix.declarations.encodings import MOP_WORDS
from bitpath.golden.tensix.declarations.formats import Chip, Fidelity, Format
from bitpath.golden.tensix.llk.case import Broadcast, Op
from bitpath.golden.tensix.llk.functions.function import Mode
from bitpath.golden.tensix.llk.functions.table import FUNCTIONS
from bitpath.golden.tensix.matmul import product_program as products
from bitpath.golden.tensix.matmul.product_program import Product, tile_bytes
from bitpath.golden.tensix.sfpu.kernel import NO_INCREMENT

MOST_TILES = products.REGION // tile_bytes(Format.BF16)
"""Tiles of an operand that have room in L1."""
ORDER = (0, 1, 0, 2, 0, 1, 0, 3)
"""Modifiers of a phase's instructions, one for each half of a face."""
STEPS = {
    Broadcast.NONE: (0x0808, 0x0808, 0x0808),
    Broadcast.COL: (0x0808, 0x4008, 0x6008),
    Broadcast.ROW: (0x0008, 0x1008, 0x4008),
    Broadcast.SCALAR: (0x0008, 0x0008, 0x0008),
}
"""AB words of modifiers 0 to 2: SrcA advances by 8 rows; SrcB by 8, by a face, to its first row, or by two faces."""
NEXT_PHASE = 0x8080, 0x2800
"""AB and DST words of modifier 3: clear all rows, next phase."""
STEP_DST = 8


@checked
@dataclass(frozen=True, kw_only=True)
class ElementwiseKernel:
    """An element-wise operation, and a function of the Vector unit on its result.

    Attributes
    ----------
    op : "elwadd", "elwsub" or "elwmul"; "datacopy" has no right operand.
    broadcast : datums of the right operand's tiles that repeat.
    function : a name of `FUNCTIONS` of one operand, in its form for a Dst of 32 bits; None is no function.
    fidelity : of "elwmul".
    chip : "wormhole" or "blackhole".

    Raises
    ------
    TypeError, ValueError : another operation, broadcast, function, fidelity or chip.
    """

    op: Op | str
    broadcast: Broadcast | str = Broadcast.NONE
    function: str | None = None
    fidelity: Fidelity | str = Fidelity.HIFI4
    chip: Chip | str = Chip.WORMHOLE

    def __post_init__(self) -> None:
        for name, kind in (("op", Op), ("broadcast", Broadcast), ("fidelity", Fidelity), ("chip", Chip)):
            object.__setattr__(self, name, member(name, getattr(self, name), kind))
        if self.op not in (Op.ELWADD, Op.ELWSUB, Op.ELWMUL, Op.DATACOPY):
            raise ValueError(f"op must be elwadd, elwsub, elwmul or datacopy, not {Op(self.op).value}")
        if self.function is not None:
            function = FUNCTIONS[check_choice("function", self.function, FUNCTIONS)]
            if function.tiles > 1:
                raise ValueError(
                    f"function must be one of one operand with its result in the same place, not {function.name}"
                )

    @cached_property
    def function_words(self) -> tuple[int, ...]:
        """Words of the Vector unit for a tile."""
        return () if self.function is None else tuple(FUNCTIONS[self.function].words(Mode(chip=self.chip, dst32=True)))

    @checked
    def program(self, left: np.ndarray, right: np.ndarray | None = None) -> CoreProgram:
        """Return the program that computes all tiles of the left operand.

        Parameters
        ----------
        left : bytes of BF16 tiles in L1, uint8 [n, 2048], at most `MOST_TILES`.
        right : the right operand's tiles, as many or one for all; None with "datacopy".

        Raises
        ------
        ValueError : another number of tiles.
        """
        count = len(left)
        if not 1 <= count <= MOST_TILES:
            raise ValueError(f"left must have 1 to {MOST_TILES} tiles, not {count}")
        given = 0 if right is None else len(right)
        if given not in ((0,) if self.op is Op.DATACOPY else (1, count)):
            wanted = "no tiles" if self.op is Op.DATACOPY else f"{count} tiles or one"
            raise ValueError(f"right must have {wanted} with {Op(self.op).value}, not {given}")
        product = Product(
            chip=Chip(self.chip),
            fidelity=Fidelity(self.fidelity),
            fmt=Format.BF16,
            out_format=Format.BF16,
            rows=count,
        )
        at_left, at_right, at_result, *_ = product.addresses
        size = count * tile_bytes(Format.BF16)
        operands = [(at_left, left.reshape(-1))]
        if right is not None:
            operands.append((at_right, right.reshape(-1)))
        return CoreProgram(
            words=(self._unpack_words(product, given), self._compute_words(product), products.pack_words(product)),
            mops=((0,) * MOP_WORDS, (0,) * MOP_WORDS, products.pack_mop(product)),
            memory=(*operands, (at_result, np.zeros(size, np.uint8))),
            result=(at_result, size),
        )

    def _unpack_words(self, product: Product, given: int) -> tuple[int, ...]:
        chip = product.chip
        fields = products.configuration(product) | {"sfpu_fp32": [1], "base_address": _loads_from(product, 0, given)}
        lines = [*config_lines(chip, fields), *products.start_lines(product)]
        changes = products.Changes(chip, fields)
        unpacr = {"multi_context": 1, "flip": 1, "last": 1}
        for number in range(product.rows):
            lines += changes.lines({"base_address": _loads_from(product, number, given)}, products.UNPACKERS_REST)
            lines += [("SETADCZW", {"units": 3, "which": 0b1111}), ("UNPACR", unpacr)]
            lines += [("UNPACR", unpacr | {"unpacker": 1})] if given else products.zeros(chip)
        return assembled(chip, *lines)

    def _compute_words(self, product: Product) -> tuple[int, ...]:
        chip = product.chip
        words = list(assembled(chip, *products.begin_lines(), *self._modifiers(chip)))
        for number in range(product.rows):
            lines = products.wait_lines(products.DONE) if number else []
            words += assembled(chip, *lines, *products.CLEARED, *self._tile_lines(product))
            words += self.function_words
            words += assembled(
                chip,
                (
                    "STALLWAIT",
                    {"block": cores.MATH | cores.SYNC, "conditions": products.matrix_idle(chip) | vector_idle(chip)},
                ),
                ("SEMPOST", {"semaphores": 1 << products.PACKED}),
            )
        return tuple(words)

    def _modifiers(self, chip: Chip) -> list[Line]:
        """Return the instructions that set modifiers 0 to 2, and Blackhole's 3 and 7."""
        own = [(number, word, STEP_DST) for number, word in enumerate(STEPS[Broadcast(self.broadcast)])]
        if chip is Chip.BLACKHOLE:
            own += [(3, *NEXT_PHASE), (NO_INCREMENT[chip], 0, 0)]
        return [line for each in own for line in _modifier(chip, *each)] + [
            ("SETC16", own_field(chip, "math_offset", 0))
        ]

    def _tile_lines(self, product: Product) -> list[Line]:
        """Return the Matrix unit's instructions for a tile. Wormhole's modifier 3 is the phases' first and then the function's."""
        chip, shared = product.chip, product.chip is Chip.WORMHOLE
        name = "ELWADD" if self.op is Op.DATACOPY else Op(self.op).name
        kind = Broadcast(self.broadcast)
        bits = {
            "broadcast_row": int(kind in (Broadcast.ROW, Broadcast.SCALAR)),
            "broadcast_column": int(kind in (Broadcast.COL, Broadcast.SCALAR)),
        }
        phases = product.phases if self.op is Op.ELWMUL else 1
        lines = _modifier(chip, 3, *NEXT_PHASE) if shared else []
        for phase in range(phases):
            *others, last = ORDER
            lines += [(name, {"modifier": each, **bits}) for each in others]
            lines.append((name, {"modifier": last, **bits, "flip": 3 if phase == phases - 1 else 0}))
        lines.append(("SETRWC", {"which": 0b1111}))
        if self.function is not None:
            lines += _modifier(chip, NO_INCREMENT[chip], 0, 0) if shared else []
            lines.append(("STALLWAIT", {"block": cores.VECTOR, "conditions": products.matrix_idle(chip)}))
        return lines


def _loads_from(product: Product, number: int, given: int) -> list[int]:
    """Return the unpackers' addresses of a tile; a single tile of the right operand serves all."""
    size, (at_left, at_right, *_) = tile_bytes(product.stored), product.addresses
    places = at_left + number * size, at_right + (number * size if given > 1 else 0)
    return [place // products.LINE_BYTES - 1 for place in places]


def _modifier(chip: Chip, number: int, ab: int, dst: int) -> list[Line]:
    return [
        ("SETC16", own_field(chip, f"{name}_modifier", value, number)) for name, value in (("ab", ab), ("dst", dst))
    ]


def vector_idle(chip: Chip) -> int:
    """Return the condition bit of an idle Vector unit."""
    return 1 << (14 if chip is Chip.WORMHOLE else 11)
