"""Collectives of ranks in one process: against numpy, exact twins and written-out order; groups that are refused."""

import re

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.golden.trainium3 import reduce_ranks
from bitpath.verif.nki.machine.one_instruction import hbm, sbuf

with nki.installed():
    import nki.collectives as ncc
    import nki.isa as nisa
    import nki.language as nl

BF16 = ml_dtypes.bfloat16


def per_rank(ranks, shape, dtype=BF16, seed=0):
    """Return an array of each rank, of numbers whose sums depend on the order."""
    values = np.random.default_rng(seed).standard_normal((ranks, *shape)) * 2.0 ** np.arange(ranks).reshape(-1, 1, 1)
    return [*values.astype(dtype)]


def run(kernel, ranks, *arrays, cores=None, **options):
    made = nki.jit(kernel) if cores is None else nki.jit(kernel)[cores]
    return nki.run(made, *map(nki.PerRank, arrays), ranks=ranks, options=nki.Options(strict=True, **options))


def kernel_of(collective, shape, buffer=nl.shared_hbm, **more):
    """Return a kernel that copies its argument, runs a collective, and returns what it receives, of a shape."""

    def kernel(x):
        src = nl.ndarray(x.shape, x.dtype, buffer)
        dst = nl.ndarray(shape, x.dtype, buffer)
        nisa.dma_copy(src, x)
        collective([src], [dst], **more)
        if buffer is nl.shared_hbm:
            return dst
        out = nl.ndarray(shape, x.dtype, nl.shared_hbm)
        nisa.dma_copy(out, dst)
        return out

    return kernel


def group(*groups):
    return ncc.ReplicaGroup(groups)


def words(arrays):
    return [np.asarray(each).view(np.uint16).tolist() for each in arrays]


@pytest.mark.parametrize("buffer", [nl.shared_hbm, nl.sbuf])
@pytest.mark.parametrize("algorithm", ["mesh", "ring"])
@pytest.mark.parametrize("op", [nl.add, nl.maximum, nl.minimum])
def test_all_reduce_is_the_reduction_of_all_ranks(buffer, algorithm, op):
    x = per_rank(6, (2, 6))
    made = run(
        kernel_of(ncc.all_reduce, (2, 6), buffer, replica_group=group([0, 1, 2], [5, 3, 4]), op=op), 6, x,
        collectives=algorithm,
    )  # fmt: skip
    chip = {"algorithm": algorithm, "chip": 8}
    first, second = (reduce_ranks([x[k] for k in ranks], op.__name__[:3], **chip) for ranks in ([0, 1, 2], [5, 3, 4]))
    assert words(made.outputs) == words([first] * 3 + [second] * 3)


def test_a_mesh_adds_the_ranks_of_a_chip_first():
    """Two cores a rank, 4 ranks a chip: 3 of this group are on chip 0, and 2 on chip 1."""
    x = per_rank(8, (4, 32))
    groups = group([0, 1, 4, 5, 2], [3, 6, 7])
    made = run(kernel_of(ncc.all_reduce, (4, 32), replica_group=groups, op=nl.add), 8, x, cores=2).outputs[0]
    chips = [reduce_ranks([x[k] for k in some]) for some in ((0, 1, 2), (4, 5))]
    assert words([made]) == words([reduce_ranks(chips)])
    assert words([made]) != words([reduce_ranks([x[k] for k in (0, 1, 4, 5, 2)])])


@pytest.mark.parametrize("name", ["all_reduce", "reduce_scatter"])
def test_a_ring_adds_from_the_next_rank_on_and_rounds_each_step(name):
    x = per_rank(4, (8, 5))
    expected = np.empty((8, 5), BF16)
    for chunk in range(4):
        rows = slice(2 * chunk, 2 * chunk + 2)
        total = x[(chunk + 1) % 4][rows]
        for step in (2, 3, 4):
            total = (total.astype(np.float32) + x[(chunk + step) % 4][rows].astype(np.float32)).astype(BF16)
        expected[rows] = total
    scatters = name == "reduce_scatter"
    more = {"collective_dim": 0} if scatters else {}
    kernel = kernel_of(
        getattr(ncc, name), (2, 5) if scatters else (8, 5), replica_group=group(range(4)), op=nl.add, **more
    )
    made = run(kernel, 4, x, collectives="ring")
    assert words(made.outputs) == words(np.split(expected, 4) if scatters else [expected] * 4)
    assert made.standing.keys == {"collective.ring": "inferred"}


