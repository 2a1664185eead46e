"""The number of cores, kept code, and compiled loops of the codec."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryFile
from threading import Event, Thread, get_ident
from types import SimpleNamespace

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.arrays import codec, codec_loops, kernels, parallel
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
    """The parent's threads do not exist in a forked process."""
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

    monkeypatch.setattr(kernels, "TemporaryFile", temporary_file)
    (tmp_path / "file").write_text("")
    unwritable = [tmp_path / "file", tmp_path / "read_only"]
    for _ in ("made", "found"):
        assert kernels._folder([*unwritable, tmp_path / "a", tmp_path / "b"]) == tmp_path / "a" / kernels._FOLDER.name
    assert not (tmp_path / "b").exists()
    assert kernels._folder(unwritable) is None

    package, home = Path(kernels.__file__).parent / "__pycache__", tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(kernels.config, "CACHE_DIR", "")
    for given, user in (("", home / ".cache"), ("not/absolute", home / ".cache"), (str(tmp_path), tmp_path)):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert kernels._roots() == [package, user / "bitpath"]
    monkeypatch.setattr(kernels.config, "CACHE_DIR", str(tmp_path / "numba"))
    assert kernels._roots()[:2] == [tmp_path / "numba", package]


def test_kernels_with_and_without_a_folder(tmp_path, monkeypatch):
    before = kernels.config.CACHE_DIR
    for folder in (tmp_path, None):
        monkeypatch.setattr(kernels, "_FOLDER", folder)
        kernel = kernels.kernel(lambda values: None)
        kernel(np.empty(0))
        kept = kernel.stats.cache_path
        assert Path(kept).parent == folder and list(Path(kept).iterdir()) if folder else kept is None
        assert before == kernels.config.CACHE_DIR


def test_kernels_of_several_threads(tmp_path, monkeypatch):
    """CACHE_DIR is global to the process: it is the kernels' folder while a kernel is made and is restored afterwards."""
    seen, before = [], kernels.config.CACHE_DIR

    def kept(function):
        time.sleep(0.02)
        seen.append(kernels.config.CACHE_DIR)
        return SimpleNamespace(cache_path=tmp_path / "kernel")

    monkeypatch.setattr(kernels, "_Kept", kept)
    monkeypatch.setattr(kernels, "_FOLDER", tmp_path)
    threads = [Thread(target=kernels.kernel, args=(lambda values: None,)) for _ in range(4)]
    for thread in threads:
        thread.start()
        time.sleep(0.005)
    for thread in threads:
        thread.join()
    assert seen == [str(tmp_path)] * 4
    assert before == kernels.config.CACHE_DIR


@pytest.fixture
def heard(monkeypatch, capsys):
    """Return the text on stderr, as in a process that has printed nothing and whose stdout goes elsewhere."""
    monkeypatch.setattr(kernels, "_in_one_pipe", lambda: False)
    monkeypatch.delenv(kernels.QUIET)
    kernels._say.cache_clear()
    yield capsys.readouterr
    kernels._say.cache_clear()


def test_a_compilation_is_announced_once(heard, monkeypatch, tmp_path):
    """After a second of all that is compiled, and with the garbage collector at rest; functions of others do not count."""
    waits, collects = [], []

    class Now:
        def __init__(self, seconds, function, args):
            waits.append(seconds)
            self.start = lambda: (collects.append(gc.isenabled()), function(*args))

        def cancel(self):
            pass

    def run_one(module):
        def run(values):
            pass

        run.__module__ = module
        kernels.kernel(run)(np.empty(0))

    monkeypatch.setattr(kernels, "Timer", Now)
    monkeypatch.setattr(kernels, "_FOLDER", None)
    monkeypatch.setattr(kernels.compilations, "seconds", 0.0)
    for module in ("elsewhere", "bitpath.here", "bitpath.there"):
        run_one(module)
        assert gc.isenabled()
    assert waits[0] == 1 > waits[1] >= 0
    assert collects == [False, False]
    line = "bitpath: compiling loops for a first use, which no folder can keep; BITPATH_QUIET=1 hides this line\n"
    assert heard() == ("", line)


def test_nothing_is_said_to_who_wants_none(heard, monkeypatch):
    monkeypatch.setenv(kernels.QUIET, "1")
    kernels._say("quiet")
    monkeypatch.delenv(kernels.QUIET)
    monkeypatch.setattr(kernels, "_in_one_pipe", lambda: True)
    kernels._say("in a pipe of JSON")
    monkeypatch.setattr(sys, "stderr", None)
    kernels._say("without a stderr")
    assert heard() == ("", "")


def test_a_pipe_of_both_streams():
    code = "from bitpath.golden.arrays import kernels; print(kernels._in_one_pipe())"
    for stderr, expected in ((subprocess.PIPE, "False\n"), (subprocess.STDOUT, "True\n")):
        ran = subprocess.run([sys.executable, "-c", code], check=True, text=True, stdout=subprocess.PIPE, stderr=stderr)
        assert ran.stdout == expected


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
import numpy as np
from bitpath.golden.arrays.codec import encode_array
from bitpath.golden.formats.catalogue import BF16
for dtype in (np.float64, np.float32):
    print(hex(encode_array(BF16, np.full(1, 1.5, dtype))[0]))
