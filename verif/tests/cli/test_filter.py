"""``--filter`` finds tests by the names that cocotb will give them, before anything is built."""

import subprocess
from pathlib import Path

import pytest

from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.engine import bench_tests, build, runner
from bitpath.verif.kit.testplan import covers

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs/examples/mx_dot4"


@covers(
    "robustness.filters",
    "A filter with a mistake must not cost a build, and a replay line must run the test that it names",
)
@pytest.mark.parametrize(
    "line", ["test-sim psum", f"check {EXAMPLE}/mx_dot4.sv --unit quad_mx_dot --map {EXAMPLE}/ports.toml"]
)
def test_a_filter_that_finds_nothing_is_refused_before_the_build(bitpath, monkeypatch, tmp_path, line):
    """Filters that find no test or skipped ones alone, the names of every bench's tests, and values of any letters in a
    replay line."""
    monkeypatch.setattr(build, "build", lambda *_, **__: pytest.fail("a simulation was built"))
    monkeypatch.setattr(runner, "build", build.build)
    status, out, err = bitpath(*line.split(), "--filter", "resett?$")
    assert (status, out) == (2, "")
    assert err.startswith("bitpath: --filter: 'resett?$' matches no test of bitpath.verif.trainium3.")
    assert "; it has " in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@covers("robustness.filters")
def test_a_filter_that_finds_skipped_tests_alone_is_refused(monkeypatch):
    unit = find_unit("dot16")
    config = unit.config_type()
    names = bench_tests.names_of(unit.bench, config)
    skipped = [name for name, left_out in names.items() if left_out]
    assert skipped
    monkeypatch.setattr(bench_tests, "names_of", lambda *_: names)
    with pytest.raises(ValueError, match=r"^--filter: .* matches only tests that this configuration skips$"):
        bench_tests.check_filter(unit.bench, config, f"^{skipped[0]}$")
    bench_tests.check_filter(unit.bench, config, "random_classes/pace=gaps$")
    bench_tests.check_filter(unit.bench, config, None)


@covers("robustness.filters")
def test_a_bench_that_is_none_is_named():
    with pytest.raises(ValueError, match=r"^bitpath\.verif\.nosuch cannot be imported: ModuleNotFoundError: "):
        bench_tests.check_filter("bitpath.verif.nosuch", UNITS["psum"].config_type(), "reset")


@covers("robustness.filters")
@pytest.mark.deep
@pytest.mark.simulator
def test_the_names_are_those_of_the_run(elsewhere):
    config = UNITS["element_map"].config_type()
    ran = runner.run_bench("element_map", config, "icarus", cases=50, check_bins=False)
    names = bench_tests.names_of(UNITS["element_map"].bench, config)
    assert sorted((*ran.tests, *ran.skipped)) == sorted(
        name.removeprefix(f"{UNITS['element_map'].bench}.") for name in names
    )


@covers("robustness.filters")
@pytest.mark.deep
@pytest.mark.parametrize("unit", UNITS)
def test_every_bench_tells_its_tests(unit):
    names = bench_tests.names_of(UNITS[unit].bench, UNITS[unit].config_type())
    assert not all(names.values())


@covers("robustness.filters")
@pytest.mark.parametrize("text", ["a b", "$HOME $(HOME) `id`", "a\\d\"'$", "name/x=(1, 2)|[3]$"])
def test_a_value_in_a_replay_line_reaches_the_command_as_it_is(text):
    line = f"make -n --no-print-directory sim UNIT=psum FILTER={runner._for_make(text)}"
    shown = subprocess.run(
        ["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    words = shown.partition("bitpath test-sim ")[2]
    done = subprocess.run(["sh", "-c", f"printf '%s\\n' {words}"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["psum", "--filter", text]
