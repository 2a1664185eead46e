"""Installation of Debian packages for ``make test``; ``bitpath run`` never installs anything."""

import os
import shutil
import subprocess

from bitpath.sim.engine.errors import MissingToolError


def install(*packages: str) -> None:
    """Install packages with apt, as root or with sudo; raise :class:`MissingToolError` with the command if it fails."""
    line = f"sudo apt-get install {' '.join(packages)}"
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") is None or (sudo and shutil.which("sudo") is None):
        raise MissingToolError(f"{', '.join(packages)} not installed and apt cannot be used here; run: {line}")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        if subprocess.run([*sudo, "apt-get", "--quiet", *arguments], env=env, check=False).returncode:
            raise MissingToolError(f"apt-get {arguments[0]} failed; run: {line}")
