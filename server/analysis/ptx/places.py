"""PTX places as places of the candidate: the innermost of its own lines, unless the code is a library's."""

from ...reports.finding import Location
from ..origins import Origins
from .module import Place

NOWHERE = Location(file="")
LIBRARY = Location(file="(library)")


def _chain(place: Place) -> list[tuple[str, int, int | None]]:
    found: list[tuple[str, int, int | None]] = []
    current: Place | None = place
    while current is not None and len(found) < 64:
        found.append((current.file, current.line, current.column))
        current = current.caller
    return found


def where(origins: Origins, place: Place) -> Location:
    """The place, NOWHERE where it lies in none of the candidate's files, LIBRARY for library code."""
    chain = _chain(place)
    if origins.in_library(chain):
        return LIBRARY
    return origins.location(chain) or NOWHERE
