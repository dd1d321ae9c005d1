"""The Runner protocol, and LocalRunner, which runs a command on this machine in a fresh work folder."""

from typing import Protocol

from .command import Command, Finished


class Runner(Protocol):
    """The one seam where programs run: a command in, how it finished out. A non-zero exit is data, never an error."""

    async def run(self, command: Command) -> Finished:
        """Run it. Raises ProgramMissing, Busy or NotRecorded where it cannot run at all."""
        ...
