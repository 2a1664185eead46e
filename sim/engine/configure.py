"""Configuration of a unit from the settings of the command line."""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from bitpath.golden.aie_ml_v2.declarations import numerics as aie_ml_v2_numerics
from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.arrays.files import FileError, read_json
from bitpath.golden.formats import dot
from bitpath.golden.formats.records import from_dict, to_dict
from bitpath.golden.matmul import read_numerics
from bitpath.golden.scalar.checked import one_of, suggestion
from bitpath.golden.tensix.declarations import numerics as tensix_numerics
from bitpath.golden.trainium3.declarations import quad_mx as trainium3
from bitpath.golden.trainium3.declarations.vector import (
    TRAINIUM2_BF16_PRODUCTS,
    TRAINIUM3_EXPONENTIAL,
    TRAINIUM3_EXPONENTIAL_OF_DST,
    TRAINIUM3_MATMUL,
)
from bitpath.rtl.units import find_unit
from bitpath.sim.engine import tools

# Names of a bench's tests, as cocotb gives them, without a build and without a simulator.
#
# A bench reads its configuration when it is imported, so that a process of its own imports it.


def check_filter(bench: str, config: Any, tests: str | None, env: Mapping[str, str] | None = None) -> None:
    """Raise ValueError unless a regular expression finds a test of a bench that applies to the configuration; None
    finds all tests."""
    if tests is None:
        return
    names = names_of(bench, config, env)
    found = [name for name in names if re.search(tests, name)]
    if not found:
        known = list(dict.fromkeys(name.partition("/")[0].rpartition(".")[2] for name in names))
        raise ValueError(
            f"--filter: {tests!r} matches no test of {bench}; it has {one_of(known)}{suggestion(tests, known)}"
        )
    if all(names[each] for each in found):
        raise ValueError(f"--filter: {tests!r} matches only tests that this configuration skips")


def names_of(bench: str, config: Any, env: Mapping[str, str] | None = None) -> dict[str, bool]:
    """Return the tests of a bench as ``module.name/parameter=value``, and True for those that are skipped.

    Raises ValueError with the last line of the error if the bench cannot be imported.
    """
    variables = {"BITPATH_CONFIG": json.dumps(to_dict(config)), **(env or {})}
    command = [sys.executable, "-P", "-m", __name__, bench]
    done = subprocess.run(command, env=tools.environment(variables), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{bench} cannot be imported: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, bool] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(bench: str) -> None:
    """Print the tests of a bench as JSON; cocotb collects those of a regression in the same way."""
    # cocotb has no public names for what its decorators return.
    from cocotb._decorators import Test, TestGenerator

    found: dict[str, bool] = {}
    for value in vars(importlib.import_module(bench)).values():
        tests = (
            [value] if isinstance(value, Test) else value.generate_tests() if isinstance(value, TestGenerator) else ()
        )
        found |= {each.fullname: each.skip for each in tests}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])


PRESETS = (
    trainium3.PRESETS
    | dot.PRESETS
    | {
        preset.name: preset
        for preset in (
            TRAINIUM3_MATMUL,
            TRAINIUM2_BF16_PRODUCTS,
            TRAINIUM3_EXPONENTIAL,
            TRAINIUM3_EXPONENTIAL_OF_DST,
        )
    }
    | tensix_numerics.PRESETS
    | aie_ml_v2_numerics.PRESETS
)
"""Presets of all machines, by name."""


def chosen(unit: str, *, config: Path | None = None, numerics: Path | None = None, **settings: Any) -> Any:
    """Return the configuration of a command line: that of a file, or the default one with the given settings.

    ``numerics`` is a file with fields of the unit's numerics.

    Raises ValueError for both a configuration and settings, and as :func:`read_config`, :func:`configure` or
    :func:`with_numerics`.
    """
    if config is None:
        own = configure(unit, **settings)
        return own if numerics is None else with_numerics(unit, own, numerics)
    settings["numerics"] = numerics
    if any(value is not None for value in settings.values()):
        raise ValueError("--config holds the whole configuration; give it alone or give the settings")
    return read_config(unit, config)


def configure(unit: str, *, preset: str | None = None, **sizes: int | None) -> Any:
    """Return the unit's default configuration with some fields set, at any depth.

    Raises ValueError for an unknown unit or preset, a preset of another machine, a field that the unit lacks, or an
    illegal size.

    Parameters
    ----------
    preset : name of the numerics.
    sizes : for example rows, cols, lanes and stages; None keeps the default.
    """
    record = find_unit(unit)
    value = to_dict(record.default_config)
    changes: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
    if preset is not None:
        changes["numerics"] = to_dict(PRESETS[check_choice("preset", preset, PRESETS)].numerics)
        present = _find(value, "numerics")
        if present is not None and present.keys() != changes["numerics"].keys():
            raise ValueError(f"preset {preset!r} is not one for unit {unit!r}")
    for name, change in changes.items():
        if not _replace(value, name, change):
            raise ValueError(f"unit {unit!r} has no {'preset' if name == 'numerics' else name}")
    return from_dict(record.config_type, value)


def with_numerics(unit: str, config: Any, path: Path) -> Any:
    """Return a configuration with the fields of numerics in a JSON file: some of them, or all of a record.

    ``"preset"`` beside them names numerics that have the other fields; without it these are the configuration's.

    Raises FileError as `read_json`, and for fields or values that the unit's numerics do not have.
    """
    value, present = to_dict(config), _find(to_dict(config), "numerics")
    if present is None:
        raise FileError(f"--numerics: {path}: unit {unit!r} has no numerics")
    numerics = read_numerics(path, PRESETS, _numerics_of(config), "--numerics")
    _replace(value, "numerics", to_dict(numerics))
    try:
        return from_dict(find_unit(unit).config_type, value)
    except ValueError as error:
        raise FileError(f"--numerics: {path}: {error}") from None


def _numerics_of(config: Any) -> Any:
    """Return the first record ``numerics`` of a configuration and its parts; None if there is none."""
    if not is_dataclass(config):
        return None
    own = getattr(config, "numerics", None)
    return own or next(filter(None, (_numerics_of(getattr(config, each.name)) for each in fields(config))), None)


def _find(value: dict[str, Any], name: str) -> Any:
    """Return the path of the field with that name at any depth, or None."""
    if name in value:
        return value[name]
    found = (_find(inner, name) for inner in value.values() if isinstance(inner, dict))
    return next((each for each in found if each is not None), None)


def _replace(value: dict[str, Any], name: str, change: Any) -> bool:
    if name in value:
        value[name] = change
        return True
    return any(_replace(inner, name, change) for inner in value.values() if isinstance(inner, dict))


def read_config(unit: str, path: Path) -> Any:
    """Return the configuration in a JSON file, such as the config.json in the folder of a run.

    Raises FileError as `read_json`, or if the file holds no configuration of the unit.
    """
    value = read_json(path, "--config")
    try:
        return from_dict(find_unit(unit).config_type, value)
    except ValueError as error:
        raise FileError(f"--config: {path}: {error}") from None
