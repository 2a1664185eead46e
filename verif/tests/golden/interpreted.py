"""Small products and conversions of every kind, as a program: it prints their bits, and golden's functions that Python ran.

The argument "few" takes the few that reach each function of the loops, "all" takes all.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from itertools import chain, product
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.arrays.dot import dot_steps
from bitpath.golden.machines import MACHINES
from bitpath.golden.matmul import matmul
from bitpath.golden.tensix.declarations.encodings import ENCODINGS, UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Chip, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, WORMHOLE
from bitpath.golden.tensix.isa import encode
from bitpath.golden.tensix.sfpu.execute import OPERATIONS, execute
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS
from bitpath.verif.common.dot.shapes import DOT_PRODUCTS
from bitpath.verif.tensix.golden.vector import instructions, random_lanes, random_words
from bitpath.verif.tensix.program import programs as cores
from bitpath.verif.tests.golden.calls import SAMPLES, call, public

ALL_NUMERICS = "mxfp8_e4m3", "bf16_lofi", "mx9", "bf16"
"""Formats that are multiplied with every preset of their machines."""
FEW = {
    *(("mxfp8_e4m3", "trainium3_quad_mx"), ("mxfp8_e4m3", "trainium3_quad_mx_aligned")),
    *(("fp8_lofi", "tensix_wormhole"), ("bfp4_lofi", "tensix_wormhole"), ("int8_lofi", "tensix_wormhole")),
    *(("mx9", "aie_ml_v2"), ("mx9", "aie_ml_v2_split"), ("bf16", "aie_ml_v2"), ("int8", "aie_ml_v2")),
}
"""Formats and presets whose products reach all loops of products."""
SLOW = "matmul", "run_layer", "run_mode_program", "run_program"
"""Functions whose samples take Python longer than a second, and reach no loop that products do not reach."""


def products(extent: str) -> Iterator[tuple[str, Any]]:
    """Yield products in all formats, and with all numerics of a machine, each with its name."""
    rng = np.random.default_rng(1)
    shapes = (2, 17), (17, 3)
    floats = [(rng.standard_normal(shape) * 2.0 ** rng.integers(-3, 4, shape)).astype(np.float32) for shape in shapes]
    integers = [rng.integers(-100, 100, shape) for shape in shapes]
    for machine in MACHINES.values():
        presets, formats = list(machine.presets), list(machine.formats)
        for fmt, preset in (*product(formats, presets[:1]), *product(ALL_NUMERICS, presets[1:])):
            if fmt in formats and (extent == "all" or (fmt, preset) in FEW):
                operands = integers if fmt in machine.integers else floats
                yield f"{fmt} {preset}", matmul(*operands, format=fmt, numerics=preset).tobytes()


def samples(extent: str) -> Iterator[tuple[str, Any]]:
    """Yield the results of the machines' public functions on the samples of their tests."""
    for module in (trainium3, tensix, aie_ml_v2):
        for name, function in public(module).items():
            if "." not in name and (extent == "all" or name not in SLOW):
                yield f"{module.__name__} {name}", call(function, SAMPLES[module][name])


def conversions() -> Iterator[tuple[str, Any]]:
    """Yield what neither products nor samples reach: packers, unpackers and Matrix unit on other formats, rare numerics."""
    rng = np.random.default_rng(2)
    wide, narrow, random, old = (rng.integers(0, 1 << bits, 64, np.uint32) for bits in (32, 16, 32, 32))
    for mid, out, dst, options in (
        ("INT8", "INT8", wide, {"descale_shift": 3}),
        ("INT8", "INT8", wide, {"raw": True}),
        ("INT16", "INT16", wide, {}),
        ("BF16", "BF16", wide, {"stochastic_bits": random}),
        ("FP32", "FP16", wide, {}),
        ("FP32", "BFP2", wide, {}),
        ("FP16", "BF16", narrow, {}),
        ("FP16", "FP8", narrow, {"e4m3": True, "chip": "blackhole"}),
        ("FP32", "FP32", wide, {"l1": old}),
        ("BF16", "BF16", wide, {"l1": old}),
        ("FP16", "FP16", narrow, {"l1": old}),
    ):
        yield f"pack {mid} {out} {[*options]}", tensix.pack(dst, mid, out, dst32=dst is wide, **options).tobytes()
    for fmt, into in (("INT16", "INT16"), ("FP32", "FP16")):
        yield f"unpack {fmt} {into}", tensix.unpack(wide.view(np.uint8), fmt, into, count=64).tobytes()
    dst, b, a = (rng.integers(0, 1 << bits, (8, 16), np.uint32) for bits in (32, 19, 19))
    yield "elwmul", tensix.elwmul(dst, b, a, style="INT8", dst32=True).tobytes()
    yield "mvmul", tensix.mvmul(dst, b, np.concatenate([a, a]), style="INT8", dst32=True, phase=0).tobytes()
    floats = [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 17), (17, 3))]
    yield "16-bit Dst", matmul(*floats, format="bf16_lofi", dst32=False).tobytes()
    for fmt, numerics in (
        ("bf16", replace(AIE_ML_V2.numerics, align_rounding=RoundingCode.FLOOR)),
        ("bf16_lofi", replace(WORMHOLE.numerics, group=4)),
    ):
        yield f"{fmt} {numerics}", matmul(*floats, format=fmt, numerics=numerics).tobytes()
    # The last products are below FP32's smallest number.
    floats[0][:, -1] *= np.float32(2.0**-120)
    for numerics in (None, TRAINIUM2_BF16_PRODUCTS.numerics):
        yield f"fp32 {numerics}", trainium3.matmul_mode(*floats, mode="fp32", numerics=numerics).tobytes()


