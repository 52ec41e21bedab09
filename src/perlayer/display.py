"""What one sees of stages that run side by side: on a terminal bars, and everywhere a line for each that has ended."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from perlayer.progress import read
from perlayer.slots import Ended, progress_file


class _Console(Console):
    """One that falls silent where nobody reads any more; rich would end the process, and what runs with it."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class Display:
    """Lines on stderr, and below them, where that is a terminal, a bar of all stages and one of each that runs.

    Args:
        total: how many stages there are.
    """

    def __init__(self, total: int, console: Console | None = None):
        self._console = console or _Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn()
        self._bars = Progress(*columns, console=self._console, transient=True, refresh_per_second=4)
        self._total, self._done = total, 0
        self._all = self._bars.add_task("all stages", total=total, state="")
        self._running = {}

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(self, *error) -> None:
        if self._console.is_terminal:
            self._bars.stop()

    def say(self, line: str) -> None:
        """Show a line; where it cannot be written (a full disk), the work goes on all the same."""
        with suppress(OSError):
            self._console.print(line)

    def ended(self, stage: str, news: Ended) -> None:
        """Show that a stage has ended; one that was up to date is only counted."""
        self._done += 1
        if news.had_work:
            how = f"failed after {duration(news.seconds)}: {news.failure}" if news.failure else duration(news.seconds)
            self.say(f"{self._done}/{self._total} {stage} {how}")

    def show(self, running: Iterable[str], left: float | None) -> None:
        """Bring the bars up to date.

        Args:
            running: the stages that run.
            left: seconds until all is done, where that is known.
        """
        running = set(running)
        for stage in self._running.keys() - running:
            self._bars.remove_task(self._running.pop(stage))
        for stage in sorted(running - self._running.keys()):
            self._running[stage] = self._bars.add_task(stage, total=None, state="")
        for stage, bar in self._running.items():
            if found := read(progress_file(stage)):
                self._bars.update(bar, completed=found[0], total=found[1], state=f"{found[0]} of {found[1]}")
        state = f"{self._done} of {self._total}"
        if left is not None and running:
            state += f", {left / 60:.0f} min left" if left >= 60 else ", less than a minute left"
        self._bars.update(self._all, completed=self._done, state=state)


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, as people write them: 1:12, 1:00:07."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
