"""What the demo's client saw: one answered question. Data only."""

from dataclasses import dataclass
from typing import Any

from .steps import Question, Step


@dataclass(frozen=True, slots=True)
class Seen:
    """What one question was answered: the text as the agent got it, the data, and how long it took in seconds."""

    step: Step
    question: Question
    text: str
    data: dict[str, Any]
    wall_s: float
