"""Builds of a command's runs, made by a thread while earlier runs simulate."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread
from typing import Any

from rich.console import Console

from bitpath.rtl.common.config import digest
from bitpath.sim.engine import process
from bitpath.sim.engine.runner import Built, build
from bitpath.sim.flows.progress import stage

Part = tuple[str, Any]
"""A unit that a run simulates, and its configuration."""


class Builds:
    """The simulation of each part of runs, built once and in their order from the first demand on.

    A failed build fails the run that needs it.

    Parameters
    ----------
    runs : runs with ``parts``, ``simulator`` and ``waves``.
    console : shows what a run waits for.
    """

    def __init__(self, runs: Iterable[Any], console: Console):
        self._console = console
        self._parts = {_key(run, part): (run, part) for run in runs for part in run.parts}
        self._futures: dict[tuple, Future[Built]] = {key: Future() for key in self._parts}
        self._over = False
        # A daemon, since an interrupted command does not wait for it.
        self._maker = Thread(target=self._make, daemon=True)

    def _make(self) -> None:
        for key, (run, (unit, config)) in self._parts.items():
            if self._over:
                return
            try:
                self._futures[key].set_result(build(unit, config, run.simulator, waves=run.waves))
            except Exception as error:
                self._futures[key].set_exception(error)

    def of(self, run: Any, part: Part) -> Built:
        """Wait for the build of a run's part; its first user has the seconds that it took, as later ones find it built."""
        key = _key(run, part)
        if self._maker.ident is None:
            self._maker.start()
        with stage(self._console, f"building {part[0]} for {run.simulator}, once"):
            built = self._futures[key].result()
        if built.seconds:
            self._futures[key] = Future()
            self._futures[key].set_result(replace(built, seconds=0.0))
        return built

    def end(self) -> None:
        """Build nothing more, and kill the compiler that runs."""
        self._over = True
        if self._maker.is_alive():
            process.end_running()


def _key(run: Any, part: Part) -> tuple:
    return (part[0], digest(*part), run.simulator, run.waves)


@contextmanager
def built_ahead(runs: Iterable[Any], console: Console) -> Iterator[Builds]:
    """Provide the `Builds` of runs for a block."""
    builds = Builds(runs, console)
    try:
        yield builds
    finally:
        builds.end()
