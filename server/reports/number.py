"""A number that cannot be separated from its unit and from how it is known."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Provenance = Literal["measured", "recorded", "derived", "estimated", "unavailable"]


class Frozen(BaseModel):
    """A closed, immutable model: an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Number(Frozen):
    """A value with its unit and provenance; `value` is None exactly when it is unavailable, with the reason."""

    value: float | int | None
    unit: str
    provenance: Provenance = "measured"
    reason: Annotated[str | None, Field(description="Why it is unavailable, or how it was derived.")] = None

    @model_validator(mode="after")
    def _unknown_is_explained(self) -> "Number":
        if (self.value is None) != (self.provenance == "unavailable"):
            raise ValueError("value is None exactly when provenance is 'unavailable'")
        if self.value is None and not self.reason:
            raise ValueError("an unavailable number needs a reason")
        return self


def unavailable(unit: str, reason: str) -> Number:
    """A number that is not known, and why."""
    return Number(value=None, unit=unit, provenance="unavailable", reason=reason)
