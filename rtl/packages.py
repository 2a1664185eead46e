"""Package descriptions of a flat module with its testbench: a FuseSoC core file and a Bender manifest.

References: FuseSoC, CAPI2 reference (core file format version 2); Bender, manifest format and sources.
"""

import json
from importlib.metadata import version

from bitpath.rtl.testbench import file_names

BENDER = "Bender.yml"


def core_name(name: str) -> str:
    """Return the name of the core file."""
    return f"{name}.core"


def package_files(name: str, summary: str) -> dict[str, str]:
    """Return the texts of ``NAME.core`` and ``Bender.yml`` by their names.

    In FuseSoC the target ``sim`` runs the testbench on Icarus or Verilator; in Bender the testbench has the target ``test``.
    """
    bench, *data = file_names(name)
    description = json.dumps(summary)
    core = [
        "CAPI=2:",
        f"name: bitpath:units:{name}:{version('bitpath')}",
        f"description: {description}",
        "filesets:",
        "  rtl:",
        f"    files: [{name}.v]",
        "    file_type: verilogSource-2005",
        "  tb:",
        "    files:",
        f"      - {bench}: {{file_type: systemVerilogSource}}",
        *(f"      - {file}: {{file_type: user, copyto: {file}}}" for file in data),
        "targets:",
        "  default:",
        "    filesets: [rtl]",
        f"    toplevel: {name}",
        "  sim:",
        "    filesets: [rtl, tb]",
        f"    toplevel: {name}_tb",
        "    flow: sim",
        "    flow_options:",
        "      tool: icarus",
        "      iverilog_options: [-g2012]",
        "      mode: binary",
        "      verilator_options: [--timing]",
    ]
    bender = [
        "package:",
        f"  name: {name}",
        f"  description: {description}",
        "sources:",
        f"  - {name}.v",
        "  - target: test",
        "    files:",
        f"      - {bench}",
    ]
    return {core_name(name): "\n".join(core) + "\n", BENDER: "\n".join(bender) + "\n"}
