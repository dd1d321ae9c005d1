"""Page through something that was too long for an answer: a log, a full report, raw tool output."""

from typing import Annotated, Any

from pydantic import Field

from ..errors import InvalidRequest
from ..masking import artifact_of
from ..reports.answer import Answer, Detail
from ..tool import Args, tool
from ..workbench import Workbench

_PREFIX = "warpwise://artifact/"
MAX_PAGE_BYTES = 20_000


class ArtifactArgs(Args):
    """Read a page of an artifact that an answer named (logs, raw tool output, full reports)."""

    uri: Annotated[str, Field(description="warpwise://artifact/a-… from an answer.")]
    offset: Annotated[int, Field(ge=0, description="First byte of the page.")] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_BYTES, description="Most bytes of the page.")] = 6_000


class ArtifactPage(Answer):
    """One page: `content` as text, where it starts, and where the next one does (None after the last)."""

    content: str
    size_bytes: int
    offset: int
    next_offset: int | None

    def block(self, detail: Detail) -> dict[str, Any]:
        """The page and its place in the whole."""
        return self.model_dump(include={"content", "size_bytes", "offset", "next_offset"}, exclude_none=True)

    def block_lines(self, detail: Detail) -> list[str]:
        """The page as it is."""
        return [self.content]


@tool(title="Read an artifact", read_only=True, long=False)
async def artifact(bench: Workbench, args: ArtifactArgs) -> ArtifactPage:
    """One page, cut between characters; a compressed or binary artifact is shown as hexadecimal."""
    if not args.uri.startswith(_PREFIX):
        raise InvalidRequest(
            f"not an artifact uri: {args.uri!r}", f"It looks like {_PREFIX}a-0123456789abcdef."
        )
    found, digest = artifact_of(bench.services.store, bench.client, args.uri.removeprefix(_PREFIX))
    content = bench.blobs.read(digest)
    if args.offset >= len(content) and content:
        raise InvalidRequest(f"offset {args.offset:,} is past the end ({found.size_bytes:,} bytes)")
    page = content[args.offset : args.offset + args.limit]
    end = args.offset + len(page)
    if b"\0" in content[:4096]:
        text = page.hex(" ", 4)
    else:
        while end < len(content) and content[end] & 0xC0 == 0x80 and end - args.offset > 1:
            end -= 1
        text = content[args.offset : end].decode("utf-8", "replace")
    return ArtifactPage(
        summary=f"{found.name}: bytes {args.offset:,} to {end:,} of {found.size_bytes:,}",
        content=text,
        size_bytes=found.size_bytes,
        offset=args.offset,
        next_offset=end if end < len(content) else None,
    )
