"""Cutting bytes into lines: however they arrive, the same lines come out, and none is longer than the bound."""

import itertools
from collections.abc import AsyncIterator

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.framing import TooLong, lines

BOUND = 20


async def _chunks(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def cut(parts: list[bytes], bound: int = BOUND) -> list[bytes | TooLong]:
    async def collect() -> list[bytes | TooLong]:
        return [line async for line in lines(_chunks(parts), bound)]

    return anyio.run(collect)


@given(
    st.binary(max_size=200).map(lambda blob: blob.replace(b"\r", b"\n")),
    st.lists(st.integers(0, 200), max_size=20),
)
def test_lines_do_not_depend_on_how_the_bytes_arrive(content: bytes, cuts: list[int]) -> None:
    edges = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    parts = [content[start:end] for start, end in itertools.pairwise(edges)]
    expected = content.split(b"\n")
    if not expected[-1]:
        expected.pop()
    found = cut(parts)
    assert len(found) == len(expected)
    for line, whole in zip(found, expected, strict=True):
        if isinstance(line, TooLong):
            assert line.size_bytes == len(whole) > BOUND
        else:
            assert line == whole
            assert len(line) <= BOUND


@pytest.mark.parametrize(
    ("head", "tail", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":"', b'"}', 7),
        (b' { "id" : "abc" , "params":"', b'"}', "abc"),
        (b'{"method":"x","params":"', b'","jsonrpc":"2.0","id":12}', 12),
        (b'{"method":"x","params":"', b'","id":12,"jsonrpc":"2.0"}', 12),
        (b'{"method":"x","params":{"id":5,"t":"', b'","id":6}}', None),
        (b"garbage ", b"", None),
    ],
)
def test_the_id_of_a_dropped_line_is_found_only_where_it_is_the_messages_own(
    head: bytes, tail: bytes, found: object
) -> None:
    (line,) = cut([head, b"x" * 10_000, b"x" * 10_000, tail, b"\n"], 5_000)
    assert isinstance(line, TooLong)
    assert line.request_id == found
