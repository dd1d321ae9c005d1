"""Every way in which warpwise can fail to answer. A finding about a kernel is never one of these.

WarpwiseError
├── InvalidRequest        the call itself is wrong: an argument, a path, a type
│   ├── UnknownTool       no tool has that name
│   ├── InvalidArguments  an argument is unknown, missing, or of the wrong type
│   ├── NotFound          an id, file, kernel or artifact that does not exist
│   └── BadWorkload       a workload's file, oracle or baseline is wrong
├── Unavailable           this machine lacks what the call needs
│   ├── ProgramMissing    a tool of the toolchain is not installed
│   └── NotRecorded       a replaying daemon holds no answer to this question
├── ToolchainError        a program ran and could not be used
│   ├── ProgramTimedOut   it reached its deadline and was killed, with all its descendants
│   ├── ProgramKilled     something outside killed it (out of memory, a signal)
│   └── UnreadableOutput  it said something that the parser does not know
├── Busy                  the GPU or a queue stayed occupied for the whole wait
├── StorageFailure        the state folder cannot be read or written
└── InternalError         warpwise itself is at fault; its log has the details
"""

from typing import ClassVar, cast


class WarpwiseError(Exception):
    """An inability to answer: `code` names it, `what` happened, `hint` mends it, `retryable` says whether to retry."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False
    default_hint: ClassVar[str] = "Run `warpwise doctor` to see what works here."

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint or self.default_hint

    def as_json(self) -> dict[str, object]:
        """The error as clients get it: {code, what, hint, retryable}."""
        return {"code": self.code, "what": self.what, "hint": self.hint, "retryable": self.retryable}


class InvalidRequest(WarpwiseError):
    """The call cannot be understood or is not allowed."""

    code = "invalid_request"
    default_hint = "Correct the arguments and call again."


class UnknownTool(InvalidRequest):
    """No tool has that name."""

    code = "unknown_tool"
    default_hint = "`tools/list` has the names."


class InvalidArguments(InvalidRequest):
    """An argument is unknown, missing, or of the wrong type."""

    code = "invalid_arguments"


class NotFound(InvalidRequest):
    """Something named in the call does not exist."""

    code = "not_found"
    default_hint = "Check the name; ids come from earlier answers."


class BadWorkload(InvalidRequest):
    """A workload's own file, oracle or baseline is wrong; `what` names file, line and column where it has them."""

    code = "bad_workload"
    default_hint = "Run `warpwise workload check DIR` for all of its problems."


class Unavailable(WarpwiseError):
    """This machine lacks what the call needs."""

    code = "unavailable"


class ProgramMissing(Unavailable):
    """A program of the toolchain is not installed."""

    code = "program_missing"
    default_hint = "Install it: pip install 'warpwise[toolchain]', or set CUDA_HOME to a CUDA toolkit."


class NotRecorded(Unavailable):
    """A replaying daemon holds no answer to this question."""

    code = "not_recorded"
    default_hint = "Ask only what the recording holds, or run on a machine that has the tool."


class ToolchainError(WarpwiseError):
    """A program ran and its result cannot be used."""

    code = "toolchain_error"


class ProgramTimedOut(ToolchainError):
    """A program reached its deadline and was killed with all its descendants."""

    code = "timed_out"
    default_hint = "Look for an endless loop or a deadlocked barrier; raise timeout_s if the work is long."


class ProgramKilled(ToolchainError):
    """Something outside warpwise killed a program."""

    code = "killed"
    retryable = True
    default_hint = "Usually the machine is out of memory: free some, use a smaller problem, and retry."


class UnreadableOutput(ToolchainError):
    """A program's output is not what its parser knows; the excerpt is part of `what`."""

    code = "unreadable_output"
    default_hint = (
        "The tool's version may be unknown to warpwise: report the excerpt, with `warpwise doctor`."
    )

    def __init__(self, what: str, excerpt: str | bytes = "", hint: str | None = None) -> None:
        text = excerpt.decode("utf-8", "backslashreplace") if isinstance(excerpt, bytes) else excerpt
        super().__init__(f"{what}: {text[:200]!r}" if text else what, hint)
        self.excerpt = text[:200]


class Busy(WarpwiseError):
    """The GPU or a queue stayed occupied for the whole wait."""

    code = "busy"
    retryable = True
    default_hint = "Retry later; `capabilities` shows who holds the GPU."


class StorageFailure(WarpwiseError):
    """The state folder cannot be read or written."""

    code = "storage_failure"
    default_hint = "Check free space and permissions of the state folder (WARPWISE_STATE), then retry."


class InternalError(WarpwiseError):
    """Warpwise itself is at fault; the client gets no details, the daemon's log has them."""

    code = "internal"
    default_hint = (
        "Report it with what the daemon wrote to its log (stderr, or daemon.log in the state folder)."
    )


def typed_cause(error: BaseException) -> WarpwiseError | None:
    """The error itself, or the first one of parallel work that failed for typed reasons only; None for a bug."""
    if isinstance(error, WarpwiseError):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    inner = [typed_cause(one) for one in cast("BaseExceptionGroup[BaseException]", error).exceptions]
    return inner[0] if all(inner) else None
