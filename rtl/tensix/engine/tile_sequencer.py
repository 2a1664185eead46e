"""Sequencer of the Matrix unit: a tile product to its instructions.

Ref: tt-llk, llk_math_matmul.h.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, FACE, TILE_PASS
from bitpath.rtl.tensix.engine.command import TILE_ROWS, product_layout, store_layout
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.matrix.instruction import Instruction, Opcode, Zeroed

FACES = TILE_ROWS // FACE
HALVES = FACE // BLOCK_ROWS
PASS_INSTRUCTIONS = len(TILE_PASS) * HALVES
"""MVMULs of one fidelity phase."""


class TileSequencer(wiring.Component):
    """Issues the instructions of a tile product: ZEROACC for each face if it clears, then 16 MVMULs for each phase.

    The last MVMUL releases and flips the banks of the sources as the command says, and hands a tile that stores to the storer. A
    product stalls while its Dst tile waits for the packer or is being packed.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    product : In(stream of product_layout), taken with its last instruction
    instruction : Out(stream of Instruction)
    store : Out(stream of store_layout), in the cycle of the last instruction
    packing : In(16), the 16-bit tiles of Dst that are to be packed or being packed
    """

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "product": In(stream.Signature(product_layout(config))),
                "instruction": Out(stream.Signature(Instruction)),
                "store": Out(stream.Signature(store_layout(config))),
                "packing": In(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        product, p = self.product, self.product.p
        instruction, i = self.instruction, self.instruction.p
        dst32 = p.store.control.dst32

        cleared = Signal()
        face = Signal(range(FACES))
        phase = Signal(2)
        index = Signal(range(PASS_INSTRUCTIONS))
        clears = Signal()
        last = Signal()
        m.d.comb += [
            clears.eq(p.clear & ~cleared),
            last.eq(~clears & (phase == p.last_phase) & (index == PASS_INSTRUCTIONS - 1)),
        ]
        # The faces of one pass, as a table of constants.
        step, half = index[1:], index[0]
        src_b_face, src_a_face, dst_face = (
            Cat(Const(faces[k], 2) for faces in TILE_PASS).word_select(step, 2) for k in range(3)
        )
        tile_row = Signal(range(TILE_ROWS))
        m.d.comb += [
            tile_row.eq(Mux(clears, Cat(Const(0, 4), face), Cat(Const(0, 3), half, dst_face))),
            i.opcode.eq(Mux(clears, Opcode.ZEROACC, Opcode.MVMUL)),
            i.zeroed.eq(Zeroed.SIXTEEN),
            i.style.eq(p.style),
            i.dst32.eq(dst32),
            i.phase.eq(phase),
            i.src_a_format.eq(p.src_a_format),
            i.src_b_format.eq(p.src_b_format),
            i.src_a_row.eq(Cat(Const(0, 4), src_a_face)),
            i.src_b_row.eq(Cat(Const(0, 3), half, src_b_face)),
            i.dst_row.eq(Cat(tile_row, p.store.dst_tile)),
            i.release_a.eq(last & p.release_a),
            i.release_b.eq(last & p.release_b),
            i.flip_a.eq(last & p.flip_a),
            i.flip_b.eq(last & p.flip_b),
        ]

        free = Signal()
        hands_on = last & p.stores
        m.d.comb += [
            free.eq(~(self.packing & tile_mask(p.store.dst_tile, dst32)).any()),
            # No combinational loop: the readiness of the storer does not depend on this valid.
            instruction.valid.eq(product.valid & free & (~hands_on | self.store.ready)),
            self.store.valid.eq(instruction.valid & instruction.ready & hands_on),
            self.store.p.eq(p.store),
            product.ready.eq(instruction.valid & instruction.ready & last),
        ]
        with m.If(instruction.valid & instruction.ready):
            with m.If(clears):
                m.d.sync += [face.eq(face + 1), cleared.eq(face == FACES - 1)]
            with m.Else():
                m.d.sync += index.eq(index + 1)
                with m.If(index == PASS_INSTRUCTIONS - 1):
                    m.d.sync += phase.eq(Mux(last, 0, phase + 1))
            with m.If(last):
                m.d.sync += cleared.eq(0)
        return m


def tile_mask(tile, dst32):
    """Return the 16-bit tiles of Dst that a tile occupies: one, or two for a 32-bit tile."""
    return Mux(dst32, 0b11 << (tile[:3] << 1), 1 << tile)
