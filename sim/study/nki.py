"""A kernel of an NKI file or module: its arguments, its run, its outputs and their errors, the schedule, and the report."""

import ast
import importlib.util
import inspect
import json
import os
import sys
import traceback
import warnings
from bdb import BdbQuit
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from enum import EnumType
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import ml_dtypes
import numpy as np

import bitpath.golden
from bitpath.golden import nki, trainium3
from bitpath.golden.arrays.codec import DTYPES, format_of
from bitpath.golden.arrays.files import PROGRAM_BYTES, check_file, read_npz
from bitpath.golden.nki import Options, Run
from bitpath.golden.nki.declarations.errors import source_of
from bitpath.golden.nki.machine.timeline import CYCLE, ENGINES, Executed, Span
from bitpath.golden.nki.memory.dtypes import STORED, X4
from bitpath.golden.scalar.checked import one_of, suggestion
from bitpath.golden.trainium3.declarations.memory import PSUM_PARTITION_BYTES
from bitpath.rtl.common.files import replaceable, replacing, write_whole

# A kernel's arguments in an .npz file: arrays and scalars by the name of the parameter.
#
# A key ``name:dtype`` holds words of a dtype that the file cannot name, as ``x:bfloat16`` or ``w:float4_e2m1fn_x4``; a key
# ``name:python`` the text of a Python literal, as ``(3, 4)``. A text for a parameter that its annotation makes an Enum names a member.
# A key that ends with ``:ranks``, as ``x:bfloat16:ranks``, holds a value for each rank along its first dimension.


PLAIN = tuple(map(np.dtype, ("bool", "float32", "float16", "int8", "int16", "int32", "uint8", "uint16", "uint32")))
"""Dtypes that an .npz file holds and a kernel takes."""
SUFFIXES = tuple(
    name for name, stored in STORED.items() if name != "bool" and (name, stored) not in [(p.name, p) for p in PLAIN]
)
"""Dtypes that an .npz file cannot name."""


LITERAL = "python"
"""The suffix of a Python literal."""
RANKS = ":ranks"
"""The end of a key whose array has a value for each rank."""


def kernel_arguments(
    arrays: Mapping[str, np.ndarray], function: Callable, kernel: str, ranks: int | None = None
) -> dict[str, Any]:
    """Return a kernel's arguments by parameter; an array of no dimension becomes a number or a text of Python.

    Raises ValueError for a missing argument, a key without a parameter, a dtype that a kernel cannot take, or another number of
    values than ``ranks``, which is None without any.
    """
    parameters = inspect.signature(function).parameters
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    found: dict[str, Any] = {}
    for key, array in arrays.items():
        name = key.partition(":")[0]
        if name not in parameters and not takes_any:
            known = f"it has {one_of(parameters)}" if parameters else "it has none"
            raise ValueError(f"--args: {kernel} has no parameter {name!r}; {known}{suggestion(name, parameters)}")
        if name in found:
            raise ValueError(f"--args: {name} must stand once in the file, not with two dtypes")
        of_one, parameter = key.removesuffix(RANKS), parameters.get(name)
        if of_one == key:
            found[name] = _value(key, array, parameter)
            continue
        if ranks is None:
            raise ValueError(f"--args: {key} needs --ranks")
        if array.shape[:1] != (ranks,):
            raise ValueError(
                f"--args: {key} must have a first dimension of {ranks}, one for each rank, not shape {array.shape}"
            )
        found[name] = nki.PerRank([_value(of_one, np.asarray(each), parameter) for each in array])
    missing = [
        name
        for name, each in parameters.items()
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and name not in found
    ]
    if missing:
        raise ValueError(f"--args must have {' and '.join(missing)}, which {kernel} needs")
    return found


def _value(key: str, array: np.ndarray, parameter: inspect.Parameter | None) -> Any:
    _, colon, dtype = key.partition(":")
    if dtype == LITERAL:
        return _literal(key, array)
    return _suffixed(key, array, dtype) if colon else _member(key, _plain(key, array), parameter)


def _plain(key: str, array: np.ndarray) -> Any:
    if not array.ndim and array.dtype.kind in "biufU":
        return array.item()
    if array.dtype not in PLAIN:
        raise ValueError(
            f"--args: {key} must be bool, float32, float16 or an integer of at most 32 bits, or end with a dtype as"
            f" {key}:bfloat16, not {array.dtype}"
        )
    return array


