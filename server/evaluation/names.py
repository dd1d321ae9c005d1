"""The nearest valid name to a misspelt one."""

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like the word, or None when none is."""
    by_fold = {name.casefold(): name for name in sorted(known)}
    found = difflib.get_close_matches(word[:200].casefold(), by_fold, n=1, cutoff=0.5)
    return by_fold[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name: the nearest known one, else all of them (at most 20)."""
    names = sorted(known)
    close = nearest(word, names)
    if close:
        return f"Did you mean `{close}`?"
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f"Known here: {', '.join(names[:20]) or 'no name'}{more}."
