"""Known answers of Trainium3 that other implementations computed: the vendor's goldens and element-wise derivations.

The folder's README says where each array comes from. `golden` there rounds otherwise than this project, so it is
compared within the bound that the README states; everything else is compared bit for bit.
"""

from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, E2M1, E4M3, E4M3FN, E5M2, E8M0, FP16, FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3 import (
    Xorwow,
    activate2,
    compress_sparse,
    descriptor_cycles,
    dma_compute,
    dma_schedule,
    exact,
    expand_sparse,
    gather_scale,
    nc_matmul,
    nc_matmul_mx,
    nc_matmul_sparse,
    nc_transpose,
    pack_tags,
    pack_x4,
    quantize_mx,
    rand2,
    read_add_write,
    rmsnorm_quant,
    scatter_scale,
    unpack_tags,
    unpack_x4,
)
from bitpath.golden.trainium3.declarations.dtypes import FORMATS as DMA_FORMATS
from bitpath.golden.trainium3.declarations.engines import ReduceCommand
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL
from bitpath.golden.trainium3.matmul.nc_matmul import chain_passes
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES
from bitpath.verif.kit.known_answers import answers, skip_absent
from bitpath.verif.trainium3.dma.dma_queues import known_schedule
from bitpath.verif.trainium3.dtype_words import array_of, bits, cast_words, tile
from bitpath.verif.trainium3.dtype_words import codes_of as words_of
from bitpath.verif.trainium3.golden.samples import column_steps, instruction_side

FORMATS = {"bf16": BF16, "fp16": FP16, "e4m3fn": E4M3FN, "e5m2": E5M2, "e2m1": E2M1}

# MX: quantisation, scales and products.


@answers("trn_quantize_mx")
def test_quantize_mx(archive):
    present = set()
    for case in archive["meta"]:
        own = archive.part(f"c{case['id']:03d}_")
        source = own["src_bits"].view(DTYPES[FORMATS[case["src"]]])
        for name, rule in (("floor", "ocp"), ("x2", "nki05")):
            data, scale = quantize_mx(source, DTYPES[FORMATS[case["dst"]]], scale_rule=rule)
            assert data.shape == (case["P"], case["F"])
            if f"own_{name}_code" in own:
                yield own[f"own_{name}_code"], scale
                yield own[f"own_{name}_data"], codes_of(data)
                present.add(name)
    skip_absent(archive.name, {"QuantizeMX": present})


def matmul_cases(archive):
    """Yield each case's description and its arrays."""
    for case in archive["meta"]:
        yield case, archive.part(f"m{case['id']:03d}_")


def elements(case, arrays, side):
    return arrays[f"{side}_bits"].view(DTYPES[FORMATS[case[side]]])


@answers("trn_matmul_mx")
def test_packing(archive):
    for case, arrays in matmul_cases(archive):
        for side in ("st", "mv"):
            flat = elements(case, arrays, side)
            words = pack_x4(flat)
            # The archive keeps FP4 as byte pairs: the little-endian bytes of the same words.
            stored, got = (
                np.frombuffer(each.astype(each.dtype.newbyteorder("<")).tobytes(), np.uint8)
                for each in (arrays[f"{side}_x4"], words)
            )
            yield stored, got
            yield codes_of(flat), codes_of(unpack_x4(words, flat.dtype))


