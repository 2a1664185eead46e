"""Beside a JUnit file: the tests that a run left out, so that a report knows of parameters that did not run."""

from pathlib import Path

import pytest

from bitpath.sim.results import LEFT_OUT

_NAMES = pytest.StashKey[list[str]]()


def pytest_deselected(items):
    config = items[0].config
    config.stash.setdefault(_NAMES, []).extend(item.nodeid for item in items)


def pytest_sessionfinish(session):
    config = session.config
    # Of several processes every one knows of all tests, but the one that hands them out.
    first = getattr(config, "workerinput", {"workerid": "gw0"})["workerid"] == "gw0"
    if config.option.xmlpath and first and not config.pluginmanager.has_plugin("dsession"):
        file = Path(config.option.xmlpath).with_suffix(LEFT_OUT)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{name}\n" for name in config.stash.get(_NAMES, [])))
