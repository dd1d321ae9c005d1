"""The MCP prompts: short workflows over the tools, as data."""

from collections.abc import Mapping
from dataclasses import dataclass

from .errors import InvalidArguments, NotFound


@dataclass(frozen=True, slots=True)
class Prompt:
    """A named workflow; `text` has {placeholders} for its arguments, each with a description."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, str]
    text: str

    def filled(self, given: Mapping[str, str]) -> str:
        """The text with its arguments put in. Raises InvalidArguments for a missing or unknown one."""
        if wrong := sorted(self.arguments.keys() ^ given.keys()):
            raise InvalidArguments(f"prompt {self.name}: missing or unknown argument {', '.join(wrong)}")
        text = self.text
        for name, value in given.items():
            text = text.replace("{" + name + "}", value)
        return text


_PATH = {"path": "The .cu file, relative to the root."}

PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "fix-kernel",
            "Fix a CUDA kernel",
            "Find out why a kernel is wrong and mend it, with evidence at each step.",
            _PATH,
            "Make {path} correct. Call compile first and mend what it finds. Then call debug and mend the first "
            "finding, at the line that it names, before looking at the next; call it again after each change. Then call "
            "analyze and weigh what it reports as likely. Change nothing that no finding asks for. Stop when "
            "compile and debug are clean, and say which finding led to which change.",
        ),
        Prompt(
            "tune-kernel",
            "Make a CUDA kernel faster",
            "Find what bounds a correct kernel and remove it, one measured change at a time.",
            _PATH,
            "Make {path} faster and keep it correct. Call compile, then debug: correct what they find first. Call "
            "profile and read what bounds the kernel. Make one change that answers its first finding, then call compile, "
            "debug and profile again and compare the duration. Keep the change only if it is faster and clean. Stop "
            "when the bound is the hardware's own limit or three changes in a row brought nothing; report each change "
            "with its duration before and after.",
        ),
    )
}


def find_prompt(name: str) -> Prompt:
    """The prompt of that name. Raises NotFound."""
    if name not in PROMPTS:
        raise NotFound(f"no prompt {name[:80]!r}", f"Prompts: {', '.join(PROMPTS)}.")
    return PROMPTS[name]
