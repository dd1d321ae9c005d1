"""Places that compilers wrote into their output, as places in the candidate's files."""

from collections.abc import Iterable, Sequence

from ..command import WORK_FOLDER
from ..reports.finding import Location

_LIBRARIES = ("/cccl/", "/cooperative_groups", "/cub/", "/thrust/", "/cuda/std/", "/cutlass/")


class Origins:
    """Knows the candidate's files by their names relative to the client's root."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = sorted(files, key=len, reverse=True)

    def name(self, path: str) -> str | None:
        """The candidate's file that a path means; None for any other, such as a header of the toolkit."""
        plain = path.removeprefix(f"{WORK_FOLDER}/").removeprefix("./")
        if plain in self._files:
            return plain
        return next((name for name in self._files if path.endswith(f"/{name}")), None)

    def location(self, chain: Sequence[tuple[str, int, int | None]]) -> Location | None:
        """The innermost place of an inlining chain (innermost first) that lies in the candidate's files."""
        for path, line, column in chain:
            name = self.name(path)
            if name is not None:
                return Location(file=name, line=line, column=column)
        return None

    def in_library(self, chain: Sequence[tuple[str, int, int | None]]) -> bool:
        """Whether the code itself is a library's, and only its use the candidate's."""
        return bool(chain) and any(part in chain[0][0] for part in _LIBRARIES)
