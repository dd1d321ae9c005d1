"""What of an answer a client is told: a function of the answer and of what the client is given, and of nothing else.

A withheld component leaves no trace but one fixed sentence. It works on answers as data, before they are shortened or
written out, so that text and structured content obey alike.
"""

from collections.abc import Iterable, Iterator
from typing import Any, cast, get_args

from pydantic.fields import FieldInfo

from .client import Client
from .components import component_of_check, component_of_field, component_of_rule, gives, gives_some
from .errors import InvalidRequest, NotFound, WarpwiseError
from .reports.answer import Answer, Artifact, Running
from .reports.debugging import CheckRecords
from .reports.finding import Finding, SkippedCheck
from .reports.number import Frozen, Number, unavailable
from .reports.performance import Timing
from .store import Store

Given = frozenset[str] | None
WITHHELD = "Not available to this client."
NOT_APPLICABLE = "not applicable"
WORKING = "working"
_BUILT_LAYERS = ("ptx", "sass", "proof")


def withheld_answer() -> Answer:
    """What a withheld tool answers, whatever it would have found."""
    return Answer(summary=WITHHELD)


def masked(answer: Answer, given: Given) -> Answer:
    """The answer as a client is told it that is given these components (None: all)."""
    own = answer.component
    if given is None or own is None or isinstance(answer, Running):
        return answer
    if not gives_some(given, own):
        return withheld_answer()
    if not gives(given, "compiler"):
        answer = _without_build(answer)
    if getattr(answer, "verdict", None) == "FAST" and not gives(given, "evaluation.speedup"):
        answer = answer.model_copy(update={"verdict": "PASS"})
    told = cast("Answer", _Mask(given, own).told(answer))
    if gives(given, own):
        return told
    count = len(told.findings)
    return told.model_copy(update={"summary": f"{count} finding{'s' if count != 1 else ''} told."})


def masked_error(error: WarpwiseError, given: Given) -> WarpwiseError:
    """The error as a masked client is told it: what it did wrong in full, what a program said not at all."""
    if given is None or isinstance(error, InvalidRequest):
        return error
    return type(error)("no answer was possible")


def artifact_of(store: Store, client: Client, id: str) -> tuple[Artifact, str]:  # noqa: A002
    """(artifact, digest) of an artifact that a client may read. Raises NotFound, also where it is withheld."""
    artifact, digest, component = store.artifact(client.name, id)
    if not gives(client.given, component):
        raise NotFound(f"no artifact {id}", WITHHELD)
    return artifact, digest


def _without_build(answer: Answer) -> Answer:
    """Without what the compiler said through an answer that needed a build which failed."""
    if getattr(answer, "verdict", None) == "does not build" or _nothing_profiled(answer):
        update: dict[str, Any] = {
            "summary": "Not applicable to this state.",
            "provenance": None,
            "next": (),
            "checks_skipped": (),
        }
        return answer.model_copy(
            update=update | ({"verdict": NOT_APPLICABLE} if hasattr(answer, "verdict") else {})
        )
    skipped = tuple(
        SkippedCheck(check=one.check, reason=NOT_APPLICABLE) if one.check.startswith(_BUILT_LAYERS) else one
        for one in answer.checks_skipped
    )
    failed = getattr(answer, "builds", None) is False
    return answer.model_copy(
        update={"checks_skipped": skipped, **({"next": (), "provenance": None} if failed else {})}
    )


def _nothing_profiled(answer: Answer) -> bool:
    return answer.component == "profiler" and any(
        component_of_rule(finding.rule, "profiler").startswith("compiler") for finding in answer.findings
    )


class _Mask:
    """One answer's mask: `own` is the component that fields belong to which the table does not name."""

    def __init__(self, given: frozenset[str], own: str) -> None:
        self._given = given
        self._own = own

    def told(self, model: Frozen) -> Frozen:
        """The model with every withheld field as if it had never been found, and its parts likewise."""
        update: dict[str, Any] = {}
        nested = not isinstance(model, Answer)
        for name, field in type(model).model_fields.items():
            value = getattr(model, name)
            # A part of an answer that the table does not name was let through with the field that holds it.
            component = component_of_field(type(model).__name__, name, "" if nested else self._own)
            if not gives(self._given, component):
                update[name] = _neutral(field, value)
            elif isinstance(value, tuple):
                checks = name == "checks_run"
                update[name] = tuple(self._parts(cast("tuple[object, ...]", value), checks=checks))
        return model.model_copy(update=update)

    def _parts(self, values: tuple[object, ...], *, checks: bool) -> Iterator[object]:
        for value in values:
            if isinstance(value, Finding):
                component = component_of_rule(value.rule, self._own)
            elif isinstance(value, SkippedCheck | CheckRecords):
                component = component_of_check(value.check, self._own)
            elif isinstance(value, Frozen):
                yield self.told(value)
                continue
            else:
                component = component_of_check(str(value), self._own) if checks else ""
            if gives(self._given, component):
                yield value


def _neutral(field: FieldInfo, value: object) -> object:
    """What stands in a withheld field: its default, else what says nothing."""
    if not field.is_required():
        return field.get_default(call_default_factory=True)
    if isinstance(value, Number):
        return unavailable(value.unit, WITHHELD)
    if isinstance(value, Timing):
        return Timing(launches=None, timed=0, profiled=0, total=unavailable("us", WITHHELD), how=WITHHELD)
    if isinstance(value, tuple):
        return ()
    if isinstance(value, dict):
        return {}
    if isinstance(value, str) or get_args(field.annotation):
        return WITHHELD
    return None


def told_parts(answers: Iterable[Answer], given: Given) -> tuple[Answer, ...]:
    """The answers of the components that are given, each masked; the others leave no trace."""
    return tuple(masked(answer, given) for answer in answers if gives_some(given, answer.component))
