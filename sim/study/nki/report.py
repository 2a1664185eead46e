"""The printed report of a kernel's run: instructions by engine, times, memory, warnings and standing."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from bitpath.golden.nki import Options, Run
from bitpath.golden.nki.declarations.errors import source_of
from bitpath.golden.nki.machine.timeline import ENGINES
from bitpath.golden.trainium3.declarations.memory import PSUM_PARTITION_BYTES
from bitpath.sim.study.nki.outputs import Error
from bitpath.sim.study.nki.trace import MICROSECONDS

COLUMNS = (("core", 4), ("engine", 7), ("instructions", 12), ("cycles", 10))


def record(
    kernel: str, run: Run, options: Options, outputs: dict[str, np.ndarray], errors: Iterable[Error]
) -> dict[str, Any]:
    """Return a run as JSON's values; cycles are of 1.2 GHz."""
    opcodes: dict[tuple[int, str], Counter[str]] = {}
    for each in run.instructions:
        opcodes.setdefault((each.core, each.engine), Counter())[each.opcode] += 1
    return {
        "kernel": kernel,
        "engines": [
            {
                "core": core,
                "engine": engine,
                "instructions": found.total(),
                "cycles": run.cycles.engines[core, engine],
                "opcodes": dict(sorted(found.items())),
            }
            for (core, engine), found in sorted(
                opcodes.items(), key=lambda each: (each[0][0], ENGINES.index(each[0][1]))
            )
        ],
        "serial_cycles": run.cycles.serial,
        "overlapped_cycles": run.cycles.overlapped,
        "memory": {
            "sbuf": {"high_water": run.high_water["sbuf"], "bytes": options.limits.usable_bytes},
            "psum": {"high_water": run.high_water["psum"], "bytes": PSUM_PARTITION_BYTES},
        },
        "warnings": list(run.warnings),
        "standing": {"word": run.standing.word, "choices": dict(run.standing.keys)},
        "outputs": [
            {"name": name, "dtype": each.dtype.name, "shape": list(each.shape)} for name, each in outputs.items()
        ],
        "errors": [asdict(each) for each in errors],
    }


def text(found: dict[str, Any], errors: Sequence[Error]) -> str:
    """Return a run's record as text."""
    lines = ["  ".join(f"{head:>{width}}" for head, width in COLUMNS)]
    for row in found["engines"]:
        cells = (row["core"], row["engine"], row["instructions"], f"{row['cycles']:,.0f}")
        own = "  ".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))
        lines.append(f"{own}  {', '.join(f'{name} {count}' for name, count in row['opcodes'].items())}")
    times = [(name, found[f"{name}_cycles"]) for name in ("serial", "overlapped")]
    lines += [f"{name}: {cycles:,.0f} cycles of 1.2 GHz, {cycles * MICROSECONDS:.3f} us" for name, cycles in times]
    lines += [
        f"{name.upper()}: {each['high_water']:,} of {each['bytes']:,} bytes of a partition at most"
        for name, each in found["memory"].items()
    ]
    lines += [f"warning: {each}" for each in found["warnings"]]
    lines.append(f"standing: {found['standing']['word']}")
    lines += [f"  {kind:<10}  {key}: {source_of(key).where}" for key, kind in found["standing"]["choices"].items()]
    lines += [f"{each['name']}: {each['dtype']} {each['shape']}" for each in found["outputs"]]
    return "\n".join([*lines, *map(str, errors)])
