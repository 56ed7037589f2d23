"""Parallel execution of tasks that depend on other tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter

from fairlab.checks.cores import cores


def in_order(
    needs: Mapping[str, Sequence[str]],
    after: Mapping[str, Sequence[str]],
    one: Callable[[str], str],
    at_once: int | None,
) -> Iterator[tuple[str, str]]:
    """Run each task as soon as the tasks it waits for are done.

    If a task fails, the tasks that need it are not run and count as failed.

    Args:
        needs: Required tasks, by task.
        after: Tasks that must end first, even if they fail, by task.
        one: Function that runs a task and returns the reason for a failure, or an empty string.
        at_once: Maximum number of parallel tasks; -1 for one per core, None for no limit.

    Yields:
        Tasks as they end, each with the reason for its failure or an empty string.
    """
    order = TopologicalSorter({name: (*before, *after.get(name, ())) for name, before in needs.items()})
    order.prepare()
    failed: set[str] = set()
    doing: dict[Future[str], str] = {}

    def unless_lacking(name: str) -> str:
        lacking = [other for other in needs[name] if other in failed]
        return f"it needs {', '.join(lacking)}, which failed" if lacking else one(name)

    # Threads suffice, because each only waits for a process; if one process dies, the others are unaffected.
    with ThreadPoolExecutor(len(needs) or 1 if at_once is None else cores() if at_once < 0 else at_once) as pool:
        while order.is_active():
            doing |= {pool.submit(unless_lacking, name): name for name in order.get_ready()}
            for ended in wait(doing, return_when=FIRST_COMPLETED).done:
                name, sentence = doing.pop(ended), ended.result()
                failed |= {name} if sentence else set()
                yield name, sentence
                order.done(name)
