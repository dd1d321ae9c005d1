"""Findings of several layers about one defect become one finding, with every layer's word as evidence. Ranked."""

from collections.abc import Iterable

from ..reports.finding import SEVERITY_ORDER, Finding, Location

_CONFIDENCE = {"certain": 0, "likely": 1, "possible": 2}
_LAYERS = ("proof", "source", "ptx", "sass")
# Different layers see one defect under different names.
_TOPICS = {"race": "missing-barrier", "double-literal": "double-precision"}
# What is wrong comes before what is slow, whatever the severity says in equal parts.
_WRONG = (
    "out-of-bounds",
    "unguarded-index",
    "missing-barrier",
    "divergent-barrier",
    "divergent-warp-sync",
    "misaligned-access",
    "invalid-launch",
    "missing-atomic",
    "shared-out-of-bounds",
    "global-race",
    "write-conflict",
)


# A proof names only the kind of race; what the source calls it may be finer.
_ORDERING = {"missing-barrier", "warp-synchronous", "volatile-shared"}
_SHARING = {"global-race", "missing-atomic", "write-conflict"}


def topic(finding: Finding) -> str:
    """What a finding is about, whichever layer found it."""
    name = finding.rule.split("/", 1)[-1]
    return _TOPICS.get(name, name)


def joined(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, those of one defect as one, most important first."""
    groups: list[list[Finding]] = []
    for finding in findings:
        group = next((group for group in groups if any(_same(finding, other) for other in group)), None)
        if group is None:
            groups.append([finding])
        else:
            group.append(finding)
    return tuple(sorted((_merged(group) for group in groups), key=_rank))


def _rank(finding: Finding) -> tuple[int, int, int, str, int]:
    name = topic(finding)
    wrong = _WRONG.index(name) if name in _WRONG else len(_WRONG)
    place = finding.location
    return (
        SEVERITY_ORDER[finding.severity],
        _CONFIDENCE[finding.confidence] if finding.severity != "note" else 0,
        wrong,
        place.file if place else "",
        (place.line or 0) if place else 0,
    )


def _same(finding: Finding, other: Finding) -> bool:
    if finding.kernel != other.kernel or not _alike(finding, other):
        return False
    if finding.rule == other.rule:
        return finding.location == other.location and finding.message == other.message
    ours, theirs = _arrays(finding), _arrays(other)
    if ours and theirs:
        return bool(ours & theirs)
    return bool(_lines(finding) & _lines(other))


def _alike(finding: Finding, other: Finding) -> bool:
    topics = {topic(finding), topic(other)}
    proved = any(each.rule.startswith("proof/") for each in (finding, other))
    return len(topics) == 1 or (proved and (topics <= _ORDERING or topics <= _SHARING))


def _arrays(finding: Finding) -> set[str]:
    named = finding.evidence.get("arrays") or [finding.evidence.get("array")]
    return {name for name in named if isinstance(name, str)}


def _lines(finding: Finding) -> set[tuple[str, int | None]]:
    places = [finding.location, *finding.related]
    return {(place.file, place.line) for place in places if place is not None}


def _merged(group: list[Finding]) -> Finding:
    """The finding of the layer that explains best, with the best severity and confidence that any layer has."""
    ordered = sorted(group, key=lambda finding: (_explains(finding), _CONFIDENCE[finding.confidence]))
    shown = ordered[0]
    others = [finding for finding in ordered[1:] if finding.rule != shown.rule]
    if not others:
        return shown
    places: dict[tuple[str, int | None], Location] = {}
    for place in (
        *shown.related,
        *(place for each in others for place in (each.location, *each.related) if place),
    ):
        if shown.location is None or (place.file, place.line) != (shown.location.file, shown.location.line):
            places.setdefault((place.file, place.line), place)
    witnesses = {each.rule: each.message for each in others}
    return shown.model_copy(
        update={
            "severity": min((each.severity for each in group), key=lambda severity: SEVERITY_ORDER[severity]),
            "confidence": min(
                (each.confidence for each in group), key=lambda confidence: _CONFIDENCE[confidence]
            ),
            "related": tuple(places.values()),
            "evidence": {**shown.evidence, "witnesses": witnesses},
        }
    )


def _explains(finding: Finding) -> int:
    """The source's words name variables and the fix; a proof's come next, then PTX and machine code."""
    return ("source", *_LAYERS).index(finding.rule.split("/", 1)[0])
