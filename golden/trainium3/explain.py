"""One dot step, or one dot product, as text: which bits come out, and why.

Every number printed is taken from the scalar tier's own trace; nothing is computed a second time here but sums of exact
values.
"""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.codec import Kind, Unpacked, decode
from bitpath.golden.exact import DotTrace, Term, floor_log2, ulp
from bitpath.golden.spec.formats import FP32, FloatFormat
from bitpath.golden.spec.numerics import DotNumerics


def explain_dot_step(trace: DotTrace) -> str:
    """Return lines that show a step: decoded elements, scales, products, alignment, sum, rounding, error in ulp.

    Exact numbers are written in hexadecimal with a binary exponent, as C's %a does: 0x1.8p+1 is 3.
    """
    titles = f"stationary {trace.stationary_format.name}", f"moving {trace.moving_format.name}"
    lines = [
        f"numerics     {_numerics(trace.numerics)}",
        *_scales(trace),
        f"lane  {titles[0]:<34}{titles[1]:<34}product with scales",
        *_lanes(trace),
        f"partial sum  {_code(FP32, trace.partial_sum)} = {_term(trace.terms[-1])}",
        *_sum(trace),
        f"result       {_code(FP32, trace.result)} = {_unpacked(decode(FP32, trace.result))}",
        f"error        {_error(trace.error_ulp)}",
    ]
    return "\n".join(lines)


def explain_dot_product(steps: Sequence[DotTrace]) -> str:
    """Return one line for each step of a chain, and a summary with the exact value and the final error.

    Raises
    ------
    ValueError : `steps` is empty.
    """
    if not steps:
        raise ValueError("steps is empty; at least one step is allowed")
    accumulator = steps[0].numerics.accumulator
    lines = [
        f"numerics     {_numerics(steps[0].numerics)}",
        f"{'row':>4}  {'sum of products':<34}{'partial sum out':<46}error in ulp",
    ]
    for row, step in enumerate(steps):
        products = "not finite" if step.exact is None else _exact(_products(step))
        error = "-" if step.error_ulp is None else f"{float(step.error_ulp):+.4g}"
        result = f"{_code(FP32, step.result)} = {_unpacked(decode(FP32, step.result))}"
        lines.append(f"{row:>4}  {products:<34}{result:<46}{error}")
    final = decode(FP32, steps[-1].result)
    lines.append(f"result       {_code(FP32, steps[-1].result)} = {_unpacked(final)}")
    if any(step.exact is None for step in steps) or final.kind is not Kind.FINITE:
        return "\n".join([*lines, "exact        none: a NaN or an infinity takes part"])
    exact = steps[0].terms[-1].value + sum(map(_products, steps))
    error = (final.value - exact) / ulp(accumulator, exact)
    return "\n".join([*lines, f"exact        {_exact(exact)} = {float(exact):.17g}", f"error        {_error(error)}"])


def _products(step: DotTrace) -> Fraction:
    return sum((term.value for term in step.terms[:-1]), Fraction(0))


def _numerics(numerics: DotNumerics) -> str:
    bits = numerics.align_fraction_bits
    kind = "exact sum" if bits is None else f"sum aligned to {bits} fraction bits ({numerics.align_rounding.name})"
    return f"{kind}, one {numerics.accumulator_rounding.name} rounding to {numerics.accumulator.name}"


def _scales(trace: DotTrace) -> list[str]:
    sides = (("stationary", trace.stationary_scale), ("moving", trace.moving_scale))
    scale_format = trace.numerics.scale_format
    return [f"scale        {name:<11}{code:#04x} = {_scale(scale_format, code)}" for name, code in sides]


def _scale(fmt: FloatFormat, code: int) -> str:
    scale = decode(fmt, code)
    return f"2**{scale.exponent}" if scale.kind is Kind.FINITE else "NaN code"


def _lanes(trace: DotTrace) -> list[str]:
    lanes = zip(
        trace.stationary_codes, trace.stationary, trace.moving_codes, trace.moving, trace.terms[:-1], strict=True
    )
    return [
        f"{i:>4}  {_element(trace.stationary_format, x_code, x):<34}{_element(trace.moving_format, y_code, y):<34}"
        f"{_term(product)}"
        for i, (x_code, x, y_code, y, product) in enumerate(lanes)
    ]


def _sum(trace: DotTrace) -> list[str]:
    """Return the lines between the terms and the result."""
    if trace.total is None:
        return ["sum          a NaN or an infinity decides"]
    lines = []
    if trace.align_exponent is not None:
        grid = trace.align_exponent - trace.numerics.align_fraction_bits
        lines.append(f"alignment    largest exponent {trace.align_exponent}, grid 2**{grid}")
        for i, (term, aligned) in enumerate(zip(trace.terms, trace.aligned, strict=True)):
            name = f"lane {i}" if i < trace.numerics.terms else "partial sum"
            lost = term.value - aligned
            lines.append(f"  {name:<13}{_exact(aligned)}" + (f"  loses {_exact(lost)}" if lost else ""))
        lines.append(f"aligned sum  {_exact(trace.total)}")
    lines.append(f"exact sum    {_exact(trace.exact)} = {float(trace.exact):.17g}")
    return [*lines, f"rounding     {_rounding(trace.numerics, trace.total)}"]


def _rounding(numerics: DotNumerics, total: Fraction) -> str:
    last_place = ulp(numerics.accumulator, total)
    remainder = abs(total) / last_place % 1
    return f"{numerics.accumulator_rounding.name}, last place 2**{floor_log2(last_place)}, {float(remainder):.6g} of it remain"


def _element(fmt: FloatFormat, code: int, x: Unpacked) -> str:
    """Show a code's fields and what they mean: 0x38 0.0111.000 = 1."""
    bits = f"{code:0{fmt.width}b}"
    exponent_end = fmt.signed + fmt.exponent_bits
    fields = ".".join((bits[: fmt.signed], bits[fmt.signed : exponent_end], bits[exponent_end:]))
    return f"{_code(fmt, code)} {fields} = {_unpacked(x)}"


def _code(fmt: FloatFormat, code: int) -> str:
    return f"0x{code:0{-(-fmt.width // 4)}x}"


def _unpacked(x: Unpacked) -> str:
    sign = "-" if x.sign else ""
    match x.kind:
        case Kind.NAN:
            return "NaN"
        case Kind.INFINITY:
            return f"{sign}infinity"
    return f"{sign}0" if x.is_zero else f"{float(x.value):.9g}"


def _term(term: Term) -> str:
    sign = "-" if term.sign else ""
    match term.kind:
        case Kind.NAN:
            return "NaN"
        case Kind.INFINITY:
            return f"{sign}infinity"
    if term.exponent is None:
        return f"{sign}0"
    return f"{_exact(term.value)} = {float(term.value):.9g}, exponent {term.exponent}"


def _exact(value: Fraction) -> str:
    """Write a dyadic fraction without loss, as C's %a does: 1 before the point, hexadecimal digits after it."""
    if value == 0:
        return "0"
    exponent = floor_log2(value)
    fraction = abs(value) / Fraction(2) ** exponent - 1
    digits = ""
    while fraction:
        digit, fraction = divmod(fraction * 16, 1)
        digits += f"{digit:x}"
    sign = "-" if value < 0 else ""
    return f"{sign}0x1{'.' if digits else ''}{digits}p{exponent:+d}"


def _error(error: Fraction | None) -> str:
    if error is None:
        return "none: the result or a term is not finite"
    return f"{float(error):+.6g} ulp" if error else "0 ulp: exact"
