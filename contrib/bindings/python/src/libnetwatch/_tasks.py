"""Work that ends when the network is lost."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from types import TracebackType
from typing import TYPE_CHECKING, Any, Coroutine, List, Optional, Set, Type, TypeVar

from ._path import Path

if TYPE_CHECKING:
    from ._monitor import Monitor

    # A type checker knows this module even if it is not installed.
    from typing_extensions import Self

Result = TypeVar("Result")


class NetworkLost(ConnectionError):
    """The target is not reachable any more. `path` is the path of the loss, and `errno` is `errno.ENETUNREACH`."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ENETUNREACH, str(path))
        self.path = path


class ReachableTasks:
    """A group of tasks that is cancelled when the network is lost. `Monitor.while_reachable()` makes it."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._tasks: Set[asyncio.Task[Any]] = set()
        self._stack = contextlib.ExitStack()
        # The error that ends the group: the loss, or that of the first task that fails.
        self._error: Optional[BaseException] = None
        self._is_in_body = False
        self._has_cancelled_body = False

    def create_task(self, coroutine: Coroutine[Any, Any, Result], *, name: Optional[str] = None) -> asyncio.Task[Result]:
        """Starts a task of the group, and returns it. The `async with` block ends only when all tasks have ended."""
        if not self._is_in_body or self._error is not None:
            coroutine.close()
            raise RuntimeError("the group of tasks has ended")
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)
        return task

    async def __aenter__(self) -> Self:
        body = asyncio.current_task()
        if body is None:
            raise RuntimeError("while_reachable() needs a task; asyncio.run() makes one")
        self._body: asyncio.Task[Any] = body
        # Other code may cancel this task too. Python tells the two apart since 3.11.
        self._cancellations = _cancellations(body)
        self._monitor._turn()
        if not self._monitor.path.reachable:
            raise NetworkLost(self._monitor.path)
        self._stack.enter_context(self._monitor._listening(self._take))
        self._is_in_body = True
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> bool:
        self._is_in_body = False
        if exception is not None:
            self._cancel_tasks()
        if self._has_cancelled_body and hasattr(self._body, "uncancel"):
            self._body.uncancel()
        is_own = self._has_cancelled_body and _cancellations(self._body) <= self._cancellations
        if is_own and isinstance(exception, asyncio.CancelledError):
            exception = None
        # A cancellation by other code goes on when the tasks have ended.
        cancellation: Optional[asyncio.CancelledError] = None
        with self._stack:
            while self._tasks:
                try:
                    await asyncio.wait(self._tasks)
                except asyncio.CancelledError as error:
                    cancellation = error
                    self._cancel_tasks()
        if cancellation is not None:
            raise cancellation
        if exception is None and self._error is not None:
            raise self._error from None
        return False

    def _take(self, paths: List[Path]) -> None:
        for path in paths:
            if not path.reachable:
                return self._end(NetworkLost(path))
        if self._monitor._failure is not None:
            self._end(self._monitor._failure)
        elif self._monitor.closed:
            self._end(ValueError("the monitor is closed"))

    def _task_ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._end(error)

    def _end(self, error: BaseException) -> None:
        if self._error is not None:
            return
        self._error = error
        self._cancel_tasks()
        if self._is_in_body:
            self._has_cancelled_body = True
            self._body.cancel()

    def _cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()


def _cancellations(task: asyncio.Task[Any]) -> int:
    """How often the task was cancelled and not uncancelled. Always 0 before Python 3.11."""
    return task.cancelling() if hasattr(task, "cancelling") else 0
