"""Releases: their parameters, flags, limits, memories and rules, and the sentence of each thing that a release lacks."""

import inspect
import re
from dataclasses import fields, replace

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.machine.one_instruction import filled, hbm, matmul, psum, sbuf

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

BF = ml_dtypes.bfloat16
NAMES = list(nki.RELEASES)
FLAGGED, AUTOMATIC, ACCUMULATES = NAMES[:1], NAMES[1:2], NAMES[2:]
"""Releases with the flag, without any parameter, and with accumulate."""


def broken(kernel, sentence, **more):
    with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
        nki.run(kernel, **more)


def mx_matmul(*more, columns=4, dtype="float32", scales="uint8", dst=None, **keywords):
    """Multiply ones: each element of the product is 128."""
    sides = [sbuf(32, num, dtype="uint32", value=0x38383838).view("float8_e4m3fn_x4") for num in (4, columns)]
    ones = [sbuf(32, num, dtype="uint8", value=127).view(scales) for num in (4, columns)]
    made = psum(4, columns, dtype=dtype) if dst is None else dst
    nisa.nc_matmul_mx(made, *sides, *ones, *more, **keywords)
    return made


def ones_matmul(*more, dst, **keywords):
    """Multiply ones: each element of the product is 32."""
    ones = [sbuf(32, 4, dtype="bfloat16", value=1) for _ in range(2)]
    nisa.nc_matmul(dst, *ones, *more, **keywords)


def stored(tile):
    made = sbuf(*tile.shape, dtype=tile.dtype)
    nisa.tensor_copy(made, tile)
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nisa.dma_copy(out, made)
    return out


def products(multiply, calls, dtype="float32"):
    """Return a kernel that multiplies once for each call's arguments, all into one tile."""

    def kernel():
        made = nl.ndarray((4, 4), dtype, nl.psum)
        for args, keywords in calls:
            multiply(*args, dst=made, **keywords)
        return stored(made)

    return kernel


# The record: its sources, and parameters that the instructions have.


def test_nki_releases_say_what_differs_and_why():
    assert sorted(NAMES) == NAMES
    assert NAMES[-1] == nki.NEWEST == nki.Options().release
    for name, preset in nki.RELEASES.items():
        assert preset.numerics.sdk == name
        assert set(preset.sources) == {each.name for each in fields(nki.Release)}
        assert all(each.where for each in preset.sources.values())


@pytest.mark.parametrize("name", NAMES)
def test_nki_parameters_of_a_release_are_those_of_the_instructions(name):
    own = nki.RELEASES[name].numerics
    for opcode, names in own.parameters.items():
        known = list(inspect.signature(getattr(nisa, opcode)).parameters)
        for each in (names or "").split():
            key = f"{opcode}.{each}"
            assert key in own.fixed or own.spellings.get(key, each) in known, key
    for key in (*own.spellings, *own.fixed):
        assert hasattr(nisa, key.split(".")[0])


def test_nki_another_release():
    with pytest.raises(ValueError, match=re.escape(f"release must be {', '.join(NAMES)}, not '2.26'")):
        nki.Options(release="2.26")
    with pytest.raises(ValueError, match="release must be 2"), nki.release("latest"):
        pass


def test_nki_a_release_of_a_block_a_run_or_its_options():
    found = []

    @nki.jit
    def kernel():
        found.append(nl.ndarray((1, 1), "float32"))
        nisa.nonzero_with_count(sbuf(16, 5, dtype="int32"), sbuf(16, 4))

    sentence = "nonzero_with_count needs release 2.28 or a newer one, not 2.27 (test_nki_releases.py:"
    kernel()
    with nki.release("2.27"):
        with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
            kernel()
        nki.run(kernel, release="2.28")
        nki.run(kernel, options=nki.Options(release="2.28"))
    kernel()
    broken(kernel, sentence, release="2.27")
    broken(kernel, sentence, options=nki.Options(release="2.30"), release="2.27")
    record = replace(nki.RELEASES["2.27"].numerics, parameters={})
    nki.run(kernel, release=record)
    assert len(found) == 8


# The flag of 2.27 and accumulate.


