"""Which signals stand in which group of a save file, and which number format each shows: tables, read in order."""

import re
from dataclasses import dataclass

from bitpath.golden.spec.formats import BF16, E4M3FN, E8M0, FP32, TF32, FloatFormat


@dataclass(frozen=True)
class Group:
    """Signals whose path below the top, dots between its parts, ``pattern`` matches from the start."""

    title: str
    pattern: str


CLOCK = Group("clock", r"(clk|rst)$")
INPUTS = Group("inputs", r"i__")
OUTPUT = Group("output", r"o__")
PE_INPUTS = Group("inputs", r"(moving_west|stationary_west|partial_north|load|swap_west|advance)\b")
PE_OUTPUTS = Group("outputs", r"(moving_east|stationary_east|partial_south|swap_east)\b")

DOT_GROUPS = (
    Group("decode", r"(dot\.)?decode_"),
    Group("products", r"(dot\.)?(multiply_|products)"),
    Group("align", r"(dot\.)?terms"),
    Group("sum", r"(dot\.)?(total|align_)"),
    Group("normalize", r"(dot\.)?(coarse|fine|add_)"),
    Group("round", r"(dot\.)?round"),
)

TENSIX_DOT_GROUPS = (
    Group("fields and products", r"(dot\.)?multiply\.(multiply_|products)"),
    Group("group exponents and shifts", r"(dot\.)?(multiply\.|multiply_exponents)"),
    Group("group sums", r"(dot\.)?(group_sum_|multiply_|sums)"),
    Group("align to Dst", r"(dot\.)?(dst_align|sum_)"),
    Group("add Dst", r"(dot\.)?(dst_add|add_)"),
    Group("normalize", r"(dot\.)?(dst_normalize|normalize_)"),
    Group("round", r"(dot\.)?dst_round"),
)

FUNCTION_GROUPS = (
    Group("first lane, its operand", r"lane_0\.(i__|decode|normalize|number)"),
    Group("first lane, recurrence", r"lane_0\.(left|busy|residue|rest|step|total|digits|exponent|special)"),
    Group("first lane, result", r"lane_0\.(exact|result|o__)"),
)

RMSNORM_QUANT_LANE_GROUPS = (
    Group("first lane, pass 1", r"lane_0\.(hidden|squares\.|largest|maximum)"),
    Group("first lane, statistics", r"lane_0\.(statistics\.|in_scale)"),
    Group("first lane, pass 2", r"lane_0\.(gamma|normalize\.)"),
    Group("first lane, pass 3", r"lane_0\.(quantize\.|o$)"),
)

AIE_LANE_GROUPS = (
    Group("first lane, 64 bits", r"lane_0\."),
    Group("second lane, 32 bits", r"lane_1\."),
    Group("result", r"(result|request)"),
    Group("sticky flag", r"((clear_)?overflow|flag\.)"),
)

AIE_MAC_GROUPS = (
    Group("operands and decode", r"(permuted_|multiply\.(mx|float)_decode_)"),
    Group("products and exponents", r"(multiply\.|multiplied_)"),
    Group("post-add and terms", r"(post_add|block_terms|float_|first_)"),
    Group("compare", r"(compare\.|compared_)"),
    Group("align to the largest exponent", r"align\."),
    Group("accumulate", r"(accumulate\.|added_|total)"),
    Group("normalize", r"normalize\."),
)

