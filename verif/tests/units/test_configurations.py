"""A configuration that a unit takes, its bench takes too; what it does not support it refuses in one sentence."""

import importlib
import json
import re
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from itertools import combinations
from types import NoneType, SimpleNamespace
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from click.testing import CliRunner
from cocotb import _decorators

from bitpath.golden.formats.catalogue import CATALOGUE, E2M1, E5M2, FloatFormat
from bitpath.golden.tensix.declarations import numerics as tensix
from bitpath.golden.trainium3.declarations import quad_mx
from bitpath.rtl.common.config import digest, from_dict, to_dict
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.commands import explain
from bitpath.sim.engine.configure import PRESETS
from bitpath.sim.engine.runner import CASES, build, run, run_bench
from bitpath.sim.study.waves import write_save_file
from bitpath.verif.common.large import LARGE
from bitpath.verif.kit import pauses
from bitpath.verif.kit.mismatches import differences, full_text, shown_at
from bitpath.verif.kit.packing import width
from bitpath.verif.kit.pipeline import Request

# The configurations of a unit: every value of each of its fields, alone and beside those of the other fields.
#
# What a field may be follows from its type, and from what the configuration refuses when it is made.


INTEGERS = sorted({*range(130), *(size for bit in range(7, 31) for size in ((1 << bit) - 1, 1 << bit, (1 << bit) + 1))})
"""Candidates of an integer field, whose ends are found among them: sizes that are powers of two, and odd ones."""
WHOLE_TUPLE = 4
"""A tuple of at most as many members is tried in all its parts, else each member alone and any two."""
MOST_VALUES = 24
"""Values of a tuple that are tried, evenly among all."""


@dataclass(frozen=True)
class Field:
    """A field of a configuration at any depth: its path, values that differ from its own, and refusals of others."""

    path: tuple[str, ...]
    values: list[Any]
    refusals: list[str]


