"""Backend choice, core count, and compiled loops of the codec."""

import copy
import pickle
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Thread

import numpy as np
import pytest

from bitpath.golden.arrays import backend, codec
from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, E8M0, FP32, Specials
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.codec import Overflow
from bitpath.golden.scalar.rounding import round_to_format


@pytest.fixture
def choose(monkeypatch):
    """Set the backend, or leave it to the door."""

    def choose(name):
        if name is None:
            monkeypatch.delenv(backend.CHOICE, raising=False)
        else:
            monkeypatch.setenv(backend.CHOICE, name)

    return choose


def test_numba_is_installed_here():
    """`make setup` installs it: without it these tests would compare numpy with itself."""
    assert backend.backend() == backend.NUMBA or backend.os.environ[backend.CHOICE] == backend.NUMPY


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_the_environment_forces_a_backend_for_any_size(choose, name):
    choose(name)
    assert backend.backend() == name
    assert backend.compiled(1) is (name == "numba")


@pytest.mark.parametrize("name", [None, ""])
def test_small_work_does_not_load_numba(choose, name):
    choose(name)
    assert not backend.compiled(backend.WORTH_LOADING - 1)
    assert backend.compiled(backend.WORTH_LOADING)


def test_without_numba_everything_is_numpys(choose, monkeypatch):
    monkeypatch.setattr(backend, "_has_numba", lambda: False)
    choose(None)
    assert backend.backend() == "numpy"
    assert not backend.compiled(1 << 40)
    choose("numba")
    with pytest.raises(ValueError, match=r"BITPATH_FAST is 'numba', but numba is not installed; run pip install"):
        backend.compiled(1)


def test_other_words_are_refused(choose, monkeypatch):
    choose("cuda")
    with pytest.raises(ValueError, match="BITPATH_FAST must be 'numpy' or 'numba', not 'cuda'"):
        backend.backend()
    for word in ("0", "-1", "two", ""):
        monkeypatch.setenv(backend.THREADS, word)
        with pytest.raises(ValueError, match=f"BITPATH_FAST_THREADS must be an integer of at least 1, not '{word}'"):
            backend.threads()
    monkeypatch.setenv(backend.THREADS, "3")
    assert backend.threads() == 3


def test_cores_where_a_process_cannot_be_bound_to_some(monkeypatch):
    monkeypatch.delenv(backend.THREADS, raising=False)
    monkeypatch.delattr(backend.os, "sched_getaffinity", raising=False)
    for count, expected in ((6, 6), (None, 1)):
        monkeypatch.setattr(backend.os, "cpu_count", lambda: count)  # noqa: B023
        assert backend.threads() == expected


