"""The outcome of a run through golden and RTL, and the player that all flows share."""

import shlex
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from bitpath.rtl.common.config import to_dict
from bitpath.sim.engine import paths
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.runner import Built, run
from bitpath.sim.flows.accuracy import accuracy
from bitpath.sim.flows.builds import Builds, Part
from bitpath.sim.flows.maps import result_map
from bitpath.sim.flows.progress import shown_progress
from bitpath.verif.kit.exchange import write_input
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.scoreboard import FIRST_MISMATCH

RUN_SECONDS = 3600


class FlowRun:
    """One run of a flow in one format on one engine and simulator; each flow has a subclass.

    Attributes
    ----------
    matrices, sizes : options of ``bitpath run`` that gave this run its tensors and its engine.
    scale_rule : how operands get their scales; None on a machine, or in a flow, without scale rules.
    waves : True to record waves of all its simulations.
    """

    machine: ClassVar[str]
    flow: ClassVar[str]
    format_name: str
    engine: Any
    simulator: str
    matrices: Sequence[str] = ()
    sizes: Sequence[str] = ()
    scale_rule: str | None = None
    waves = False
    before = "quantised"
    """What a report calls the results before the last one, in a flow that has them."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The units that this run simulates, with their configurations."""
        raise NotImplementedError

    def compare(self, console: Console, builds: Builds) -> "Outcome":
        """Compute in golden and in RTL, and return both results; the console shows progress."""
        raise NotImplementedError

    @property
    def rule_options(self) -> list[str]:
        """The option of the scale rule, if it is not the default."""
        return [] if self.scale_rule in (None, "ocp") else ["--scale-rule", str(self.scale_rule)]

    @property
    def replay(self) -> str:
        """The command that repeats this run with waves."""
        words = ["--flow", self.flow, "--machine", self.machine, "--format", self.format_name, "--sim", self.simulator]
        return shlex.join(["bitpath", "run", *words, *self.rule_options, *self.matrices, *self.sizes, "--waves"])

    def shown(self, *place: int) -> Shown:
        """Return the operands of an output, its number format, and the command that explains it."""
        raise NotImplementedError

    def shown_before(self, *place: int) -> Shown:
        """Return the same for an intermediate result, in a flow that has one."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Outcome:
    """Both results, of one shape and dtype, and the record for the report.

    ``before`` are intermediate results that were compared too, RTL's and golden's. ``kept`` is what only the run's history
    holds of it: its map, and the simulation's folder below build. ``times`` are the simulated times in ps at which the
    bench got the results, of their shape.
    """

    rtl: np.ndarray
    golden: np.ndarray
    record: dict[str, Any]
    before: tuple[np.ndarray, np.ndarray] | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    times: np.ndarray | None = None

    @property
    def first(self) -> tuple[int, ...] | None:
        """The first place that differs; None if all agree."""
        places = np.argwhere(codes(self.rtl) != codes(self.golden))
        return tuple(places[0].tolist()) if len(places) else None


def play(console: Console, built: Built, bench: str, title: str, content: Any) -> dict[str, Any]:
    """Run a bench that plays a program, or other content, on a built unit.

    Raises SimulationError if the simulation failed, or the unit did nothing.

    Parameters
    ----------
    bench : module name of the bench.
    title : text of the progress bar, before the unit's name.
    content : input that the bench reads with `exchange.read_input`.

    Returns
    -------
    Arrays that the bench wrote, and the run's ``folder``. ``cycles`` is the unit's busy counter if it has one, else the
    cycles until its last result; ``times`` are the simulated times in ps at which the bench got the results.
    """
    paths.runs().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.runs(), prefix="play-") as folder:
        files = write_input(Path(folder), content)
        with shown_progress(console, f"{title} on {built.top}", files["BITPATH_PROGRESS"]):
            env = {name: str(path) for name, path in files.items()}
            # The caller compares the results with golden's.
            done = run(built, bench, seed=0, min_compared=0, env=env, timeout=RUN_SECONDS)
        if done.wave is not None:
            console.print(f"wave: {paths.shown(done.wave)}; bitpath waves {built.unit} opens it", soft_wrap=True)
        with np.load(files["BITPATH_RESULT"]) as result:
            left: dict[str, Any] = dict(result)
    if not left["cycles"]:
        raise SimulationError(f"{built.top} was never busy: it did not take the instructions")
    return left | {"folder": done.folder}


def codes(array: np.ndarray) -> np.ndarray:
    """The bits of an array's elements, as unsigned integers."""
    return array.view(f"u{array.dtype.itemsize}")


def differences(rtl: np.ndarray, golden: np.ndarray) -> int:
    """How many elements differ in their bits."""
    return int((codes(rtl) != codes(golden)).sum())


def compared(
    run: Any,
    built: Built,
    rtl: np.ndarray,
    golden: np.ndarray,
    start: float,
    shape: Sequence[int],
    folder: Path | None,
    *,
    times: np.ndarray | None,
    **figures: Any,
) -> Outcome:
    """Return the outcome of a flow's run that began at ``start``; ``figures`` are its own fields of the record.

    The time of the first mismatch goes into the simulation's folder, for the viewer of its wave.
    """
    numbers, reference = run.values(rtl), run.reference()
    record = {
        "machine": run.machine,
        "flow": run.flow,
        "format": run.format_name,
        "config": to_dict(run.engine) | run.settings() | {"shape": list(shape)},
        "digest": built.digest,
        "sim": run.simulator,
        "outputs_compared": rtl.size,
        "mismatches": differences(rtl, golden),
        **figures,
        "wall_seconds": round(time.monotonic() - start, 2),
        "build_seconds": round(built.seconds, 2),
        **accuracy(numbers, reference),
    }
    kept: dict[str, Any] = {"map": result_map(rtl, golden, numbers, reference)}
    if folder is not None:
        kept["folder"] = folder.relative_to(paths.build_root()).as_posix()
    outcome = Outcome(rtl, golden, record, kept=kept, times=times)
    if outcome.first is not None and folder is not None and times is not None:
        (folder / FIRST_MISMATCH).write_text(f"{times[outcome.first]}\n")
    return outcome
