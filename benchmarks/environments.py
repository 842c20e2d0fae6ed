"""A virtual environment per peer: made, filled by pip, and remembered with what is in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import measure
from benchmarks.roster import ROOT, Peer

EMBEDDER = ("wordllama",)
"""What every peer's environment gets besides: the weights of the shared embedder and what reads them."""

RUNTIME = ("onnxruntime", "tokenizers", "huggingface_hub")
"""What runs a sentence-transformer in the shared embedder's place: memorybook's own extra `local`."""


class Environment(NamedTuple):
    """Where a peer runs.

    Attributes:
        python: Its interpreter.
        version: The peer's version.
        installed_mb: What pip installed for the peer, without the shared embedder.
        packages: Every distribution in it -> version.
    """

    python: str
    version: str
    installed_mb: float
    packages: dict[str, str]


class NotInstalled(Exception):
    """A peer could not be installed; the message says why, in a line."""


def default_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "memorybook-benchmarks"


def prepare(peer: Peer, folder: Path, model: str = "") -> Environment:
    """The peer's environment below the folder, made if it is not there or is of other requirements.

    With what runs the model, if one is named. Raises NotInstalled.
    """
    environment = _kept(peer, folder)
    if model and "onnxruntime" not in environment.packages:
        _pip(environment.python, "install", "--quiet", *RUNTIME)
    return environment


def _kept(peer: Peer, folder: Path) -> Environment:
    home = folder / peer.name
    stamp = home / "peer.json"
    wanted = [*peer.requirements, *EMBEDDER]
    if stamp.exists():
        known = json.loads(stamp.read_text(encoding="utf-8"))
        if known["requirements"] == wanted:
            return Environment(**known["environment"])
    made = _make(peer, home)
    stamp.write_text(json.dumps({"requirements": wanted, "environment": made._asdict()}, indent=1), encoding="utf-8")
    return made


def _make(peer: Peer, home: Path) -> Environment:
    measure.say(f"installing {peer.title} into {home}")
    shutil.rmtree(home, ignore_errors=True)
    _run([_interpreter(peer.python), "-m", "venv", "--without-pip", str(home)])
    python = str(home / "bin" / "python")
    if peer.requirements:
        _pip(python, "install", "--quiet", *peer.requirements)
    size = measure.folder_mb(home / "lib")
    if str(ROOT) in peer.requirements:
        size += measure.folder_mb(ROOT / "src")
    else:
        _pip(python, "install", "--quiet", *EMBEDDER)
    listed = json.loads(_pip(python, "list", "--format", "json"))
    packages = {str(row["name"]): str(row["version"]) for row in listed}
    version = packages[peer.package] if peer.package else _tool_version()
    return Environment(python, version, round(size, 1) if peer.requirements else 0.0, packages)


def _tool_version() -> str:
    command = "rg" if shutil.which("rg") else "grep"
    return _run([command, "--version"]).splitlines()[0]


def _interpreter(oldest: tuple[int, int]) -> str:
    """A Python of at least that version: this one, else one on the path or kept by pyenv. Raises NotInstalled."""
    if sys.version_info >= oldest:
        return sys.executable
    for candidate in _candidates():
        test = f"import sys; sys.exit(sys.version_info < {oldest})"
        if subprocess.run([candidate, "-c", test], capture_output=True, check=False).returncode == 0:
            return candidate
    raise NotInstalled(f"needs Python {oldest[0]}.{oldest[1]} or newer: none on the path")


def _candidates() -> Iterator[str]:
    for minor in range(14, 10, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"))
    yield from map(str, sorted(pyenv.glob("versions/3.*/bin/python3"), reverse=True))


def _pip(python: str, *arguments: str) -> str:
    pip = shutil.which("pip")
    if not pip:
        raise NotInstalled("no pip on the path")
    return _run([pip, "--python", python, *arguments])


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise NotInstalled((errors or ["no reason given"])[-1].removeprefix("ERROR: ")[:200])
    return done.stdout
