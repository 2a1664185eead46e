"""``bitpath export-c``: its files, its mistakes, other compilers, and the DPI package in a SystemVerilog bench on Verilator."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2, tensix
from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.c.constants import MACHINES, enumerations
from bitpath.golden.c.export import export
from bitpath.golden.formats.catalogue import E4M3FN, E5M2
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.rtl.emit import emit_flat
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.sim.engine import tools
from bitpath.sim.engine.process import compiler

ROOT = Path(__file__).resolve().parents[3]
NAMES = {machine: next(iter(record.presets)) for machine, record in MACHINES.items()}
FILES = [f"bitpath_{machine}.c" for machine in NAMES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write the C references of all machines to one folder."""
    place = tmp_path_factory.mktemp("c")
    for machine, preset in NAMES.items():
        for name, text in export(machine, preset).items():
            (place / name).write_text(text)
    return place


def test_the_files_and_a_library_that_computes(bitpath, tmp_path):
    status, out, err = bitpath("export-c", "trainium3", "-o", "c", "--shared")
    assert (status, err) == (0, "")
    names = [f"c/{name}" for name in (*export("trainium3", NAMES["trainium3"]), "libbitpath_trainium3.so")]
    assert out.splitlines() == names
    library = ctypes.CDLL(str(tmp_path / names[-1]))
    codes = (ctypes.c_uint8 * 4)(0x38, 0x39, 0xB8, 0x01), (ctypes.c_uint8 * 4)(0x3C, 0x3D, 0x3C, 0x7B)
    library.bitpath_trainium3_dot_step.restype = ctypes.c_uint32
    # The step of the README.
    step = library.bitpath_trainium3_dot_step(codes[0], 0, codes[1], 1, 0x7F, 0x7F, 0x3F800001)
    assert step == 0x42E4D000


def test_the_example_of_the_pages(folder):
    page = (ROOT / "docs/api/golden.md").read_text()
    (folder / "example.c").write_text(re.search(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1])
    command = [*compiler(), "-std=c99", "-Wall", "-Werror", "example.c", "bitpath_trainium3.c", "-o", "example"]
    subprocess.run(command, cwd=folder, check=True)
    printed = subprocess.run([folder / "example"], capture_output=True, text=True, check=True).stdout
    assert f"It prints `{printed.strip()}`" in page


def test_a_preset_changes_the_constants(bitpath, tmp_path):
    assert bitpath("export-c", "tensix", "-o", "fixed", "--preset", "tensix_wormhole_fixed")[0] == 0
    text = (tmp_path / "fixed/bitpath_tensix.c").read_text()
    assert "#define MINUS_ONE_QUIRK 0" in text
    assert "numerics tensix_wormhole_fixed" in text


def test_a_file_of_numerics_changes_the_constants(bitpath, tmp_path):
    (tmp_path / "mine.json").write_text('{"preset": "trainium3_quad_mx_aligned", "align_fraction_bits": 10}')
    assert bitpath("export-c", "trainium3", "-o", "c", "--numerics", "mine.json")[0] == 0
    text = (tmp_path / "c/bitpath_trainium3.c").read_text()
    assert "#define ALIGN_FRACTION_BITS 10\n" in text
    assert "numerics of a file" in text


