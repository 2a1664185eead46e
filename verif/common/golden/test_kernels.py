"""The number of cores, kept code, and compiled loops of the codec."""

import copy
import pickle
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Thread, get_ident

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.arrays import bits, codec, codec_loops, parallel, streamed
from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, E8M0, FP32
from bitpath.golden.trainium3.matmul import array_loop


def test_the_number_of_cores(monkeypatch):
    for word in ("0", "-1", "two", ""):
        monkeypatch.setenv(parallel.THREADS, word)
        with pytest.raises(ValueError, match=f"BITPATH_THREADS must be an integer of at least 1, not '{word}'"):
            parallel.threads()
    monkeypatch.setenv(parallel.THREADS, "3")
    assert parallel.threads() == 3


def test_cores_where_a_process_cannot_be_bound_to_some(monkeypatch):
    monkeypatch.delenv(parallel.THREADS, raising=False)
    monkeypatch.delattr(parallel.os, "sched_getaffinity", raising=False)
    for count, expected in ((6, 6), (None, 1)):
        monkeypatch.setattr(parallel.os, "cpu_count", lambda: count)  # noqa: B023
        assert parallel.threads() == expected


def test_an_import_does_not_load_the_compiler():
    code = "import sys; from bitpath.golden import aie_ml_v2, tensix, trainium3; assert 'numba' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("count", ["1", "2"])
def test_parallel_work(monkeypatch, count):
    monkeypatch.setenv(parallel.THREADS, count)
    done, shown, callers = [], [], set()

    def work(block):
        caller = get_ident()
        callers.add(caller)
        # One inside another runs in the thread it is called from.
        parallel.in_parallel(lambda each: done.append((each, get_ident() == caller)), range(block.start, block.stop))

    parallel.in_parallel(work, parallel.cuts(10, 3), lambda *share: shown.append(share))
    assert sorted(done) == [(each, True) for each in range(10)]
    assert (get_ident() in callers) is (count == "1")
    assert shown == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert parallel.shares(10, 4) == ([slice(0, 10)] if count == "1" else [slice(0, 8), slice(8, 10)])
    assert parallel.shares(0, 4) == parallel.cuts(0, 0) == []
    parallel.in_parallel(work, [], lambda *share: shown.append(share))
    assert len(shown) == 4

    def fails(block):
        raise ValueError(f"block {block}")

    with pytest.raises(ValueError, match="block 0"):
        parallel.in_parallel(fails, range(2))


def test_a_forked_process_has_threads_of_its_own(monkeypatch):
    """Those of its parent do not exist in it."""
    monkeypatch.setenv(parallel.THREADS, "2")
    assert parallel.mapped(str, range(4)) == ["0", "1", "2", "3"]
    child = get_context("fork").Process(target=parallel.mapped, args=(str, range(4)))
    child.start()
    child.join(30)
    assert child.exitcode == 0


