"""A run of a file's kernel on the arrays of an .npz file."""

import inspect
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden import nki
from bitpath.golden.arrays.files import read_npz
from bitpath.golden.nki.machine.timeline import Executed
from bitpath.sim.study.nki import arguments, outputs
from bitpath.sim.study.nki.kernel_file import kernel_of, loaded, mistakes
from bitpath.sim.study.nki.outputs import Error


@dataclass(frozen=True, eq=False)
class Launch:
    """A run with its named outputs, their errors, none without a reference, and its instructions' values where asked for."""

    run: nki.Run
    outputs: dict[str, np.ndarray]
    errors: list[Error]
    executed: list[Executed]


def launch(
    file: Path,
    name: str,
    args: Path | None,
    *,
    cores: int | None,
    options: nki.Options,
    compare: str | None,
    silent: bool,
    watched: bool = False,
) -> Launch:
    """Run a kernel; with ``silent`` it prints to stderr, with ``watched`` the values of its instructions are kept.

    Raises
    ------
    ValueError : as `read_npz`, `kernel_file` and `arguments`; the kernel fails; the reference does not fit.
    """
    given = {} if args is None else read_npz(args, "--args")
    with redirect_stdout(sys.stderr) if silent else nullcontext(), loaded(file) as module:
        kernel = kernel_of(module, file, name)
        function = None if compare is None else outputs.reference(module, compare)
        found = arguments.arguments(given, kernel.function, name)
        # The kernel may write into its arguments.
        reference = [arguments.in_float64(each) for each in _in_order(kernel.function, found)]
        executed: list[Executed] = []
        watch = executed.append if watched else None
        run = _run(kernel if cores is None else kernel[cores], found, options, str(file), watch)
        made = outputs.named(run.outputs)
        errors = [] if function is None else outputs.errors(made, function, reference)
    return Launch(run, made, errors, executed)


def _run(
    kernel: nki.Kernel,
    found: dict[str, Any],
    options: nki.Options,
    file: str,
    watch: Callable[[Executed], None] | None,
) -> nki.Run:
    bound = inspect.signature(kernel.function).bind(**found)
    bound.apply_defaults()
    with mistakes(file), warnings.catch_warnings():
        # The report contains them all.
        warnings.simplefilter("ignore", nki.NkiWarning)
        return nki.run(kernel, *bound.args, options=options, watch=watch, **bound.kwargs)


def _in_order(function: Callable, found: dict[str, Any]) -> list[Any]:
    """Return arguments in the order of the parameters up to the last that is given, defaults where one is not."""
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind is not each.VAR_KEYWORD]
    last = max((k for k, each in enumerate(parameters) if each.name in found), default=-1)
    return [found.get(each.name, each.default) for each in parameters[: last + 1]]
