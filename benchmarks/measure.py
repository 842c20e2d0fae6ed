"""What the benchmarks share: figures, pairs of timings, processes of their own, tables, pages and plots."""

from __future__ import annotations

import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from multiprocessing.connection import Connection

PACKAGES = ("memorybook", "apsw", "numpy", "simsimd", "wordllama", "onnxruntime")

ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith("MEMORYBOOK_")
}
"""Of timed processes: without the switch that makes each compile every module anew, and without settings."""

_SPAWNER = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
    file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
print(os.wait4(child, 0)[2].ru_maxrss)
"""
_UNIT = 1 if sys.platform == "darwin" else 1024
_MEGABYTE = 1024 * 1024


# --- figures -------------------------------------------------------------------------------------


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share (0..1) lies, interpolated between neighbours; NaN of nothing."""
    if not values:
        return math.nan
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median(values: Sequence[float]) -> float:
    """The middle value; NaN of nothing."""
    return percentile(values, 0.5)


def mean(values: Sequence[float]) -> float:
    """The average; NaN of nothing."""
    return sum(values) / len(values) if values else math.nan


class Timing(NamedTuple):
    """Milliseconds of something next to those of a reference that was timed in turn with it.

    Attributes:
        p50, p95: Of what is measured.
        reference: Median of the reference.
        ratio: Median of each pair's ratio: what drifts with the machine falls out of it.
        rounds: How many pairs.
    """

    p50: float
    p95: float
    reference: float
    ratio: float
    rounds: int

    def json(self) -> dict[str, float]:
        """Rounded to four digits."""
        return {name: significant(value) for name, value in self._asdict().items()}


def timing(measured: Sequence[float], reference: Sequence[float]) -> Timing:
    """Figures of pairs of milliseconds, in order; both of one length."""
    ratios = [one / other for one, other in zip(measured, reference, strict=True)]
    return Timing(median(measured), percentile(measured, 0.95), median(reference), median(ratios), len(measured))


def milliseconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - started)


def pairs(measured: Callable[[], object], reference: Callable[[], object], rounds: int) -> Timing:
    """Both in turn, `rounds` times, after one of each that does not count."""
    measured()
    reference()
    taken = [(milliseconds(measured), milliseconds(reference)) for _ in range(rounds)]
    return timing([one for one, _ in taken], [other for _, other in taken])


def significant(value: float, digits: int = 4) -> float:
    """The value with that many digits; whole numbers stay as they are."""
    return value if isinstance(value, int) or not math.isfinite(value) else float(f"{value:.{digits}g}")


# --- processes and the machine -------------------------------------------------------------------


def peak_mb() -> float:
    """Peak resident memory of this process, MB. Linux keeps the real one apart from what a parent had."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT / _MEGABYTE


def apart(call: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """What the call returns in a process of its own, with that process's `peak_mb` where it gives none.

    A failure is `{"failed": "why"}`: one figure that is missing must not cost the others.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, call, arguments))
    process.start()
    theirs.close()
    try:
        answer: dict[str, Any] = ours.recv()
    except EOFError:
        answer = {"failed": "the process ended without an answer"}
    process.join()
    return answer


def _answer(out: Connection, call: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]) -> None:
    try:
        answer = call(*arguments)
        out.send({"peak_mb": round(peak_mb(), 1), **answer})
    except Exception as error:
        out.send({"failed": f"{type(error).__name__}: {error}"})
        raise


def process_ms(command: Sequence[str], given: str = os.devnull) -> float:
    """Milliseconds of a whole process reading the file `given`, its output thrown away. Raises CalledProcessError."""
    started = time.perf_counter()
    silent = [
        (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    child = os.posix_spawn(command[0], list(command), ENVIRONMENT, file_actions=silent)
    _, status = os.waitpid(child, 0)
    taken = 1000 * (time.perf_counter() - started)
    if status:
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), list(command))
    return taken


