"""The JSON schemas that clients see: closed and compact for arguments, shallow for answers, whole as a resource.

A schema is made from the pydantic model that also validates, so the two cannot differ. Nothing here validates.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, cast, get_type_hints

from pydantic import BaseModel

from .reports.answer import Answer
from .reports.finding import Finding
from .tool import Tool

Schema = dict[str, Any]
_NOISE = ("title", "$defs", "discriminator")
# pydantic writes a bound of an optional number as its own keyword, which no JSON schema knows
_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


def listing_entry(tool: Tool) -> Schema:
    """A tool as `tools/list` shows it, in the protocol's own names."""
    hints: Schema = {
        "readOnlyHint": tool.read_only,
        "destructiveHint": tool.destructive,
        **(
            {} if tool.read_only else {"idempotentHint": tool.idempotent}
        ),  # it says nothing of a read-only tool
        "openWorldHint": False,
    }
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": arguments_schema(tool),
        "outputSchema": answer_schema(),
        "annotations": hints,
    }


@cache
def arguments_schema(tool: Tool) -> Schema:
    """A tool's arguments as a closed object without `$ref`, titles, or empty defaults."""
    schema = _compact(tool.args)
    schema.pop("description", None)
    schema["additionalProperties"] = False
    schema.setdefault("properties", {})
    return schema


def answer_schema() -> Schema:
    """What every answer of every tool has; only `state` is certain, since work that goes on has no findings yet.

    It is small on purpose, since hosts put it in the model's context; `report_schema` has everything.
    """
    return {
        "type": "object",
        "properties": {
            "state": {"enum": ["done", "running"]},
            "findings": {"type": "array"},
        },
        "required": ["state"],
    }


def report_schema(tool: Tool) -> Schema:
    """Everything that a tool's answer may hold; what is empty or unknown is left out of an answer."""
    fields: Schema = {"state": {"enum": ["done", "running"]}}
    fields |= _compact(Answer)["properties"]
    fields["findings"] = {"type": "array", "items": _compact(Finding)}
    fields |= {
        "findings_left_out": {"type": "integer"},
        "job": {"type": "string"},
        "progress": {"type": "object"},
    }
    fields |= _compact(answer_model(tool))["properties"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Answer of {tool.name}",
        "type": "object",
        "properties": fields,
        "required": ["state"],
    }


def answer_model(tool: Tool) -> type[Answer]:
    """The class of a tool's answer, from its function's annotation."""
    return cast("type[Answer]", get_type_hints(tool.run)["return"])


def _compact(model: type[BaseModel]) -> Schema:
    whole = model.model_json_schema(mode="validation")
    return cast("Schema", _inline(whole, cast("Mapping[str, Any]", whole.get("$defs", {}))))


def _inline(node: object, definitions: Mapping[str, Any]) -> object:
    """A schema node with its `$ref`s replaced and its noise dropped; property names are never taken for noise."""
    if isinstance(node, list):
        return [_inline(item, definitions) for item in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("Schema", node)
    if reference := schema.get("$ref"):
        named = definitions[str(reference).rpartition("/")[2]]
        return _inline(
            {**named, **{key: value for key, value in schema.items() if key != "$ref"}}, definitions
        )
    schema = _without_null(schema)
    kept: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: _inline(field, definitions) for name, field in value.items()}
        elif key in _BOUNDS:
            kept[_BOUNDS[key]] = value
        elif key not in _NOISE and not (key == "default" and value in (None, {}, [], ())):
            kept[key] = value if key in ("default", "enum", "const") else _inline(value, definitions)
    return kept


def _without_null(schema: Schema) -> Schema:
    """`X or null` as plain X: an argument that may be left out need not also be null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    if "anyOf" not in schema or len(choices) != 1:
        return schema
    return {**choices[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
