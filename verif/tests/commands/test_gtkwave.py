"""GTKWave opens the waves of both simulators and displays all signals of the save file, with the same values."""

import re
import shutil
import subprocess

import pytest

from bitpath.golden.formats.catalogue import E4M3FN, E8M0
from bitpath.rtl.units import find_unit
from bitpath.sim.engine.runner import CASES, build, run
from bitpath.sim.waves.save import last_wave, write_save_file
from bitpath.verif.kit.values import number_text

pytestmark = pytest.mark.simulator
UNIT = "quad_mx_pe"
SIMULATORS = ("icarus", "verilator")
MOMENT_PS = 400_000
"""Time of the values: the bench has left its first reset and drives all inputs."""
SCRIPT = f"""
gtkwave::setMarker {MOMENT_PS}
gtkwave::nop
for {{set i 0}} {{$i < [gtkwave::getTotalNumTraces]}} {{incr i}} {{
    puts "TRACE [gtkwave::getTraceNameFromIndex $i] = [gtkwave::getTraceValueAtMarkerFromIndex $i]"
}}
exit 0
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Record a wave on each simulator and return its save file with GTKWave's output, from a folder that was moved."""
    for name in ("gtkwave", "xvfb-run"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed: no wave is opened")
    shown = {}
    for simulator in SIMULATORS:
        base = tmp_path_factory.mktemp(simulator)
        script = base / "print.tcl"
        script.write_text(SCRIPT)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(base)
            unit = find_unit(UNIT)
            built = build(UNIT, unit.config_type(), simulator, waves=True)
            result = run(built, unit.bench, seed=1, tests="loads_and_swaps_at_random", env={CASES: "60"})
            assert last_wave(UNIT) == result.wave
            moved = shutil.move(write_save_file(UNIT, result.wave).parent, base / "moved")
        save = moved / f"{UNIT}.gtkw"
        command = ["xvfb-run", "--auto-servernum", "gtkwave", "--script", str(script), str(save)]
        done = subprocess.run(command, cwd=base, capture_output=True, text=True, check=True, timeout=120)
        shown[simulator] = save.read_text(), done.stdout
    return shown


def traces(opened, simulator):
    """Return names and values that GTKWave displays, in order."""
    return re.findall(r"^TRACE (.+) = (.*?) ?$", opened[simulator][1], re.MULTILINE)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_gtkwave_finds_all_signals_of_the_save_file(opened, simulator):
    aliases = re.findall(r"^\+\{(.+?)\}|^-(.+)", opened[simulator][0], re.MULTILINE)
    assert len(aliases) > 500
    assert [name.strip() for name, _ in traces(opened, simulator)] == [alias or title for alias, title in aliases]


def test_both_simulators_display_the_same(opened):
    first, second = (traces(opened, simulator) for simulator in SIMULATORS)
    assert first == second


def test_codes_are_displayed_as_numbers(opened):
    values = dict(traces(opened, "verilator"))
    operand = int(values["moving_west"], 16)
    assert operand
    for index in range(4):
        code = operand >> 8 * index & 0xFF
        assert values[f"moving_west/elements[{index}] E4M3FN"] == number_text(E4M3FN, code)
    assert values["moving_west/scale E8M0"] == number_text(E8M0, operand >> 32 & 0xFF)
    assert any(re.search(r"\.\d", value) for name, value in values.items() if name.endswith(" FP32"))


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_save_file_names_no_folder(opened, simulator):
    assert "/tmp" not in opened[simulator][0]
    assert not re.search(r'"/|^\^\S+ /', opened[simulator][0], re.MULTILINE)