GROUPS: dict[str, tuple[Group, ...]] = {
    "quad_mx_dot": (CLOCK, INPUTS, *DOT_GROUPS, OUTPUT),
    "quad_mx_pe": (
        CLOCK,
        PE_INPUTS,
        Group("held operands", r"(stationary|second|moving|partial)\b"),
        *DOT_GROUPS,
        PE_OUTPUTS,
    ),
    "bf16_pe": (
        CLOCK,
        PE_INPUTS,
        Group("held operands", r"(stationary|second|moving|partial)\b"),
        Group("decode", r"multiply_add\.decode_"),
        Group("product", r"multiply_add\.multiply"),
        Group("sum", r"multiply_add\.(add|special|total)"),
        Group("normalize", r"multiply_add\.normal"),
        Group("round", r"multiply_add\.round"),
        PE_OUTPUTS,
    ),
    "rmsnorm_quant": (
        CLOCK,
        Group("command", r"(command__|busy|retired)"),
        Group("hidden and gamma", r"(hidden|gamma)__"),
        Group("sequencer", r"sequencer\."),
        Group("gamma's broadcast", r"(broadcast\.|weight)"),
        *RMSNORM_QUANT_LANE_GROUPS,
        OUTPUT,
    ),
    "reciprocal": (CLOCK, INPUTS, *FUNCTION_GROUPS, OUTPUT),
    "square_root": (CLOCK, INPUTS, *FUNCTION_GROUPS, OUTPUT),
    "reciprocal_square_root": (CLOCK, INPUTS, *FUNCTION_GROUPS, OUTPUT),
    "quantize_mx": (
        CLOCK,
        INPUTS,
        Group("first element", r"(source_0|code_0)\."),
        Group("largest exponent and scale", r"(maximum|offset|(largest|scale)(?!_number))"),
        Group("numbers", r"(source|numbers|largest|scale)_"),
        Group("codes", r"code"),
        OUTPUT,
    ),
    "xorwow": (
        CLOCK,
        Group("loads", r"load__"),
        Group("numbers", r"random__"),
        Group("states shown", r"(lane|states)$"),
        Group("first lane", r"lane_0\."),
        Group("lanes", r"lane_"),
    ),
    "stochastic_psum": (
        CLOCK,
        Group("writes", r"write\b"),
        Group("host", r"(host|data)__"),
        Group("generators", r"(load__|shown|states|xorwow_)"),
        Group("first column", r"psum\.columns_0\.(psum_columns_0\.)*psum_column_0\."),
        Group("banks", r"psum\."),
    ),
    "exponential": (
        CLOCK,
        INPUTS,
        Group("first element", r"(difference|argument|power|result|narrow)_0\."),
        Group("differences", r"difference"),
        Group("arguments", r"argument"),
        Group("powers", r"(power|result)"),
        Group("sum", r"(accumulator|start|total|add_|sum)"),
        OUTPUT,
    ),
    "dot16": (CLOCK, INPUTS, *TENSIX_DOT_GROUPS, OUTPUT),
    "unpacker": (CLOCK, INPUTS, Group("datums", r"datum_"), OUTPUT),
    "packer": (
        CLOCK,
        INPUTS,
        Group("early conversion", r"early_"),
        Group("ReLU", r"relu_"),
        Group("late conversion", r"late_"),
        Group("block", r"block"),
        Group("add to L1", r"(add_|round_|code_)"),
        OUTPUT,
    ),
    "matrix_unit": (
        CLOCK,
        Group("instruction", r"instruction__"),
        Group("unpackers", r"write_[ab]__"),
        Group("Dst from and to outside", r"(write_dst|read_dst|dst)__"),
        Group("on the way to Dst", r"(starting|flight_|fire|step)"),
        Group("SrcA and SrcB", r"src_[ab]\."),
        Group("operands of this pass", r"select\."),
        Group("Dst", r"dst_register\."),
        Group("first dot product", r"cells_0\.cell_0\."),
        Group("first row of dot products", r"cells_0\."),
    ),
    "tensix_engine": (
        CLOCK,
        Group("commands", r"(command__|busy|retired)"),
        Group("host", r"(write|read|data)__"),
        Group("loads", r"(left|right)\."),
        Group("sequencer", r"sequencer\."),
        Group("Matrix unit", r"unit\.(instruction|starting|flight_|fire|step|src_[ab]\.|dst_register\.)"),
        Group("first dot product", r"unit\.cells_0\.cell_0\."),
        Group("packer and results", r"(storer|results)\."),
    ),
    "post_add": (
        Group("inputs", r"i\b"),
        Group("decode", r"multiply\.(mx|float)_decode_"),
        Group("products", r"multiply\."),
        Group("sum", r"post_add\."),
        Group("output", r"o$"),
    ),
    "mac_lane": (
        CLOCK,
        Group("inputs", r"(valid|operands|acc[12])\b"),
        *AIE_MAC_GROUPS,
        Group("output", r"o$"),
    ),
    "vector_mac": (
        CLOCK,
        Group("beats", r"i__"),
        Group("accumulators from and to outside", r"(write|read|o|written|busy)\b|(write|read|o)__"),
        Group("issue and what is on its way", r"issue\."),
        Group("accumulators", r"file\."),
        Group("first lane", r"lane_0\."),
        Group("operands", r"(permute\.|operands|taken|high)"),
    ),
    "aie_engine": (
        CLOCK,
        Group("commands", r"(command__|busy|retired|queue\.)"),
        Group("host", r"(write|read|data)__"),
        Group("sequencer", r"sequencer\."),
        Group("beat and its operands", r"(held|free|issues|i__|operand__|memory_[xy])"),
        Group("issue and what is on its way", r"unit\.issue\."),
        Group("accumulators", r"unit\.(file\.|written|(read|o|write)__)"),
        Group("first lane", r"unit\.lane_0\."),
        Group("storer and results", r"(storer\.|store__|released|write\.|word__|answer__|results)"),
    ),
    "mx_convert": (
        CLOCK,
        INPUTS,
        Group("exponents and shifts", r"(pairs|shared|leaves|bumped)"),
        Group("first element", r"element_0\."),
        Group("elements", r"(element|trial)_"),
        Group("block", r"(result|codes|block|image)"),
        OUTPUT,
    ),
    "srs": (CLOCK, INPUTS, *AIE_LANE_GROUPS, OUTPUT),
    "ups": (CLOCK, INPUTS, *AIE_LANE_GROUPS, OUTPUT),
    "cascade_link": (CLOCK, INPUTS, Group("sender", r"sender\."), Group("receiver", r"receiver\."), OUTPUT),
    "cascade": (
        CLOCK,
        Group("beats", r"i_\d+__"),
        Group("from outside", r"before__"),
        Group("links", r"link_"),
        Group("first stage's multiply-accumulate", r"stage_0\.mac\."),
        Group("stages", r"stage_\d+\.(?!mac\.)"),
        OUTPUT,
    ),
}
"""The groups of each unit; a signal goes to the first that matches, and one that none matches is left out."""