def _literal(key: str, array: np.ndarray) -> Any:
    try:
        return ast.literal_eval(array.item())
    except (SyntaxError, TypeError, ValueError):
        raise ValueError(f"--args: {key} must be the text of a Python literal, for example '(3, 4)'") from None


def _member(key: str, value: Any, parameter: inspect.Parameter | None) -> Any:
    """Return the member that a text names of the Enum in its parameter's annotation; another value as it is."""
    kinds = () if parameter is None else (parameter.annotation, *get_args(parameter.annotation))
    kind = next((each for each in kinds if isinstance(each, EnumType)), None)
    if kind is None or not isinstance(value, str):
        return value
    if value not in kind.__members__:
        raise ValueError(f"--args: {key} must be {one_of(kind.__members__)}, not {value!r}")
    return kind[value]


def _suffixed(key: str, array: np.ndarray, dtype: str) -> np.ndarray | nki.HostTensor:
    if dtype not in STORED:
        raise ValueError(
            f"--args: {key} must end with {one_of((*SUFFIXES, LITERAL))}, not {dtype!r}{suggestion(dtype, STORED)}"
        )
    stored = STORED[dtype]
    if array.dtype.itemsize != stored.itemsize or (array.dtype.kind not in "uV" and array.dtype != stored):
        raise ValueError(
            f"--args: {key} must have words of {stored.itemsize} bytes (uint{8 * stored.itemsize}), not {array.dtype}"
        )
    words = np.ascontiguousarray(array).view(stored)
    return words if stored.name == dtype else nki.host_tensor(words, dtype)


def in_float64(value: Any) -> Any:
    """Return floats as float64, and four elements for each x4 word; integers, bool and scalars as they are; of ranks a list."""
    if isinstance(value, nki.PerRank):
        return [in_float64(each) for each in value.values]
    if isinstance(value, nki.HostTensor):
        if value.dtype in X4:
            rows = value.array.reshape(-1, value.array.shape[-1])
            elements = trainium3.unpack_x4(rows, DTYPES[X4[value.dtype]]).astype(np.float64)
            return elements.reshape(*value.array.shape[:-1], -1)
        own = ml_dtypes.float8_e8m0fnu if value.dtype == "float8_e8m0fnu" else value.array.dtype
        return value.array.view(own).astype(np.float64)
    if isinstance(value, np.ndarray):
        return value.copy() if value.dtype.kind in "biu" else value.astype(np.float64)
    return value


# A kernel of a file: loaded with the vendor's names, and its mistakes as one sentence.


OWN = (str(Path(bitpath.golden.__file__).parent), str(Path(importlib.__file__).parent), __file__)
"""Folders and files whose frames are not the kernel's."""


def split(text: str) -> tuple[Path | str, str]:
    """Return a file, or the name of a module, and the kernel's name, of ``FILE:KERNEL`` or ``MODULE:KERNEL``.

    Raises ValueError unless the text has both.
    """
    where, _, name = text.rpartition(":")
    if not where or not name.isidentifier():
        raise ValueError(
            f"a kernel must be FILE:KERNEL or MODULE:KERNEL, for example rows.py:softmax or my.rows:softmax, not {text!r}"
        )
    parts = where.split(".")
    named = all(part.isidentifier() for part in parts) and parts[-1] != "py"
    is_module = named and (Path(where).is_dir() or not os.path.lexists(where))
    return where if is_module else Path(where), name


@contextmanager
def loaded(where: Path | str, folders: Sequence[Path] = ()) -> Iterator[ModuleType]:
    """Load a file or a module of kernels for a block, with bitpath's `nki` in the vendor's place.

    A file of a package is imported by its name in the package. The module search path begins with the folder above a file's
    package and the file's own, then has ``folders``, and for a module the working directory.

    Raises
    ------
    ValueError : as `check_file`; no such module; the code raises an error; the sentence names it and its line.
    """
    if isinstance(where, str):
        name, first = where, [*folders, Path.cwd()]
    else:
        check_file(where, most=PROGRAM_BYTES)
        if where.suffix != ".py":
            raise ValueError(f"{where} must be a Python file, which ends with .py")
        root, name = _in_package(where.resolve())
        first = [root, where.resolve().parent, *folders]
    with nki.installed(), _imports(name.partition(".")[0], first):
        yield _of_name(where) if isinstance(where, str) else _of_file(where, name)