def test_a_mesh_adds_the_ranks_of_a_chip_and_then_the_chips():
    x = per_rank(8, (2, 4))
    kernel = kernel_of(ncc.all_reduce, (2, 4), replica_group=group(range(8)), op=nl.add)

    def total(arrays):
        found = arrays[0].astype(np.float32)
        for each in arrays[1:]:
            found = found + each.astype(np.float32)
        return found.astype(BF16)

    assert words(run(kernel, 8, x).outputs) == words([total(x)] * 8)  # 8 ranks of one core are one chip
    two = run(kernel, 8, x, cores=2)
    assert words(two.outputs) == words([total([total(x[:4]), total(x[4:])])] * 8)
    assert words(two.outputs) != words([total(x)] * 8)
    assert two.standing.keys == {"collective.mesh": "inferred"}


@pytest.mark.parametrize(("algorithm", "more"), [("mesh", 0), ("ring", 2)])
def test_int32_is_added_in_fp32(algorithm, more):
    """The mesh adds two ones to 2**24, one after the other; in the ring chunk 0 begins with the ones."""
    x = [np.full((1, 3), value, np.int32) for value in (2**24, 1, 1)]
    kernel = kernel_of(ncc.all_reduce, (1, 3), replica_group=group(range(3)), op=nl.add)
    assert run(kernel, 3, x, collectives=algorithm).outputs[0][0, 0] == 2**24 + more


@pytest.mark.parametrize("cores", [None, 2])
def test_all_gather_in_the_order_of_the_group(cores):
    x = per_rank(3, (2, 4))
    made = run(kernel_of(ncc.all_gather, (6, 4), replica_group=group([2, 0, 1]), collective_dim=0), 3, x, cores=cores)
    assert words(made.outputs) == words([np.concatenate([x[2], x[0], x[1]])] * 3)


@pytest.mark.parametrize("dim", [0, 1])
def test_all_gather_in_sbuf(dim):
    x = per_rank(3, (2, 4))
    kernel = kernel_of(
        ncc.all_gather, (2 * 3, 4) if dim == 0 else (2, 12), nl.sbuf, replica_group=group(range(3)), collective_dim=dim
    )
    assert words(run(kernel, 3, x).outputs) == words([np.concatenate(x, axis=dim)] * 3)


def test_all_to_all_is_a_transpose_of_chunks():
    x = per_rank(4, (8, 3))
    made = run(kernel_of(ncc.all_to_all, (8, 3), replica_group=group(range(4)), collective_dim=0), 4, x)
    assert words(made.outputs) == words(np.stack(x).reshape(4, 4, 2, 3).swapaxes(0, 1).reshape(4, 8, 3))


def test_several_tensors_at_once():
    x = per_rank(2, (2, 4))

    def kernel(x):
        srcs = [nl.ndarray((2, 4), x.dtype, nl.shared_hbm) for _ in range(2)]
        dsts = [nl.ndarray((2, 4), x.dtype, nl.shared_hbm) for _ in range(2)]
        nisa.dma_copy(srcs[0], x)
        nisa.dma_copy(srcs[1], nl.load(x), priority=None)
        ncc.all_reduce(srcs, dsts, group([0, 1]), nl.maximum)
        return tuple(dsts)

    for outputs in run(kernel, 2, x).outputs:
        assert words(outputs) == words([np.maximum(*x)] * 2)


def test_a_permute_of_pairs_leaves_the_other_ranks_alone():
    x = per_rank(4, (2, 4), np.float32)

    def kernel(x):
        src, dst = hbm(2, 4), hbm(2, 4)
        nisa.dma_copy(src, x)
        nisa.dma_copy(dst, sbuf(2, 4, value=-1))
        ncc.collective_permute([src], [dst], [(0, 2), (2, 1)])
        return dst

    kept = np.full((2, 4), -1, np.float32)
    expected = [kept, x[2], x[0], kept]
    outputs = run(lambda x: shared(kernel(x)), 4, x).outputs
    assert all((got == want).all() for got, want in zip(outputs, expected, strict=True))