@pytest.mark.parametrize(("flags", "times"), [
    ((None, None), 1), ((3, 3), 1), ((1, 2), 2), ((1, 0, 2), 3), ((3, 4, 6), 3), ((1, 0, 3), 1), ((None, 0), 2),
])  # fmt: skip
@pytest.mark.parametrize("by_name", [False, True])
def test_nki_the_flag_of_2_27(flags, times, by_name):
    """At the eighth place and by name; without one a call overwrites, as the page of 2025-12-01 says."""
    calls = [
        ((), {"psum_accumulate_flag": flag}) if by_name else ((None, None, flag), {})
        for flag in flags
        if flag is not None
    ]
    calls = [((), {})] * flags.count(None) + calls
    made = nki.run(products(mx_matmul, calls), release="2.27").outputs
    assert made.tobytes() == np.full((4, 4), 128 * times, np.float32).tobytes()
    calls = [((), keywords or dict(zip(["psum_accumulate_flag"], args[2:], strict=False))) for args, keywords in calls]
    made = nki.run(products(ones_matmul, calls, "bfloat16"), release="2.27").outputs
    assert made.tobytes() == np.full((4, 4), 32 * times, BF).tobytes()


def test_nki_the_guides_two_matmuls_into_bfloat16():
    calls = [((), {"psum_accumulate_flags": flag}) for flag in (1, 0)]
    made = nki.run(products(ones_matmul, calls, "bfloat16"), release="2.27").outputs
    assert made.tobytes() == np.full((4, 4), 64, BF).tobytes()
    sentence = "nc_matmul has no parameter psum_accumulate_flags in release 2.33; 2.27 has it"
    broken(products(ones_matmul, calls, "bfloat16"), sentence)


@pytest.mark.parametrize("flag", [5, 7, 8, -1, True])
def test_nki_flags_that_contradict_themselves(flag):
    sentence = f"psum_accumulate_flag must be 0, 1, 2, 3, 4 or 6, not {flag}"
    for call in ((None, None, flag), {}), ((), {"psum_accumulate_flag": flag}):
        broken(products(mx_matmul, [call]), f"nc_matmul_mx {sentence}", release="2.27")
    broken(products(ones_matmul, [((), {"psum_accumulate_flag": flag})]), f"nc_matmul {sentence}", release="2.27")


@pytest.mark.parametrize("release", ACCUMULATES)
def test_nki_accumulate_is_no_number(release):
    for number in (0, 1, 3, 1.0):
        sentence = f"accumulate: must be True, False or None, not {number}; a flag is psum_accumulate_flag of"
        broken(products(mx_matmul, [((None, None, number), {})]), f"nc_matmul_mx {sentence}", release=release)
        broken(products(ones_matmul, [((), {"accumulate": number})]), f"nc_matmul {sentence}", release=release)
    for given, times in (((None, None), 2), ((False, np.True_), 2), ((False, False), 1)):
        calls = [((None, None, each), {}) for each in given]
        made = nki.run(products(mx_matmul, calls), release=release).outputs
        assert made.tobytes() == np.full((4, 4), 128 * times, np.float32).tobytes()


@pytest.mark.parametrize("release", FLAGGED + AUTOMATIC)
def test_nki_releases_before_accumulate(release):
    broken(
        products(mx_matmul, [((), {"accumulate": True})]),
        f"nc_matmul_mx has no parameter accumulate in release {release}; 2.29 has it",
        release=release,
    )
    times = 1 if release in FLAGGED else 2
    made = nki.run(products(ones_matmul, [((), {})] * 2), release=release).outputs
    assert made.tobytes() == np.full((4, 4), 32 * times, np.float32).tobytes()


# Limits, dtypes and memories.


@pytest.mark.parametrize("release", NAMES)
@pytest.mark.parametrize(("dtype", "one_bank"), [("float32", 512), ("bfloat16", 1024)])
def test_nki_columns_of_a_release(release, dtype, one_bank):
    """One bank of PSUM for MX before 2.31, then 8; nc_matmul 4,096 columns before 2.31, of either dtype."""
    old = release < "2.31"
    most_mx = one_bank if old else 8 * one_bank
    made = nki.run(lambda: stored(mx_matmul(columns=most_mx, dtype=dtype)), release=release).outputs
    assert (made.astype(np.float32) == 128).all()
    most = {"nc_matmul_mx": most_mx, "nc_matmul": 4096 if old else 8 * one_bank}
    for name, multiply in (("nc_matmul_mx", mx_matmul), ("nc_matmul", wide_matmul)):
        columns = most[name] + 1
        if columns * np.dtype(getattr(ml_dtypes, dtype, dtype)).itemsize > 16384:  # more than PSUM has
            continue
        sentence = (
            f"{name} moving: {columns} columns into {dtype} results; {most[name]} are allowed in release {release}"
        )
        broken(
            lambda multiply=multiply, columns=columns: multiply(columns=columns, dtype=dtype), sentence, release=release
        )