"""


def test_a_folder_that_is_full(tmp_path):
    """Code cannot be kept, which one line says; it is compiled all the same."""
    env = {name: value for name, value in os.environ.items() if name != kernels.QUIET}
    ran = subprocess.run(
        [sys.executable, "-c", FULL],
        check=True,
        capture_output=True,
        text=True,
        env=env | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert ran.stdout == "0x3fc0\n0x3fc0\n"
    folder = tmp_path / kernels._FOLDER.name
    complaint = f"bitpath: {folder} cannot keep compiled loops, so each process compiles them: File too large"
    # A busy machine takes longer than a second, and says so.
    assert [line for line in ran.stderr.splitlines() if "compiling loops" not in line] == [complaint]


@pytest.mark.parametrize("when", ["made", "called"])
def test_a_folder_that_is_lost(heard, monkeypatch, tmp_path, when):
    """A file stands where the folder stood, when the kernel is made, or when it looks for its code."""
    folder, values = tmp_path / "folder", np.zeros(1)
    if when == "made":
        folder.write_text("")
    monkeypatch.setattr(kernels, "_FOLDER", folder)

    @kernels.kernel
    def run(values):
        values[0] += 1

    if when == "called":
        rmtree(folder)
        folder.write_text("")
    run(values)
    assert values[0] == 1
    line, *more = heard().err.splitlines()
    assert line.startswith(f"bitpath: {folder} cannot keep compiled loops, so each process compiles them: ")
    assert more == []


def test_a_kernel_releases_the_interpreters_lock(monkeypatch):
    """Another thread ends it; a kernel that held the lock would take all of its steps."""
    monkeypatch.setattr(kernels, "_FOLDER", None)
    most = 1 << 34

    def run(end, steps):
        while end[0] == 0 and steps[0] < most:
            steps[0] += 1

    kernel, end, steps = kernels.kernel(run), np.ones(1, np.int64), np.zeros(1, np.int64)
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
    golden = Path(kernels.__file__).parents[1]
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
        (tensix.matmul, {"fidelity": "LoFi"}, (512, 64, 1024), 2, 4),
        (aie_ml_v2.matmul, {"format": "mx9"}, (512, 512, 512), 8, 5),
        (aie_ml_v2.matmul, {"format": "bf16"}, (512, 512, 512), 8, 5),
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
    [(trainium3.matmul, {}), (tensix.matmul, {"fidelity": "LoFi"}), (aie_ml_v2.matmul, {"format": "mx9"})],
    ids=["trainium3", "tensix", "aie_ml_v2"],
)
def test_blocks_of_rows_give_the_bits_of_the_whole(monkeypatch, matmul, options):
    """The rows of the last block are no multiple of a tile."""
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((289, 70), dtype=np.float32), rng.standard_normal((70, 33), dtype=np.float32)
    whole, shown = matmul(a, b, **options), []
    for module in (parallel, sys.modules[matmul.__module__]):
        monkeypatch.setattr(module, "ROWS", 128, raising=False)
    result = matmul(a, b, progress=lambda *share: shown.append(share), **options)
    assert np.array_equal(result.view(np.uint32), whole.view(np.uint32))
    assert {of for _, of in shown} == {289}
    done = [each for each, _ in shown]
    assert done == sorted(done)
    assert {128, 256, 289} <= {*done}


def test_work_in_a_thread_that_outlives_the_main_one():
    """A pool of threads refuses work as soon as the main thread has ended."""
    code = """
import threading
import numpy as np
import bitpath
from bitpath.golden.arrays.parallel import in_parallel

def late():
    threading.main_thread().join()
    done, shown = [], []
    in_parallel(done.append, range(5), lambda *share: shown.append(share))
    a = np.ones((300, 64), np.float32)
    print(done, shown[-1], float(bitpath.matmul(a, a.T, format="mx9").sum()))

threading.Thread(target=late).start()
"""
    env = {**os.environ, parallel.THREADS: "2"}
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env)
    assert ran.stdout == f"[0, 1, 2, 3, 4] (5, 5) {300.0 * 300 * 64}\n"
    assert ran.stderr == ""


@pytest.mark.parametrize("threads", [0, 1])
def test_work_at_the_systems_limit_of_threads(monkeypatch, threads):
    """A block whose thread could not be started lies in the queue of the pool; each block is done once."""
    monkeypatch.setenv(parallel.THREADS, "3")
    pool = ThreadPoolExecutor(3)
    adjust = pool._adjust_thread_count

    def limited():
        if len(pool._threads) == threads:
            raise RuntimeError("can't start new thread")
        adjust()

    monkeypatch.setattr(pool, "_adjust_thread_count", limited)
    monkeypatch.setattr(parallel, "_pool", lambda *_: pool)
    done, shown = [], []

    def work(block):
        time.sleep(0.01)
        done.append(block)

    parallel.in_parallel(work, range(4), lambda *share: shown.append(share))
    assert sorted(done) == [0, 1, 2, 3]
    assert shown == [(each, 4) for each in range(1, 5)]
    with pytest.raises(ZeroDivisionError):
        parallel.in_parallel(lambda block: 1 // block, range(4))
    pool.shutdown()
    assert len(done) == 4
