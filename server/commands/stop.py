"""`warpwise stop`: ends the user's shared daemon."""

import os
import signal
import time

import typer

from ..errors import Busy

_PATIENCE_S = 30.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(stop)


def stop() -> None:
    """End the daemon that `connect` uses, with its jobs; the next call starts a new one."""
    from .. import presence
    from ..config import from_environment

    state_dir = from_environment().state_dir
    here = presence.find(state_dir)
    if here is None:
        print("no daemon is running")
        return
    os.kill(here.pid, signal.SIGTERM)
    deadline = time.monotonic() + _PATIENCE_S
    while presence.find(state_dir) == here:
        if time.monotonic() > deadline:
            raise Busy(f"the daemon (process {here.pid}) has not ended after {_PATIENCE_S:.0f} s")
        time.sleep(0.05)
    print(f"stopped the daemon (process {here.pid})")