def shared(tensor):
    """Return a copy in shared HBM."""
    made = nl.ndarray(tensor.shape, tensor.dtype, nl.shared_hbm)
    nisa.dma_copy(made, tensor)
    return made


@pytest.mark.parametrize("cores", [1, 2])
def test_a_ring_of_implicit_permutes_gathers(cores):
    """Each rank multiplies what it has, and says whose it is, while the next is on its way."""
    x = per_rank(4, (2, 4), np.float32)

    def kernel(x):
        core = nl.program_id()
        ring = group([3, 1, 0, 2])
        out = nl.ndarray((4 * nl.num_programs(), 2, 4), x.dtype, nl.shared_hbm)
        here = sbuf(2, 4)
        nisa.dma_copy(here, x)
        for step in range(4):
            rank = ncc.collective_permute_implicit_current_processing_rank_id(step, ring)
            nisa.dma_copy(out[nl.ds(int(rank) + 4 * core, 1)].reshape((2, 4)), here)
            there = sbuf(2, 4)
            ncc.collective_permute_implicit(
                [[here[:, :2]], [here[:, 2:]]], [[there[:, :2]], [there[:, 2:]]], ring, [0, 1]
            )
            here = there
        return out

    for outputs in run(kernel, 4, x, cores=cores).outputs:
        assert (outputs.reshape(cores, 4, 2, 4) == np.stack(x)).all()


def test_implicit_permutes_that_reduce_are_a_reduce_scatter():
    x = per_rank(3, (3, 4), np.float32)

    def kernel(x):
        ring = group(range(3))
        rank = int(ncc.rank_id())
        total = hbm(1, 4)
        nisa.dma_copy(total, x[(rank + 2) % 3].reshape((1, 4)))
        zero = hbm(1, 4)
        nisa.dma_copy(zero, sbuf(1, 4, value=0))
        for step in range(2):
            own = hbm(1, 4)
            nisa.dma_copy(own, x[(rank + 2 - step) % 3].reshape((1, 4)) if step else zero)
            there = hbm(1, 4)
            ncc.collective_permute_implicit_reduce([[total]], [[own]], [[there]], ring, nl.add)
            total = there
        own = sbuf(1, 4)
        nisa.dma_copy(own, x[rank].reshape((1, 4)))
        last = sbuf(1, 4)
        nisa.dma_copy(last, total)
        nisa.tensor_tensor(own, last, own, nl.add)
        return shared(own)

    outputs = run(kernel, 3, x).outputs
    ring = reduce_ranks(x, algorithm="ring")
    assert [each.tolist() for each in outputs] == [[row] for row in ring.tolist()]


def variable(collective, ranks, x, table, slot, sbuf_table=False):
    """Run a collective with counts; return what each rank receives, and its counts."""

    def kernel(x, table):
        core_1 = nl.program_id() == 1
        src, dst, meta = (nl.ndarray(shape, dtype, nl.shared_hbm) for shape, dtype in (
            (x.shape, x.dtype), ((ranks * slot,), x.dtype), ((4, ranks), "uint32")))  # fmt: skip
        if not core_1:
            nisa.dma_copy(src, x)
            nisa.dma_copy(dst, sbuf(1, ranks * slot, value=0).reshape((1, ranks * slot)))
            nisa.dma_copy(meta, table)
        nisa.core_barrier(src, (0, 1))
        if sbuf_table:
            own = nl.ndarray((1, 4, ranks), "uint32")
            nisa.dma_copy(own, meta.reshape((1, 4, ranks)))
            collective([src], [dst], group(range(ranks)), own)
            if not core_1:
                nisa.dma_copy(meta.reshape((1, 4, ranks)), own)
        else:
            collective([src], [dst], group(range(ranks)), meta)
        return dst, meta

    return run(kernel, ranks, x, table, cores=2).outputs


@pytest.mark.parametrize("sbuf_table", [False, True])
def test_all_gather_v(sbuf_table):
    x = [np.arange(8, dtype=np.float32) + 10 * rank for rank in range(4)]
    counts, starts = [3, 0, 2, 1], [1, 0, 6, 7]
    table = [np.array([[counts[r]] * 4, [starts[r]] * 4, [99] * 4, [0] * 4], np.uint32) for r in range(4)]
    expected = np.zeros((4, 3), np.float32)
    for rank, (count, start) in enumerate(zip(counts, starts, strict=True)):
        expected[rank, :count] = x[rank][start : start + count]
    for dst, meta in variable(ncc.all_gather_v, 4, x, table, 3, sbuf_table):
        assert dst.tolist() == expected.reshape(-1).tolist()
        assert meta[2].tolist() == counts


