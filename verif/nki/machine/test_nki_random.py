"""Generators of both engines: numbers, states that go out and come back, and what each engine takes."""

import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.machine.one_instruction import check_allowed, check_broken, psum, sbuf

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

WORDS = {"vector": 24, "gpsimd": 6}
P = 40
ENGINES = pytest.mark.parametrize("engine", WORDS)


def states(engine, lanes=P):
    return np.random.default_rng(WORDS[engine]).integers(0, 2**32, (lanes, WORDS[engine]), np.uint32)


@nki.jit
def drawn(state, engine, n, dtype):
    """Set the generators of P partitions, draw twice, and return both draws and the states behind them."""
    chosen, made = getattr(nisa.engine, engine), []
    own = nl.ndarray(state.shape, nl.uint32)
    nisa.dma_copy(own, state)
    nisa.rand_set_state(own, engine=chosen)
    for _ in range(2):
        made.append(nl.ndarray((state.shape[0], n), dtype))
        nisa.rng(made[-1], engine=chosen)
    after = nl.ndarray(state.shape, nl.uint32)
    nisa.rand_get_state(after, engine=chosen)
    stored = []
    for each in (*made, after):
        stored.append(nl.ndarray(each.shape, each.dtype, nl.shared_hbm))
        nisa.dma_copy(stored[-1], each)
    return stored


@ENGINES
@pytest.mark.parametrize("dtype", ["uint32", "int8"])
@pytest.mark.parametrize("n", [8, 5])
def test_nki_numbers_of_given_states(engine, dtype, n):
    """VectorE drops the rest of four numbers, GpSimd drops none."""
    state = states(engine)
    run = nki.run(drawn, state, engine, n, dtype, options=nki.Options(strict=True))
    source = trainium3.Xorwow(state.reshape(P, -1, 6))
    for found in run.outputs[:2]:
        assert found.tobytes() == trainium3.rng(source, n, dtype=dtype).tobytes()
    assert run.outputs[2].tobytes() == source.state.tobytes()
    ours = [each for each in run.instructions if each.opcode.startswith(("rng", "rand"))]
    assert {each.engine for each in ours} == {engine}
    expected = [64, 64, 64, 64] if engine == "vector" else [156, 150 + n, 150 + n, 156]
    assert [each.cycles for each in ours] == expected
    assert run.standing.keys == {"rng": "chosen"}


def test_nki_generators_of_two_engines_are_apart():
    """Without a state both begin with seed 0; a seed is VectorE's alone; other partitions keep theirs."""

    @nki.jit
    def kernel(seed, state):
        word, own = nl.ndarray((1, 1), nl.uint32), nl.ndarray((8, 6), nl.uint32)
        for tile, source in ((word, seed), (own, state)):
            nisa.dma_copy(tile, source)
        nisa.set_rng_seed(word)
        nisa.rand_set_state(own)
        made = []
        for engine in (nisa.engine.vector, nisa.engine.gpsimd):
            tile = nl.ndarray((40, 4), nl.uint32)
            nisa.rng(tile, engine=engine)
            made.append(nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm))
            nisa.dma_copy(made[-1], tile)
        return made

    state = states("gpsimd", 8)
    vector, gpsimd = nki.run(kernel, np.array([[7]], np.uint32), state).outputs
    assert (vector == trainium3.Xorwow(trainium3.seeded_state(7)[:40]).elements(4)).all()
    first = trainium3.seeded_state(0)[:40, :1]
    first[:8, 0] = state
    assert (gpsimd == trainium3.Xorwow(first).elements(4)).all()


VECTOR, GPSIMD, SCALAR = nisa.engine.vector, nisa.engine.gpsimd, nisa.engine.scalar


def words(count, dtype="uint32", where=sbuf):
    return where(4, count, dtype=dtype)


RULES = {
    "rng's engine": (
        lambda: nisa.rng(words(8), engine=SCALAR),
        "rng engine: must be vector or gpsimd, not scalar",
        lambda: nisa.rng(words(8), engine=nisa.engine.unknown),
    ),
    "rng to PSUM": (
        lambda: nisa.rng(words(8, where=psum), engine=GPSIMD),
        "rng dst: must be in sbuf, not in psum",
        lambda: nisa.rng(words(8, where=psum)),
    ),
    "a state of VectorE": (
        lambda: nisa.rand_set_state(words(6), engine=VECTOR),
        "rand_set_state src_seeds: must have 24 words in each partition on vector, not 6",
        lambda: nisa.rand_set_state(words(24), engine=VECTOR),
    ),
    "a state of GpSimd": (
        lambda: nisa.rand_set_state(words(24)),
        "rand_set_state src_seeds: must have 6 words in each partition on gpsimd, not 24",
        lambda: nisa.rand_set_state(words(6)),
    ),
    "a state's dtype": (
        lambda: nisa.rand_set_state(words(6, "int32")),
        "rand_set_state src_seeds: dtype must be uint32, not int32",
        lambda: nisa.rand_set_state(words(6), engine=nisa.engine.unknown),
    ),
    "a state's memory": (
        lambda: nisa.rand_set_state(words(6, where=psum)),
        "rand_set_state src_seeds: must be in sbuf, not in psum",
        lambda: nisa.rand_get_state(words(24, where=psum), engine=VECTOR),
    ),
    "a stored state's memory": (
        lambda: nisa.rand_get_state(words(6, where=psum)),
        "rand_get_state dst: must be in sbuf, not in psum",
        lambda: nisa.rand_get_state(words(6)),
    ),
    "a stored state's words": (
        lambda: nisa.rand_get_state(words(24)),
        r"rand_get_state dst: must have 4 partitions of 6 elements, not shape \(4, 24\)",
        lambda: nisa.rand_get_state(words(6), engine=GPSIMD),
    ),
    "a stored state's dtype": (
        lambda: nisa.rand_get_state(words(6, "int32")),
        "rand_get_state dst: dtype must be uint32, not int32",
        lambda: nisa.rand_get_state(words(6)),
    ),
    "a seed": (
        lambda: nisa.set_rng_seed(sbuf(2, 1, dtype="uint32")),
        r"set_rng_seed src_seeds: must have shape \(1, 1\), not \(2, 1\)",
        lambda: nisa.set_rng_seed(psum(1, 1, dtype="int32")),
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_nki_rules_of_generators(rule):
    breaks, sentence, keeps = RULES[rule]
    check_broken(breaks, sentence)
    check_allowed(keeps)


@pytest.mark.parametrize("call", [nisa.rand_set_state, nisa.rand_get_state])
def test_nki_states_of_vector_need_gen4(call):
    check_broken(lambda: call(words(24), engine=VECTOR), f"{call.__name__} engine: vector needs gen4, not gen3", "trn2")
    check_allowed(lambda: call(words(6)), "trn2")
