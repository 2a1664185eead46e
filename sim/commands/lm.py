"""``bitpath lm``: the losses of a language model in the bits of the machines, by part and by source."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine.options import FILE, K_ORDER, MACHINES, SCALE_RULE

if TYPE_CHECKING:
    from bitpath.sim.lm.loss import Row, Step, Study, Where
    from bitpath.sim.lm.plans import Plan

TOKENS, ANSWER, SPREAD, BOUND = 128, 16, 2, 0.05
QUESTION = "What is the capital of France?"


@click.command(
    cls=Command,
    extra="lm",
    epilog=examples(
        "bitpath lm",
        "bitpath lm --text moby.txt --format mxfp4 --format mxfp4,down=mxfp8_e4m3",
        "bitpath lm --machine tensix --prompt 'Who wrote Moby-Dick?' --tokens 24",
        "bitpath lm --machine aie_ml_v2 --plan auto --bound 0.02",
        "bitpath lm --model SmolLM2-360M-Instruct.gguf --linear w8a8 --json",
        "bitpath lm --machine tensix --format bf16_hifi4 --vector --no-where",
    ),
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="A Llama-style model: a GGUF file, or a folder with config.json and safetensors.  [default: SmolLM2-135M-Instruct]",
)
@click.option("--text", type=FILE, help="The text that is measured.  [default: a story of 163 tokens]")
@click.option(
    "--prompt",
    help=f"A question to answer, without a system message; without --text nothing else is measured.  [default: {QUESTION}]",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="PLAN",
    help="A format, or formats by place, such as mx6,down=mx9,attention=bf16: places are q, k, v, o, gate, up, down, scores, "
    "values, the groups linear and attention, the number of a block, and KIND.BLOCK. May be given several times.",
)
@click.option("--machine", type=Choice(MACHINES), help="The formats of one machine; all when not given.")
@click.option(
    "--tokens",
    type=click.IntRange(2),
    help=f"Tokens of the text that are measured; with --prompt alone, of the answer.  [default: {TOKENS}, {ANSWER}]",
)
@click.option(
    "--linear",
    type=Choice(("w8a8",)),
    help="Trainium3's RMSNorm-Quant before each linear layer, FP8 with a scale for each row and each output channel.",
)
@click.option(
    "--plan", metavar="auto|FILE", help="Find the cheapest formats within --bound; or a plan's file, as JSON."
)
@click.option("--bound", type=click.FloatRange(0), help=f"Largest KL of --plan auto.  [default: {BOUND}]")
@click.option(
    "--spread",
    type=click.IntRange(0),
    default=SPREAD,
    show_default=True,
    help="Perturbed runs beside each format's own.",
)
@click.option("--where/--no-where", default=True, help="Measure each kind of matmul and each block by itself.")
@click.option(
    "--vector",
    is_flag=True,
    help="Tensix: compute norms, RoPE, softmax, SiLU and residuals as its kernels do too, and measure each by itself.",
)
@click.option("--cached", is_flag=True, help="Measure one token at a time with a cache, as a decoder runs.")
@click.option(
    "--output", type=Choice(("float32", "bf16", "fp16")), default="float32", help="Round each matmul's result."
)
@click.option("--numerics", help="With --machine: a preset, or a JSON file of numerics.")
@click.option("--chip", type=Choice(("wormhole", "blackhole")), help="Tensix: the chip.  [default: wormhole]")
@K_ORDER
@SCALE_RULE
@output_options
def lm_command(printer: Printer, **given: Any) -> None:
    """Measure the losses of a language model in the formats of the machines.

    Every matmul of the model's blocks, attention's included, is computed by golden, bit for bit; the rest is float32, and with
    --vector golden's too. Prints perplexity, KL to float32 and top-1 agreement of each format with their spread, the answer to a prompt, the KL of
    operand rounding alone and of products and sums alone, and the KL when only one kind of matmul, or one block, is in
    the format. Writes build/reports/lm.json and lm.html. Results are kept below build/lm with the seconds that they took, so
    that a further run goes on.
    """
    from rich.console import Console

    from bitpath.sim.engine import paths
    from bitpath.sim.flows.builds import counted_lines, stage
    from bitpath.sim.lm.model import KINDS, OPERATIONS
    from bitpath.sim.lm.plans import check_blocks

    progress = Console(stderr=True, quiet=printer.quiet)
    text = given["text"] is not None or given["prompt"] is None
    if not text:
        for name, other in (
            ("plan auto", given["plan"] == "auto"),
            ("cached", given["cached"]),
            ("no-where", not given["where"]),
        ):
            if other:
                raise ValueError(f"--{name} needs a text; --prompt alone prints answers")
    plans, options = _plans(**given), _options(**given)
    with stage(progress, "reading the model"):
        study, name, prompt = _study(options, **given)
    for plan in plans:
        check_blocks(plan, study.model, "--format")
    count = len(study.ids)
    if not text:
        _answer(printer, study, plans, prompt, given["tokens"] or ANSWER, progress)
        return
    way = (
        "one token at a time, each with a cache of those before it"
        if given["cached"]
        else "all tokens at once (prefill)"
    )
    about = f"{name}: {count} tokens, {way}; float32 has perplexity {study.perplexity:.4g}"
    printer.say(about + "\n")
    if given["plan"] == "auto":
        _cheapest(printer, study, plans, given["bound"], progress)
        return
    places = len(KINDS) + len(study.model.blocks) if given["where"] else 0
    whole = 1 + given["spread"] + len(study.parts) + 1
    operations = len(OPERATIONS) + 2 if given["vector"] else 0
    tables, where, shares = [], [], []
    with counted_lines(progress, "runs of the model", (whole + places + operations) * len(plans)) as study.told:
        rows = [study.row(plan, spread=given["spread"], prompt=prompt, answer=ANSWER) for plan in plans]
        tables.append(_losses(plans, rows, options))
        printer.table(*tables[0])
        if places:
            where = [study.where(plan) for plan in plans]
            tables.append(_places(where))
            printer.table(*tables[-1])
        if operations:
            shares = [study.operations(plan) for plan in plans]
            tables.append(_operations(plans, shares))
            printer.table(*tables[-1])
    whole_text = {"model": name, "tokens": count, "cached": given["cached"], "float32_perplexity": study.perplexity}
    printer.result(_save(whole_text, about, plans, rows, where, shares, tables))
    printer.say(f"page: {paths.shown(paths.reports() / PAGE)}")


PAGE, REPORT = "lm.html", "lm.json"
Table = tuple[Sequence[str], Sequence[Sequence[str]], str]
"""Headings, rows and title."""


def _plans(
    *,
    formats: Sequence[str],
    machine: str | None,
    linear: str | None,
    plan: str | None,
    bound: float | None,
    vector: bool = False,
    **_: Any,
) -> "list[Plan]":
    from dataclasses import replace

    from bitpath.sim.lm.model import OPERATIONS
    from bitpath.sim.lm.plans import read

    machine = "tensix" if vector and machine is None else machine
    if bound is not None and plan != "auto":
        raise ValueError("--bound goes with --plan auto")
    if linear and machine not in (None, "trainium3"):
        raise ValueError(f"--linear w8a8 goes with --machine trainium3, not with {machine}")
    if plan not in (None, "auto"):
        if formats or linear:
            raise ValueError("--plan FILE has all formats; --format and --linear go without it")
        found = [read(Path(str(plan)))]
    else:
        found = _named(formats, machine, linear)
    _check_machines(found, machine, plan)
    if not vector:
        return found
    if plan == "auto" or machine != "tensix":
        other = "--plan auto, whose matmuls are measured alone" if plan == "auto" else f"--machine {machine}"
        raise ValueError(f"--vector goes with --machine tensix, not with {other}")
    return [replace(each, vector=OPERATIONS) for each in found]


def _named(formats: Sequence[str], machine: str | None, linear: str | None) -> "list[Plan]":
    """Return the plans of --format and --linear, or those of all formats."""
    from bitpath.sim.lm.plans import FORMATS, W8A8, checked, parse

    found = [parse(each) for each in formats]
    if linear:
        return [checked({**each.formats, "linear": W8A8}, "--linear") for each in found] or [parse(linear)]
    names = [name for each in MACHINES if machine in (None, each) for name in FORMATS[each]]
    return found or [*map(parse, names), *([parse(W8A8)] if machine in (None, "trainium3") else [])]


def _check_machines(found: "Sequence[Plan]", machine: str | None, plan: str | None) -> None:
    from bitpath.sim.lm.plans import FLOAT32, machines

    for each in found:
        for other in (record.name for record in machines([each]) if record.name != (machine or record.name)):
            raise ValueError(f"--format: {each} has formats of {other}, not of {machine} alone")
        if plan == "auto" and ([*each.formats] != ["*"] or FLOAT32 in each.formats.values()):
            raise ValueError(f"--plan auto needs formats of a machine for all places, not {each}")
    if plan == "auto" and len({record.name for record in machines(found)}) != 1:
        raise ValueError("--plan auto needs the formats of one machine; name it with --machine")


def _options(
    *,
    machine: str | None,
    numerics: str | None,
    output: str,
    chip: str | None,
    k_order: str | None,
    scale_rule: str | None,
    **_: Any,
) -> Any:
    from bitpath.golden.machines import MACHINES as KNOWN
    from bitpath.golden.matmul import find_numerics
    from bitpath.sim.lm.arithmetic import Options

    if numerics is not None and machine is None:
        raise ValueError("--numerics goes with --machine, whose numerics they are")
    chosen = {} if numerics is None else {str(machine): find_numerics(KNOWN[str(machine)], numerics)}
    others = {"chip": chip, "k_order": k_order, "scale_rule": scale_rule}
    return Options(
        numerics=chosen, others={name: each for name, each in others.items() if each is not None}, output=output
    )


def _study(
    options: Any,
    *,
    model: Path | None,
    text: Path | None,
    prompt: str | None,
    tokens: int | None,
    cached: bool,
    **_: Any,
) -> "tuple[Study, str, list[int]]":
    """Return the study of the text's first tokens, the model's name, and the ids of the prompt."""
    from bitpath.golden.arrays.files import FileError, read_text
    from bitpath.sim.engine.cache import hash_files
    from bitpath.sim.lm.loss import Study
    from bitpath.sim.lm.tokens import TEXT, read_tokens
    from bitpath.sim.lm.weights import open_checkpoint, read_model

    checkpoint = open_checkpoint(model)
    tokenizer = read_tokens(checkpoint)
    ids = tokenizer.encode(prompt or TEXT if text is None else read_text(text, "--text"))[: tokens or TOKENS]
    if len(ids) < 2:
        raise FileError(f"--text: {text} must have at least two tokens, not {len(ids)}")
    own = read_model(checkpoint)
    digest = hash_files([checkpoint.path], (".gguf", ".safetensors", ".json"))
    return (
        Study(own, tokenizer, digest, ids, options, cached=cached),
        own.name,
        tokenizer.prompt(prompt or QUESTION, system=False),
    )


def _answer(
    printer: Printer, study: "Study", plans: "Sequence[Plan]", prompt: Sequence[int], count: int, progress: Any
) -> None:
    """Print the answers of all plans, float32 first."""
    from bitpath.sim.flows.builds import counted_lines
    from bitpath.sim.lm.plans import FLOAT32, parse

    asked = [parse(FLOAT32), *plans]
    with counted_lines(progress, "answers", len(asked)) as study.told:
        answers = {str(plan): study.answer(plan, prompt, count) for plan in asked}
    printer.table(("format", "answer"), [(name, _line(answer)) for name, answer in answers.items()])
    printer.result(answers)


def _cheapest(printer: Printer, study: "Study", plans: "Sequence[Plan]", bound: float | None, progress: Any) -> None:
    """Print the steps to the cheapest plan, and write it as a file that --plan takes."""
    from bitpath.rtl.common.files import write_whole
    from bitpath.sim.engine import paths
    from bitpath.sim.flows.builds import counted_lines
    from bitpath.sim.lm.loss import cheapest
    from bitpath.sim.lm.model import KINDS
    from bitpath.sim.lm.plans import dump

    # Each format alone, each of its kinds alone, the kinds of the plan, and a move for each kind and cheaper format.
    names, found = [str(plan) for plan in plans], []
    with counted_lines(progress, "runs of the model, at most", len(names) * (2 * len(KINDS) + 1) + 1) as study.told:
        for each in cheapest(study, names, BOUND if bound is None else bound):
            found.append(each)
            progress.print(f"{each[1].plan}: KL {_figure(each[1].kl)}", highlight=False)
    steps: list[Step] = [step for _, step in found]
    first = steps[0].cycles
    rows = [(each.plan, f"{each.cycles:,.0f}", f"{each.cycles / first:.3f}", _figure(each.kl)) for each in steps]
    printer.table(("plan", "MAC cycles", "of the first", "KL"), rows, "From the most exact format to the cheapest plan")
    file = paths.reports() / "plan.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, dump(found[-1][0]))
    printer.say(f"plan: {paths.shown(file)}; bitpath lm --plan {paths.shown(file)} runs it")
    printer.result([asdict(each) for each in steps])


def _losses(plans: "Sequence[Plan]", rows: "Sequence[Row]", options: Any) -> Table:
    parts = list(rows[0].parts)
    columns = (
        "format",
        "perplexity",
        "KL",
        "top-1",
        *(f"KL, {part} alone" for part in parts),
        "seconds",
        "standing",
        "answer",
    )
    found = []
    for plan, row in zip(plans, rows, strict=True):
        own, spread = row.whole, row.spread
        found.append(
            (
                row.plan,
                f"{own.perplexity:.4g} ± {spread[0]:.2g}",
                f"{_figure(own.kl)} ± {spread[1]:.1g}",
                f"{own.top1:.3f} ± {spread[2]:.1g}",
                *(_figure(row.parts[part]) for part in parts),
                f"{own.seconds:.1f}",
                standing(plan, options.numerics),
                _line(row.answer or ""),
            )
        )
    return columns, found, "What each format loses"


def _places(where: "Sequence[Where]") -> Table:
    """Return the KL of each kind and each block alone, a column for each plan."""
    kinds = [(kind, *(_figure(each.kinds[kind]) for each in where)) for kind in where[0].kinds]
    blocks = [
        (f"block {block}", *(_figure(each.blocks[block]) for each in where)) for block in range(len(where[0].blocks))
    ]
    return ("alone", *(each.plan for each in where)), [*kinds, *blocks], "KL when one part alone is in the format"


def _operations(plans: "Sequence[Plan]", shares: Sequence[Mapping[str, float]]) -> Table:
    """Return the KL of the matmuls and of each other operation alone, a column for each plan."""
    from dataclasses import replace

    rows = [(name, *(_figure(each[name]) for each in shares)) for name in shares[0]]
    columns = ("alone", *(str(replace(each, vector=())) for each in plans))
    return columns, rows, "KL when one kind of operation alone is on Tensix"


def _line(answer: str) -> str:
    return " ".join(answer.split())


def _figure(value: float) -> str:
    return f"{value:.2g}"


def standing(plan: "Plan", numerics: Mapping[str, Any]) -> str:
    """Return how many fields of a plan's numerics have which standing; those that the user gave have none."""
    from bitpath.sim.lm.plans import presets

    given = tuple(type(each) for each in numerics.values())
    own = [each for each in presets(plan) if not isinstance(each.numerics, given)]
    kinds = Counter(source.kind for each in own for source in each.sources.values())
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or "given"