@pytest.mark.parametrize("environment", ["", "numba"])
def test_importing_golden_does_not_load_numba(environment):
    code = (
        f"import os, sys; os.environ['BITPATH_FAST'] = {environment!r}; "
        "from bitpath.golden import aie_ml_v2, tensix, trainium3; assert 'numba' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_golden_works_where_numba_is_missing():
    code = (
        "import os, sys; os.environ.pop('BITPATH_FAST', None); sys.modules['numba'] = None\n"
        "import numpy as np; from bitpath.golden import trainium3\n"
        "a = np.eye(128, dtype=np.float32); assert np.array_equal(trainium3.matmul(a, a), a)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("count", ["1", "2"])
def test_parallel_work(monkeypatch, count):
    monkeypatch.setenv(backend.THREADS, count)
    done, shown = [], []

    def work(block):
        # One inside another runs in the thread it is called from.
        backend.in_parallel(done.append, range(block.start, block.stop))

    backend.in_parallel(work, backend.cuts(10, 3), lambda *share: shown.append(share))
    assert sorted(done) == list(range(10))
    assert shown == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert backend.shares(10, 4) == ([slice(0, 10)] if count == "1" else [slice(0, 8), slice(8, 10)])
    assert backend.shares(0, 4) == backend.cuts(0, 0) == []
    backend.in_parallel(work, [], lambda *share: shown.append(share))
    assert len(shown) == 4

    def fails(block):
        raise ValueError(f"block {block}")

    with pytest.raises(ValueError, match="block 0"):
        backend.in_parallel(fails, range(2))


@pytest.mark.parametrize("count", ["1", "2"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_what_progress_raises_stops_the_work(monkeypatch, stop, count):
    """Running blocks complete; waiting blocks do not start."""
    monkeypatch.setenv(backend.THREADS, count)
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
        backend.in_parallel(work, range(100), progress)
    assert len(begun) < 50
    assert sorted(ended) == sorted(begun)


def test_folders_of_kept_code(tmp_path, monkeypatch):
    """The first writable folder is used, behind read-only folders and plain files; without one nothing is cached."""
    from bitpath.golden.arrays import bits

    def temporary_file(**where):
        if where["dir"].is_relative_to(tmp_path / "read_only"):
            raise PermissionError
        return TemporaryFile(**where)

    monkeypatch.setattr(bits, "TemporaryFile", temporary_file)
    (tmp_path / "file").write_text("")
    unwritable = [tmp_path / "file", tmp_path / "read_only"]
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
    from bitpath.golden.arrays import bits

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
    from bitpath.golden.arrays import bits

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


def test_kept_code_is_of_these_sources():
    """The cache key covers every file that a kernel calls into; numba itself checks only the file of the kernel."""
    from bitpath.golden.arrays import bits
    from bitpath.golden.trainium3.matmul import array_loop as mx_chain

    folder = Path(mx_chain._chain.stats.cache_path).parent.name
    golden = Path(bits.__file__).parents[1]
    patterns = ("arrays/*.py", "*/*/*_loop.py", "formats/*.py", "*/declarations/*.py")
    sources = sorted(file for pattern in patterns for file in golden.glob(pattern))
    assert folder == f"kernels-{sha256(b''.join(each.read_bytes() for each in sources)).hexdigest()[:16]}"


def neighbours(fmt):
    """float64 at, just below and just above numbers and midpoints of a format, beyond its range, and the specials."""
    codes = np.unique(np.linspace(0, fmt.max_code, 97).astype(np.int64))
    numbers = np.unique(np.abs(decode_array(fmt, codes)))
    values = np.concatenate(
        [numbers, (numbers[1:] + numbers[:-1]) / 2, numbers[-4:] * 1.0625, numbers[-1:] * 2, [2.0**-1074]]
    )
    steps = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, 0)])
    low = np.array([float(fmt.min_subnormal)]) * [0.25, 0.5, 0.75, 1.5, 2.5]
    return np.concatenate([steps, low, [np.inf, 2.0**200, 0.0]])


@pytest.mark.parametrize("overflow", Overflow)
@pytest.mark.parametrize("rounding", [Rounding.RNE, Rounding.RTZ])
@pytest.mark.parametrize("fmt", CATALOGUE.values(), ids=CATALOGUE)
def test_encoding(choose, fmt, rounding, overflow):
    """Both backends and the scalar tier on the neighbours of numbers and midpoints."""
    values = neighbours(fmt)
    if fmt.specials is Specials.FINITE and overflow is Overflow.SPECIAL:
        values = values[values <= float(fmt.max)]
    # E8M0 has neither a sign nor anything below its smallest number.
    values = values[values >= float(fmt.min_normal)] if fmt is E8M0 else np.concatenate([values, -values])
    if fmt.nan_code is not None:
        values = np.concatenate([values, [np.nan, -np.nan]])
    got = []
    for name in ("numpy", "numba"):
        choose(name)
        got.append(encode_array(fmt, values, rounding=rounding, overflow=overflow))
    assert np.array_equal(*got)
    assert got[1].dtype == np.int64
    for value, code in list(zip(values.tolist(), got[1].tolist(), strict=True))[::13]:
        if np.isfinite(value):
            sign = int(np.signbit(value))
            expected = round_to_format(Fraction(value), fmt, rounding, overflow=overflow, zero_sign=sign)
            assert code == expected


@pytest.mark.parametrize("fmt", CATALOGUE.values(), ids=CATALOGUE)
def test_decoding(choose, fmt):
    count = min(1 << fmt.width, 1 << 16)
    codes = np.linspace(0, (1 << fmt.width) - 1, count).astype(np.int64)
    if fmt is FP32:
        codes[:8] = [0, 1, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000, 0xFFFFFFFF, 0x80000000]
    carrier = np.dtype(f"u{max(fmt.width // 8, 1)}") if fmt.width != 19 else np.dtype(np.uint32)
    got = []
    for name in ("numpy", "numba"):
        choose(name)
        got.append(decode_array(fmt, codes.astype(carrier)).view(np.int64))
    assert np.array_equal(*got)


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
def test_scalars_and_empty_arrays(choose, shape):
    for fmt, dtype in ((FP32, np.uint32), (BF16, np.uint16), (E8M0, np.uint8)):
        got = []
        for name in ("numpy", "numba"):
            choose(name)
            values, codes = np.full(shape, 1.5), np.full(shape, 130, dtype)
            pieces = [encode_array(fmt, values), decode_array(fmt, codes)]
            pieces += [encode_array(fmt, values[()]), decode_array(fmt, codes[()])]
            # Beyond the largest number, too.
            pieces.append(encode_array(fmt, np.full(shape, 1e300)))
            assert all(type(each) is np.ndarray and each.shape == shape for each in pieces)
            got.append([(each.dtype, each.tolist()) for each in pieces])
        assert got[0] == got[1]


def test_errors_stay_the_codecs(choose):
    choose("numba")
    with pytest.raises(ValueError, match="values hold NaN, which E2M1 cannot express"):
        encode_array(CATALOGUE["E2M1"], np.array([np.nan]))
    with pytest.raises(ValueError, match="E2M1 has neither infinity nor NaN and can only saturate"):
        encode_array(CATALOGUE["E2M1"], np.array([7.0]))
    with pytest.raises(ValueError, match="values go below"):
        encode_array(E8M0, np.array([0.0]))
    with pytest.raises(ValueError, match="codes reach from 0 to 16"):
        decode_array(CATALOGUE["E2M1"], np.array([0, 16], np.uint8))
