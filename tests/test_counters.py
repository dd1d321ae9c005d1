"""Who may read the counters is told from the driver's own parameters, and a refusal by our sandbox is told apart."""

import pytest

from warpwise.server.counters import CounterAccess, counter_access

OPEN = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n"
CLOSED = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n"


@pytest.mark.parametrize("is_root", [True, False])
def test_an_open_driver_lets_everybody(is_root: bool) -> None:
    assert counter_access(OPEN, is_root=is_root, sandbox="bubblewrap").allowed is True


def test_a_closed_driver_refuses_users_and_the_remedy_is_named() -> None:
    found = counter_access(CLOSED, is_root=False, sandbox="none")
    assert found == CounterAccess(
        False,
        "the driver lets only administrators read them",
        "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root",
    )


def test_root_in_a_sandbox_is_told_that_the_sandbox_may_be_the_cause() -> None:
    assert counter_access(CLOSED, is_root=True, sandbox="none").mend is None
    assert "WARPWISE_SANDBOX=off" in (counter_access(CLOSED, is_root=True, sandbox="bubblewrap").mend or "")


@pytest.mark.parametrize("parameters", [None, "", "no such line", "RmProfilingAdminOnly: maybe\n"])
def test_a_driver_that_does_not_tell_is_unknown(parameters: str | None) -> None:
    assert counter_access(parameters, is_root=True, sandbox="none").allowed is None