def _in_package(file: Path) -> tuple[Path, str]:
    """Return the folder above a file's outermost package, and the file's module name below it.

    Packages are the folders with ``__init__.py``, and those that the file's relative imports need.
    """
    depth = max((each.level for each in _syntax(file) if isinstance(each, ast.ImportFrom)), default=0)
    while depth < len(file.parents) - 1 and (file.parents[depth] / "__init__.py").is_file():
        depth += 1
    names = [*(file.parents[k].name for k in reversed(range(depth))), file.stem]
    return (file.parents[depth], ".".join(names)) if all(map(str.isidentifier, names)) else (file.parent, file.stem)


def _syntax(file: Path) -> Iterator[ast.AST]:
    """Yield the nodes of a file's syntax tree; none where it has errors, which the import reports."""
    with suppress(SyntaxError, ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        yield from ast.walk(ast.parse(file.read_bytes()))


@contextmanager
def _imports(top: str, folders: Iterable[Path]) -> Iterator[None]:
    """Import from these folders first for a block; modules of the package ``top`` are loaded anew, and forgotten after it."""

    def own() -> dict[str, ModuleType]:
        return {name: each for name, each in sys.modules.items() if name.partition(".")[0] == top}

    before, path = own(), list(sys.path)
    for name in before:
        del sys.modules[name]
    sys.path[:0] = dict.fromkeys(map(str, folders))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = path
        for name in own():
            del sys.modules[name]
        sys.modules.update(before)


def _of_file(file: Path, name: str) -> ModuleType:
    """Import a file by a module's name, after the module's package."""
    with mistakes(f"{file} cannot be loaded"):
        if package := name.rpartition(".")[0]:
            importlib.import_module(package)
        spec = importlib.util.spec_from_file_location(name, file.resolve())
        assert spec is not None
        assert spec.loader is not None
        # Dataclasses look their module up by its name.
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def _of_name(name: str) -> ModuleType:
    try:
        with mistakes(f"{name} cannot be loaded"):
            return importlib.import_module(name)
    except ValueError as error:
        missing = getattr(error.__cause__, "name", None) if isinstance(error.__cause__, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise ValueError(
                f"{name}: --path, the working directory and Python's module search path have no module {missing}"
            ) from None
        raise


def kernel_of(module: ModuleType, where: Path | str, name: str) -> nki.Kernel:
    """Return a kernel of a module, or a plain function of it as a kernel.

    Raises ValueError if the module has no function of that name; the sentence lists its kernels.
    """
    found = vars(module).get(name)
    if isinstance(found, nki.Kernel):
        return found
    if callable(found) and not isinstance(found, type):
        return nki.jit(found)
    kernels = [each for each, value in vars(module).items() if isinstance(value, nki.Kernel)]
    known = f"it has {one_of(kernels)}" if kernels else "it has no function with @nki.jit"
    raise ValueError(f"{where} has no kernel {name!r}; {known}{suggestion(name, kernels)}")


@contextmanager
def mistakes(what: str) -> Iterator[None]:
    """Turn an error of a kernel's code into a ValueError: what failed, the error, and the kernel's line.

    Errors of the machine's rules have their line already. The debugger's quit interrupts the command.
    """
    try:
        yield
    except nki.NkiValidationError:
        raise
    except BdbQuit:
        raise KeyboardInterrupt from None
    except Exception as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if _is_kernels(each.filename)]
        line = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        raise ValueError(f"{what}: {type(error).__name__}: {error}{line}") from error


def _is_kernels(filename: str) -> bool:
    return not filename.startswith((*OWN, "<"))


# A kernel's outputs: their names, the .npz file that takes them, and their errors against float64.


def named(outputs: Any) -> dict[str, np.ndarray]:
    """Return the arrays that a kernel returned, as out_0, out_1 and so on."""
    every = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return {f"out_{k}": each for k, each in enumerate(every) if isinstance(each, np.ndarray)}


def named_of_ranks(outputs: Sequence[Any]) -> dict[str, np.ndarray]:
    """Return the arrays that ranks returned by name, with a first dimension of ranks.

    Raises ValueError unless the ranks' arrays have the same names, shapes and dtypes.
    """
    first, *others = map(named, outputs)
    kinds = [{name: (each.shape, each.dtype.name) for name, each in made.items()} for made in (first, *others)]
    for rank, own in enumerate(kinds):
        if own != kinds[0]:
            raise ValueError(f"--ranks: rank {rank} must return {kinds[0]} as rank 0, not {own}")
    return {name: np.stack([first[name], *(each[name] for each in others)]) for name in first}


def check_writable(option: str, path: Path | None) -> None:
    """Raise OSError unless the file of an option can be written: said before the run, not after it."""
    if path is not None:
        try:
            replaceable(path)
        except OSError as error:
            raise OSError(f"{option}: {error}") from None


def save(path: Path, outputs: dict[str, np.ndarray], *, of_ranks: bool) -> None:
    """Write outputs as .npz, those of dtypes that the file cannot name as words; keys are those of arguments."""
    with replacing(path) as file:
        np.savez(file, **dict(_keyed(name, array, RANKS if of_ranks else "") for name, array in outputs.items()))


def _keyed(name: str, array: np.ndarray, end: str) -> tuple[str, Any]:
    if array.dtype.isbuiltin == 1:
        return f"{name}{end}", array
    return f"{name}:{array.dtype.name}{end}", array.view(f"u{array.dtype.itemsize}")


def reference_function(module: ModuleType, name: str) -> Callable:
    """Return a function of the kernel's file, or else of numpy, with parts after dots.

    Raises ValueError if neither has it.
    """
    found: Any = vars(module).get(name)
    if found is None:
        found = np
        for part in name.split("."):
            found = getattr(found, part, None)
    if not callable(found):
        raise ValueError(f"--compare: {name!r} must be a function of {Path(str(module.__file__)).name} or of numpy")
    return found


@dataclass(frozen=True)
class Error:
    """How far an output is from its reference, in units in the last place of the output's dtype.

    Attributes
    ----------
    output, dtype : which output.
    largest, mean : errors where both are finite; None where nothing is.
    place : of the largest error; got and expected are the numbers there.
    not_finite : elements where one of the two is infinite or NaN, and rounding the reference does not make them equal.
    """

    output: str
    dtype: str
    largest: float | None
    mean: float | None
    place: tuple[int, ...]
    got: float | None
    expected: float | None
    not_finite: int

    def __str__(self) -> str:
        found = f"{self.output}: no finite elements"
        if self.largest is not None:
            found = (
                f"{self.output}: largest error {self.largest:.4g} ulp of {self.dtype}, mean {self.mean:.4g}; at"
                f" {list(self.place)} got {self.got:.9g}, expected {self.expected:.9g}"
            )
        return found + (f"; {self.not_finite} elements differ in being finite" if self.not_finite else "")


def errors_of(outputs: dict[str, np.ndarray], function: Callable, arguments: Sequence[Any]) -> list[Error]:
    """Return the errors of outputs against a function's results.

    Raises ValueError if the function fails, or returns other shapes or another number of results.
    """
    with mistakes("--compare"), np.errstate(all="ignore"):
        made = function(*arguments)
    results = [np.asarray(each) for each in (made if isinstance(made, tuple | list) else (made,))]
    if len(results) != len(outputs):
        raise ValueError(f"--compare: the function must return {len(outputs)} arrays, not {len(results)}")
    return [_error(name, array, each) for (name, array), each in zip(outputs.items(), results, strict=True)]


def _error(name: str, array: np.ndarray, expected: np.ndarray) -> Error:
    if array.shape != expected.shape:
        raise ValueError(f"--compare: the function must return shape {array.shape} for {name}, not {expected.shape}")
    with np.errstate(all="ignore"):
        got, wanted = array.astype(np.float64), expected.astype(np.float64)
        rounded = wanted.astype(array.dtype).astype(np.float64)
        finite = np.isfinite(got) & np.isfinite(wanted)
        distance = np.where(finite, np.abs(got - wanted) / _ulp(array.dtype, wanted), 0.0)
    alike = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    place = tuple(int(each) for each in np.unravel_index(int(distance.argmax()), distance.shape))
    any_finite = bool(finite.any())
    return Error(
        output=name,
        dtype=array.dtype.name,
        largest=float(distance[place]) if any_finite else None,
        mean=float(distance[finite].mean()) if any_finite else None,
        place=place,
        got=float(got[place]) if any_finite else None,
        expected=float(wanted[place]) if any_finite else None,
        not_finite=int((~finite & ~alike).sum()),
    )


def _ulp(dtype: np.dtype, values: np.ndarray) -> np.ndarray:
    """Return the distance of a dtype's numbers at values: 1 for integers."""
    if dtype not in DTYPES.values():
        return np.ones_like(values)
    fmt = format_of(dtype)
    # frexp's exponent is e + 1 for 1.f * 2**e.
    exponent = np.maximum(np.frexp(np.where(np.isfinite(values), values, 0.0))[1] - 1, fmt.emin)
    return np.ldexp(1.0, np.where(values == 0, fmt.emin, exponent) - fmt.fraction_bits)


# A run of a file's kernel on the arrays of an .npz file.


@dataclass(frozen=True, eq=False)
class Launch:
    """A run with its named outputs, their errors, none without a reference, and its instructions' values where asked for."""

    run: nki.Run
    outputs: dict[str, np.ndarray]
    errors: list[Error]
    executed: list[Executed]


def launch(
    where: Path | str,
    name: str,
    args: Path | None,
    *,
    folders: Sequence[Path] = (),
    cores: int | None,
    ranks: int | None,
    options: nki.Options,
    compare: str | None,
    silent: bool,
    watched: bool = False,
) -> Launch:
    """Run a kernel of a file or module, as `loaded`; with ``silent`` it prints to stderr, with ``watched`` the values of its instructions are kept.

    Raises
    ------
    ValueError : as `read_npz`, `kernel_file` and `arguments`; the kernel fails; the reference does not fit.
    """
    given = {} if args is None else read_npz(args, "--args")
    with redirect_stdout(sys.stderr) if silent else nullcontext(), loaded(where, folders) as module:
        kernel = kernel_of(module, where, name)
        function = None if compare is None else reference_function(module, compare)
        found = kernel_arguments(given, kernel.function, name, ranks)
        # The kernel may write into its arguments.
        reference = [in_float64(each) for each in _in_order(kernel.function, found)]
        executed: list[Executed] = []
        watch = executed.append if watched else None
        run = _run(kernel if cores is None else kernel[cores], found, options, str(where), watch, ranks)
        made = named(run.outputs) if ranks is None else named_of_ranks(run.outputs)
        errors = [] if function is None else errors_of(made, function, reference)
    return Launch(run, made, errors, executed)


def _run(
    kernel: nki.Kernel,
    found: dict[str, Any],
    options: nki.Options,
    file: str,
    watch: Callable[[Executed], None] | None,
    ranks: int | None,
) -> nki.Run:
    bound = inspect.signature(kernel.function).bind(**found)
    bound.apply_defaults()
    with mistakes(file), warnings.catch_warnings():
        # The report contains them all.
        warnings.simplefilter("ignore", nki.NkiWarning)
        return nki.run(kernel, *bound.args, options=options, ranks=ranks, watch=watch, **bound.kwargs)


def _in_order(function: Callable, found: dict[str, Any]) -> list[Any]:
    """Return arguments in the order of the parameters up to the last that is given, defaults where one is not."""
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind is not each.VAR_KEYWORD]
    last = max((k for k, each in enumerate(parameters) if each.name in found), default=-1)
    return [found.get(each.name, each.default) for each in parameters[: last + 1]]


