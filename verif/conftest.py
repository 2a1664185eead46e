"""Shared fixtures, and a list of the deselected tests beside each JUnit file."""

import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bitpath.sim.engine.results import LEFT_OUT
from bitpath.verif.kit.known_answers import read

# The machine decides whether a compilation takes longer than a second, and is announced.
os.environ["BITPATH_QUIET"] = "1"
_NAMES = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put simulations first: with short tests at the end of the queue, both workers end at the same time."""
    items.sort(key=lambda item: item.get_closest_marker("simulator") is None)


def pytest_itemcollected(item):
    """Mark the tests that compare known answers."""
    if "kat_folder" in getattr(item, "fixturenames", ()):
        item.add_marker("known_answers")


def pytest_collection():
    """Leave garbage: nearly everything that collection makes lives until the end."""
    gc.disable()


def pytest_collection_finish():
    """Take the thousands of collected tests out of every later search for garbage."""
    gc.freeze()
    gc.enable()


def pytest_deselected(items):
    """Keep the names, so that a report can list the parameters that did not run."""
    # `pytest --lf` passes an empty list if all collected tests failed before.
    if items:
        items[0].config.stash.setdefault(_NAMES, []).extend(item.nodeid for item in items)


def pytest_sessionfinish(session):
    """Write the names of the deselected tests."""
    config = session.config
    # With pytest-xdist each worker collects all tests and the controller collects none, so the first worker writes.
    first = getattr(config, "workerinput", {"workerid": "gw0"})["workerid"] == "gw0"
    if config.option.xmlpath and first and not config.pluginmanager.has_plugin("dsession"):
        file = Path(config.option.xmlpath).with_suffix(LEFT_OUT)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{name}\n" for name in config.stash.get(_NAMES, [])))


@pytest.fixture(scope="session")
def kat_folder() -> Path:
    """The folder of known answers that BITPATH_KAT_DIR names."""
    folder = os.environ.get("BITPATH_KAT_DIR")
    if folder is None:
        pytest.skip("BITPATH_KAT_DIR is not set: no known answers to compare with")
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"BITPATH_KAT_DIR must be the path of an existing folder, not {folder!r}")
    return Path(folder)


@pytest.fixture(scope="session")
def kat(kat_folder) -> Callable[[str], Any]:
    """Load an archive of known answers, or a JSON file."""
    return read


@pytest.fixture(scope="session")
def c_reference(tmp_path_factory) -> Iterator[Callable[..., Any]]:
    """Compile a machine's C reference with checks for undefined behaviour, once for each preset; print its results."""
    from bitpath.golden.c.constants import MACHINES
    from bitpath.sim.engine.process import shared_library
    from bitpath.verif.kit.c_library import Library, write_reference

    libraries: dict[str, Library] = {}

    def build(machine: str, preset: str | None = None) -> Library:
        preset = preset or next(iter(MACHINES[machine].presets))
        if preset in libraries:
            return libraries[preset]
        source, known = write_reference(tmp_path_factory.mktemp(f"c_{machine}"), machine, preset)
        checks = ("-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover=all")
        libraries[preset] = Library(shared_library(source, checks), f"{source.stem}_", known)
        return libraries[preset]

    yield build
    for preset, library in libraries.items():
        for name, count in library.computed.items():
            print(f"C, {preset}: {name} {count:,} results")


@pytest.fixture
def replay(kat):
    """Run the known answers' bench ``bitpath.verif.<bench>`` of a unit on Verilator."""
    from bitpath.sim.engine.runner import build, run

    def play(unit, config, bench, *, env=None, **checks):
        variables = {"BITPATH_KAT_DIR": str(Path(os.environ["BITPATH_KAT_DIR"]).resolve()), **(env or {})}
        return run(build(unit, config, "verilator"), f"bitpath.verif.{bench}", env=variables, **checks)

    return play


@pytest.fixture
def bench_fails(tmp_path, monkeypatch):
    """Run tests of a unit's bench on RTL in which ``old`` in the source of a function is ``new``: some must fail."""
    from bitpath.rtl.emit import emit
    from bitpath.rtl.units import UNITS
    from bitpath.sim.engine.build import rtl_emitter
    from bitpath.sim.engine.runner import SimulationError, build, run
    from bitpath.verif.kit.code_mutants import mutated

    def play(unit, config, mutant, **checks):
        monkeypatch.chdir(tmp_path)

        def emit_mutant(*arguments):
            with mutated(*mutant):
                return emit(*arguments)

        # A separate folder and key, since the sources do not show the mutant.
        built = build(unit, config, "verilator", emitter=replace(rtl_emitter(), emit=emit_mutant, key=" ".join(mutant)))
        with pytest.raises(SimulationError, match=r"\d+ of \d+ tests failed"):
            run(built, UNITS[unit].bench, **checks)

    return play


@pytest.fixture
def evaluate():
    """Drive a combinational component in Amaranth's simulator: ``{port: value}`` vectors to values of ``o`` or of `outputs`."""
    from amaranth.sim import Simulator

    def run(component, vectors, *outputs):
        results = []

        async def bench(ctx):
            for vector in vectors:
                for name, value in vector.items():
                    ctx.set(getattr(component, name), value)
                results.append(tuple(ctx.get(getattr(component, name)) for name in outputs) or ctx.get(component.o))

        simulator = Simulator(component)
        simulator.add_testbench(bench)
        simulator.run()
        assert len(results) == len(vectors) > 0
        return results

    return run