def _save(
    common: Mapping[str, Any],
    about: str,
    plans: "Sequence[Plan]",
    rows: "Sequence[Row]",
    where: "Sequence[Where]",
    shares: Sequence[Mapping[str, float]],
    tables: Sequence[Table],
) -> list[dict[str, Any]]:
    """Write the report and the page; return the report's records."""
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.results import write_records
    from bitpath.sim.lm.loss import machine_names
    from bitpath.sim.study.page import curves, rendered

    records: list[dict[str, Any]] = []
    for number, (plan, row) in enumerate(zip(plans, rows, strict=True)):
        record = {**common, "format": row.plan, "machine": machine_names(plan), **asdict(row.whole)}
        record |= dict(zip(("perplexity_spread", "kl_spread", "top1_spread"), row.spread, strict=True))
        record["standing"] = tables[0][1][number][tables[0][0].index("standing")]
        record |= {f"kl_{part}": kl for part, kl in row.parts.items()} | {"answer": row.answer}
        if where:
            record |= {f"kl_{kind}": kl for kind, kl in where[number].kinds.items()}
            record |= {f"kl_block_{block}": kl for block, kl in enumerate(where[number].blocks)}
        if shares:
            record |= {f"kl_{name.replace(' ', '_')}_alone": kl for name, kl in shares[number].items()}
        records.append(record)
    write_records(paths.reports() / REPORT, records)
    charts: list[list[str]] = [[] for _ in tables]
    if where:
        charts[1] = [curves({each.plan: each.blocks for each in where}, "block", "KL, that block alone")]
    tables_of = [
        {"title": title, "columns": columns, "rows": rows_, "charts": own}
        for (columns, rows_, title), own in zip(tables, charts, strict=True)
    ]
    rendered("lm.html.jinja", PAGE, {"model": common["model"], "about": about, "tables": tables_of})
    return records