def walked(name: str, *, alone: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield configurations of a unit with a title: each field's values alone, then those of all fields side by side.

    In the second part configuration k has value k of every field, modulo their number, where the others leave it.
    """
    config = find_unit(name).config_type()
    table = [field for field in fields_of(config) if field.values]
    if alone:
        yield "default", config
        for field in table:
            for value in field.values:
                yield f"{'.'.join(field.path)}={_text(value)}", _changed(config, field.path, value)
    for index in range(max((len(field.values) for field in table), default=0)):
        mixed = config
        for field in table:
            try:
                mixed = _changed(mixed, field.path, field.values[index % len(field.values)])
            except ValueError:
                continue
        yield f"mixed {index}", mixed


def fields_of(config: Any) -> Iterator[Field]:
    """Yield the fields of a configuration, and those of its parts."""
    yield from _fields(config, config, ())


def _fields(whole: Any, part: Any, above: tuple[str, ...]) -> Iterator[Field]:
    for name, hint in get_type_hints(type(part)).items():
        path, value = (*above, name), getattr(part, name)
        has_parts = is_dataclass(value) and not isinstance(value, FloatFormat)
        # A part has the values of its own fields, and those of the presets of its type.
        presets = (each.numerics for each in PRESETS.values() if type(each.numerics) is type(value))
        taken, refusals = [], []
        for each in presets if has_parts else _candidates(hint, value):
            try:
                _changed(whole, path, each)
            except ValueError as error:
                refusals.append(str(error))
            else:
                taken += [each] * (each != value)
        yield Field(path, _chosen(taken), refusals)
        if has_parts:
            yield from _fields(whole, value, path)


def _changed(config: Any, path: tuple[str, ...], value: Any) -> Any:
    """Return a configuration with another value of the field at ``path``; ValueError if it refuses it."""
    first, *rest = path
    return replace(config, **{first: _changed(getattr(config, first), tuple(rest), value) if rest else value})


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return str(getattr(value, "name", value)) if not is_dataclass(value) or isinstance(value, FloatFormat) else "preset"


def _candidates(hint: Any, value: Any) -> Iterator[Any]:
    if get_origin(hint) is tuple:
        yield from _tuples(get_args(hint)[0], value)
        return
    for kind in get_args(hint) or (hint,):
        if kind is bool:
            yield from (False, True)
        elif kind is int:
            yield from INTEGERS
        elif kind is NoneType:
            yield None
        elif kind is FloatFormat:
            yield from CATALOGUE.values()
        elif is_dataclass(kind):
            yield from _records(kind)
        elif issubclass(kind, Enum):
            yield from kind


def _records(kind: type) -> Iterator[Any]:
    """Yield records of a type whose fields have no default: value k of each field, modulo their number."""
    table = {field.name: list(_candidates(get_type_hints(kind)[field.name], None)) for field in fields(kind)}
    for index in range(max(map(len, table.values()))):
        try:
            yield kind(**{name: values[index % len(values)] for name, values in table.items()})
        except ValueError:
            continue


def _tuples(kind: Any, value: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if kind is int:
        yield from ((sum(value),), (0, sum(value)), value[::-1], (1,) * sum(value))
    elif get_origin(kind) is tuple:
        yield from (value[:1], value[-1:], value[::-1])
    else:
        members = list(_candidates(kind, None))
        longest = len(value) if len(value) <= WHOLE_TUPLE else 2
        parts = [part for size in range(1, longest + 1) for part in combinations(value, size)]
        others = [part for size in (1, 2) for part in combinations(members, size)]
        more = [(*value, each) for each in members]
        yield from dict.fromkeys((*parts, *others, *more, tuple(members), value[::-1], ()))


def _chosen(values: list[Any]) -> list[Any]:
    """Return the ends of integers, the smallest odd one above the least, and one between; of tuples not too many."""
    numbers = [each for each in values if type(each) is int]
    if numbers:
        odd = [each for each in numbers if each % 2 and each > numbers[0]]
        kept = {numbers[0], numbers[-1], numbers[len(numbers) // 2], *odd[:1]}
        return [each for each in values if type(each) is not int or each in kept]
    return values[:: max(1, -(-len(values) // MOST_VALUES))]


SENTENCE = re.compile(r"([a-z0-9_ ]+: )?[a-z0-9_.]+( of a product)? must (be|have|name) .+, not .+")
SEED = "7"


class ReachedError(BaseException):
    """A bench has reached its design."""


class NoDesign:
    """A design whose ports are never there."""

    def __getattr__(self, name):
        raise ReachedError


def different(name, **options):
    """Return the configurations of a unit by title, each once."""
    return {digest(name, config): (title, config) for title, config in walked(name, **options)}.values()


def bench_of(name, config, monkeypatch):
    """Import a unit's bench for a configuration, with the modules that keep what they read of it."""
    monkeypatch.setenv("BITPATH_CONFIG", json.dumps(to_dict(config)))
    for each, module in list(sys.modules.items()):
        reads = any(hasattr(module, name) for name in ("config_from_environment", "UnitBench"))
        keeps = each.rpartition(".")[2].startswith("tb_") or reads
        if keeps and not each.startswith("bitpath.verif.kit."):
            del sys.modules[each]
    return importlib.import_module(UNITS[name].bench)


def own_tests(module):
    """Return the tests of a bench that its configuration has."""
    makers = [each for each in vars(module).values() if isinstance(each, _decorators.TestGenerator)]
    return [test for maker in makers for test in maker.generate_tests() if not test.skip]


def reach(test, monkeypatch):
    """Run a test of a bench until it reaches its design; return the requests that it has made."""
    made, make = [], Request.__init__

    def noted(self, *fields, **named):
        make(self, *fields, **named)
        made.append(self)

    with monkeypatch.context() as patched:
        patched.setattr(pauses.regression, "_manager_inst", SimpleNamespace(_test=test), raising=False)
        patched.setattr(Request, "__init__", noted)
        # The function of a unit's bench takes a frame, which only its wrapper opens.
        func = getattr(test.func, "__wrapped__", test.func)
        coroutine = func(NoDesign(), *test.args, **test.kwargs)
        with pytest.raises(ReachedError):
            coroutine.send(None)
        coroutine.close()
    return made


def mismatch_of(request, layout, bit):
    """Return what a report shows of a request whose result differs in a bit, and the report."""
    formats = shown_at(request.shown).formats or {}
    found = differences(layout, formats, request.expected ^ 1 << bit, request.expected)
    shown = shown_at(request.shown, found[0].field)
    return shown, full_text("here", found, shown)


def result_layout(name, config):
    """Return the layout of the results of a unit that has one stream of them, which answers requests; else None."""
    o = dict(find_unit(name).build(config).signature.members.items()).get("o")
    return o.signature.members["payload"].shape if o is not None and o.is_signature else None


@pytest.mark.parametrize("name", UNITS)
def test_what_a_unit_refuses_it_says_in_one_sentence(name):
    refusals = [refusal for field in fields_of(find_unit(name).config_type()) for refusal in field.refusals]
    assert not [refusal for refusal in refusals if not SENTENCE.fullmatch(refusal)]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.deep] * (name in LARGE)) for name in UNITS])
