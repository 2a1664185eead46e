"""Testplans: the tested features of a unit, the reasons, and the tests.

A plan is a TOML file beside the unit's bench, ``UNIT.testplan.toml``:

    [[item]]
    id = "ties"
    what = "Sums half-way between two FP32 numbers"
    why = "RNE looks at the last bit kept only here"
    tests = ["tb_quad_mx_pe::ties", "trainium3/dot/test_dot.py::test_ties"]

A test is ``bench::cocotb_test``, or a pytest function with its file's path below ``verif/``.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

VERIF = Path(__file__).resolve().parents[1]
ENDING = ".testplan.toml"
_FIELDS = {"id": str, "what": str, "why": str, "tests": list}


@dataclass(frozen=True)
class Item:
    """One tested feature of a unit."""

    unit: str
    id: str
    what: str
    why: str
    tests: tuple[str, ...]


def file_of(test: str) -> Path | None:
    """Return the file of a test by its name in plans; None if it is missing or several benches have that name."""
    file, _, _ = test.partition("::")
    paths = [VERIF / file] if file.endswith(".py") else list(VERIF.rglob(f"{file}.py"))
    return paths[0] if len(paths) == 1 and paths[0].is_file() else None


def load_plan(path: Path) -> list[Item]:
    """Return the items of one plan.

    Raises
    ------
    ValueError : a field is missing, unknown, of the wrong type or empty, or two items have one id.
    """
    plan = tomllib.loads(path.read_text())
    if set(plan) != {"item"}:
        raise ValueError(
            f"{path.name}: a plan is a list of [[item]] and nothing else, found {', '.join(sorted(plan)) or 'nothing'}"
        )
    items = []
    for entry in plan["item"]:
        where = f"{path.name}, item {entry.get('id', len(items))!r}"
        if set(entry) != set(_FIELDS):
            raise ValueError(f"{where}: the fields are {', '.join(_FIELDS)}, found {', '.join(entry)}")
        for name, kind in _FIELDS.items():
            if not isinstance(entry[name], kind) or not entry[name]:
                raise ValueError(
                    f"{where}: {name} is {entry[name]!r}, a {kind.__name__} with something in it is needed"
                )
        items.append(
            Item(path.name.removesuffix(ENDING), entry["id"], entry["what"], entry["why"], tuple(entry["tests"]))
        )
    repeated = {item.id for item in items if [other.id for other in items].count(item.id) > 1}
    if repeated:
        raise ValueError(f"{path.name}: more than one item has the id {', '.join(sorted(repeated))}")
    return items


def load_plans(folder: Path = VERIF) -> list[Item]:
    """Return the items of all plans, ordered by unit."""
    return [item for path in sorted(folder.rglob(f"*{ENDING}"), key=lambda path: path.name) for item in load_plan(path)]
