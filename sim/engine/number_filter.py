"""GTKWave's filter process: hexadecimal values in, numbers out.

A copy lies beside each wave that needs it and runs with any Python 3: the numbers also appear where bitpath is not
installed. The argument is JSON: ``bits`` of the code, and by the value of the bits above it the ``choices`` of its format,
as :meth:`bitpath.sim.engine.numbers.Shown.spec` returns them.
"""

import contextlib
import json
import sys
from typing import Any


def number(choice: dict[str, Any], code: int) -> str:
    """Return the number of a code as text, rounded to 9 significant digits."""
    code = code >> choice["low"] & (1 << choice["width"]) - 1
    sign = choice["signed"] and code >> choice["width"] - 1
    if "bias" not in choice:
        magnitude = code & (1 << choice["magnitude_bits"]) - 1
        return str(code - (1 << choice["width"]) * sign if choice["complement"] else -magnitude if sign else magnitude)
    exponent_mask, fraction_mask = (1 << choice["exponent_bits"]) - 1, (1 << choice["fraction_bits"]) - 1
    exponent, fraction = code >> choice["fraction_bits"] & exponent_mask, code & fraction_mask
    minus = "-" if sign else ""
    if code in choice["nan"]:
        return "NaN"
    if choice["specials"] == "ieee" and exponent == exponent_mask:
        return "NaN" if fraction else f"{minus}inf"
    if not choice["signed"]:
        return f"2^{exponent - choice['bias']}"
    hidden = choice["hidden"] and (1 << choice["fraction_bits"]) * (exponent > 0)
    value = (hidden + fraction) * 2.0 ** (max(exponent, choice["hidden"]) - choice["bias"] - choice["places"])
    return f"{minus}{value:.9g}"


def shown(spec: dict[str, Any], value: int) -> str:
    """Return the number of a value, a code below the bits that select its format; the code itself for an unknown format."""
    code = value & (1 << spec["bits"]) - 1
    choice = spec["choices"].get(str(value >> spec["bits"]))
    return f"{code:0{-(-spec['bits'] // 4)}x}" if choice is None else number(choice, code)


def main() -> None:
    """Answer each line at once, because GTKWave waits for it; text that is not hexadecimal, such as x and z, stays."""
    spec = json.loads(sys.argv[1])
    for line in sys.stdin:
        text = line.strip()
        with contextlib.suppress(ValueError):
            text = shown(spec, int(text, 16))
        print(text, flush=True)


if __name__ == "__main__":
    main()
