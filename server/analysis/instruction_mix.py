"""What kinds of instructions a kernel's machine code is made of. The names are NVIDIA's SASS opcodes, sm_75 to sm_121."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from ..toolchain.nvdisasm import SassInstruction

Class = Literal[
    "tensor", "fp64", "fp32", "fp16", "integer", "global", "shared", "local", "special", "control", "other"
]
_CLASSES: tuple[tuple[re.Pattern[str], Class], ...] = (
    (re.compile(r"^(?:H|I|D|B|QG|HG|IG|BG|Q|O|UTC[A-Z]*)MMA(?!_)"), "tensor"),
    (re.compile(r"^D(?:ADD|MUL|FMA|SETP|MNMX)\b|^(?:F2F|F2I|I2F|MUFU)\b.*(?:64|F64)"), "fp64"),
    (re.compile(r"^H(?:ADD|MUL|FMA|SET|SETP|MNMX)2"), "fp16"),
    (re.compile(r"^F(?:ADD|MUL|FMA|SEL|SET|SETP|MNMX|CHK|SWZADD)|^FFMA"), "fp32"),
    (re.compile(r"^(?:LDG|STG|ATOMG|RED|LDGSTS|LD|ST|ATOM|UBLKCP|UTMA\w*)\b"), "global"),
    (re.compile(r"^(?:LDS|STS|ATOMS|LDSM|STSM)\b"), "shared"),
    (re.compile(r"^(?:LDL|STL)\b"), "local"),
    (re.compile(r"^MUFU\b|^(?:F2F|F2I|I2F|I2I|F2FP|I2FP)\b"), "special"),
    (
        re.compile(
            r"^(?:BRA|BRX|EXIT|RET|CALL|BSSY|BSYNC|BAR|WARPSYNC|JMP|BREAK|NANOSLEEP|YIELD|DEPBAR|SYNCS)\b"
        ),
        "control",
    ),
    (
        re.compile(
            r"^U?(?:IADD|IMAD|ISETP|LEA|LOP|SHF|IABS|IMNMX|VIMNMX|VIADD|SEL|POPC|FLO|BREV|PRMT|IDP|BFE|SGXT|PLOP)"
        ),
        "integer",
    ),
)
_WIDTH = re.compile(r"\.(?:U8|S8|U16|S16|64|128|256)\b")
_WIDTH_BITS = {".U8": 8, ".S8": 8, ".U16": 16, ".S16": 16, ".64": 64, ".128": 128, ".256": 256}


def class_of(opcode: str) -> Class:
    """The kind of one instruction by its full opcode; HFMA2.MMA only moves constants and counts as other."""
    for pattern, kind in _CLASSES:
        if pattern.search(opcode) and not opcode.startswith("HFMA2.MMA"):
            return kind
    return "other"


def mix(instructions: Iterable[SassInstruction]) -> Counter[Class]:
    """How many instructions of each kind."""
    return Counter(class_of(each.opcode) for each in instructions)


def access_widths(instructions: Iterable[SassInstruction]) -> Counter[int]:
    """How many global loads and stores of each width, in bits per thread."""
    wanted = (each.opcode for each in instructions if each.opcode.split(".")[0] in ("LDG", "STG", "LD", "ST"))
    return Counter(width_bits(opcode) for opcode in wanted)


def width_bits(opcode: str) -> int:
    """The width of a memory instruction in bits per thread: 32 where the opcode names none."""
    match = _WIDTH.search(opcode)
    return 32 if match is None else _WIDTH_BITS[match.group()]
