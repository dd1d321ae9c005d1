"""The one table is whole: each field of each answer and each rule has its component; policies are read or refused."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from warpwise.server import reports
from warpwise.server.components import (
    BASE,
    FIELDS,
    ORDER,
    PARTS,
    component_of_field,
    component_of_rule,
    gives,
    gives_some,
    normal,
    ordered,
    withheld,
)
from warpwise.server.errors import InvalidRequest
from warpwise.server.policy import parse_give
from warpwise.server.reports.answer import Answer

SERVER = Path(__file__).parents[2] / "server"
RULE = re.compile(r'rule="([a-z]+[./-][a-z-]+)"')


def answers() -> dict[str, type[Answer]]:
    for found in pkgutil.iter_modules(reports.__path__):
        importlib.import_module(f"{reports.__name__}.{found.name}")
    return {
        one.__name__: one for one in Answer.__subclasses__() if one.__module__.startswith(reports.__name__)
    }


def test_every_row_names_a_field_that_exists_and_a_known_component() -> None:
    models = {
        name: value
        for found in pkgutil.iter_modules(reports.__path__)
        for name, value in vars(importlib.import_module(f"{reports.__name__}.{found.name}")).items()
        if isinstance(value, type) and issubclass(value, BaseModel)
    }
    for model, fields in FIELDS.items():
        assert set(fields) <= set(models[model].model_fields)
        assert set(fields.values()) <= {"", *ORDER}


def test_a_field_without_a_row_belongs_to_its_answers_component_as_a_whole() -> None:
    assert component_of_field("EvaluationAnswer", "some_new_field", "evaluation") == "evaluation"
    assert {one.component for one in answers().values() if one.component} == set(BASE)


def test_every_rule_in_the_code_has_the_component_of_the_tool_that_finds_it() -> None:
    rules = {rule for path in SERVER.rglob("*.py") for rule in RULE.findall(path.read_text())}
    assert len(rules) > 20
    unknown = {rule for rule in rules if component_of_rule(rule, "nobody") == "nobody"}
    assert unknown == set()


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("debugger,compiler", {"compiler", "debugger"}),
        ("none", set[str]()),
        ("debugger,-debugger.racecheck", {f"debugger.{p}" for p in PARTS["debugger"] if p != "racecheck"}),
        (",".join(f"profiler.{part}" for part in PARTS["profiler"]), {"profiler"}),
        ("all,-evaluation,-summary,-guidance,-plan,-attribution", set(BASE) - {"evaluation"}),
    ],
)
def test_a_list_of_components_in_its_shortest_form(text: str, given: set[str]) -> None:
    assert parse_give(text) == given


def test_what_is_withheld_is_told_in_canonical_order() -> None:
    given = parse_give("profiler.memory,compiler")
    assert gives(given, "profiler.memory")
    assert not gives(given, "profiler")
    assert gives_some(given, "profiler")
    assert withheld(given)[:3] == ("debugger", "analyzer", "profiler.timing")
    assert "profiler.memory" not in withheld(given)
    assert withheld(None) == ()
    assert ordered({"evaluation", "compiler", "zebra", "plan"}) == ("compiler", "evaluation", "plan", "zebra")
    assert normal(["compiler.diagnostics", "compiler.resources"]) == {"compiler"}


def test_an_unknown_component_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="did you mean 'debugger'"):
        parse_give("debuger")
    policy = tmp_path / "policy.toml"
    policy.write_text('give = ["compiler", "profiler"]\nwithhold = ["profiler.rules"]\n')
    assert "profiler.memory" in parse_give(str(policy))
    assert not gives(parse_give(str(policy)), "profiler.rules")
    for text, told in (
        ("give = 3", "not a list"),
        ("giv = []", "unknown key 'giv'"),
        ("give = [", "cannot read the policy"),
        ('give = ["profiler.memry"]', "did you mean 'profiler.memory'"),
    ):
        policy.write_text(text)
        with pytest.raises(InvalidRequest, match=told):
            parse_give(str(policy))