# A run's schedule as Chrome's trace events, which Perfetto shows: a lane for each engine of a core.
#
# Ref: "Trace Event Format", Google, 2016. Times are microseconds.


MICROSECONDS = CYCLE * 1e6
"""Microseconds of a cycle of 1.2 GHz."""
MOST_LANES = 64
"""Lanes of an engine's numbers."""


def events(run: Run) -> list[dict[str, Any]]:
    """Return the trace events of a run: names of cores and lanes, and one complete event for each instruction.

    An engine has another lane where it does two things at once.
    """
    placed = _lanes(run.cycles.spans)
    lanes = sorted({(span.instruction.core, lane) for span, lane in placed})
    found: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": core, "args": {"name": f"core {core}"}}
        for core in sorted({core for core, _ in lanes})
    ]
    for core, lane in lanes:
        name = ENGINES[lane // MOST_LANES] + (f" {lane % MOST_LANES + 1}" if lane % MOST_LANES else "")
        found.append({"ph": "M", "name": "thread_name", "pid": core, "tid": lane, "args": {"name": name}})
        found.append({"ph": "M", "name": "thread_sort_index", "pid": core, "tid": lane, "args": {"sort_index": lane}})
    for span, lane in placed:
        each = span.instruction
        found.append(
            {
                "ph": "X",
                "name": each.opcode,
                "cat": each.engine,
                "pid": each.core,
                "tid": lane,
                "ts": span.start * MICROSECONDS,
                "dur": (span.end - span.start) * MICROSECONDS,
                "args": {
                    "line": each.line,
                    "name": each.name,
                    "cycles": each.cycles,
                    "choices": sorted(each.keys),
                    **each.operands,
                },
            }
        )
    return found


def _lanes(spans: Sequence[Span]) -> list[tuple[Span, int]]:
    """Return spans by their start, each with its lane: ``MOST_LANES`` times the engine, and the first lane of it that is free."""
    ends: dict[tuple[int, int], list[float]] = {}
    found = []
    for span in sorted(spans, key=lambda each: (each.start, each.end)):
        engine = ENGINES.index(span.instruction.engine)
        own = ends.setdefault((span.instruction.core, engine), [])
        row = next((k for k, end in enumerate(own) if end <= span.start), len(own))
        own[row : row + 1] = [span.end]
        found.append((span, MOST_LANES * engine + row))
    return found


def write(path: Path, run: Run) -> None:
    """Write a run's trace whole."""
    write_whole(path, json.dumps({"traceEvents": events(run), "displayTimeUnit": "ns"}))


# The printed report of a kernel's run: instructions by engine, times, memory, warnings and standing.


COLUMNS = (("core", 4), ("engine", 7), ("instructions", 12), ("cycles", 10))


def record(
    kernel: str, run: Run, options: Options, outputs: dict[str, np.ndarray], errors: Iterable[Error]
) -> dict[str, Any]:
    """Return a run as JSON's values; cycles are of 1.2 GHz."""
    opcodes: dict[tuple[int, str], Counter[str]] = {}
    for each in run.instructions:
        opcodes.setdefault((each.core, each.engine), Counter())[each.opcode] += 1
    return {
        "kernel": kernel,
        "release": options.own_release.sdk,
        "target": options.target,
        "engines": [
            {
                "core": core,
                "engine": engine,
                "instructions": found.total(),
                "cycles": run.cycles.engines[core, engine],
                "opcodes": dict(sorted(found.items())),
            }
            for (core, engine), found in sorted(
                opcodes.items(), key=lambda each: (each[0][0], ENGINES.index(each[0][1]))
            )
        ],
        "serial_cycles": run.cycles.serial,
        "overlapped_cycles": run.cycles.overlapped,
        "memory": {
            "sbuf": {"high_water": run.high_water["sbuf"], "bytes": options.limits.usable_bytes},
            "psum": {"high_water": run.high_water["psum"], "bytes": PSUM_PARTITION_BYTES},
        },
        "warnings": list(run.warnings),
        "standing": {"word": run.standing.word, "choices": dict(run.standing.keys)},
        "outputs": [
            {"name": name, "dtype": each.dtype.name, "shape": list(each.shape)} for name, each in outputs.items()
        ],
        "errors": [asdict(each) for each in errors],
    }


def text(found: dict[str, Any], errors: Sequence[Error]) -> str:
    """Return a run's record as text."""
    lines = ["  ".join(f"{head:>{width}}" for head, width in COLUMNS)]
    for row in found["engines"]:
        cells = (row["core"], row["engine"], row["instructions"], f"{row['cycles']:,.0f}")
        own = "  ".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))
        lines.append(f"{own}  {', '.join(f'{name} {count}' for name, count in row['opcodes'].items())}")
    times = [(name, found[f"{name}_cycles"]) for name in ("serial", "overlapped")]
    lines += [f"{name}: {cycles:,.0f} cycles of 1.2 GHz, {cycles * MICROSECONDS:.3f} us" for name, cycles in times]
    lines += [
        f"{name.upper()}: {each['high_water']:,} of {each['bytes']:,} bytes of a partition at most"
        for name, each in found["memory"].items()
    ]
    lines.append(f"release {found['release']} on {found['target']}")
    lines += [f"warning: {each}" for each in found["warnings"]]
    lines.append(f"standing: {found['standing']['word']}")
    lines += [f"  {kind:<10}  {key}: {source_of(key).where}" for key, kind in found["standing"]["choices"].items()]
    lines += [f"{each['name']}: {each['dtype']} {each['shape']}" for each in found["outputs"]]
    return "\n".join([*lines, *map(str, errors)])