def process_peak_mb(command: Sequence[str]) -> float:
    """Peak memory of a whole process, MB, started by one so small that its own does not count."""
    spawner = [sys.executable, "-I", "-S", "-c", _SPAWNER, *command]
    done = subprocess.run(spawner, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return round(int(done.stdout) * _UNIT / _MEGABYTE, 1)


def folder_mb(folder: Path) -> float:
    """Size of all files below a folder, MB."""
    sizes = (os.stat(os.path.join(where, name)).st_size for where, _, names in os.walk(folder) for name in names)
    return round(sum(sizes) / _MEGABYTE, 2)


def machine() -> dict[str, str]:
    """Where and when something was measured, and with which versions."""
    found = {"machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"}
    found["python"] = f"{platform.python_implementation()} {platform.python_version()}"
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return {"date": f"{datetime.now(UTC):%Y-%m-%d}", **found}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


# --- what comes out ------------------------------------------------------------------------------


def say(text: str) -> None:
    """One line to the person who waits, beside the output."""
    print(text, file=sys.stderr, flush=True)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def where_and_when(facts: Mapping[str, str]) -> str:
    """One line for below a table."""
    versions = ", ".join(f"{name} {facts[name]}" for name in PACKAGES if facts.get(name, "not inst") != "not installed")
    return f"{facts['date']}, {facts['machine']}, {facts['python']}; {versions}.\n"


def add_output(flags: ArgumentParser, name: str) -> None:
    """The flags that say where the results go."""
    flags.add_argument("--out", type=Path, help=f"folder for {name}.json, {name}.md and {name}.png")
    flags.add_argument("--page", type=Path, help="a page with a place for the tables, such as docs/benchmarks.md")


def parsed(flags: ArgumentParser, arguments: Sequence[str] | None, name: str) -> Namespace:
    """The options; a page without a place is refused now, not after an hour of measuring."""
    options = flags.parse_args(arguments)
    if options.page:
        try:
            _split(options.page, name)
        except (OSError, ValueError) as error:
            flags.error(str(error))
    return options


def save(options: Namespace, name: str, figures: Mapping[str, Any]) -> None:
    """Keep the figures where `--out` says, also of a run that goes on."""
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        found = json.dumps(figures, ensure_ascii=False, indent=1)
        (options.out / f"{name}.json").write_text(f"{found}\n", encoding="utf-8")


def publish(options: Namespace, name: str, text: str, panels: Sequence[Panel]) -> None:
    """Print the tables, and put them and their curves where the flags of `add_output` say."""
    print(text)
    if options.out:
        (options.out / f"{name}.md").write_text(text, encoding="utf-8")
        plot(options.out / f"{name}.png", panels)
    if options.page:
        refresh(options.page, name, text)


def refresh(page: Path, name: str, text: str) -> None:
    """Put the text into its place on a page: between `<!-- name -->` and `<!-- /name -->`.

    Raises ValueError if the page has no such place.
    """
    before, after = _split(page, name)
    page.write_text(f"{before}{text.strip()}\n{after}", encoding="utf-8")


def _split(page: Path, name: str) -> tuple[str, str]:
    """What stands before and after the place, the marks included."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no place for {name!r}: write <!-- {name} --> and <!-- /{name} --> on lines")
    return before + begin, end + after


class Panel(NamedTuple):
    """One diagram.

    Attributes:
        title: Above it.
        lines: Name -> points (x, y).
        xlabel, ylabel: Along the axes.
        log: Whether both axes are logarithmic.
        log_x: Whether the x axis is.
    """

    title: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    xlabel: str
    ylabel: str
    log: bool = False
    log_x: bool = False


def plot(path: Path, panels: Sequence[Panel]) -> bool:
    """Draw the panels side by side as PNG; False without panels, or, saying how to get it, without matplotlib."""
    if not panels:
        return False
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator, NullFormatter
    except ImportError:
        say(f"skipped {path.name}: no matplotlib; run: pip install 'memorybook[bench]'")
        return False
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(5.2 * columns, 4.2 * rows), layout="constrained")
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, number + 1)
        for name, points in panel.lines.items():
            axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, label=name)
        if panel.log or panel.log_x:
            axes.set_xscale("log")
        if panel.log:
            axes.set_yscale("log")
        elif panel.log_x:  # often less than a decade, where powers of ten alone would say little
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
        else:
            axes.set_xticks(sorted({x for points in panel.lines.values() for x, _ in points}))
        axes.set_title(panel.title)
        axes.set_xlabel(panel.xlabel)
        axes.set_ylabel(panel.ylabel)
        axes.grid(alpha=0.3)
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22)} if panel.log_x else {}
        axes.legend(fontsize="x-small", **below)  # single points would lie under it
    figure.savefig(path, dpi=120, bbox_inches="tight")
    return True
