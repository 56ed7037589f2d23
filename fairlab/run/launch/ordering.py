"""Work that waits for other work, several pieces at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter


def in_order(
    needs: Mapping[str, Sequence[str]],
    after: Mapping[str, Sequence[str]],
    one: Callable[[str], str],
    at_once: int | None,
) -> Iterator[tuple[str, str]]:
    """Do pieces of work as soon as those that they wait for are done.

    A piece that needs one that failed is not done, and fails for that reason.

    Args:
        needs: for each piece, the pieces that it needs.
        after: for a piece, those that it waits for, also when they fail.
        one: what does a piece and gives why it failed, or nothing.
        at_once: number of pieces at a time, -1 for one a core; None is as many as are ready.

    Yields:
        The pieces as they end, each with why it failed or nothing.
    """
    from joblib import effective_n_jobs

    order = TopologicalSorter({name: (*before, *after.get(name, ())) for name, before in needs.items()})
    order.prepare()
    failed: set[str] = set()
    doing: dict[Future[str], str] = {}

    def unless_lacking(name: str) -> str:
        lacking = [other for other in needs[name] if other in failed]
        return f"it needs {', '.join(lacking)}, which failed" if lacking else one(name)

    # Threads, as each only waits for a process: one that dies takes no other along.
    with ThreadPoolExecutor(len(needs) or 1 if at_once is None else effective_n_jobs(at_once)) as pool:
        while order.is_active():
            doing |= {pool.submit(unless_lacking, name): name for name in order.get_ready()}
            for ended in wait(doing, return_when=FIRST_COMPLETED).done:
                name, sentence = doing.pop(ended), ended.result()
                failed |= {name} if sentence else set()
                yield name, sentence
                order.done(name)
