"""``python -m bitpath.sim.waves.filter FORMAT``: GTKWave's filter process, hexadecimal codes in, numbers out."""

import sys

from bitpath.golden.formats.catalogue import CATALOGUE, FloatFormat
from bitpath.verif.kit.values import number_text


def translate(fmt: FloatFormat, text: str) -> str:
    """Return the number of a hexadecimal code; any other text (x, z) is returned unchanged."""
    try:
        return number_text(fmt, int(text, 16))
    except ValueError:
        return text


def main() -> None:
    """Answer each line at once, because GTKWave waits for it."""
    fmt = CATALOGUE[sys.argv[1]]
    for line in sys.stdin:
        print(translate(fmt, line.strip()), flush=True)


if __name__ == "__main__":
    main()
