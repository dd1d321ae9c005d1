"""Every key and value of a TOML text is found where it stands."""

import tomllib
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.evaluation.located_toml import Document, Path, Place, TomlError, read

TEXT = """\
a = 1
[define]
TILE = 32 # c
"x y".z = [ "a", # [
   "b]", {q = 1, r = [1,2]} ]
[[launch]]
kernel = "g"
[[repeat]]
[[repeat.launch]]
k = \"\"\"a
]b\"\"\"
d = 1979-05-27 07:32:00
[[repeat.launch]]
k=2
[[launch]]
kernel='h'
"""


def test_places_of_nested_tables_arrays_and_strings() -> None:
    found = read(TEXT)
    assert found.value(("define", "TILE")) == Place(3, 8)
    assert found.key(("define", "x y", "z")) == Place(4, 1)
    assert found.value(("define", "x y", "z", 2, "r", 1)) == Place(5, 25)
    assert found.value(("launch", 1, "kernel")) == Place(16, 8)
    assert found.value(("repeat", 0, "launch", 1, "k")) == Place(14, 3)
    assert found.key(("launch", 1, "missing")) == Place(15, 1)


def paths(value: object, at: Path = ()) -> list[Path]:
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return [path for key, inner in table.items() for path in paths(inner, (*at, key))]
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [path for index, inner in enumerate(items) for path in paths(inner, (*at, index))]
    return [at]


def document_or_error(text: str) -> tuple[Document | None, TomlError | None]:
    try:
        return read(text), None
    except TomlError as error:
        return None, error


PIECES = st.sampled_from(
    ["a", "b.c", '"q r"', " = ", "1", "'x]'", '"#y"', "[", "]", "[[", "]]", "{", "}", ", ", "\n", "\n", "# z\n", "''",
     '"""m\nn"""', "1.5", "true", "\r\n", "-", "'''", "\\"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_read_with_a_place_for_each_value_or_a_typed_error(text: str) -> None:
    found, error = document_or_error(text)
    if error:
        assert error.place.line >= 1
        assert error.what
    if found:
        assert found.data == tomllib.loads(text)
        missing = [path for path in paths(found.data) if path not in found.values]
        assert missing == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a=1\na=2", 2),
        ("x = [1,\n 2", 2),
        ("[a]\n[a]", 2),
        ("a = " + "9" * 5000, 1),
        ("a=" + "[" * 30000, 1),
        ("\0", 1),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(text: str, line: int) -> None:
    with pytest.raises(TomlError) as raised:
        read(text)
    assert raised.value.place.line == line


def test_a_huge_text_is_refused() -> None:
    with pytest.raises(TomlError, match="longer than 65,536 characters"):
        read("#" * 70_000)