def test_every_value_of_every_field_has_a_component_and_a_bench(name, monkeypatch):
    unit = find_unit(name)
    for title, config in different(name, alone=False):
        assert from_dict(unit.config_type, to_dict(config)) == config, title
        assert unit.build(config).signature.members, title
        assert own_tests(bench_of(name, config, monkeypatch)), title


@pytest.mark.deep
@pytest.mark.parametrize("name", UNITS)
def test_every_configuration_has_stimulus(name, monkeypatch):
    """Golden computes the expected values of each test before it drives anything, so that no simulator is needed.

    The first and the last result of each test can be reported as mismatches, in their lowest bit and in their highest.
    """
    monkeypatch.setenv(CASES, "3")
    monkeypatch.setenv("COCOTB_RANDOM_SEED", SEED)
    begin, count, reports = time.process_time(), 0, 0
    configurations = different(name)
    for title, config in configurations:
        tests, layout = own_tests(bench_of(name, config, monkeypatch)), result_layout(name, config)
        assert tests, title
        for test in tests:
            made = reach(test, monkeypatch)
            for request in made[:1] + made[1:][-1:]:
                for bit in (0, width(layout) - 1):
                    _, report = mismatch_of(request, layout, bit)
                    assert "\n  got " in report
                    reports += 1
        count += len(tests)
    print(
        f"{name}: {count} tests of {len(configurations)} configurations, {reports} reports,"
        f" {time.process_time() - begin:.0f} s"
    )


EXPLAINED = {
    "quad_mx_dot": (quad_mx.PRESETS, "random_classes/pace=full_speed"),
    "dot16": (tensix.PRESETS, "directed_corners/mode=BF16_into_32"),
}
"""Units whose requests have a command that explains them: the presets of their numerics, and a test."""


@pytest.mark.parametrize(
    ("name", "preset"), [(name, preset) for name, (presets, _) in EXPLAINED.items() for preset in presets]
)
def test_the_explain_line_of_every_preset_ends_in_the_expected_code(name, preset, monkeypatch):
    """The numerics are all of a configuration that the line depends on; others than a preset's have none."""
    monkeypatch.setenv(CASES, "3")
    monkeypatch.setenv("COCOTB_RANDOM_SEED", SEED)
    presets, title = EXPLAINED[name]
    config = replace(find_unit(name).config_type(), numerics=presets[preset].numerics)
    layout = result_layout(name, config)
    (test,) = (each for each in own_tests(bench_of(name, config, monkeypatch)) if each.name == title)
    requests = reach(test, monkeypatch)[:3]
    assert len(requests) == 3
    for request in requests:
        shown, report = mismatch_of(request, layout, 0)
        words = shlex.split(shown.explain)
        assert words[:2] == ["bitpath", "explain"]
        text = CliRunner().invoke(explain.explain_command, words[2:], catch_exceptions=False).output
        assert words[words.index("--preset") + 1] == preset
        result = re.findall(r"^result +(0x\w+)", text, re.M)[-1]
        assert re.search(rf"^  expected +{result}\b", report, re.M)


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("name", UNITS)
def test_every_value_of_every_field_runs(name):
    """Each with the bench's own number of cases, which hits its bins, and a wave with its save file."""
    begin, compared = time.monotonic(), 0
    configurations = different(name, alone=False)
    for _, config in configurations:
        built = build(name, config, "icarus", waves=True)
        result = run(built, find_unit(name).bench, seed=int(SEED), timeout=3600)
        assert write_save_file(name, result.wave).exists()
        compared += result.compared
    print(f"{name}: {len(configurations)} configurations, {compared} values, {time.monotonic() - begin:.0f} s")


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("tests", "least"), [("latency", 20), pytest.param("directed_corners|random|latency", 1700, marks=pytest.mark.deep)]
)
def test_eight_products_of_one_format(tests, least):
    numerics = {"terms": 8, "element_formats": [E5M2.name]}
    config = from_dict(
        DotConfig, to_dict(DotConfig()) | {"numerics": to_dict(quad_mx.TRAINIUM3_QUAD_MX.numerics) | numerics}
    )
    run_bench("quad_mx_dot", config, "icarus", seed=int(SEED), cases=20, tests=tests, min_tests=1, min_compared=least)


def test_elements_of_four_bits_are_refused():
    numerics = to_dict(quad_mx.TRAINIUM3_QUAD_MX.numerics) | {"element_formats": [E2M1.name]}
    says = r"^quad_mx_dot: element_formats must be distinct ones of E4M3FN, E5M2, E4M3, not \['E2M1'\]$"
    with pytest.raises(ValueError, match=says):
        from_dict(DotConfig, to_dict(DotConfig()) | {"numerics": numerics})
