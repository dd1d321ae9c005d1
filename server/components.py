"""What an agent can be told, by name: the components, and the one table that gives each field of an answer its component.

Masks read this table and nothing else. A field without a row belongs to its answer's own component as a whole, so that a
new field is withheld until somebody says that part of it may be told.
"""

import difflib
from collections.abc import Iterable, Mapping

from .errors import InvalidRequest

BASE = ("compiler", "debugger", "analyzer", "profiler", "evaluation")
DERIVED = ("summary", "guidance", "plan")
PARTS: Mapping[str, tuple[str, ...]] = {
    "compiler": ("diagnostics", "resources"),
    "debugger": ("memcheck", "racecheck", "initcheck", "synccheck", "leakcheck", "run"),
    "analyzer": ("source", "ptx", "sass", "proof"),
    "profiler": ("timing", "roofline", "memory", "occupancy", "stalls", "lines", "rules"),
    "evaluation": ("verdict", "speedup"),
}
OTHER = ("attribution",)
ORDER: tuple[str, ...] = (
    *(name for base in BASE for name in (base, *(f"{base}.{part}" for part in PARTS[base]))),
    *DERIVED,
    *OTHER,
)
FRAME = ""
"""The component of what tells nothing: names, ids, what was asked."""

FIELDS: Mapping[str, Mapping[str, str]] = {
    # `findings`, `checks_run`, `checks_skipped` and `records` are told one by one, by RULES and CHECKS.
    "Answer": {"candidate": FRAME, "findings": FRAME, "checks_run": FRAME, "checks_skipped": FRAME},
    "CompileAnswer": {
        **dict.fromkeys(("arch", "compiler", "kind"), FRAME),
        "builds": "compiler.diagnostics",
        "kernels": "compiler.resources",
    },
    "DebugAnswer": {
        "verdict": "debugger",
        **dict.fromkeys(("kernels", "graph_launches", "program"), "debugger.run"),
        "records": FRAME,
        "raw": "debugger",
    },
    "AnalysisAnswer": {"arch": FRAME, "builds": "compiler.diagnostics", "kernels": FRAME},
    "KernelAnalysis": {
        "name": FRAME,
        **dict.fromkeys(("registers", "spill_bytes", "static_shared_bytes"), "compiler.resources"),
        **dict.fromkeys(("instructions", "mix", "access_bits"), "analyzer.sass"),
        **dict.fromkeys(("block", "assumed_block"), "analyzer.source"),
        "proof": "analyzer.proof",
    },
    "ProfileAnswer": {"device": FRAME, "set": FRAME, "timing": "profiler.timing", "kernels": FRAME},
    "KernelPerformance": {
        **dict.fromkeys(("kernel", "signature", "passes", "launches"), FRAME),
        **dict.fromkeys(("total", "share"), "profiler.timing"),
        **dict.fromkeys(("profiled", "compute_pct", "bottleneck", "roofline"), "profiler.roofline"),
        **dict.fromkeys(("l1_pct", "l2_pct", "accesses"), "profiler.memory"),
        "occupancy": "profiler.occupancy",
        "stalls": "profiler.stalls",
        "hot_lines": "profiler.lines",
        "rules": "profiler.rules",
    },
    "EvaluationAnswer": {
        "workload": FRAME,
        "assurance": FRAME,
        **dict.fromkeys(("verdict", "status", "hidden"), "evaluation.verdict"),
        **dict.fromkeys(("speedup", "measured"), "evaluation.speedup"),
    },
    "ComparisonAnswer": {
        **dict.fromkeys(("workload", "a", "b"), FRAME),
        **dict.fromkeys(("a_status", "b_status", "difference", "hidden"), "evaluation.verdict"),
        **dict.fromkeys(("speedup", "measured"), "evaluation.speedup"),
    },
}