def lanes() -> Iterator[tuple[str, Any]]:
    """Yield lanes after every instruction of the Vector unit, and tiles after every mode of its loads and stores."""
    rng = np.random.default_rng(4)
    for chip in Chip:
        numerics = CHIP_PRESETS[chip].numerics
        for name in (each.name for each in ENCODINGS[chip] if each.name in OPERATIONS):
            own = random_lanes(rng, 1, np.zeros(8, np.uint32))
            for instruction in instructions(rng, chip, name):
                own.flags[:] = True
                with suppress(UndefinedBehavior):
                    execute(own, instruction, chip, numerics)
            yield f"{chip.value} {name}", own.words.tobytes() + own.bits.tobytes()
        words = [encode(name, chip=chip, mod=mode, vd=1) for name in ("SFPLOAD", "SFPSTORE") for mode in range(16)]
        yield f"{chip.value} tiles", tensix.sfpu.run(words, random_words(rng, (8, 16)), fp32=True, chip=chip).tobytes()


def dots() -> Iterator[tuple[str, Any]]:
    """Yield steps of dot products of every shape."""
    rng = np.random.default_rng(3)
    for number, numerics in enumerate(DOT_PRODUCTS):
        sides = []
        for fmt in (numerics.element_formats[0], numerics.element_formats[-1]):
            sides += [rng.integers(0, 1 << fmt.width, (8, numerics.terms)), fmt]
        scales = rng.integers(0, 255, (2, 8))
        partial = np.zeros(8, np.uint32)
        yield f"dot {number}", dot_steps(numerics, *sides, *scales, partial).tobytes()


def programs() -> Iterator[tuple[str, Any]]:
    """Yield Dst and L1 after a program of each chip, with integers last, and with permuted rows of Dst on Blackhole."""
    text = "MOVA2D mode=2, dst=8\nELWADD dst=16\nMVMUL dst=8\nZEROACC mode=1, operand=2\nMOVD2A mode=2, dst=16"
    for chip in ("wormhole", "blackhole"):
        core = tensix.Core(chip=chip, l1_bytes=1024)
        rng = np.random.default_rng(4)
        for bank in (core.state.src_a, core.state.src_b):
            bank.words[:] = rng.integers(0, 1 << 19, bank.words.shape, np.uint32)
            bank.owned, bank.formats = [True, True], [5, 5]
        core.state.dst.remapped = core.state.dst.swizzled = chip == "blackhole"
        cores.execute(core, 1, text)
        for bank in (core.state.src_a, core.state.src_b):
            bank.formats = [Format.INT8, Format.INT8]
        cores.configure(core, 1, int8_math=1, src_a_format=Format.INT8, src_b_format=Format.INT8)
        cores.configure(
            core, 1, dst_format=5, pack_in_format=5, pack_out_format=5, pack_uncompressed=1, edge_mask=0xFFFF
        )
        cores.execute(core, 1, "MVMUL dst=16\nSETADCXX units=4, end=15\nPACR packers=1, last=1")
        yield (
            f"program {chip}",
            core.dst.tobytes() + core.dst_defined.tobytes() + core.src_a.tobytes() + core.l1.tobytes(),
        )


def results(extent: str) -> dict[str, str]:
    """Return the digest of each result."""
    found = chain(products(extent), samples(extent), conversions(), lanes(), dots(), programs())
    return {name: sha256(repr(each).encode()).hexdigest()[:16] for name, each in found}


def main() -> None:
    """Print the digests, and the functions of loops that Python ran."""
    ran = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and "/golden/" in code.co_filename:
            ran.add(f"{Path(code.co_filename).stem}.{code.co_name}")

    sys.setprofile(profile)
    found = results(sys.argv[1])
    sys.setprofile(None)
    json.dump({"results": found, "ran": sorted(ran)}, sys.stdout)


if __name__ == "__main__":
    main()
