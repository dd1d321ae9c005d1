"""C++ names as answers write them. How a symbol becomes a name is not known here."""

ANONYMOUS = "(anonymous namespace)"


def short_name(name: str) -> str:
    """A demangled name without its parameter list: `tile<32>` of `tile<32>(float*, int)`."""
    depth = 0
    for index, character in enumerate(name):
        depth += (character in "<[{") - (character in ">]}")
        if character == "(" and depth == 0 and not name.startswith(ANONYMOUS, index) and index:
            return name[:index]
    return name
