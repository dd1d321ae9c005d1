"""Notes a call and what its client was told, and listens to the JSON-RPC of a connection. It answers nothing."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .answering import Asked
from .checkpoints import answer_bytes
from .client import Client
from .components import ordered, withheld
from .conversations import Call, Conversations, Recorder, Told
from .reports.answer import Answer
from .store import Store

_DATA = b"data:"


@dataclass(slots=True)
class Heard:
    """What is known of a call by its end: its question, and its whole answer before the mask."""

    began_at: float = field(default_factory=time.time)
    clock: float = field(default_factory=time.monotonic)
    question: Asked | None = None
    answer: Answer | None = None


def record(
    store: Store,
    conversations: Conversations,
    client: Client,
    call: tuple[str, Mapping[str, Any]],
    heard: Heard,
    told: Told,
) -> None:
    """Keep a call (tool, arguments) before its reply is sent; nothing for a client that is not recorded."""
    recorder = conversations.recorder(client)
    if recorder is None:
        return
    tool, arguments = call
    question = heard.question or Asked(tool, arguments, None)
    answer = None if heard.answer is None else store.blobs.put(answer_bytes(heard.answer))
    recorder.keep(
        Call(
            tool=tool,
            arguments=dict(arguments),
            question=question.question,
            candidate=question.candidate,
            reply=store.blobs.put(told.content()),
            answer=answer,
            given=None if client.given is None else ordered(client.given),
            withheld=withheld(client.given),
            started_at=heard.began_at,
            latency_s=round(time.monotonic() - heard.clock, 6),
            error=None if told.error is None else str(told.error.get("code")),
        )
    )


class Tap:
    """Cuts one direction of a connection, lines or an event stream, into messages and notes each."""

    def __init__(self, recorder: Recorder, sender: str) -> None:
        self._recorder = recorder
        self._sender = sender
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """Note every message that this chunk ends."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._note(line)

    def end(self) -> None:
        """Note what came without a line's end."""
        rest, self._rest = self._rest, b""
        self._note(rest)

    def _note(self, line: bytes) -> None:
        text = line.strip().removeprefix(_DATA).strip()
        if text.startswith((b"{", b"[")):
            self._recorder.rpc(self._sender, text)


async def tapped(chunks: AsyncIterator[bytes], recorder: Recorder | None) -> AsyncIterator[bytes]:
    """The same chunks, each message of the client noted."""
    tap = None if recorder is None else Tap(recorder, "client")
    async for chunk in chunks:
        if tap is not None:
            tap.feed(chunk)
        yield chunk


def tapped_send(
    send: Callable[[bytes], Awaitable[None]], recorder: Recorder | None
) -> Callable[[bytes], Awaitable[None]]:
    """The same sender, each message of the server noted before it goes."""
    if recorder is None:
        return send
    tap = Tap(recorder, "server")

    async def noted(message: bytes) -> None:
        tap.feed(message)
        await send(message)

    return noted
