"""A bench takes each configuration of its unit; a unit refuses an unsupported configuration in one sentence."""

import importlib
import json
import re
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import partial
from itertools import combinations
from types import NoneType, SimpleNamespace
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from click.testing import CliRunner
from cocotb import _decorators

from bitpath.golden.formats.catalogue import CATALOGUE, E2M1, E5M2, FIXED_FORMATS, FP32, FixedFormat, FloatFormat
from bitpath.golden.formats.records import from_dict, to_dict
from bitpath.golden.tensix.declarations import numerics as tensix
from bitpath.golden.trainium3.declarations import quad_mx
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.tensor import TRAINIUM3_DOUBLE_ROW, SparseNumerics, TagMap
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_MATMUL
from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, PackConfig
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import WideLanesConfig
from bitpath.rtl.aie_ml_v2.scalar.scalar_functions import ScalarFunctionsConfig
from bitpath.rtl.common.config import PipelineConfig, digest
from bitpath.rtl.trainium3.dma.dma_cast import DmaCastConfig
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTransposeConfig
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.memory.access_walker import WalkConfig
from bitpath.rtl.trainium3.memory.dge import DgeConfig
from bitpath.rtl.trainium3.memory.indirect_offsets import IndirectConfig
from bitpath.rtl.trainium3.memory.sbuf import SbufConfig
from bitpath.rtl.trainium3.memory.scale_fetch import ScaleFetchConfig
from bitpath.rtl.trainium3.tensor.background_transpose import TransposeConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.fp32_passes import PassesConfig
from bitpath.rtl.trainium3.tensor.sparse_select import SelectConfig
from bitpath.rtl.trainium3.tensor.tensor_issue import IssueConfig
from bitpath.rtl.trainium3.tensor.weight_load import LoadConfig
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.commands import explain
from bitpath.sim.engine.configure import PRESETS
from bitpath.sim.engine.runner import CASES, build, run, run_bench
from bitpath.sim.study.waves import write_save_file
from bitpath.verif.kit import pauses
from bitpath.verif.kit.mismatches import differences, full_text, shown_at
from bitpath.verif.kit.packing import width
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.tests.units.manners import LARGE

# Configurations that units refuse, each in one sentence.