def wide_matmul(columns, dtype):
    matmul(wide=columns, dst=psum(8, columns, dtype=dtype))


def copied_from_psum():
    made = sbuf(4, 4)
    nisa.dma_copy(made, filled(nl.ndarray((4, 4), "float32", nl.psum), 2.0))
    return stored(made)


def seeded_from_psum():
    state = psum(8, 24, dtype="uint32")
    nisa.memset(state, 5)
    nisa.rand_set_state(state, engine=nisa.engine.vector)
    made = sbuf(8, 24, dtype="uint32")
    nisa.rand_get_state(made, engine=nisa.engine.vector)
    return stored(made)


@pytest.mark.parametrize("release", NAMES)
def test_nki_memories_of_a_release(release):
    broken(quantize_from_psum, "quantize_mx src: must be in sbuf, not in psum", release=release)
    cases = {
        seeded_from_psum: ("rand_set_state src_seeds: must be in sbuf, not in psum", 5),
        copied_from_psum: ("dma_copy src: must be in sbuf or private_hbm or shared_hbm, not in psum", 2),
    }
    for kernel, (sentence, value) in cases.items():
        if release in ("2.27", "2.28"):
            assert (nki.run(kernel, release=release).outputs == value).all()
        else:
            broken(kernel, sentence, release=release)


def quantize_from_psum():
    source = nl.ndarray((32, 32), "bfloat16", nl.psum)
    nisa.quantize_mx(sbuf(32, 8, dtype="float8_e4m3fn_x4"), filled(source, 1.0), sbuf(32, 8, dtype="uint8"))


def test_nki_gpsimds_state_is_in_sbuf_in_all_releases():
    for release in NAMES:
        sentence = "rand_set_state src_seeds: must be in sbuf, not in psum"
        broken(lambda: nisa.rand_set_state(psum(8, 6, dtype="uint32")), sentence, release=release)


SINCE = {
    "scales of E8M0": (
        "2.31",
        lambda: mx_matmul(scales="float8_e8m0fnu"),
        "nc_matmul_mx stationary_scale: dtype must be uint8, not float8_e8m0fnu",
    ),
    "matmul of E4M3FN": (
        "2.30",
        lambda: matmul(dtypes=("float8_e4m3fn", "float8_e4m3fn")),
        "nc_matmul stationary and moving: must not be float8_e4m3fn in release 2.29",
    ),
    "columns by index": (
        "2.31",
        lambda: nisa.tensor_copy(sbuf(16, 16), sbuf(16, 16).indirect(sbuf(16, 1, dtype="uint32"), 16)),
        "tensor_copy src: must have no columns by index in release 2.30",
    ),
    "activate2": (
        "2.30",
        lambda: nisa.activate2(sbuf(4, 8), nl.exp, sbuf(4, 8), 1.0, 1.0, nl.multiply, nl.add),
        "activate2 needs release 2.30 or a newer one, not 2.29",
    ),
    "exponential": (
        "2.28",
        lambda: nisa.exponential(sbuf(4, 8), sbuf(4, 8)),
        "exponential needs release 2.28 or a newer one, not 2.27",
    ),
    "the silicon's revision": (
        "2.31",
        nisa.get_nc_sub_version,
        "get_nc_sub_version needs release 2.31 or a newer one, not 2.30",
    ),
    "topk": (
        "2.32",
        lambda: nisa.topk(
            sbuf(16, 8, dtype="bfloat16"), sbuf(16, 8, dtype="uint32"), sbuf(16, 8, dtype="bfloat16"), 16
        ),
        "topk needs release 2.32 or a newer one, not 2.31",
    ),
    "a reduction of scalar_tensor_tensor": (
        "2.33",
        lambda: nisa.scalar_tensor_tensor(
            sbuf(4, 8), sbuf(4, 8), nl.add, 1.0, nl.add, sbuf(4, 8), reduce_op=nl.add, reduce_res=sbuf(4, 1)
        ),
        "scalar_tensor_tensor has no parameter reduce_op in release 2.32",
    ),
    "reduce_cmd of tensor_scalar_reduce": (
        "2.30",
        lambda: nisa.tensor_scalar_reduce(
            sbuf(4, 8), sbuf(4, 8), nl.add, 1.0, nl.add, sbuf(4, 1), reduce_cmd=nisa.reduce_cmd.reset_reduce
        ),
        "tensor_scalar_reduce has no parameter reduce_cmd in release 2.29; 2.30 has it",
    ),
    "src of register_move": (
        "2.29",
        lambda: nisa.register_move(nisa.register_alloc(), src=3),
        "register_move has no parameter src in release 2.28",
    ),
    "affine_select without its offset": (
        "2.29",
        lambda: nisa.affine_select(sbuf(4, 8), [[1, 8]], 1, sbuf(4, 8), 0.0),
        "affine_select missing 1 required positional argument: 'on_false_value'",
    ),
    "dma_compute without scales": (
        "2.29",
        lambda: nisa.dma_compute(sbuf(4, 8), [sbuf(4, 8), sbuf(4, 8)], nl.add),
        "dma_compute missing 1 required positional argument: 'reduce_op'",
    ),
}
"""What came with a release, and the sentence of the release before it."""