@pytest.mark.parametrize("count", ["1", "2"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_what_progress_raises_stops_the_work(monkeypatch, stop, count):
    """Running blocks complete; waiting blocks do not start."""
    monkeypatch.setenv(parallel.THREADS, count)
    begun, ended, told = [], [], Event()

    def work(block):
        begun.append(block)
        if block:
            told.wait(10)
            time.sleep(0.05)
        ended.append(block)

    def progress(done, of):
        told.set()
        raise stop

    with pytest.raises(stop):
        parallel.in_parallel(work, range(100), progress)
    assert len(begun) < 50
    assert sorted(ended) == sorted(begun)


def test_folders_of_kept_code(tmp_path, monkeypatch):
    """The first writable folder is used, behind read-only folders and plain files; without one nothing is cached."""

    def temporary_file(**where):
        if where["dir"].is_relative_to(tmp_path / "read_only"):
            raise PermissionError
        return TemporaryFile(**where)

    monkeypatch.setattr(bits, "TemporaryFile", temporary_file)
    (tmp_path / "file").write_text("")
    unwritable = [tmp_path / "file", tmp_path / "read_only"]
    for _ in ("made", "found"):
        assert bits._folder([*unwritable, tmp_path / "a", tmp_path / "b"]) == tmp_path / "a" / bits._FOLDER.name
    assert not (tmp_path / "b").exists()
    assert bits._folder(unwritable) is None

    package, home = Path(bits.__file__).parent / "__pycache__", tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(bits.config, "CACHE_DIR", "")
    for given, user in (("", home / ".cache"), ("not/absolute", home / ".cache"), (str(tmp_path), tmp_path)):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert bits._roots() == [package, user / "bitpath"]
    monkeypatch.setattr(bits.config, "CACHE_DIR", str(tmp_path / "numba"))
    assert bits._roots()[:2] == [tmp_path / "numba", package]


def test_kernels_with_and_without_a_folder(tmp_path, monkeypatch):
    before = bits.config.CACHE_DIR
    for folder in (tmp_path, None):
        monkeypatch.setattr(bits, "_FOLDER", folder)
        kernel = bits.kernel(lambda values: None)
        kernel(np.empty(0))
        kept = kernel.stats.cache_path
        assert Path(kept).parent == folder and list(Path(kept).iterdir()) if folder else kept is None
        assert before == bits.config.CACHE_DIR


def test_kernels_of_several_threads(tmp_path, monkeypatch):
    """CACHE_DIR is global to the process: it is the kernels' folder while a kernel is made and is restored afterwards."""
    seen, before = [], bits.config.CACHE_DIR

    def njit(**options):
        time.sleep(0.02)
        seen.append(bits.config.CACHE_DIR)
        return lambda function: function

    monkeypatch.setattr(bits, "njit", njit)
    monkeypatch.setattr(bits, "_FOLDER", tmp_path)
    threads = [Thread(target=bits.kernel, args=(print,)) for _ in range(4)]
    for thread in threads:
        thread.start()
        time.sleep(0.005)
    for thread in threads:
        thread.join()
    assert seen == [str(tmp_path)] * 4
    assert before == bits.config.CACHE_DIR


def test_a_kernel_releases_the_interpreters_lock(monkeypatch):
    """Another thread ends it; a kernel that held the lock would take all of its steps."""
    monkeypatch.setattr(bits, "_FOLDER", None)
    most = 1 << 34

    def run(end, steps):
        while end[0] == 0 and steps[0] < most:
            steps[0] += 1

    kernel, end, steps = bits.kernel(run), np.ones(1, np.int64), np.zeros(1, np.int64)
    kernel(end, steps)
    end[0] = 0
    thread = Thread(target=kernel, args=(end, steps))
    thread.start()
    while steps[0] == 0:
        time.sleep(0.001)
    end[0] = 1
    thread.join()
    assert 0 < steps[0] < most


def test_kept_code_is_of_these_sources():
    """The cache key covers every file that a kernel calls into; numba itself checks only the file of the kernel."""
    folder = Path(array_loop._chain.stats.cache_path).parent.name
    golden = Path(bits.__file__).parents[1]
    patterns = ("arrays/*.py", "*/*/*_loop.py", "formats/*.py", "*/declarations/*.py")
    sources = sorted(file for pattern in patterns for file in golden.glob(pattern))
    assert folder == f"kernels-{sha256(b''.join(each.read_bytes() for each in sources)).hexdigest()[:16]}"


def test_encoding_in_blocks(monkeypatch):
    values = np.linspace(-3, 3, 20).reshape(4, 5)
    whole = encode_array(BF16, values)
    monkeypatch.setattr(codec_loops, "BLOCK", 8)
    sizes, kernel = [], codec_loops._encode
    monkeypatch.setattr(codec_loops, "_encode", lambda part, *rest: sizes.append(len(part)) or kernel(part, *rest))
    assert np.array_equal(encode_array(BF16, values), whole)
    assert sorted(sizes) == [4, 8, 8]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_of_formats(copied):
    """One of the catalogue stays the object that it is compared with; another one is equal."""
    assert all(copied(fmt) is fmt for fmt in CATALOGUE.values())
    other = replace(FP32, name="FP22", fraction_bits=13, nan_code=0x7FC00000 >> 10)
    for fmt in (other, replace(BF16), replace(FP32, nan_code=0x7FFFFFFF)):
        assert copied(fmt) == fmt


def test_formats_of_32_bits_are_not_looked_up(monkeypatch):
    """A table of theirs would have 1 << 32 entries."""
    monkeypatch.setattr(codec, "_table", None)
    codes = np.array([0, 1, 0x80000001, 0x3F800000, 0x7F800000, 0xFFC00000], np.uint32)
    for fmt in (replace(FP32), replace(FP32, name="FP32B", bias=120)):
        assert np.array_equal(
            decode_array(fmt, codes).view(np.int64), decode_array(fmt, codes.astype(np.int64)).view(np.int64)
        )


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
@pytest.mark.parametrize("fmt", [FP32, BF16, E8M0], ids=lambda fmt: fmt.name)
def test_scalars_and_empty_arrays(fmt, shape):
    values, codes = np.full(shape, 1.5), np.full(shape, 130, f"u{fmt.width // 8}")
    # Beyond the largest number, too.
    encoded = [encode_array(fmt, each) for each in (values, values[()], np.full(shape, 1e300))]
    decoded = [decode_array(fmt, each) for each in (codes, codes[()])]
    assert all(type(each) is np.ndarray and each.shape == shape for each in encoded + decoded)
    assert [each.dtype for each in encoded + decoded] == [np.int64] * 3 + [np.float64] * 2


@pytest.mark.parametrize(
    ("matmul", "options", "shape", "steps", "times"),
    [
        (trainium3.matmul, {}, (512, 1024, 1024), 8, 2.5),
        (tensix.matmul, {"fidelity": "LoFi"}, (512, 64, 1024), 32, 4),
        (aie_ml_v2.matmul, {"fmt": "mx9"}, (512, 512, 512), 8, 5),
        (aie_ml_v2.matmul, {"fmt": "bf16"}, (512, 512, 512), 8, 5),
    ],
    ids=["trainium3", "tensix", "aie_ml_v2-mx9", "aie_ml_v2-bf16"],
)
def test_progress_and_memory(monkeypatch, matmul, options, shape, steps, times):
    """Tiles are told one by one; what lies between operands and result is a few times as large."""
    monkeypatch.setenv(parallel.THREADS, "2")
    rng = np.random.default_rng(6)
    m, k, n = shape
    a, b = rng.standard_normal((m, k), dtype=np.float32), rng.standard_normal((k, n), dtype=np.float32)
    shown = []
    matmul(a[:8], b[:, :8], **options)
    tracemalloc.start()
    try:
        result = matmul(a, b, progress=lambda *share: shown.append(share), **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert shown == [(each, steps) for each in range(1, steps + 1)]
    assert peak < times * (a.nbytes + b.nbytes + result.nbytes)


@pytest.mark.parametrize(
    ("matmul", "options"),
    [(trainium3.matmul, {}), (tensix.matmul, {"fidelity": "LoFi"}), (aie_ml_v2.matmul, {"fmt": "mx9"})],
    ids=["trainium3", "tensix", "aie_ml_v2"],
)
def test_blocks_of_rows_give_the_bits_of_the_whole(monkeypatch, matmul, options):
    """The rows of the last block are no multiple of a tile."""
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((289, 70), dtype=np.float32), rng.standard_normal((70, 33), dtype=np.float32)
    whole, shown = matmul(a, b, **options), []
    for module in (streamed, sys.modules[matmul.__module__]):
        monkeypatch.setattr(module, "ROWS", 128, raising=False)
    result = matmul(a, b, progress=lambda *share: shown.append(share), **options)
    assert np.array_equal(result.view(np.uint32), whole.view(np.uint32))
    assert {of for _, of in shown} == {289}
    done = [each for each, _ in shown]
    assert done == sorted(done)
    assert {128, 256, 289} <= {*done}