ONE_PATTERN = SparseNumerics(patterns=((1, 2),), tag_map=TagMap.POSITION)
DIGITS = "scalar functions: digits must be numbers from 0 up with the sum 25"
# fmt: off
OUTSIDE = (
    (PackConfig, "lanes", 0, "must be 1 to"),
    (MxWidenConfig, "blocks", 5, "mx widen: blocks must be 1 to 4"),
    (DmaCastConfig, "beat_bytes", 2, "dma_cast: beat_bytes must be a power of two from 4 to 32"),
    (DmaTransposeConfig, "columns", 16, "dma_transpose: columns must be a power of two from 2 to 8"),
    (DmaTransposeConfig, "elements", 2, "dma_transpose: elements must be a power of two from 4 to 16"),
    (DmaTransposeConfig, "address_bits", 41, "dma_transpose: address_bits must be 4 to 40"),
    (DmaTransposeConfig, "count_bits", 0, "dma_transpose: count_bits must be 1 to 16"),
    (DmaTransposeConfig, "row_bits", 17, "dma_transpose: row_bits must be 1 to 16"),
    (DmaTransposeConfig, "depth", 1, "dma_transpose: depth must be 2 to 64"),
    (WalkConfig, "address_bits", 2, "access_walker: address_bits must be 3 to 24"),
    (WalkConfig, "step_bits", 17, "access_walker: step_bits must be 2 to 16"),
    (WalkConfig, "num_bits", 0, "access_walker: num_bits must be 1 to 16"),
    (WalkConfig, "tag_bits", 257, "access_walker: tag_bits must be 0 to 256"),
    (ScaleFetchConfig, "quadrants", 5, "scale_fetch: quadrants must be 1 to 4"),
    (IndirectConfig, "offset_bits", 33, "indirect_offsets: offset_bits must be 1 to 32"),
    (IndirectConfig, "count_bits", 0, "indirect_offsets: count_bits must be 1 to 16"),
    (DgeConfig, "hbm_bits", 39, "dge: hbm_bits must be 3 to 38"),
    (DgeConfig, "partition_bits", 19, "dge: partition_bits must be 3 to 18"),
    (DgeConfig, "step_bits", 39, "dge: step_bits must be 2 to 38"),
    (DgeConfig, "num_bits", 19, "dge: num_bits must be 1 to 18"),
    (DgeConfig, "cut_bits", 17, "dge: cut_bits must be 2 to 16"),
    (SbufConfig, "partitions", 2, "sbuf: partitions must be a power of two from 4 to 128"),
    (SbufConfig, "partition_bytes", 8192, "sbuf: partition_bytes must be a power of two from 64 to 4096"),
    (SbufConfig, "banks", 1, "sbuf: banks must be a power of two from 2 to 4"),
    (SbufConfig, "engines", 7, "sbuf: engines must be 1 to 6"),
    (SbufConfig, "readers", 6, "sbuf: readers must be 0 to 5"),
    (SbufConfig, "wait_bits", 0, "sbuf: wait_bits must be 1 to 32"),
    (PassesConfig, "rows", 0, "fp32_passes: rows must be 1 to 128"),
    (PassesConfig, "rows", 129, "fp32_passes: rows must be 1 to 128"),
    (IssueConfig, "banks", 9, "tensor_issue: banks must be 1 to 8"),
    (IssueConfig, "cycle_bits", 0, "tensor_issue: cycle_bits must be 1 to 16"),
    (IssueConfig, "tag_bits", 33, "tensor_issue: tag_bits must be 1 to 32"),
    (TransposeConfig, "size", 1, "background_transpose: size must be 2 to 128"),
    (TransposeConfig, "size", 129, "background_transpose: size must be 2 to 128"),
    (SelectConfig, "cols", 0, "sparse_select: cols must be 1 to 128"),
    (LoadConfig, "rows", 0, "weight_load: rows must be 1 to 128"),
    (LoadConfig, "cols", 1, "weight_load: cols must be 2 to 128"),
    (LoadConfig, "moving_bits", 1025, "weight_load: moving_bits must be 1 to 1024"),
)
"""Configuration, field, number outside its range, and the sentence before the number."""
OTHERS = (
    (partial(DmaCastConfig, pipeline=PipelineConfig(stages=3)), "dma_cast: stages must be 0 to 2, not 3"),
    # Eight words of a mover.
    (partial(DmaMoverConfig, beat_bytes=4, address_bits=4), "dma_mover: address_bits must be 5 to 40, not 4"),
    (partial(DmaMoverConfig, beat_bytes=32, address_bits=7), "dma_mover: address_bits must be 8 to 40, not 7"),
    (partial(ScalarFunctionsConfig, digits=(6, 12, 8)), DIGITS),
    (partial(ScalarFunctionsConfig, digits=(26, -1)), DIGITS),
    (partial(ScalarFunctionsConfig, digits=()), DIGITS),
    (partial(WideLanesConfig, modes=()), "wide_lanes: modes must have MacMode.INT16, not"),
    (partial(WideLanesConfig, modes=(MacMode.INT8, MacMode.MX9)), "wide_lanes: modes must have MacMode.INT16, not"),
    (partial(MacLaneConfig, modes=(MacMode.INT8,), chained=True), "mac_lane: modes must have MacMode.INT16 with chained, not"),
    (partial(SelectConfig, numerics=ONE_PATTERN), "sparse_select: tag_map must be FIELDS, not POSITION"),
    (partial(CorePeConfig, dot=TRAINIUM3_DOUBLE_ROW.numerics), "core_pe: terms must be 4, the elements of an x4 word, not 2"),
    (partial(CorePeConfig, numerics=TRAINIUM2_BF16_PRODUCTS.numerics), "core_pe: product_rounding must be None, not RNE to BF16"),
    (
        partial(CorePeConfig, dot=TRAINIUM3_QUAD_MX.numerics),
        "core_pe: element_formats must be ['E4M3FN', 'E5M2', 'E4M3'], not ['E4M3FN', 'E5M2']",
    ),
    (
        partial(CorePeConfig, numerics=replace(TRAINIUM3_MATMUL.numerics, wide_formats=(FP32,))),
        "core_pe: wide_formats must be ['TF32', 'FP32'], not ['FP32']",
    ),
)
"""Configurations, and the beginnings of the sentences."""
# fmt: on


def test_a_number_outside_its_range_is_refused(subtests):
    for config, field, number, says in OUTSIDE:
        with (
            subtests.test(f"{config.__name__}, {field}"),
            pytest.raises(ValueError, match=f"{re.escape(says)}.*, not {number}$"),
        ):
            config(**{field: number})


def test_a_configuration_that_does_not_exist_is_refused(subtests):
    for make, says in OTHERS:
        with subtests.test(says), pytest.raises(ValueError, match=f"^{re.escape(says)}"):
            make()


# The configurations of a unit: every value of each of its fields, alone and beside those of the other fields.
#
# Values of a field follow from its type, and from the refusals of the configuration when it is made.


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
        elif kind is FixedFormat:
            yield from FIXED_FORMATS.values()
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
    """Return the shown parts of a request whose result differs in a bit, and the report."""
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
