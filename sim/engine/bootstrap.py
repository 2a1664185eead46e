"""Make ``.venv`` with the locked packages; ``make setup`` runs this with the system's Python before anything is installed.

Extras named on the command line are installed once, each from its own lock. Only the standard library is used. The stamp is
written last and names all inputs of the environment, so that a second call returns immediately and an interrupted one resumes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
STAMP = VENV / "bitpath-setup"
LOCK = ROOT / "requirements.lock"
DEBIAN_PACKAGES = ("python3-venv", "libpython{}.{}".format(*sys.version_info))
MINIMUM = (3, 11)


def wanted() -> str:
    """Return the stamp of an up-to-date environment."""
    digest = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", LOCK, Path(__file__)):
        digest.update(path.read_bytes())
    return f"{digest.hexdigest()} {ROOT} {sys.version}\n"


def venv_works() -> bool:
    """Return True if this Python can make environments; Debian ships that part in python3-venv."""
    return (
        subprocess.run([sys.executable, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode
        == 0
    )


def install_debian_packages() -> bool:
    """Try apt, as root or with passwordless sudo; return True if it worked."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") is None or (sudo and shutil.which("sudo") is None):
        return False
    commands = (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", *DEBIAN_PACKAGES])
    return all(subprocess.run([*sudo, *command], check=False).returncode == 0 for command in commands)


def make_environment() -> None:
    """Bring ``.venv`` to the locked state."""
    STAMP.unlink(missing_ok=True)
    python = VENV / "bin" / "python"
    usable = python.exists() and subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False)
    if not usable or usable.returncode:
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", LOCK], check=True)
    # The lock contains the build backend, so that an editable install needs no build environment.
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT], check=True)


def install_extra(name: str) -> None:
    """Install an extra of pyproject.toml unless its stamp is up to date."""
    lock, stamp = ROOT / f"requirements-{name}.lock", VENV / f"bitpath-{name}"
    text = wanted() + hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == text:
        return
    print(f"setup: installing the extra {name} into .venv", flush=True)
    pip: list[str | Path] = [VENV / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # The lock is complete: no package may be installed unpinned.
    subprocess.run([*pip, "--no-deps", "--requirement", lock], check=True)
    stamp.write_text(text)


def main(extras: Sequence[str] = ()) -> None:
    """Make the environment, or exit with one line that names the missing part."""
    if sys.version_info < MINIMUM:
        raise SystemExit(
            f"setup: Python 3.11 or newer is needed, this is {sys.version.split()[0]}; make PYTHON=python3.11 names another"
        )
    try:
        prepare()
        for name in extras:
            install_extra(name)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"setup: failed with status {error.returncode} in: {' '.join(map(str, error.cmd))}") from None


def prepare() -> None:
    """Make the environment without extras; return immediately if it is up to date."""
    text = wanted()
    if STAMP.exists() and STAMP.read_text() == text:
        return
    if not venv_works() and not (install_debian_packages() and venv_works()):
        raise SystemExit(
            f"setup: this Python cannot make virtual environments; run: sudo apt-get install {' '.join(DEBIAN_PACKAGES)}"
        )
    print("setup: installing the locked packages into .venv", flush=True)
    make_environment()
    STAMP.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