def test_a_preset_of_the_unscaled_matmul_leaves_the_others(bitpath, tmp_path):
    default = export("trainium3", NAMES["trainium3"])["bitpath_trainium3.c"].splitlines()
    assert bitpath("export-c", "trainium3", "-o", "c", "--preset", "trainium2_bf16_products")[0] == 0
    changed = (tmp_path / "c/bitpath_trainium3.c").read_text().splitlines()
    differing = [line for line in changed if line not in default and not line.startswith("/*")]
    name = "#define MATMUL_PRODUCT_ROUNDING"
    assert differing == [f"{name}_FORMAT BF16", f"{name}_ROUNDING RNE"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tensix", "-o", "c", "--preset", "aie_ml_v2"), "--preset must be 'tensix_wormhole'"),
        (("blackhole", "-o", "c"), "'blackhole' is not one of 'trainium3', 'tensix', 'aie_ml_v2'"),
    ],
)
def test_a_mistake_is_one_sentence(bitpath, tmp_path, arguments, says):
    status, _, err = bitpath("export-c", *arguments)
    assert status
    assert says in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_missing_compiler_is_one_sentence(bitpath, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    status, _, err = bitpath("export-c", "tensix", "-o", "c", "--shared")
    assert status == 3
    assert err == "bitpath: no C compiler found (cc, gcc, clang); run: sudo apt-get install gcc\n"


@pytest.mark.parametrize(
    "command", ["gcc -std=c99", "clang -std=c99", "g++ -x c++ -std=c++11", "clang++ -x c++ -std=c++11"]
)
def test_compilers_say_nothing(folder, command):
    program, *options = command.split()
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    for file in FILES:
        command = [
            program,
            *options,
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wconversion",
            "-c",
            file,
            "-o",
            "out.o",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_source_has_no_float_allocation_or_state(folder):
    for file in FILES:
        text = re.sub(r"/\*.*?\*/", "", (folder / file).read_text(), flags=re.DOTALL)
        assert set(re.findall(r"#include\s+(\S+)", text)) == {f'"{file[:-1]}h"'}
        assert not re.findall(r"\b(double|float|malloc|calloc|free|goto|__\w+)\b", text)
        assert not re.findall(r"^static (?!const)[^(]*;", text, re.MULTILINE)


def test_every_name_of_an_argument_is_its_own():
    for machine, record in MACHINES.items():
        assert len(enumerations(machine)) == sum(map(len, record.enumerations))


BENCH = """module bench;
  import bitpath_trainium3_dpi::*;
  import bitpath_tensix_dpi::*;
  import bitpath_aie_ml_v2_dpi::*;
  int unsigned m[WORDS];
  int at = 0, compared = 0, wrong = 0;
  byte unsigned x[4], y[4], a_head[2], b_head[2];
  byte a[16], b[16];
  int unsigned dst[128], src_b[128], src_a[256], left[16], right[16];

  function automatic int unsigned next();
    next = m[at];
    at = at + 1;
  endfunction

  function automatic void compare(int unsigned got);
    int unsigned expected = next();
    compared = compared + 1;
    if (got != expected) begin
      wrong = wrong + 1;
      $display("got %h, expected %h", got, expected);
    end
  endfunction

  initial begin
    $readmemh("vectors.hex", m);
    repeat (STEPS) begin
      for (int i = 0; i < 4; i++) x[i] = 8'(next());
      for (int i = 0; i < 4; i++) y[i] = 8'(next());
      at = at + 3;
      compare(bitpath_trainium3_dot_step(x, BITPATH_TRAINIUM3_E4M3FN, y, BITPATH_TRAINIUM3_E5M2,
                                         8'(m[at - 3]), 8'(m[at - 2]), m[at - 1]));
    end
    repeat (BLOCKS) begin
      for (int i = 0; i < 128; i++) dst[i] = next();
      for (int i = 0; i < 128; i++) src_b[i] = next();
      for (int i = 0; i < 256; i++) src_a[i] = next();
      bitpath_tensix_mvmul(dst, src_b, src_a, BITPATH_TENSIX_STYLE_BF16, 1, 1, BITPATH_TENSIX_BF16, BITPATH_TENSIX_BF16);
      for (int i = 0; i < 128; i++) compare(dst[i]);
    end
    repeat (STEPS) begin
      for (int i = 0; i < 16; i++) left[i] = next();
      for (int i = 0; i < 16; i++) right[i] = next();
      bitpath_aie_ml_v2_to_mx(left, BITPATH_AIE_ML_V2_MX9, BITPATH_AIE_ML_V2_CONV_EVEN, a_head, a);
      bitpath_aie_ml_v2_to_mx(right, BITPATH_AIE_ML_V2_MX9, BITPATH_AIE_ML_V2_CONV_EVEN, b_head, b);
      at = at + 1;
      compare(bitpath_aie_ml_v2_mx_dot(BITPATH_AIE_ML_V2_MX9, a_head, a, b_head, b, m[at - 1], 0,
                                       BITPATH_AIE_ML_V2_NEGATE_ACC1));
    end
    $display("%0d compared, %0d mismatches", compared, wrong);
    $finish;
  end
endmodule
"""
STEPS, BLOCKS = 200, 4


def vectors():
    """Return operands and golden's results in the order in which the bench reads them."""
    rng, words = np.random.default_rng(1), []
    x, y = (rng.integers(0, 256, (1, STEPS, 4)).astype(np.uint8) for _ in range(2))
    x_scale, y_scale = (rng.integers(100, 150, (1, STEPS)).astype(np.uint8) for _ in range(2))
    start = rng.integers(0, 1 << 32, (STEPS, STEPS)).astype(np.uint32)
    steps = chain_rows(TRAINIUM3_QUAD_MX.numerics, x, E4M3FN, x_scale, y, E5M2, y_scale, start)
    for i in range(STEPS):
        words += [*x[0, i], *y[0, i], x_scale[0, i], y_scale[0, i], start[i, i], steps[i, i]]
    for _ in range(BLOCKS):
        b, a = ((rng.integers(120, 134, (rows, 16)) << 10 | rng.integers(0, 1 << 10, (rows, 16))) for rows in (8, 16))
        dst, b, a = (each.astype(np.uint32) for each in (rng.integers(0, 1 << 32, (8, 16)), b, a))
        words += [*dst.flat, *b.flat, *a.flat, *tensix.mvmul(dst, b, a, style="BF16", dst32=True, phase=1).flat]
    for _ in range(STEPS):
        pair = rng.standard_normal((2, 16)).astype(np.float32)
        acc = rng.standard_normal(1).astype(np.float32)
        left, right = (aie_ml_v2.to_mx(each, "mx9", rounding=RoundingCode.CONV_EVEN) for each in pair)
        lane = aie_ml_v2.fused_dot(left, right, acc[:1], format="mx9", negate_acc1=True)
        words += [*pair.view(np.uint32).flat, *acc.view(np.uint32), *lane.view(np.uint32)]
    return [int(word) for word in words]


@pytest.mark.simulator
@pytest.mark.deep
def test_a_systemverilog_bench_calls_the_functions(folder):
    words = vectors()
    (folder / "vectors.hex").write_text("\n".join(f"{word:08x}" for word in words))
    sizes = {"WORDS": len(words), "STEPS": STEPS, "BLOCKS": BLOCKS}
    (folder / "bench.sv").write_text(re.sub(r"\b(WORDS|STEPS|BLOCKS)\b", lambda each: str(sizes[each[0]]), BENCH))
    packages = [f"bitpath_{machine}_dpi.sv" for machine in NAMES]
    printed = simulated("bench", [*packages, "bench.sv", *FILES], folder)
    assert f"{2 * STEPS + 128 * BLOCKS} compared, 0 mismatches" in printed, printed


def simulated(top, files, folder):
    """Build a bench in a folder with Verilator, and return its printed text."""
    # Two milliseconds of simulation need no optimisation.
    env = tools.environment(make_settings=dict.fromkeys(("OPT_FAST", "OPT_SLOW", "OPT_GLOBAL"), "-O0"))
    command = ["verilator", "--binary", "--timing", "--top-module", top, *files]
    built = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return subprocess.run([folder / f"obj_dir/V{top}"], cwd=folder, capture_output=True, text=True, check=True).stdout


UNIT_BENCH = """module unit_bench;
  import bitpath_trainium3_dpi::*;
  byte unsigned x[4], y[4], x_scale, y_scale;
  int unsigned partial, wanted;
  bit x_format, y_format;
  wire [31:0] got;
  int wrong = 0, finite = 0;

  quad_mx_dot dut(
    .i_stationary_elements_0(x[0]), .i_stationary_elements_1(x[1]), .i_stationary_elements_2(x[2]),
    .i_stationary_elements_3(x[3]), .i_stationary_scale(x_scale), .i_stationary_format(x_format),
    .i_moving_elements_0(y[0]), .i_moving_elements_1(y[1]), .i_moving_elements_2(y[2]), .i_moving_elements_3(y[3]),
    .i_moving_scale(y_scale), .i_moving_format(y_format), .i_partial(partial), .i_valid(1'b1), .i_ready(),
    .o_payload(got), .o_valid(), .o_ready(1'b1)
  );

  initial begin
    repeat (DOTS) begin
      for (int i = 0; i < 4; i++) begin
        x[i] = 8'($urandom);
        y[i] = 8'($urandom);
      end
      x_scale = 8'($urandom_range(117, 137));
      y_scale = 8'($urandom_range(117, 137));
      x_format = 1'($urandom);
      y_format = 1'($urandom);
      partial = {1'($urandom), 8'($urandom_range(117, 137)), 23'($urandom)};
      #1;
      wanted = bitpath_trainium3_dot_step(x, 32'(x_format), y, 32'(y_format), x_scale, y_scale, partial);
      if (got != wanted) wrong = wrong + 1;
      if (got[30:23] != 8'hff) finite = finite + 1;
    end
    $display("%0d finite, %0d mismatches", finite, wrong);
    $finish;
  end
endmodule
"""
DOTS = 5000


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("preset", [TRAINIUM3_QUAD_MX.name, TRAINIUM3_QUAD_MX_ALIGNED.name])
def test_an_emitted_unit_equals_the_package(preset, tmp_path):
    """The exact unit must agree with the package of its own preset, and disagree with that of aligned sums."""
    emit_flat("quad_mx_dot", DotConfig(), tmp_path)
    for name, text in export("trainium3", preset).items():
        (tmp_path / name).write_text(text)
    (tmp_path / "unit_bench.sv").write_text(UNIT_BENCH.replace("DOTS", str(DOTS)))
    files = ["bitpath_trainium3_dpi.sv", "quad_mx_dot.v", "unit_bench.sv", "bitpath_trainium3.c"]
    printed = simulated("unit_bench", files, tmp_path)
    finite, wrong = map(int, re.search(r"(\d+) finite, (\d+) mismatches", printed).groups())
    assert finite > DOTS // 2
    assert (wrong == 0) == (preset == TRAINIUM3_QUAD_MX.name), printed
