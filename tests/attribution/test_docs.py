"""The guide's examples run and print what it shows, and it names what the commands offer."""

import re
from pathlib import Path

import pytest
import typer

from warpwise import attribution
from warpwise.attribution.command import register
from warpwise.attribution.rows import COLUMNS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "attribution.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=["table", "mathematics", "plan"])
def test_an_example_prints_what_the_guide_shows(
    code: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    exec(code, {})
    assert capsys.readouterr().out == shown


def test_every_name_of_the_library_face_exists() -> None:
    assert [name for name in attribution.__all__ if not hasattr(attribution, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        attribution.nothing  # noqa: B018


def test_the_guide_names_every_column_and_both_commands() -> None:
    app = typer.Typer()
    register(app)
    assert all(f"`{column}`" in GUIDE for column in COLUMNS)
    assert all(f"warpwise {command.name}" in GUIDE for command in app.registered_commands)
