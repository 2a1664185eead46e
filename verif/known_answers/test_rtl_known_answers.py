"""Known answers through the RTL of each unit, on Verilator."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, RoundingCode
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, FACE, Chip
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, CHIP_PRESETS, WORMHOLE
from bitpath.rtl.aie_ml_v2.convert.mx_convert import BFP16EBS8_CONVERT
from bitpath.rtl.aie_ml_v2.mac.config import BFP16EBS8_LANE
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.sparse_select import SLOTS
from bitpath.rtl.units import UNITS
from bitpath.verif.aie_ml_v2.golden.operands import SETS
from bitpath.verif.kit.known_answers import Archive, skip_absent
from bitpath.verif.tensix.program.programs import CHIPS

pytestmark = pytest.mark.simulator
SEED = 20261129
PAIR = "cast_[^_]+_[^_]+"
STAGES = [PipelineConfig(stages=stages) for stages in range(5)]


@dataclass(frozen=True)
class Run:
    """A run of a unit's known answers; it is a deep test unless it is quick.

    Attributes
    ----------
    archives : names of the archives that decide the numbers, with spaces between them.
    compared : function from the archives to the number of values that the run compares at least.
    config : fields of the unit's configuration, or a function from the archives to them.
    ran : number of tests that run at least.
    env : further environment variables of the bench.
    """

    archives: str
    compared: Callable[..., int]
    config: Mapping[str, Any] | Callable[..., Mapping[str, Any]] = field(default_factory=dict)
    ran: int = 1
    env: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False


def core_columns(fp32: Archive, sparse: Archive, moved: Archive) -> int:
    """Return the columns of every product of FP32, TF32, mixed formats, double row and sparsity, and of every transpose."""
    results = [array for archive in (fp32, sparse) for name, array in archive.items() if name.endswith("_out")]
    results += [array for name, array in moved.items() if name.endswith("_psum")]
    return sum(6 * fp32[f"p{case}_fused"].shape[1] for case, *_ in fp32["meta"]) + sum(
        each.shape[1] for each in results
    )


def engine_values(width: int, rmw: Archive, act: Archive) -> int:
    """Return the beats of sums of read-add-write and of dma_compute with two sources, and of activate2's copy."""
    sums = rmw.size("raw_(fp32|bf16)_sum")
    sums += sum(case["dst"].size for _, case in rmw.parts(r"cmp\d+") if len(case["formats"]) == 3)
    return (sums + 2 * sum(36 for row in act["meta"].tolist() if row[3] == "copy")) // width


