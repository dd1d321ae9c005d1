"""Findings as SARIF 2.1.0, the format that code hosts and editors show. Only what the findings hold is written."""

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from .finding import Finding, Location

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
_RANKS = {"certain": 95.0, "likely": 70.0, "possible": 30.0}


def sarif(findings: Iterable[Finding], version: str) -> bytes:
    """One run of one tool; rules in order of first use, file names relative to the client's root."""
    held = list(findings)
    rules: dict[str, dict[str, Any]] = {}
    for finding in held:
        rules.setdefault(finding.rule, _rule(finding))
    order = {name: index for index, name in enumerate(rules)}
    driver = {
        "name": "warpwise",
        "version": version,
        "semanticVersion": version,
        "rules": list(rules.values()),
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "The client's root folder."}}},
        "results": [_result(finding, order[finding.rule]) for finding in held],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False).encode()


def _rule(finding: Finding) -> dict[str, Any]:
    name = finding.rule.rsplit("/", 1)[-1]
    rule: dict[str, Any] = {
        "id": finding.rule,
        "name": "".join(part.capitalize() for part in name.split("-")),
        "shortDescription": {"text": name.replace("-", " ")},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
    }
    if finding.suggestion:
        rule["help"] = {"text": finding.suggestion}
    return rule


def _result(finding: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "rank": _RANKS[finding.confidence],
        "properties": _properties(finding),
    }
    if finding.location is not None:
        result["locations"] = [_location(finding.location, finding.excerpt, finding.kernel)]
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(place, None, None)} for number, place in enumerate(finding.related, 1)
        ]
    return result


def _properties(finding: Finding) -> dict[str, Any]:
    held: dict[str, Any] = {"confidence": finding.confidence}
    if finding.evidence:
        held["evidence"] = dict(finding.evidence)
    if finding.suggestion:
        held["suggestion"] = finding.suggestion
    if finding.confirm:
        held["confirm"] = finding.confirm
    return held


def _location(place: Location, excerpt: str | None, kernel: str | None) -> dict[str, Any]:
    region: dict[str, Any] = {}
    if place.line is not None:
        region["startLine"] = place.line
        if place.column is not None:
            region["startColumn"] = place.column
        if excerpt:
            region["snippet"] = {"text": excerpt}
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file), "uriBaseId": "ROOT"}}
    if region:
        physical["region"] = region
    located: dict[str, Any] = {"physicalLocation": physical}
    if kernel:
        located["logicalLocations"] = [{"name": kernel, "kind": "function"}]
    return located


def _uri(file: str) -> str:
    return quote(file, safe="/._-~")