@answers("trn_matmul_mx")
def test_scale_layout(archive):
    for case, arrays in matmul_cases(archive):
        for side, offset in zip(("st", "mv"), arrays["offs"].tolist(), strict=True):
            stored, scale = arrays[f"{side}_scale_hw"], arrays[f"{side}_scale"]
            used = np.zeros(stored.shape[0], bool)
            used[scatter_scale(np.ones((case["P"] // 8, 1), np.uint8), offset)[:, 0] == 1] = True
            assert set(np.unique(stored[~used])) <= {0xAA, 0x55}
            yield scale, gather_scale(stored, offset)
            yield stored[used], scatter_scale(scale, offset)[used]


def operands(case, arrays):
    shape = case["P"], -1, 4
    return (
        elements(case, arrays, "st").reshape(shape),
        elements(case, arrays, "mv").reshape(shape),
        gather_scale(arrays["st_scale_hw"], int(arrays["offs"][0])),
        gather_scale(arrays["mv_scale_hw"], int(arrays["offs"][1])),
    )


def test_matmul_is_within_the_vendor_golden(kat):
    compared = 0
    for case, arrays in matmul_cases(kat("trn_matmul_mx")):
        got = nc_matmul_mx(*operands(case, arrays)).astype(np.float64)
        assert got.shape == (case["M"], case["N"])
        if case["mode"] == "extreme":
            continue
        bound = 5e-7 * arrays["abs_sum"]
        assert np.all(np.abs(got - arrays["exact"]) <= bound)
        assert np.all(np.abs(got - arrays["golden"]) <= bound)
        compared += got.size
    skip_absent("trn_matmul_mx.npz", {"ordinary scales": compared})


@answers("trn_matmul_mx")
def test_matmul_is_the_scalar_tier(archive):
    """Bits, 'extreme' scales included: up to 6 outputs of every case."""
    rng = np.random.default_rng(9)
    for case, arrays in matmul_cases(archive):
        x, y, x_scale, y_scale = operands(case, arrays)
        got = nc_matmul_mx(x, y, x_scale, y_scale).view(np.uint32)
        for flat in rng.choice(got.size, min(6, got.size), replace=False):
            m, n = divmod(int(flat), got.shape[1])
            sides = instruction_side(x, x_scale), instruction_side(y, y_scale)
            yield column_steps(TRAINIUM3_QUAD_MX.numerics, *sides, m, n)[-1].result, got[m, n]


@pytest.mark.parametrize("mode", ["exact", "exact_bf16"])
def test_exact_sums(kat, mode):
    """The archive's exact sums against the scalar tier's: the products' sum as one fraction."""
    compared = 0
    for case, arrays in matmul_cases(kat("trn_matmul_mx")):
        x, y, x_scale, y_scale = operands(case, arrays)
        for m, n in list(np.ndindex(case["M"], case["N"]))[:4]:
            total = Fraction(0)
            for p in range(case["P"]):
                codes = zip(codes_of(x)[p, m].tolist(), codes_of(y)[p, n].tolist(), strict=True)
                kinds = FORMATS[case["st"]], FORMATS[case["mv"]]
                products = sum(decode(kinds[0], a).value * decode(kinds[1], b).value for a, b in codes)
                scales = [decode(E8M0, int(each)).value for each in (x_scale[p // 8, m], y_scale[p // 8, n])]
                total += products * scales[0] * scales[1]
            if mode == "exact_bf16":
                assert round_to_format(total, BF16) == arrays[mode][m, n]
            else:
                stored = Fraction(float(arrays[mode][m, n]))
                assert abs(stored - total) <= Fraction(float(np.spacing(abs(float(total))))) / 2
            compared += 1
    assert compared > 0


# FP32 in passes, mixed formats, double row, sparsity, transposes.


@answers("trn_core_fp32")
def test_fp32_and_tf32(archive):
    """Whole products, and one output of each on scalars."""
    for number, *sizes in archive["meta"].tolist():
        case = archive.part(f"p{number}_")
        x, y = (case[side].view(np.float32) for side in ("st", "mv"))
        assert [x.shape[0], x.shape[1], y.shape[1]] == sizes
        for mode in ("fused", "split12"):
            yield case[mode], nc_matmul(x, y, fp32_mode=mode).view(np.uint32)
        yield case["tf32"], nc_matmul(x, y, stationary_tf32=True, moving_tf32=True).view(np.uint32)
        yield case["passes"], chain_passes(TRAINIUM3_MATMUL.numerics, x.astype(np.float64), y.astype(np.float64))[1]
        m, n = number % x.shape[1], (number + 1) % y.shape[1]
        columns = case["st"][:, m].tolist(), case["mv"][:, n].tolist()
        total, passes = exact.split12(TRAINIUM3_MATMUL.numerics, *columns)
        yield [case["split12"][m, n], *case["passes"][:, m, n]], [total, *passes]


@answers("trn_core_fp32")
@pytest.mark.parametrize(("prefix", "mode"), [("n", "none"), ("d", "double_row")])
def test_mixed_formats(archive, prefix, mode):
    cases = dict(archive.parts(rf"{prefix}\d+"))
    skip_absent(archive.name, {mode: cases})
    for case in cases.values():
        x, y = (
            case[side].view(DTYPES[CATALOGUE[str(name).upper()]])
            for side, name in zip(("st", "mv"), case["formats"], strict=True)
        )
        yield case["out"], nc_matmul(x, y, perf_mode=mode).view(np.uint32)


@answers("trn_core_sparse")
def test_sparsity(archive):
    specials = 0
    for number, kept, group, *_, fmt in archive["meta"].tolist():
        case, dtype, pattern = archive.part(f"s{number}_"), DTYPES[(BF16, FP16, FP32)[fmt]], f"{kept}:{group}"
        values, tags = compress_sparse(case["dense"].view(dtype), pattern)
        yield case["values"], codes_of(values)
        words = pack_tags(tags, pattern)
        yield case["tags"], tags, unpack_tags(words, pattern)
        yield case["tag_words"], words
        yield case["dense"], codes_of(expand_sparse(values, tags, pattern))
        out = nc_matmul_sparse(values, case["moving"].view(dtype), words, pattern)
        yield case["out"], out.view(np.uint32)
        finite = np.isfinite(case["exact"])
        assert np.allclose(out[finite], case["exact"][finite], rtol=1e-4, atol=1e-3)
        specials += np.count_nonzero(out.view(np.uint32) != case["dense_out"])
    skip_absent(archive.name, {"zero weights that meet an infinity or NaN": specials})


@answers("trn_core_transpose")
def test_transposes(archive):
    for number, width, *shape in archive["te_meta"].tolist():
        data, psum = archive[f"te{number}_data"], archive[f"te{number}_psum"]
        assert list(data.shape) == shape
        element, identity = {8: (E5M2, BF16), 16: (FP16, BF16), 32: (FP32, FP32)}[width]
        moved = nc_matmul(data.view(DTYPES[element]), np.eye(shape[0]).astype(DTYPES[identity]), is_transpose=True)
        yield psum, nc_transpose(data), moved.view(psum.dtype)
    sides = (archive[name].view(DTYPES[BF16]) for name in ("perm_data", "perm_moving_bf16"))
    yield archive["perm_psum"], codes_of(nc_matmul(*sides, is_transpose=True))


# Engines: Activation2 and rand2.


@answers("trn_core_act")
def test_activate2(archive):
    for number, (name, op0, op1, op, reduce_op, *reverse, parameter) in enumerate(archive["meta"].tolist()):
        case, flags = archive.part(f"a{number}_"), [each == "1" for each in reverse]
        immediates = case["imm"].view(np.float32)
        for dtype, key in ((np.float32, "out"), (ml_dtypes.bfloat16, "out_bf16")):
            got, registers = activate2(
                tile(name, case["data"]), op, op0, op1, immediates[:, :1], immediates[:, 1:],
                relu_param=np.uint32(parameter).view(np.float32), reverse0=flags[0], reverse1=flags[1],
                reduce_op=reduce_op, reduce_cmd="reset_reduce", dtype=dtype,
            )  # fmt: skip
            yield case[key], bits(got)
            yield case["reduce"], bits(registers[:, np.newaxis])
        for row, operands, out, (register,) in case.lists("data", "imm", "out", "reduce"):
            codes, last = exact.activate2(
                row, name, op, (op0, op1), tuple(operands), reverse=tuple(flags),
                relu_param=int(parameter), reduce_op=reduce_op, reduce_cmd=ReduceCommand.RESET_REDUCE,
            )  # fmt: skip
            yield [*out, register], [*codes, last]


@answers("trn_core_act")
def test_rand2(archive):
    state, words = archive["rand2_state"], archive["rand2_words"]
    count = words.shape[1]
    yield words, Xorwow(state).elements(count)
    for name, dtype in (("fp32", np.float32), ("bf16", ml_dtypes.bfloat16), ("int8", np.int8)):
        low, high = archive["rand2_int8_min_max" if name == "int8" else "rand2_min_max"].view(np.float32)
        yield archive[f"rand2_{name}"], bits(rand2(Xorwow(state), count, low, high, dtype=dtype))
    yield archive["rand2_bf16"], [[convert(code, FP32, BF16) for code in row] for row in archive["rand2_fp32"].tolist()]


# DMA: casts, additions, times and schedules.


@answers("trn_core_rmw", whole="cast_[^_]+_[^_]+")
def test_casts(archive):
    names = archive["cast_names"].tolist()
    assert sorted(names) == sorted(DMA_FORMATS)
    for pair in product(names, repeat=2):
        codes = archive[f"cast_{pair[0]}"]
        twins = [exact.cast(code, *pair) for code in codes.tolist()]
        yield archive["cast_{}_{}".format(*pair)], cast_words(codes, *pair), twins


@answers("trn_core_rmw", whole="raw_.*_sum")
def test_read_add_write(archive):
    for name, fmt in (("bf16", BF16), ("fp32", FP32)):
        b, a, total = (archive[f"raw_{name}_{part}"] for part in ("b", "a", "sum"))
        twins = [exact.read_add_write(x, y, fmt) for x, y in zip(b.tolist(), a.tolist(), strict=True)]
        yield total, words_of(read_add_write(array_of(b, name), array_of(a, name))), twins


@answers("trn_core_rmw", whole=r"cmp\d+_dst")
def test_dma_compute(archive):
    for _, case in archive.parts(r"cmp\d+"):
        *sources, destination = case["formats"].tolist()
        codes = [case[f"src{j}"] for j in range(len(sources))]
        arrays = [array_of(code, name) for code, name in zip(codes, sources, strict=True)]
        each = zip(*(code.tolist() for code in codes), strict=True)
        twins = [exact.dma_compute(row, sources, destination) for row in each]
        yield case["dst"], words_of(dma_compute(arrays, CAST_DTYPES[destination])), twins


@answers("trn_core_dma", whole="duration_cycles")
def test_durations(archive):
    yield archive["duration_cycles"], [descriptor_cycles(size) for size in archive["duration_bytes"].tolist()]


@answers("trn_core_dma", whole=r"q\d+_trace")
def test_schedules(archive):
    for name, case in archive.parts(r"q\d+"):
        schedule, trace = known_schedule(archive, int(name[1:]))
        grants = dma_schedule(schedule.queues, schedule.classes, schedule.descriptors)
        walked = exact.dma_schedule(
            case["priority"].tolist(),
            case["class"].tolist(),
            [None if rate < 0 else rate for rate in case["rate256"].tolist()],
            case["burst"].tolist(),
            [(each.queue, each.arrival, each.bytes, descriptor_cycles(each.bytes)) for each in schedule.descriptors],
            trace[-1][3],
        )
        yield trace, [(each.queue, each.number, each.grant, each.end) for each in grants], walked


# RMSNorm-Quant: the kernel's instruction sequence byte for byte, the vendor's goldens within its tolerances.
#
# The vendor compares FP8 values within 0.072, and scales within 0.007, of the largest magnitude of its golden (nki-library,
# the kernel's test). Its goldens compute in FP32, add eps to the root, and divide by a maximum that is not 0.

VALUES, SCALES = 0.072, 0.007


def kernel_cases(archive):
    """Yield each case's description, the flow's arguments, and its other arrays."""
    for case in archive["meta"]:
        arrays = archive.part(f"r{case['id']:03d}_")
        dtype = DTYPES[{"bfloat16": BF16, "float16": FP16}[str(case["dtype"])]]
        hidden = arrays["hidden_bits"].view(dtype)
        assert hidden.shape == (case["B"], case["S"], case["H"])
        arguments = {
            "hidden": hidden,
            "gamma": arrays["gamma_bits"].view(dtype),
            "quant_type": str(case["qtype"]).lower(),
            "in_scale": arrays.get("in_scale"),
            "quant_only": bool(case["quant_only"]),
            "lower_bound": float(case["lower_bound"]),
            "shards": int(case["shards"]),
        }
        yield case, arguments, arrays


@answers("trn_rmsnorm_quant")
@pytest.mark.parametrize(("order", "key"), [("serial", "kernel_bytes"), ("exact", "kernel_bytes_sumexact")])
def test_every_byte_of_the_kernel(archive, order, key):
    differing = 0
    for _, arguments, arrays in kernel_cases(archive):
        yield arrays[key], rmsnorm_quant(**arguments, sum_order=order)
        differing += np.count_nonzero(arrays["kernel_bytes"] != arrays["kernel_bytes_sumexact"])
    skip_absent(archive.name, {"rows that tell the orders apart": differing})


def distance(got, reference):
    """The largest difference, by the largest magnitude of the reference."""
    return float(np.abs(got - reference).max() / np.abs(reference).max())


def errors(arguments, arrays, reference, placement):
    """How far values and scales are from a vendor golden; no scale in static mode."""
    packed = rmsnorm_quant(**arguments, eps_placement=placement)
    columns = arguments["hidden"].shape[-1]
    codes, scale = packed[..., :columns], packed[..., columns:]
    as_values = [
        np.ascontiguousarray(each).view(DTYPES[E4M3]).astype(np.float64) for each in (codes, arrays[f"{reference}_q"])
    ]
    scales = np.ascontiguousarray(scale).view("<f4") if scale.size else None
    return distance(*as_values), 0.0 if scales is None else distance(scales, arrays[f"{reference}_s"])


@pytest.mark.parametrize(("reference", "placement"), [("ref_eps_added", "golden"), ("ref_eps_inside", "kernel")])
def test_vendor_tolerances_with_the_same_place_of_eps(kat, reference, placement):
    worst = np.array(
        [
            errors(arguments, arrays, reference, placement)
            for _, arguments, arrays in kernel_cases(kat("trn_rmsnorm_quant"))
        ]
    )
    assert np.all(worst <= (VALUES, SCALES))
    # At most one step of the topmost binade.
    assert np.all(worst.max(axis=0) <= (0.0677, 0.0037))


def test_vendor_tolerances_with_the_other_place_of_eps(kat):
    """They hold but where rows are as small as the root of eps: there static values, or row scales, are far off."""
    for case, arguments, arrays in kernel_cases(kat("trn_rmsnorm_quant")):
        of_values, of_scales = errors(arguments, arrays, "ref_eps_added", "kernel")
        if case["quant_only"] or case["kind"] != "small1e-3":
            assert of_values <= VALUES
            assert of_scales <= SCALES
        elif case["qtype"] == "STATIC":
            assert of_values == pytest.approx(1 / 3, abs=0.001)
        else:
            assert of_values <= VALUES  # the scale of the norm cancels
            assert of_scales == pytest.approx(0.288, abs=0.001)


def vendor_golden(hidden, gamma, eps=1e-6):
    """The formula of the design specification's CPU golden, in float64: values before the cast, and scales."""
    hidden, gamma = hidden.astype(np.float64), gamma.astype(np.float64)
    norm = hidden / (np.sqrt(np.mean(hidden**2, axis=-1, keepdims=True)) + eps) * gamma
    largest = np.abs(norm).max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return norm * (240 / largest), largest / 240


@pytest.mark.parametrize("columns", [64, 512, 1000])
def test_formula_of_the_specification(columns):
    rng = np.random.default_rng(columns)
    hidden = rng.standard_normal((20, columns)).astype(ml_dtypes.bfloat16)
    gamma = (1 + 0.2 * rng.standard_normal(columns)).astype(ml_dtypes.bfloat16)
    golden, scales = vendor_golden(hidden, gamma)
    packed = rmsnorm_quant(hidden, gamma)
    assert distance(packed[:, :columns].copy().view(DTYPES[E4M3]).astype(float), golden) <= VALUES
    assert distance(packed[:, columns:].copy().view("<f4"), scales) <= SCALES


def test_zero_rows_have_no_golden():
    """For a row of zeros the vendor's golden divides zero by zero; the kernel's smallest scale gives zeros."""
    hidden, gamma = np.zeros((1, 8), ml_dtypes.bfloat16), np.ones(8, ml_dtypes.bfloat16)
    assert np.all(np.isnan(vendor_golden(hidden, gamma)[0]))
    packed = rmsnorm_quant(hidden, gamma)
    assert packed[0].tolist() == [0] * 8 + list(np.float32(1e-6).tobytes())
    assert not np.any(codes_of(hidden))