def kernel_bytes(lanes: int, longest: int, archive: Archive) -> int:
    """Return the bytes of the rows that fit, one for each lane of a command at a time."""
    answers = [archive[f"r{case['id']:03}_kernel_bytes"] for case in archive["meta"] if case["H"] <= longest]
    return sum(-(-(each.size // each.shape[-1]) // lanes) * each.shape[-1] for each in answers)


def kernel(lanes: int, longest: int) -> Run:
    """Return the run of the kernel's rows with at most `longest` elements."""
    config = {"lanes": lanes, "max_row_length": longest}
    return Run("trn_rmsnorm_quant", partial(kernel_bytes, lanes, longest), config)


def engine(width: int, *, quick: bool = False) -> Run:
    config = {"width": width, "pipeline": STAGES[4]}
    return Run("trn_core_rmw trn_core_act", partial(engine_values, width), config, ran=2, quick=quick)


CORE_ARRAY = {"operand_depth": 64, "dot": CorePeConfig(pipeline=STAGES[2])}
WALK = {"address_bits": 13, "step_bits": 16, "num_bits": 16}
DGE = {"hbm_bits": 20, "partition_bits": 18, "step_bits": 20, "num_bits": 18, "cut_bits": 16}
TRAINIUM3 = {
    "core_array": Run("trn_core_fp32 trn_core_sparse trn_core_transpose", core_columns, CORE_ARRAY, ran=4),
    "dma_cast": Run("trn_core_rmw", lambda rmw: rmw.size(PAIR) // 8, {"beat_bytes": 8, "pipeline": STAGES[2]}),
    "activation2_lane": Run("trn_core_act", lambda act: act.size(r"a\d+_out"), {"pipeline": STAGES[3]}),
    "copy_lanes": Run(
        "trn_core_rmw",
        lambda rmw: 2 * sum(-(-rmw[name].nbytes // 8) for name in rmw if re.fullmatch(PAIR, name)),
        quick=True,
    ),
    "engine_lane": engine(1, quick=True),
    "engine_lane-4": engine(4),
    "rand2_lane": Run("trn_core_act", lambda act: act.size("rand2_(fp32|bf16|int8)") // 4, {"pipeline": STAGES[4]}),
    "rmsnorm_quant": kernel(8, 1024),
    "rmsnorm_quant-long": kernel(8, 4608),
    "quantize_mx": Run(
        "trn_quantize_mx",
        lambda tiles: tiles.size(r"c\d+_own_(floor|x2)_code"),
        {"pipeline": STAGES[2]},
        ran=2,
        quick=True,
    ),
    "xorwow": Run(
        "trn_xorwow", lambda words: len(words["out"]) * (words["out"].shape[-1] + 1), {"lanes": 16}, quick=True
    ),
    "access_walker": Run("trn_core_gather", lambda gather: gather.size(r"ap\d+_elements"), WALK),
    "dge": Run("trn_core_dma", lambda dma: sum(len(case["descriptors"]) for _, case in dma.parts(r"e\d+")), DGE),
    "indirect_offsets": Run(
        "trn_core_gather",
        lambda gather: sum(case["gathered"].shape[1] for _, case in gather.parts(r"g\d+")),
        {"offset_bits": 16, "count_bits": 12},
    ),
    "fp32_passes": Run(
        "trn_core_fp32",
        lambda fp32: sum(7 * fp32[f"p{case}_fused"].size for case, *_ in fp32["meta"]),
        lambda fp32: {"rows": int(fp32["meta"][:, 1].max())},
    ),
    "sparse_select": Run(
        "trn_core_sparse",
        lambda sparse: sum(n * rows // SLOTS for _, _, _, rows, _, n, _ in sparse["meta"].tolist()),
        lambda sparse: {"cols": int(sparse["meta"][0, 4])},
    ),
    "background_transpose": Run(
        "trn_core_transpose",
        lambda moved: sum(n * max(1, bits // 16) for _, bits, _, n in moved["te_meta"].tolist()),
        {"size": 16},
    ),
}


CHIP = {"wh": WORMHOLE, "bh": BLACKHOLE}
ARCHIVE = {"wh": "tensix", "bh": "tensix_bh"}
"""Start of the names of a chip's archives."""


def dot16(outputs: int, *, quick: bool = False) -> Run:
    """Return the run of some outputs of each MVMUL and of each product, sum and difference of elements."""

    def compared(products: Archive, elements: Archive) -> int:
        computed = np.isin(elements["op_names"][elements["op"]], ("ELWMUL", "ELWADD", "ELWSUB"))
        return outputs * (len(products["style"]) + np.count_nonzero(computed))

    env = {"BITPATH_CASES": str(outputs)}
    return Run("tensix_mvmul tensix_elw", compared, {"pipeline": STAGES[3]}, ran=2, env=env, quick=quick)


def matrix_unit(chip: str, rows: int, cols: int) -> Run:
    def compared(*archives: Archive) -> int:
        return BLOCK_ROWS * sum(len(archive["style"]) for archive in archives)

    config = {"rows": rows, "cols": cols, "numerics": CHIP[chip].numerics}
    return Run(f"{ARCHIVE[chip]}_mvmul {ARCHIVE[chip]}_elw", compared, config, ran=2)


def pooled_columns(*archives: Archive) -> int:
    pooled = sum(np.count_nonzero(archive["op_names"][archive["op"]] == "GMPOOL") for archive in archives)
    return COLUMNS * pooled


def turn_buffer(rows: int, *, quick: bool = False) -> Run:
    def compared(faces: Archive) -> int:
        return np.count_nonzero(faces["u_cfg"][:, 4] == 0) * FACE // rows

    return Run("tensix_bh_pack_unpack", compared, {"rows": rows}, quick=quick)


def conversion(chip: str, names: str, *, ran: int = 1) -> Run:
    """Return the run of the rows of 16 datums of some arrays."""
    config = {"numerics": CHIP[chip].numerics}
    return Run(f"{ARCHIVE[chip]}_pack_unpack", lambda archive: archive.size(names) // COLUMNS, config, ran=ran)


def rounded(chip: str, *, quick: bool = False) -> Run:
    """Return the run of the seeds' states and of the rounded vectors."""

    def compared(control: Archive) -> int:
        return len(control["s_state"]) + control["s_next"][:, 0].size + len(control["f_in"])

    return Run("tensix_bh_control", compared, {"numerics": CHIP[chip].numerics}, ran=2, quick=quick)


def counter(unit: str, chip: str) -> Run:
    """Return the run of the numbers of a counter's states."""
    names = f"{chip}_{unit[0]}_state"
    return Run("tensix_bh_control", lambda control: control.size(names), {"chip": CHIPS[chip]}, quick=True)


def program_values(chip: str, programs: Archive) -> int:
    """Return the bytes and words of all programs of a chip."""
    parts = [programs.part(f"{chip}{int(each['id']):02}_") for each in programs["meta"] if each["chip"] == chip]
    return sum(part["after"].size + len(part["trace"]) for part in parts)


def core_values(programs: Archive, control: Archive) -> int:
    """Return Blackhole's programs, the rows of every ZEROACC and the words of every MVMUL with implied formats."""
    return program_values("bh", programs) + 8 * control["z_defined"].size + control["i_out"].size


def chain_steps(products: Archive, file: dict[str, Any]) -> int:
    """Return the steps of every chain of products that was measured on XDNA2."""
    steps = sum(products[f"{name}_out_bits"].size * len(products[f"{name}_a_exp"]) for name in SETS)
    return steps + sum(len(each["chunks"]) for each in file["probes"])


def vector_values(chip: str, share: int, single: Archive, accesses: Archive, programs: Archive) -> int:
    """Return the states and stored words of one of so many instructions, loads, stores and programs."""
    own = accesses.part(f"{chip}_")
    ends = programs.part(f"{chip}_")["offset"]
    words = (ends[1:] - ends[:-1])[::share].sum()
    return sum(len(each[::share]) for each in (single["word"], own["word"])) + words


def vector_unit(chip: str, share: int = 1) -> Run:
    """Return the run of one of so many known answers of a chip's Vector unit."""
    config = {"chip": CHIPS[chip], "numerics": CHIP_PRESETS[CHIPS[chip]].numerics}
    archives = f"sfpu_{chip}_single sfpu_loadstore sfpu_seq"
    env = {"BITPATH_SHARE": str(share)}
    return Run(archives, partial(vector_values, chip, share), config, env=env, ran=3, quick=share > 1)


FAST = {"rows": 8, "cols": 16}
"""The machine's dot products: an MVMUL a cycle."""
TENSIX = {
    "dot16": dot16(8, quick=True),
    "dot16-all": dot16(128),
    **{
        f"matrix_unit-{chip}-{rows}x{cols}": matrix_unit(chip, rows, cols)
        for chip in CHIP
        for rows, cols in ((2, 4), (8, 16))
    },
    "gmpool_column": Run("tensix_elw tensix_bh_elw", pooled_columns, {"pipeline": STAGES[3]}, quick=True),
    "mover": Run("tensix_bh_control", lambda control: len(control["m_in"]), {"numerics": BLACKHOLE.numerics}),
    "turn_buffer-1": turn_buffer(1),
    "turn_buffer-4": turn_buffer(4, quick=True),
    "tilise_address": Run(
        "tensix_bh_pack_unpack",
        lambda faces: faces["t_cfg"][:, 4].sum() // COLUMNS,
        {"numerics": BLACKHOLE.numerics},
        quick=True,
    ),
    "unpacker-wh": conversion("wh", "u_src"),
    "unpacker-bh": conversion("bh", "u_src|d_dst", ran=2),
    "packer-wh": conversion("wh", "p_dst"),
    "packer-bh": conversion("bh", "p_dst"),
    "sfp_stochastic_round-wh": rounded("wh"),
    "sfp_stochastic_round-bh": rounded("bh", quick=True),
    "sfpu-wh": vector_unit("wh"),
    "sfpu-bh": vector_unit("bh"),
    "sfpu-bh-some": vector_unit("bh", 16),
    **dict.fromkeys(
        ("mop_expander", "replay_expander", "instruction_expander"),
        Run("tensix_bh_control", lambda control: control.size("(wh|bh)_x_out"), quick=True),
    ),
    **{f"{unit}-{chip}": counter(unit, chip) for unit in ("rwc", "adc") for chip in CHIP},
    "tensix_core-wh": Run("tensix_bh_program", partial(program_values, "wh"), FAST | {"chip": Chip.WORMHOLE}),
    "tensix_core-bh": Run("tensix_bh_program tensix_bh_control", core_values, FAST | {"chip": Chip.BLACKHOLE}, ran=3),
}

WIDE = r"(int16_64|int32x16|cint).*_out"
SPARSE = "(int8_8x16x8T|int8_4x16x16T|int16_64_4x8x8T)_out"
ANSWERED = (
    NativeShape.INT8_4X8X16,
    NativeShape.INT8_ELEM_64_2,
    NativeShape.INT8_CONV_64X8,
    NativeShape.INT8_CONV_8X8_8CH,
    NativeShape.INT16_ELEM_64_1,
    NativeShape.INT16_64_4X4X8,
    NativeShape.INT16_64_ELEM_32_2,
    NativeShape.INT16_64_CONV_32X4,
    NativeShape.INT16_64_CONV_4X4_8CH,
    NativeShape.INT32X16_4X2X8,
)
"""Shapes with known answers but the complex ones, whose negations belong to the lanes."""
AIE_ML_V2 = {
    "mx_convert": Run("aie_mx_blocks", lambda blocks: len(MX_FORMATS) * len(blocks["finite_block"]), ran=3, quick=True),
    "mx_convert-xdna2": Run(
        "silicon_xdna2_convert", lambda blocks: len(blocks["mode"]), vars(BFP16EBS8_CONVERT), quick=True
    ),
    "float_narrow": Run(
        "aie_silicon", lambda silicon: len(silicon["f32_bits"]) * len(RoundingCode) // 4, {"lanes": 4}, quick=True
    ),
    "float_floor": Run("aie_tile_convert", lambda convert: convert.size("bf16_int32") // 4, {"lanes": 4}, quick=True),
    "fix_float": Run("aie_tile_convert", lambda convert: convert.size("fix_n") // 4, {"lanes": 4}, quick=True),
    "float_fix": Run("aie_tile_convert", lambda convert: convert.size("float_bits") // 4, {"lanes": 4}, quick=True),
    "pack_unpack": Run("aie_tile_int4", lambda packed: len(packed["pack16_out"]), {"lanes": 1}),
    "mx_widen": Run("aie_tile_convert", lambda convert: convert.size("mx[964]_exponent")),
    "scalar_functions": Run("aie_tile_scalar", lambda scalar: 3 * len(scalar["nlf_x"])),
    "shuffle": Run("aie_tile_shuffle", lambda routes: 8 * len(routes["code"])),
    "mac_lane": Run("aie_silicon", lambda silicon: silicon.size("mac_out"), quick=True),
    "mac_lane-xdna2": Run(
        "silicon_xdna2_mmul silicon_xdna2_chain.json", chain_steps, vars(BFP16EBS8_LANE), ran=len(SETS) + 1, quick=True
    ),
    "wide_lanes": Run("aie_tile_mac_shapes", lambda shapes: shapes.size(WIDE), quick=True),
    "operand_shapes": Run(
        "aie_tile_mac_shapes",
        lambda shapes: len(shapes["int8_elem_64_2_out"]) * len(ANSWERED),
        {"lanes": 64, "shapes": ANSWERED},
    ),
    "sparse_route": Run("aie_tile_sparse", lambda sparse: sparse.size(SPARSE), quick=True),
    "agu": Run("aie_tile_agu", lambda agu: agu["agu_addr"].size + 3 * len(agu["agu_addr"]), quick=True),
    "data_memory": Run(
        "aie_tile_agu",
        lambda agu: len(agu["bank_stall"]),
        {"modules": 4, "pairs": 4, "words": 256, "bank_bytes": 32},
    ),
}
RUNS = TRAINIUM3 | TENSIX | AIE_ML_V2


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if run.quick else [pytest.mark.deep]) for name, run in RUNS.items()]
)
def test_known_answers(kat, replay, name):
    """Every known answer of a unit."""
    run, unit = RUNS[name], UNITS[name.partition("-")[0]]
    archives = [kat(archive) for archive in run.archives.split()]
    compared = run.compared(*archives)
    skip_absent(run.archives, {name: compared})
    fields = run.config(*archives) if callable(run.config) else run.config
    bench = f"known_answers.tb_{unit.machine}_known_answers"
    checks = {"env": run.env, "seed": SEED, "min_tests": run.ran, "min_compared": compared}
    result = replay(unit.name, unit.config_type(**fields), bench, **checks)
    skip_absent(run.archives, dict.fromkeys(result.skipped, 0))