def test_all_to_all_v():
    rng = np.random.default_rng(3)
    x = [np.arange(16, dtype=np.float32) + 100 * rank for rank in range(8)]
    counts, starts = rng.integers(0, 3, (8, 8)), rng.integers(0, 14, (8, 8))
    table = [np.stack([counts[r], starts[r], [99] * 8, [0] * 8]).astype(np.uint32) for r in range(8)]
    for rank, (dst, meta) in enumerate(variable(ncc.all_to_all_v, 8, x, table, 2)):
        expected = np.zeros((8, 2), np.float32)
        for sender in range(8):
            count, start = counts[sender, rank], starts[sender, rank]
            expected[sender, :count] = x[sender][start : start + count]
        assert dst.tolist() == expected.reshape(-1).tolist()
        assert meta[2].tolist() == counts[:, rank].tolist()


def test_a_collective_waits_for_the_slower_rank():
    def kernel():
        tile, all_of = sbuf(4, 8, value=1), sbuf(4, 16)
        for _ in range(20 * int(ncc.rank_id())):
            nisa.tensor_copy(tile, tile)
        ncc.all_gather([tile], [all_of], group([0, 1]), 1)

    spans = [each for each in run(kernel, 2).cycles.spans if each.instruction.opcode == "all_gather"]
    assert [each.instruction.core for each in spans] == [0, 1]
    assert spans[0].start == spans[1].start > 20 * 64


def test_arguments_of_ranks():
    def kernel(x, both):
        tile = nl.load(both)
        nisa.tensor_scalar(tile, tile, nl.add, 1.0 + int(ncc.rank_id()))
        nisa.dma_copy(both, tile)
        nisa.dma_copy(x, tile)

    both, own = np.zeros((2, 4), np.float32), [np.zeros((2, 4), np.float32) for _ in range(3)]
    nki.run(kernel, nki.PerRank(own), both, ranks=3)
    assert [each.max() for each in own] == [1, 2, 3]
    assert (both == 1).all()
    with pytest.raises(nki.NkiValidationError, match="x must have 2 values, one for each rank, not 3"):
        nki.run(kernel, nki.PerRank(own), both, ranks=2)
    with pytest.raises(nki.NkiValidationError, match="ranks must be an integer of at least 1, not 0"):
        nki.run(kernel, own[0], both, ranks=0)


def reduced(groups, ranks=2):
    run(kernel_of(ncc.all_reduce, (2, 4), replica_group=groups, op=nl.add), ranks, per_rank(ranks, (2, 4)))


