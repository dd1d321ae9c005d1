"""What the documents name is there: commands, make targets, files, variables, extras."""

import re
import tomllib
from pathlib import Path
from subprocess import CompletedProcess  # noqa: TID251  # only its type

import anyio
import pytest
import typer.main

from warpwise.server.cli import build

PROJECT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    str(path.relative_to(PROJECT)) for path in (*PROJECT.glob("*.md"), *(PROJECT / "docs").glob("*.md"))
)


def code_of(document: str) -> str:
    """The fenced blocks and the code spans of a document, one a line."""
    text = (PROJECT / document).read_text()
    fenced = re.findall(r"^```.*?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    return "\n".join([*fenced, *spans])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_that_a_document_names_exists(document: str) -> None:
    named = set(re.findall(r"^(?:\$ )?make (?:\w+=\S+ )?([a-z-]+)", code_of(document), re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    assert named - targets == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_that_a_document_names_exists(document: str) -> None:
    named = set(re.findall(r"^(?:\$ )?warpwise ([a-z-]+)", code_of(document), re.MULTILINE))
    known = set(typer.main.get_group(build([])).commands)
    assert named - known == set()


@pytest.fixture(scope="module")
def known() -> set[Path]:
    """Every file that git knows, and the folders above it: an empty folder is in no clone."""

    async def run() -> CompletedProcess[bytes]:
        with anyio.fail_after(30):
            return await anyio.run_process(
                ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=PROJECT
            )

    names = anyio.run(run).stdout.decode().split("\0")
    files = {PROJECT / name for name in names if (PROJECT / name).exists()}
    return files | {folder for path in files for folder in path.parents}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_names_exists(document: str, known: set[Path]) -> None:
    text = (PROJECT / document).read_text()
    spans = re.findall(r"`((?:server|attribution|src|tests|docs|client_examples|benchmarks)/[^`\s]*)`", text)
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    missing = [name for name in spans if PROJECT / name not in known]
    missing += [name for name in links if (PROJECT / document).parent.joinpath(name).resolve() not in known]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_variable_that_a_document_names_is_read(document: str) -> None:
    named = set(re.findall(r"\bWARPWISE_[A-Z_]+", (PROJECT / document).read_text()))
    sources = [*(PROJECT / "server").rglob("*.py"), *(PROJECT / "tests").rglob("*.py")]
    assert [name for name in named if not any(name in path.read_text() for path in sources)] == []


@pytest.mark.parametrize("document", [*DOCUMENTS, "Dockerfile"])
def test_every_extra_that_a_document_installs_exists(document: str) -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = (PROJECT / document).read_text()
    named = {
        part
        for found in re.findall(r"""(?:\.|warpwise|\))\[([a-z0-9,]+)\]["']""", text)
        for part in found.split(",")
    }
    assert named - set(extras) == set()
