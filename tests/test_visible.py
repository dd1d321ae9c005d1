"""Nothing that a hostile source prints steers the terminal or the reading order of whoever reads an answer."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.calls import refusal
from warpwise.server.errors import InvalidRequest
from warpwise.server.sendable import sendable
from warpwise.server.visible import visible


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b]0;t\x07", "\\x1b[31mred\\x1b]0;t\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("\U000e0041", "\\U000e0041"),
        ("over\rwritten\r\n", "over\\x0dwritten\r\n"),
        ("\udc80", "?"),
        ("größer\t∑\n", "größer\t∑\n"),
    ],
)
def test_what_would_steer_is_written_out(raw: str, shown: str) -> None:
    assert visible(raw) == shown
    assert sendable({raw: [raw, 1.5, None]}) == {shown: [shown, 1.5, None]}


@given(st.text())
def test_no_control_character_is_left_and_doing_it_twice_changes_nothing(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(one) for one in shown} & {"Cs"}
    assert not [one for one in shown if unicodedata.category(one) == "Cc" and one not in "\t\n\r"]
    assert visible(shown) == shown


def test_a_refusal_shows_the_escapes_of_the_name_it_refuses() -> None:
    reply = refusal(InvalidRequest("no file \x1b[2J.cu", "hint"))
    assert "\x1b" not in reply.text
    assert reply.structured["error"]["what"] == "no file \\x1b[2J.cu"
