"""``make setup`` stops with a one-line error if a requirement is missing."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

BOOTSTRAP = Path(__file__).resolve().parents[2] / "sim/engine/bootstrap.py"


@pytest.fixture
def bootstrap():
    return runpy.run_path(str(BOOTSTRAP))


def run_main(bootstrap, monkeypatch, tmp_path, **replaced):
    main = bootstrap["main"]
    for name, value in ({"STAMP": tmp_path / "stamp", "VENV": tmp_path} | replaced).items():
        monkeypatch.setitem(main.__globals__, name, value)
    main()


def test_it_needs_the_standard_library_only():
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import runpy; runpy.run_path({str(BOOTSTRAP)!r})"], check=False
    )
    assert done.returncode == 0


def test_a_python_without_venv_names_the_packages(bootstrap, monkeypatch, tmp_path):
    refused = {"venv_works": lambda: False, "install_debian_packages": lambda: False}
    with pytest.raises(SystemExit, match=r"run: sudo apt-get install python3-venv libpython3\.11"):
        run_main(bootstrap, monkeypatch, tmp_path, **refused)


def test_an_old_python_says_which_is_needed(bootstrap, monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="make PYTHON="):
        run_main(bootstrap, monkeypatch, tmp_path, MINIMUM=(4, 0))


def test_a_failed_install_leaves_no_stamp(bootstrap, monkeypatch, tmp_path):
    def fails():
        raise subprocess.CalledProcessError(1, ["pip", "install"])

    with pytest.raises(SystemExit, match="failed with status 1 in: pip install"):
        run_main(bootstrap, monkeypatch, tmp_path, make_environment=fails)
    assert not (tmp_path / "stamp").exists()


def test_an_unchanged_environment_is_left_alone(bootstrap, monkeypatch, tmp_path):
    calls = []
    for _ in range(3):
        run_main(bootstrap, monkeypatch, tmp_path, make_environment=lambda: calls.append(1))
    assert len(calls) == 1