@pytest.mark.parametrize("name", SINCE)
def test_nki_what_came_with_a_release(name):
    first, kernel, sentence = SINCE[name]

    def run():
        kernel()

    nki.run(run, release=first)
    nki.run(run)
    broken(run, sentence, release=NAMES[NAMES.index(first) - 1])


UNTIL = {
    "imm of register_move": ("2.28", lambda: nisa.register_move(nisa.register_alloc(), imm=3)),
    "affine_select's third place": ("2.28", lambda: nisa.affine_select(sbuf(4, 8), [[1, 8]], 0, 1, sbuf(4, 8), 0.0)),
    "scales of dma_compute": ("2.28", lambda: nisa.dma_compute(sbuf(4, 8), [sbuf(4, 8)], [1.0], nl.add)),
    "a copy that adds nothing": ("2.28", lambda: nisa.dma_copy(sbuf(4, 8), sbuf(4, 8), dst_rmw_op=None)),
    "is_moving_zero": ("2.27", lambda: ones_matmul(dst=psum(4, 4), is_moving_zero=True)),
}
"""What a release has last."""


@pytest.mark.parametrize("name", UNTIL)
def test_nki_what_ended_with_a_release(name):
    last, kernel = UNTIL[name]

    def run():
        kernel()

    nki.run(run, release=last)
    with pytest.raises(nki.NkiValidationError):
        nki.run(run, release=NAMES[NAMES.index(last) + 1])


def test_nki_a_copy_of_an_old_release_adds_nothing():
    sentence = "dma_copy dst_rmw_op: must be None, not "
    broken(lambda: nisa.dma_copy(sbuf(4, 8), sbuf(4, 8), nl.add), sentence, release="2.28")
    broken(
        lambda: nisa.dma_copy(sbuf(4, 8), sbuf(4, 8), None, dst_rmw_op=None),
        "dst_rmw_op: must be given once",
        release="2.28",
    )


def test_nki_too_many_arguments():
    sentence = "max8 takes 2 arguments in release 2.33, not 3"
    broken(lambda: nisa.max8(sbuf(4, 8), sbuf(4, 8), 1), sentence)


@pytest.mark.parametrize("release", NAMES)
def test_nki_activation_adds_alone(release):
    """As the page of activation and the guide say; a record with other reductions computes them as activate2 does."""

    def kernel(x):
        tile = sbuf(4, 8)
        nisa.dma_copy(tile, x)
        made = sbuf(4, 1)
        nisa.activation_reduce(tile, nl.square, tile, nl.maximum, made)
        return stored(made)

    x = np.random.default_rng(7).standard_normal((4, 8)).astype(np.float32)
    sentence = "activation_reduce reduce_op: must be add"
    broken(lambda: kernel(hbm(4, 8)), sentence, release=release)
    record = replace(nki.RELEASES[release].numerics, activation_reductions=("add", "max"))
    _, expected = trainium3.activate2(x, "square", "bypass", "bypass", reduce_op="max", reduce_cmd="reset_reduce")
    assert nki.run(kernel, x, release=record).outputs.tobytes() == expected.tobytes()