RULES: tuple[tuple[str, str], ...] = (
    *((f"{check}.", f"debugger.{check}") for check in PARTS["debugger"][:5]),
    *((f"{kind}.", "debugger.run") for kind in ("crash", "launch", "run")),
    *((f"{layer}/", f"analyzer.{layer}") for layer in PARTS["analyzer"]),
    *((f"profile/{name}", "profiler.memory") for name in ("uncoalesced-access", "bank-conflict")),
    *((f"profile/{name}", "profiler.memory") for name in ("register-spill", "local-memory")),
    ("profile/low-occupancy", "profiler.occupancy"),
    ("profile/divergent-warps", "profiler.lines"),
    ("profile/", "profiler"),
    ("schedule/", "evaluation.verdict"),
    *(
        (f"evaluation/{name}", "evaluation.speedup")
        for name in ("suspect-timing", "below-roofline", "clocks")
    ),
    ("evaluation/foreign-process", "evaluation.speedup"),
    ("evaluation/", "evaluation.verdict"),
    *(
        (f"{program}-", "compiler.diagnostics")
        for program in ("nvcc", "nvrtc", "ptxas", "gcc", "nvlink", "ld")
    ),
)
"""From the start of a finding's rule to its component; the first row that fits counts."""

CHECKS: tuple[tuple[str, str], ...] = (
    *((check, f"debugger.{check}") for check in PARTS["debugger"][:5]),
    ("sanitizers", "debugger"),
    ("plain run", "debugger.run"),
    *((layer, f"analyzer.{layer}") for layer in PARTS["analyzer"]),
    ("timing", "evaluation.speedup"),
    ("every timed output", "evaluation.speedup"),
    ("build", FRAME),
    ("schedule", "evaluation.verdict"),
    ("values", "evaluation.verdict"),
)
"""From the start of a check's name to its component; a check without a row belongs to its answer's own."""


def component_of_rule(rule: str, own: str) -> str:
    """The component of a finding by its rule; `own` is that of the answer which holds it."""
    return _first(RULES, rule, own)


def component_of_check(check: str, own: str) -> str:
    """The component of a check that ran or was skipped."""
    return _first(CHECKS, check, own)


def component_of_field(model: str, field: str, own: str) -> str:
    """The component of a field of an answer or of a part of one, by the model's name."""
    held = FIELDS.get(model, {})
    if field in held:
        return held[field]
    return FIELDS["Answer"].get(field, own)


def _first(table: Iterable[tuple[str, str]], name: str, otherwise: str) -> str:
    return next((component for start, component in table if name.startswith(start)), otherwise)


def gives(given: frozenset[str] | None, component: str | None) -> bool:
    """Whether all of a component is given. `given` is normal (see `normal`); None gives everything."""
    if given is None or not component or component in given:
        return True
    return component.partition(".")[0] in given


def gives_some(given: frozenset[str] | None, component: str | None) -> bool:
    """Whether a component or a part of it is given."""
    return gives(given, component) or any(name.startswith(f"{component}.") for name in given or ())


def normal(give: Iterable[str], withhold: Iterable[str] = ()) -> frozenset[str]:
    """What is given in the end, in its shortest form: all parts of a component are the component.

    Raises InvalidRequest for an unknown name, with the nearest.
    """
    wanted, refused = _atoms(give), _atoms(withhold)
    left = wanted - refused
    whole = {base for base in BASE if all(f"{base}.{part}" in left for part in PARTS[base])}
    return frozenset(whole | {name for name in left if name.partition(".")[0] not in whole})


def _atoms(names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for name in names:
        if name not in ORDER:
            near = difflib.get_close_matches(name, ORDER, 1, 0.5)
            meant = f": did you mean {near[0]!r}?" if near else ""
            raise InvalidRequest(f"no component {name[:80]!r}{meant}", f"Components: {', '.join(ORDER)}.")
        found |= {f"{name}.{part}" for part in PARTS.get(name, ())} or {name}
    return found


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """Components in the canonical order; unknown ones last, by name."""
    place = {name: index for index, name in enumerate(ORDER)}
    return tuple(sorted(names, key=lambda name: (place.get(name, len(place)), name)))


def withheld(given: frozenset[str] | None) -> tuple[str, ...]:
    """What a client is not given, in canonical order and shortest form."""
    if given is None:
        return ()
    missing = [name for name in ORDER if not gives(given, name)]
    return tuple(
        name
        for name in missing
        if ("." not in name and not gives_some(given, name))
        or ("." in name and gives_some(given, name.partition(".")[0]))
    )
