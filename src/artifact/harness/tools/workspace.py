"""The workspace of one episode: a temporary folder in which each tool has one artifact file.

Invariant: a file is named by the tool's number in the plan, never by what a model wrote.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from artifact.errors import InfrastructureError


class Workspace:
    """A temporary folder for the artifacts of some tools; removed when it is left.

    Parameters
    ----------
    tools : sequence of str
        The names of the tools, as the plan has them.
    """

    def __init__(self, tools: Sequence[str]) -> None:
        self._tools = tuple(tools)
        self._folder = tempfile.TemporaryDirectory(prefix="artifact-workspace-")
        self.root = Path(self._folder.name)
        self._files = {tool: self.root / f"{number:02d}.stamps" for number, tool in enumerate(tools, start=1)}

    def __contains__(self, tool: object) -> bool:
        return tool in self._files

    def stamp(self, tool: str, work_order: str) -> None:
        """Do a tool's work: add a work order to its artifact.

        Raises
        ------
        InfrastructureError
            When the folder refuses.
        """
        try:
            with self._files[tool].open("a", encoding="utf-8") as file:
                file.write(f"{work_order}\n")
        except OSError as error:
            raise InfrastructureError(f"the workspace {self.root} can't be written ({error.strerror}); make room for "
                                      "temporary files and give the same command again") from None

    def stamps(self, tool: str) -> tuple[str, ...]:
        """The work orders in a tool's artifact, oldest first: the evidence of what it did."""
        try:
            return tuple(self._files[tool].read_text("utf-8").splitlines())
        except FileNotFoundError:
            return ()

    def artifacts(self) -> dict[str, tuple[str, ...]]:
        """The stamps of every tool that has an artifact."""
        return {tool: stamps for tool in self._files if (stamps := self.stamps(tool))}

    def branch(self) -> "Workspace":
        """A workspace of its own with the same artifacts: what is done in one leaves the other alone."""
        other = Workspace(self._tools)
        for tool, stamps in self.artifacts().items():
            for work_order in stamps:
                other.stamp(tool, work_order)
        return other

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._folder.cleanup()
