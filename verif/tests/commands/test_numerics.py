"""``bitpath numerics`` and ``bitpath rates``: one machine, one field, and the documents that sources name."""

import json
import re
from pathlib import Path

import pytest

from bitpath import golden
from bitpath.golden.formats.sources import DOCUMENTS
from bitpath.sim.engine.options import MACHINES

DECLARATIONS = Path(golden.__file__).parent.glob("*/declarations/*.py")


def test_every_abbreviation_of_the_declarations_is_spelt_out():
    named = {name for file in DECLARATIONS for name in re.findall(r"\bhere\s+([A-Z][A-Z0-9-]+)", file.read_text())}
    assert named
    assert named <= DOCUMENTS.keys() | {"OCP"}  # OCP MX has two words


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_has_its_rows_alone(bitpath, machine):
    everything, own = (json.loads(bitpath("numerics", *chosen, "--json")[1]) for chosen in ((), (machine,)))
    assert own
    assert own == [row for row in everything if row["machine"] == machine]


def test_a_field_has_its_rows_and_their_documents(bitpath):
    status, out, err = bitpath("numerics", "trainium3", "accumulator_subnormals")
    assert (status, err) == (0, "")
    rows = [line for line in out.splitlines() if line.startswith("| trainium3_quad_mx")]
    assert len(rows) == 1
    assert "| accumulator_subnormals |" in rows[0]
    _, out, _ = bitpath("numerics", "trainium3", "terms")
    assert f"| ARCH3 | {DOCUMENTS['ARCH3']} |" in out.splitlines()
    assert "| SPEC |" not in out
    assert "| ISA |" not in bitpath("numerics", "tensix")[1]  # TT-ISA is another document


def test_a_text_finds_fixed_choices(bitpath):
    found = json.loads(bitpath("numerics", "trainium3", "ACTIVATE2 REDUCES", "--json")[1])
    assert [row["fixed choice"].startswith("activate2 reduces FP32 values") for row in found] == [True]


def test_an_unknown_field_is_one_sentence(bitpath):
    status, _, err = bitpath("numerics", "trainium3", "scale_nam")
    assert status == 2
    assert "FIELD must be a field or a text in a choice of trainium3, not 'scale_nam'; did you mean 'scale_nan'?" in err


def test_rates_name_their_documents(bitpath):
    _, out, _ = bitpath("rates", "trainium3")
    assert f"| ARCH3 | {DOCUMENTS['ARCH3']} |" in out.splitlines()