MISTAKES = {
    "a rank twice": (lambda: reduced(group([0, 1], [1])), "replica_group must have each rank once, not [[0, 1], [1]]"),
    "a rank beyond": (
        lambda: reduced(group([0, 2])),
        "replica_group must have ranks below the launch's 2, not [[0, 2]]",
    ),
    "a rank left out": (lambda: reduced(group([0])), "replica_group must have a group with rank 1, not [[0]]"),
    "a list": (lambda: reduced([[0, 1]]), "replica_group must be a ReplicaGroup, not list"),
    "a list of numbers": (
        lambda: reduced(group(0, 1)),
        "a ReplicaGroup must be lists of ranks, as [[0, 1], [2, 3]], not (0, 1)",
    ),
    "a compared rank": (
        lambda: run(lambda: ncc.rank_id() == 0, 2),
        "a register must not be compared: the machine knows its value, the compiler does not",
    ),
    "another operator": (
        lambda: run(
            kernel_of(ncc.all_reduce, (2, 4), replica_group=group([0]), op=nl.multiply), 1, per_rank(1, (2, 4))
        ),
        "op: must be nl.add, nl.minimum or nl.maximum, not multiply",
    ),
    "two memories": (
        lambda: run(lambda: ncc.all_reduce([hbm(2, 4)], [sbuf(2, 4)], group([0]), nl.add), 1),
        "must all be in HBM or all in SBUF",
    ),
    "two tensors in SBUF": (
        lambda: run(lambda: ncc.all_reduce([sbuf(2, 4)] * 2, [sbuf(2, 4)] * 2, group([0]), nl.add), 1),
        "must have 1 tensor in SBUF, not 2",
    ),
    "all_to_all in SBUF": (
        lambda: run(lambda: ncc.all_to_all([sbuf(2, 4)], [sbuf(2, 4)], group([0]), 0), 1),
        "srcs[0]: must be in private_hbm or shared_hbm, not in sbuf",
    ),
    "dimension 1 in HBM": (
        lambda: run(lambda: ncc.all_gather([hbm(2, 4)], [hbm(2, 4)], group([0]), 1), 1),
        "collective_dim: must be 0, not 1",
    ),
    "another shape": (
        lambda: run(lambda: ncc.all_gather([hbm(2, 4)], [hbm(2, 4)], group([0, 1]), 0), 2),
        "dsts: must have shape (4, 4), not (2, 4)",
    ),
    "a source twice": (
        lambda: run(lambda: ncc.collective_permute([hbm(2, 4)], [hbm(2, 4)], [(0, 1), (0, 0)]), 2),
        "sources and targets must be different ranks below 2, not [[0, 1], [0, 0]]",
    ),
    "channels": (
        lambda: run(lambda: ncc.collective_permute_implicit([[hbm(2, 4)]], [[hbm(2, 4)]], group([0]), [1]), 1),
        "channel_ids: must be 1 to 4 numbers from 0 on, not [1]",
    ),
    "a channel without its list": (
        lambda: run(lambda: ncc.collective_permute_implicit([[hbm(2, 4)]], [[hbm(2, 4)]], group([0]), 0), 1),
        "channel_ids: must be 1 to 4 numbers from 0 on, not 0",
    ),
    "priority": (
        lambda: run(lambda: ncc.all_reduce([hbm(2, 4)], [hbm(2, 4)], group([0]), nl.add, priority=4), 1),
        "all_reduce priority must be 0 to 3, not 4",
    ),
    "priority on gen3": (
        lambda: run(lambda: ncc.all_reduce([hbm(2, 4)], [hbm(2, 4)], group([0]), nl.add, priority=0), 1, target="trn2"),
        "all_reduce priority: must be None on gen3, not 0",
    ),
    "shapes of ranks": (
        lambda: run(lambda: ncc.all_reduce(*[[hbm(2 + int(ncc.rank_id()), 4)]] * 2, group([0, 1]), nl.add), 2),
        "must have the tensors of rank 0",
    ),
    "all_gather_v on one core": (
        lambda: run(lambda: ncc.all_gather_v([hbm(8)], [hbm(8)], group(range(4)), hbm(3, 4)), 4),
        "needs a launch of two cores for each rank",
    ),
    "all_to_all_v of one chip": (
        lambda: run(lambda: ncc.all_to_all_v([hbm(8)], [hbm(8)], group(range(4)), hbm(3, 4)), 4, cores=2),
        "replica_group: must have groups of all 4 ranks of several chips, not [0, 1, 2, 3]",
    ),
    "all_to_all_v of parts of chips": (
        lambda: run(
            lambda: int(ncc.rank_id()) < 2 or ncc.all_to_all_v([hbm(8)], [hbm(8)], group(range(2, 10)), hbm(3, 8)),
            10,
            cores=2,
        ),
        "replica_group: must have groups of all 4 ranks of several chips, not [2, 3, 4, 5, 6, 7, 8, 9]",
    ),
    "a rank that ends": (
        lambda: run(lambda: int(ncc.rank_id()) or ncc.all_reduce([hbm(2, 4)], [hbm(2, 4)], group([0, 1]), nl.add), 2),
        "all_reduce: rank 0 waits in all_reduce((0, 1), add), and rank 1 has ended",
    ),
}


def test_more_than_128_cores():
    ranks = 65
    arrays = [np.full((1, 4), rank, np.float32) for rank in range(ranks)]
    gathered = kernel_of(ncc.all_gather, (ranks, 4), replica_group=group(range(ranks)), collective_dim=0)
    made = run(gathered, ranks, arrays, cores=2)
    assert all((each == np.concatenate(arrays)).all() for each in made.outputs)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name):
    call, sentence = MISTAKES[name]
    with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
        call()
