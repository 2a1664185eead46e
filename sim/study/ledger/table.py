"""All rows of the ledger, and the function that computes each."""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from bitpath.sim.study.ledger import (
    amd_conversions,
    amd_matmuls,
    amd_products,
    statistics_rows,
    tensix_elementwise,
    tensix_packing,
    tensix_products,
    trainium,
)
from bitpath.sim.study.ledger.evidence import Evidence
from bitpath.sim.study.ledger.row import Finding, Row, Verdict

FILES = tuple(Path(__file__).with_name(f"{vendor}.toml") for vendor in ("amd", "tenstorrent", "aws"))
FUNCTIONS: dict[str, Callable[[Evidence], Finding]] = {
    "A1": amd_products.one_product,
    "A2": amd_conversions.tile_layout,
    "A3": amd_conversions.initial_rounding,
    "A4": amd_conversions.ties,
    "A5": amd_conversions.saturation,
    "A6": amd_conversions.lowest_code,
    "A7": amd_conversions.largest_number,
    "A8": amd_conversions.subnormals,
    "A9": amd_conversions.not_finite,
    "A10": amd_conversions.zeros,
    "A11": amd_products.uniform_product,
    "A12": amd_products.wide_block,
    "A13": amd_products.chain_of_64,
    "A14": amd_products.order_contract,
    "A15": amd_products.quantised_by_host,
    "A16": amd_products.crafted_ties,
    "A17": amd_products.serial_fp32,
    "A18": amd_products.no_sticky,
    "A19": amd_products.vanishing_tails,
    "A20": amd_products.models_of_others,
    "A21": amd_products.eight_equal_terms,
    "A22": amd_products.ones,
    "A23": amd_matmuls.norms,
    "A24": amd_matmuls.relative_errors,
    "A25": amd_matmuls.bias,
    "A26": amd_matmuls.one_side,
    "A27": amd_conversions.bf16_and_numpy,
    "A28": amd_conversions.rounding_codes,
    "A29": amd_conversions.control_registers,
    "A30": amd_conversions.truncation,
    "A31": amd_matmuls.five_outputs,
    "A32": amd_conversions.ten_modes,
    "A33": amd_conversions.bf16_lanes,
    "A34": amd_conversions.widened,
    "A35": amd_conversions.floors,
    "A36": amd_conversions.formats,
    "T1": tensix_elementwise.x_plus_one,
    "T2": statistics_rows.equal_signs,
    "T3": statistics_rows.opposite_signs,
    "T4": statistics_rows.products,
    "T5": tensix_elementwise.overflow,
    "T6": tensix_elementwise.specials,
    "T7": tensix_elementwise.infinity_squared,
    "T8": tensix_elementwise.two_fidelities,
    "T9": tensix_elementwise.two_products,
    "T10": tensix_elementwise.integers,
    "T11": tensix_elementwise.rounded_twice,
    "T12": tensix_products.minus_one,
    "T13": tensix_products.wrong_values,
    "T14": tensix_packing.above_half_a_unit,
    "T15": tensix_packing.half_way_integers,
    "T16": tensix_packing.fp16_overflow,
    "T17": tensix_packing.sign_magnitude,
    "T18": tensix_packing.bfp4_twice,
    "T19": tensix_packing.bfp8_errors,
    "T20": tensix_packing.bf16_to_bf16,
    "T21": tensix_elementwise.zero_flag,
    "T22": tensix_packing.tf32_truncates,
    "T23": tensix_products.conv1d,
    "T24": tensix_products.lofi_and_hifi2,
    "T25": tensix_products.hifi2_and_hifi4,
    "T26": tensix_products.uniform_products,
    "T27": tensix_products.long_product,
    "T28": tensix_products.integer_product,
    "T29": tensix_products.lofi_masks,
    "T30": tensix_products.pieces,
    "T31": tensix_products.bf16_by_bfp4,
    "T32": tensix_packing.bf16_ties,
    "T33": tensix_packing.bfp8_twice,
    "T34": tensix_packing.reduced,
    "T35": tensix_products.implied_format,
    "T36": tensix_packing.fp16_subnormals,
    "T37": tensix_products.throttled,
    "R1": trainium.log_values,
    "R1b": trainium.odd_value,
    "R2": trainium.rounding,
    "R3": trainium.complex_products,
    "R4": trainium.scale_rule,
    "R4b": trainium.e2m1,
    "R5": trainium.stochastic,
}


@cache
def rows() -> dict[str, Row]:
    """Return all rows by id, as declared."""
    return {row.id: row for file in FILES for row in map(_row, tomllib.loads(file.read_text())["row"])}


def _row(fields: dict[str, Any]) -> Row:
    others = {name: Verdict(each) for name, each in fields.pop("others", {}).items()}
    sources, verdict = tuple(fields.pop("sources")), Verdict(fields.pop("verdict"))
    return Row(**fields, sources=sources, verdict=verdict, others=others)


THREAD = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")
FILE = re.compile(r"([\w.-]+/[\w.-]+)@(\w+):(.+)")


def address(source: str) -> str:
    """Return the web address of a source."""
    if thread := THREAD.fullmatch(source):
        return f"https://github.com/{thread[1]}/issues/{thread[2]}"
    if file := FILE.fullmatch(source):
        return f"https://github.com/{file[1]}/blob/{file[2]}/{file[3]}"
    return source if "://" in source else f"https://github.com/{source}"
