"""Units of rtl/tensix/core: a core and the parts through which its instructions pass."""

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.core.config import (
    ChipConfig,
    TensixCoreConfig,
    UnpackAddressConfig,
)
from bitpath.rtl.tensix.core.config_file import ConfigFile
from bitpath.rtl.tensix.core.decode import Decode
from bitpath.rtl.tensix.core.matrix_operands import MatrixOperands, MoveOperands
from bitpath.rtl.tensix.core.pack_address import PackAddress
from bitpath.rtl.tensix.core.tensix_core import TensixCore
from bitpath.rtl.tensix.core.unpack_address import UnpackAddress
from bitpath.rtl.tensix.core.wait_gate import WaitGate

UNITS = (
    Unit(
        name="decode",
        room="tensix/core",
        config_type=ChipConfig,
        build=Decode,
        summary="Tensix: a word becomes the fields of its instruction",
        covered=Covered(ChipConfig(), 300),
        agreed=ChipConfig(chip=Chip.BLACKHOLE),
    ),
    Unit(
        name="config_file",
        room="tensix/core",
        config_type=ChipConfig,
        build=ConfigFile,
        summary="Tensix: configuration registers and general-purpose registers",
        covered=Covered(ChipConfig(), 300),
        agreed=ChipConfig(chip=Chip.BLACKHOLE),
    ),
    Unit(
        name="wait_gate",
        room="tensix/core",
        config_type=ChipConfig,
        build=WaitGate,
        summary="Tensix: latched waits and owners of banks let a thread's instruction pass",
        covered=Covered(ChipConfig(), 1000),
    ),
    Unit(
        name="matrix_operands",
        room="tensix/core",
        config_type=ChipConfig,
        build=MatrixOperands,
        summary="Tensix: rows, formats and phase of an instruction of the Matrix unit",
        covered=Covered(ChipConfig(chip=Chip.BLACKHOLE), 300),
        judges=(Judge(99, ChipConfig(chip=Chip.BLACKHOLE), 600),),
        agreed=ChipConfig(),
    ),
    Unit(
        name="move_operands",
        room="tensix/core",
        config_type=ChipConfig,
        build=MoveOperands,
        summary="Tensix: rows, formats and banks of a move or of a change of banks",
        covered=Covered(ChipConfig(chip=Chip.BLACKHOLE), 300),
        judges=(Judge(99, ChipConfig(chip=Chip.BLACKHOLE)),),
        agreed=ChipConfig(),
    ),
    Unit(
        name="unpack_address",
        room="tensix/core",
        config_type=UnpackAddressConfig,
        build=UnpackAddress,
        summary="Tensix: rows of L1 and of SrcA, SrcB or Dst of an UNPACR",
        covered=Covered(UnpackAddressConfig(chip=Chip.BLACKHOLE), 2000),
        judges=(Judge(99, UnpackAddressConfig(chip=Chip.BLACKHOLE), 1000),),
        agreed=UnpackAddressConfig(unpacker=1),
    ),
    Unit(
        name="pack_address",
        room="tensix/core",
        config_type=ChipConfig,
        build=PackAddress,
        summary="Tensix: rows of Dst and addresses in L1 of a PACR",
        covered=Covered(ChipConfig(), 2000),
        judges=(Judge(99, ChipConfig(), 2000),),
        agreed=ChipConfig(chip=Chip.BLACKHOLE),
    ),
    Unit(
        name="tensix_core",
        room="tensix/core",
        config_type=TensixCoreConfig,
        build=TensixCore,
        summary="Tensix: three threads of instructions, unpackers, Matrix unit, packer and L1",
        covered=Covered(TensixCoreConfig(), 2),
        uncompared="its programs need an L1 of 256 KiB, which a netlist of gates cannot hold",
        waves=(
            CLOCK,
            WaveGroup("host", r"(words_|mop_|write__|read__|data__|busy|fault|clear)"),
            WaveGroup("executed", r"executed_"),
            WaveGroup("threads", r"thread_\d\."),
            WaveGroup("choices", r"(matrix|unpacker_\d|packer|config|semaphores)_(thread|view)"),
            WaveGroup("unpackers", r"(unpacker_\d|address_\d|port)\."),
            WaveGroup("Matrix unit", r"unit\.(instruction|starting|flight_|fire|step|src_[ab]\.|dst_register\.)"),
            WaveGroup("packer and L1", r"(packer|l1)\."),
        ),
    ),
)

CONTROL = (
    "config_file",
    "decode",
    "tensix_core",
    "l1_memory",
    "row_packer",
    "row_unpacker",
    "wait_gate",
    "thread",
)
"""Files without arithmetic: sequencers, register files, memories and wiring. They have no mutants."""
