"""GTKWave opens waves of a broken design on the first mismatch, with all signals and the right numbers."""

import re
import shutil
import subprocess

import pytest

from bitpath.golden.formats.catalogue import E4M3FN, E5M2, E8M0, FP32
from bitpath.rtl.units import find_unit
from bitpath.sim.engine.build import Emitter, rtl_emitter
from bitpath.sim.engine.runner import CASES, SimulationError, build, run
from bitpath.sim.study.waves import last_wave, write_save_file
from bitpath.verif.kit.values import number_text

pytestmark = pytest.mark.simulator
UNIT = "quad_mx_pe"
SIMULATORS = ("icarus", "verilator")
MOMENTS_PS = range(400_000, 480_000, 10_000)
"""Times of the displayed values: the bench has left its first reset and drives all inputs."""
SCRIPT = f"""
puts "OPENED marker [gtkwave::getMarker] from [gtkwave::getWindowStartTime] to [gtkwave::getWindowEndTime]"
proc show {{moment}} {{
    for {{set i 0}} {{$i < [gtkwave::getTotalNumTraces]}} {{incr i}} {{
        puts "TRACE $moment [gtkwave::getTraceNameFromIndex $i] = [gtkwave::getTraceValueAtMarkerFromIndex $i]"
    }}
}}
gtkwave::nop
show first
foreach moment {{{" ".join(map(str, MOMENTS_PS))}}} {{
    gtkwave::setMarker $moment
    gtkwave::nop
    show $moment
}}
exit 0
"""
BROKEN = """
  wire [31:0] whole;
  assign partial_south = whole ^ (whole[9:5] == 5'h13);
"""
"""A last place that is wrong in one result of 32."""


def emit_broken(unit, config, folder):
    """Emit the unit with a fault in its result."""
    emitted = rtl_emitter().emit(unit, config, folder)
    (source,) = emitted.files
    verilog = source.read_text()
    faulty = verilog.replace(".o__payload(partial_south)", ".o__payload(whole)")
    faulty = faulty.replace("\n  assign o__payload = partial_south", f"{BROKEN}  assign o__payload = whole", 1)
    assert faulty.count("whole") == 5
    source.write_text(faulty)
    return emitted


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Record a wave on each simulator; return its folder, which was moved, and GTKWave's output there."""
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
            emitter = Emitter(emit_broken, rtl_emitter().sources)
            built = build(UNIT, unit.config_type(), simulator, waves=True, emitter=emitter)
            with pytest.raises(SimulationError, match="first mismatch"):
                run(built, unit.bench, seed=1, tests="loads_and_swaps_at_random/stall=none", env={CASES: "60"})
            moved = shutil.move(write_save_file(UNIT, last_wave(UNIT)).parent, base / "moved")
        command = ["xvfb-run", "--auto-servernum", "gtkwave", "--script", str(script), str(moved / f"{UNIT}.gtkw")]
        done = subprocess.run(command, cwd=base, capture_output=True, text=True, check=True, timeout=120)
        shown[simulator] = moved, done.stdout
    return shown


def traces(opened, simulator, moment="first"):
    """Return names and values that GTKWave displays at a moment, in order."""
    return re.findall(rf"^TRACE {moment} (.+) = (.*?) ?$", opened[simulator][1], re.MULTILINE)


def recorded(wave, name):
    """Return the values of a port at the moments, as a converter prints them."""
    text = subprocess.run(["fst2vcd", str(wave)], capture_output=True, text=True, check=True).stdout
    code = re.search(rf" (\S+) {name} \[", text)[1]
    changes = re.findall(rf"^#(\d+)$|^b([01]+) {re.escape(code)}$", text, re.MULTILINE)
    found, value = {}, 0
    for time, bits in changes:
        if time:
            found |= {moment: value for moment in MOMENTS_PS if moment not in found and moment < int(time)}
        else:
            value = int(bits, 2)
    return found


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_gtkwave_finds_all_signals_of_the_save_file(opened, simulator):
    save = (opened[simulator][0] / f"{UNIT}.gtkw").read_text()
    aliases = re.findall(r"^\+\{(.+?)\}|^-(.+)", save, re.MULTILINE)
    assert len(aliases) > 500
    assert [name.strip() for name, _ in traces(opened, simulator)] == [alias or title for alias, title in aliases]


def test_both_simulators_display_the_same(opened):
    for moment in ("first", *MOMENTS_PS):
        first, second = (traces(opened, simulator, moment) for simulator in SIMULATORS)
        assert first == second


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_it_opens_on_the_first_mismatch(opened, simulator):
    folder, text = opened[simulator]
    moment = int((folder / "first_mismatch").read_text())
    marker, start, end = map(int, re.search(r"^OPENED marker (\d+) from (\d+) to (\d+)", text, re.MULTILINE).groups())
    assert marker == moment
    assert start < moment < end < start + 400_000


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_expected_value_is_beside_the_wrong_one(opened, simulator):
    """The numbers are those of the run's report; outputs that agree show no mismatch."""
    report = (opened[simulator][0] / "mismatches.txt").read_text()
    got, expected = (re.search(rf"{name} +0x(\w+) = (\S+)", report) for name in ("got", "expected"))
    lines = traces(opened, simulator)
    place = [name for name, _ in lines].index("partial_south FP32")
    values = [value for _, value in lines[place : place + 3]]
    assert [name for name, _ in lines[place + 1 : place + 3]] == [
        "partial_south FP32 expected",
        "partial_south mismatch",
    ]
    assert values == [got[2], expected[2], "1"]
    assert number_text(FP32, int(expected[1], 16)) == values[1]
    assert dict(lines)["mismatch"] == "1"
    assert dict(lines)["moving_east mismatch"] == "0"


def test_codes_are_displayed_in_the_format_that_the_operand_has(opened):
    words = recorded(opened["verilator"][0] / "dump.fst", "moving_west")
    assert {word >> 40 for word in words.values()} == {0, 1}
    for moment, word in words.items():
        values = dict(traces(opened, "verilator", moment))
        fmt = E5M2 if word >> 40 else E4M3FN
        for index in range(4):
            number = number_text(fmt, word >> 8 * index & 0xFF)
            assert values[f"moving_west/elements[{index}] E4M3FN/E5M2"] == number
        assert values["moving_west/scale E8M0"] == number_text(E8M0, word >> 32 & 0xFF)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_save_file_names_no_folder(opened, simulator):
    folder, _ = opened[simulator]
    files = [folder / f"{UNIT}.gtkw", *folder.glob("*.filter"), *folder.glob("*.process")]
    assert len(files) > 3
    for file in files:
        text = file.read_text()
        assert str(folder.parent) not in text
        assert "site-packages" not in text
    assert not re.search(r'"/|^\^\S+ /', files[0].read_text(), re.MULTILINE)
