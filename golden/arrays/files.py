"""Files that a user names: a regular file of bounded size and depth is read whole, any other is refused in a sentence.

Nothing in a file is run, and no pickle is read. Each function takes the option that names the file; without one a sentence
begins with the path.
"""

import gzip
import io
import json
import lzma
import math
import os
import stat
import struct
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np

SETTINGS_BYTES = 1 << 20
"""Largest JSON or TOML file."""
PROGRAM_BYTES = 1 << 24
"""Largest file of instructions or of a device's bytes."""
SOURCE_BYTES = 1 << 28
"""Largest file of Verilog, and largest Liberty text."""
ARRAY_BYTES = 1 << 32
"""Largest .npy or .npz file, and largest sum of an .npz file's arrays."""
DEPTH = 64
"""Largest depth of objects, tables and lists in each other."""
HEADER_BYTES = 1 << 16
"""Largest header of an .npy file; numpy takes 10,000 characters."""
DIRECTORY_BYTES = 1 << 20
"""Largest directory of an .npz file: about ten thousand arrays."""
PIECE_BYTES = 1 << 20
"""Bytes of an array that are read at once, at most those of a directory."""

DAMAGED = (
    *(ValueError, TypeError, EOFError, RuntimeError, LookupError, ArithmeticError, OSError),
    *(struct.error, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What zipfile and its decompressors raise for a file that is damaged, or of a kind that they do not read."""
DAMAGED_HEADER = (*DAMAGED, SyntaxError, TokenError, MemoryError)
"""What numpy raises for a damaged header, which it parses as Python."""
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class FileError(ValueError):
    """A file that is refused; the message is a sentence that names it."""


def check_file(path: Path, option: str = "", *, most: int = SOURCE_BYTES) -> None:
    """Raise FileError unless a path names a regular file of at most `most` bytes that can be read; another program reads it."""
    with _opened(path, _named(path, option), most):
        pass


def read_bytes(path: Path, option: str = "", *, most: int = PROGRAM_BYTES) -> bytes:
    """Return the content of a file; raise FileError as `check_file`, or if the file grows meanwhile."""
    name = _named(path, option)
    with _opened(path, name, most) as (file, size):
        content = file.read(size + 1)
    if len(content) > size:
        raise FileError(f"{name} must not grow while it is read")
    return content


def read_text(path: Path, option: str = "", *, most: int = PROGRAM_BYTES) -> str:
    """Return a text, unpacked if the file's name ends with .gz.

    Raises FileError as `read_bytes`, if the text is not UTF-8, and if it has more than `most` bytes unpacked.
    """
    content, name = read_bytes(path, option, most=most), _named(path, option)
    try:
        if path.suffix == ".gz":
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(most + 1)
        text = content.decode()
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError):
        raise FileError(f"{name} must be a whole text file") from None
    if len(content) > most:
        raise FileError(f"{name} must have at most {_shown(most)} unpacked")
    return text


def read_json(path: Path, option: str = "", *, most: int = SETTINGS_BYTES) -> Any:
    """Return a JSON value; raise FileError as `read_bytes` and with the sentence of `parse_json`."""
    content, name = read_bytes(path, option, most=most), _named(path, option)
    try:
        return parse_json(content)
    except ValueError as error:
        raise FileError(f"{name} {error}") from None


def parse_json(content: str | bytes) -> Any:
    """Return a JSON value; raise ValueError for another text, a depth of more than 64, or a key that an object has twice.

    The message has no subject.
    """
    try:
        value = json.loads(content, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except _TwiceError as error:
        raise ValueError(f"must have each key of an object once, not {error} twice") from None
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
    _check_depth(value)
    return value


TOO_DEEP = f"must not be nested more than {DEPTH} deep"


class _TwiceError(Exception):
    """Keys that an object has twice; the first value would be lost."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise _TwiceError(" and ".join(sorted(name for name, count in counts.items() if count > 1)))
    return value


def _containers(values: Iterable[Any]) -> list[Any]:
    return [each for each in values if isinstance(each, dict | list)]


def _check_depth(value: Any) -> None:
    level = _containers([value])
    for _ in range(DEPTH):
        level = [inner for each in level for inner in _containers(each.values() if isinstance(each, dict) else each)]
    if level:
        raise ValueError(TOO_DEEP)


def read_toml(path: Path, option: str = "", *, most: int = SETTINGS_BYTES) -> dict[str, Any]:
    """Return a TOML table; raise FileError as `read_bytes`, for another text, or for a depth of more than 64."""
    text, name = read_text(path, option, most=most), _named(path, option)
    for number, line in enumerate(text.splitlines(), 1):
        # The parser's time grows with the square of the parts of a key.
        if line.count(".") > DEPTH and not line.lstrip().startswith("#"):
            raise FileError(f"{name} must have at most {DEPTH} dots in a line, not {line.count('.')} in line {number}")
    try:
        value = tomllib.loads(text)
        _check_depth(value)
    except RecursionError:
        raise FileError(f"{name} {TOO_DEEP}") from None
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{name} is not TOML: {error}") from None
    except ValueError as error:
        raise FileError(f"{name} {error}") from None
    return value


def read_npy(path: Path, option: str = "") -> np.ndarray:
    """Return the array of an .npy file; raise FileError as `check_file`, or for a damaged file or Python objects."""
    name = _named(path, option)
    with _opened(path, name, ARRAY_BYTES) as (file, size):
        try:
            return _array(file, size)
        except _ArrayError as error:
            raise FileError(f"{name} {error}") from None


def read_npz(path: Path, option: str = "") -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file by name.

    Raises FileError as `check_file`, for a damaged file or Python objects, and if two arrays have one name.
    """
    name = _named(path, option)
    with _opened(path, name, ARRAY_BYTES) as (file, _):
        try:
            with zipfile.ZipFile(_Pieces(file)) as archive:
                members = archive.infolist()
                names = Counter(each.filename.removesuffix(".npy") for each in members)
                if twice := [each for each, count in names.items() if count > 1]:
                    raise FileError(f"{name} must have each array once, not {' and '.join(twice)} twice")
                size = sum(each.file_size for each in members)
                if size > ARRAY_BYTES:
                    raise FileError(f"{name} must hold at most {_shown(ARRAY_BYTES)}, not {_shown(size)}")
                return {key: _member(archive, each) for key, each in zip(names, members, strict=True)}
        except FileError:
            raise
        except (*DAMAGED, _ArrayError):
            raise FileError(f"{name} is not a whole .npz file of arrays without Python objects") from None


class _Pieces(io.BufferedReader):
    """A file whose reads are limited to the size of a directory; zipfile reads a directory as large as the file
    claims."""

    def __init__(self, file: BinaryIO):
        super().__init__(io.FileIO(file.fileno(), closefd=False))

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > DIRECTORY_BYTES:
            raise zipfile.BadZipFile("the directory is too large")
        return super().read(size)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        return _array(file, member.file_size)


class _ArrayError(Exception):
    """Bytes that are no array; the message has no subject."""


def _array(file: Any, size: int) -> np.ndarray:
    """Read an array from a seekable file of `size` bytes.

    numpy alone would allocate any shape, take a negative one, and ignore bytes after the elements.
    """
    head = io.BytesIO(file.read(HEADER_BYTES))
    form = np.lib.format
    try:
        read = form.read_array_header_1_0 if form.read_magic(head) == (1, 0) else form.read_array_header_2_0
        shape, fortran, dtype = read(head)
    except DAMAGED_HEADER:
        raise _ArrayError("is not a whole .npy file") from None
    if dtype.hasobject:
        raise _ArrayError("must be an array without Python objects")
    if len(shape) > 64 or not all(type(extent) is int and 0 <= extent < 1 << 63 for extent in shape):
        raise _ArrayError("is not a whole .npy file: its shape must be at most 64 numbers from 0 to 2**63 - 1")
    needed, left = math.prod(shape) * dtype.itemsize, size - head.tell()
    if left != needed:
        raise _ArrayError(f"is not a whole .npy file: shape {shape} has {needed} bytes, the file has {left}")
    file.seek(head.tell())
    content = np.empty(needed, np.uint8)
    for start in range(0, needed, PIECE_BYTES):
        piece = content[start : start + PIECE_BYTES]
        # The files are buffered: less than a piece is the end.
        if file.readinto(piece.data) != piece.size:
            raise _ArrayError("is not a whole .npy file")
    return np.ndarray(shape, dtype, content, order="F" if fortran else "C")


def _named(path: Path, option: str) -> str:
    return f"{option}: {path}" if option else str(path)


@contextmanager
def _opened(path: Path, name: str, most: int) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file for the block, which gets it with its size; raise FileError for any other and for a larger one."""
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise FileError(f"{name} must be a regular file, not {KINDS.get(stat.S_IFMT(mode), 'a device')}")
        # If a pipe takes the file's place meanwhile, the opening must not wait for a writer.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    with open(number, "rb") as file:
        size = os.fstat(number).st_size
        if size > most:
            raise FileError(f"{name} must have at most {_shown(most)}, not {_shown(size)}")
        try:
            yield file, size
        except OSError as error:
            raise FileError(f"{name} cannot be read: {error.strerror or error}") from None


def _shown(size: int) -> str:
    """Return a number of bytes in the largest unit that has at least one of it."""
    place = min(max(size.bit_length() - 1, 0) // 10, 4)
    return f"{size / (1 << 10 * place):.4g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[place]}"