DEFAULT_GROUPS = (CLOCK, Group("ports and registers", r"[a-z_0-9]+(\.[a-z_0-9\[\]]+)?$"), Group("inside", r"."))
"""For a unit without a table of its own: what stands directly in it, and the rest."""

FORMATS: tuple[tuple[str, int, FloatFormat], ...] = (
    (r".*scale$", E8M0.width, E8M0),
    (r".*(elements\[\d+\]|code)$", E4M3FN.width, E4M3FN),
    (r".*(partial|partial_(north|south)|payload|value|present|total|data)(\[\d+\])?$", FP32.width, FP32),
    (r".*(narrow\.o|bf16)$", BF16.width, BF16),
    (r".*(payload\.dst|_dst|dst_round\.o)$", FP32.width, FP32),
    (r".*(element|trial)_\d+\.i$", FP32.width, FP32),
    (
        r"lane_\d+\.((squares|statistics|normalize|quantize)\.(\w+\.)?([abio]|square|total|number|scale|element|product|factor)|largest)$",
        FP32.width,
        FP32,
    ),
    (r".*(read_[ab]_\d+_\d+\.word|write_[ab]__payload\.values\[\d+\])$", TF32.width, TF32),
)
"""Name, width and format of signals that are numbers. Elements are shown as E4M3FN and again as E5M2, since which of the
two they are is chosen at run time; words of SrcA and SrcB as TF32, which those of BF16 are too."""


def groups_of(unit: str) -> tuple[Group, ...]:
    """The unit's groups in the order in which they are shown."""
    return GROUPS.get(unit, DEFAULT_GROUPS)


def group_of(unit: str, path: str) -> str | None:
    """The title of the group that a signal belongs to."""
    return next((group.title for group in groups_of(unit) if re.match(group.pattern, path)), None)


def format_of(path: str, width: int) -> FloatFormat | None:
    """The number format that a signal carries, if it is a number."""
    for pattern, wide, fmt in FORMATS:
        if width == wide and re.match(pattern, path):
            return fmt
    return None
