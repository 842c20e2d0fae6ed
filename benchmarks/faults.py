"""Every verb on a book of which something is broken: what fails otherwise than in one clear sentence, what is lost?

Usage: python benchmarks/faults.py [--part databases disk pages kills] [--kills 200] [--every 1] [--verbs remember]

- `databases`: each database is deleted, emptied, cut, overwritten, replaced, put back to an older state, made a folder;
  then every verb runs, with the book open all the while and opened anew. A search finds the entries, nothing but the
  project's own errors is raised, and the status says what is wrong with what cannot be derived.
- `disk`: the n-th operation on a file fails (EIO, ENOSPC, EACCES), once or for ever, for every n of every verb. What
  was acknowledged is there, what failed is there once or not at all, and once after it was tried again.
- `pages`: MEMORY.md is emptied, cut or deleted by another program, and an agent goes on writing. It is told, and can
  be taken back.
- `kills`: a process that does all verbs in turn is killed at a random moment, again and again; everything
  acknowledged is there once.

Prints one JSON object.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

import memorybook
from memorybook.config.settings import Config
from memorybook.errors import MemoryBookError, Unavailable
from memorybook.memory import Memory

FACT = "The staging database is called heron."
NOTE = "We met at the harbour."
SAID = "Please remember that Mira drinks green tea."
CONFIG = Config(timezone="UTC", vector_enabled=False)

Verb = Callable[[Memory], Any]


def message(text: str, id: str) -> dict[str, str]:
    """One thing that the user said."""
    return {"role": "user", "content": text, "id": id, "timestamp": "2026-02-24T10:00:00Z"}


def entry(memory: Memory) -> str:
    """The id of the fact, else of the first entry."""
    found = [one.entry for one in memory.entries().entries]
    return next((one.id for one in found if one.text == FACT), found[0].id)


VERBS: dict[str, Verb] = {
    "search": lambda memory: memory.search("staging database"),
    "recall": lambda memory: memory.recall("what is the staging database called?"),
    "get": lambda memory: memory.get("MEMORY.md"),
    "entries": lambda memory: memory.entries(),
    "history": lambda memory: memory.history(),
    "sessions": lambda memory: memory.sessions(),
    "recollect": lambda memory: memory.recollect("what did we say about Mira last time?"),
    "status": lambda memory: memory.status(),
    "sync": lambda memory: memory.sync(),
    "remember": lambda memory: memory.remember("Lena plays the cello."),
    "append": lambda memory: memory.append("The cello was tuned."),
    "update": lambda memory: memory.update(entry(memory), importance="low"),
    "add_messages": lambda memory: memory.add_messages("live", [message("The boat leaves at nine.", "m9")]),
    "memorize": lambda memory: memory.process_session_end([message("Please remember that Ida sails.", "m5")], "s5"),
    "flush": lambda memory: memory.flush("Remember: the harbour closes at ten."),
    "forget": lambda memory: memory.forget(entry(memory)),
    "undo": lambda memory: [memory.undo(one.operation.id) for one in memory.history().operations[:1]],
    "tidy": lambda memory: memory.tidy(),
    "export": lambda memory: memory.export(os.path.join(os.path.dirname(memory.root), "out.json")),
    "backup": lambda memory: memory.backup(os.path.join(os.path.dirname(memory.root), "out.tar.gz")),
    "purge": lambda memory: memory.purge(entry(memory)),
}


def opened(root: str) -> Memory:
    """The book, words alone."""
    return memorybook.open(root, config=CONFIG)


def filled(root: str) -> None:
    """Make a book with an entry, a note, a session that was memorized and one that is held."""
    with opened(root) as memory:
        memory.remember(FACT)
        memory.append(NOTE)
        memory.process_session_end([message(SAID, "m1")], "s1")
        memory.open_session("live")
        memory.search("heron")


class Findings:
    """What was tried, and what went wrong, by kind."""

    def __init__(self) -> None:
        self.tried = 0
        self.wrong: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def call(self, verb: Verb, memory: Memory, where: str) -> tuple[Any, MemoryBookError | None]:
        """What the verb answers, or how it refuses; anything else it raises is a finding."""
        self.tried += 1
        try:
            return verb(memory), None
        except MemoryBookError as error:
            if len(str(error).split("\n")) > 3:
                self.found("a message of many lines", f"{where}: {error}")
            return None, error
        except Exception as error:
            self.found(f"raw {type(error).__name__}", f"{where}: {error}\n{traceback.format_exc()}")
            return None, None

    def found(self, kind: str, example: str) -> None:
        """Note something that must not be."""
        self.wrong[kind] += 1
        self.examples.setdefault(kind, example)

    def json(self) -> dict[str, Any]:
        """For the report."""
        return {"tried": self.tried, "wrong": dict(self.wrong), "examples": self.examples}


# --- databases -----------------------------------------------------------------------------------


def _overwritten(path: str, size: int) -> None:
    with open(path, "r+b") as file:
        file.seek(size)
        file.write(random.Random(7).randbytes(max(0, os.path.getsize(path) - size)))


def _alone(path: str) -> None:
    for end in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + end)


def _deleted(path: str) -> None:
    os.unlink(path)
    _alone(path)


def _emptied(path: str) -> None:
    _alone(path)
    os.truncate(path, 0)


def _cut(path: str) -> None:
    _alone(path)
    os.truncate(path, os.path.getsize(path) // 2)


def _garbage(path: str) -> None:
    _alone(path)
    _overwritten(path, 0)


def _half_garbage(path: str) -> None:
    _alone(path)
    _overwritten(path, 4096)


def _folder(path: str) -> None:
    _deleted(path)
    os.mkdir(path)


def _replaced(path: str) -> None:
    import apsw

    _deleted(path)
    other = apsw.Connection(path)
    other.execute("CREATE TABLE something (other); INSERT INTO something VALUES (1); PRAGMA user_version=1").fetchall()
    other.close()


def _without_tables(path: str) -> None:
    import apsw

    db = apsw.Connection(path)
    names = [
        name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite%'")
    ]
    db.execute("PRAGMA foreign_keys=OFF").fetchall()
    for name in names[: len(names) // 2 + 1]:
        with suppress(apsw.Error):
            db.execute(f'DROP TABLE "{name}"').fetchall()
    db.close()


def _nonsense(path: str) -> None:
    """Every text of it is no JSON, no time, no digest any more."""
    import apsw

    db = apsw.Connection(path)
    db.execute("PRAGMA foreign_keys=OFF; PRAGMA ignore_check_constraints=ON").fetchall()
    for (table,) in db.execute(
        "SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite%'"
    ).fetchall():
        for _, column, kind, *_ in db.execute(f'PRAGMA table_info("{table}")').fetchall():
            if str(kind).upper() in ("TEXT", "") and column not in ("uuid", "turn_id", "id", "name"):
                with suppress(apsw.Error):
                    db.execute(f"""UPDATE "{table}" SET "{column}"='{{no' WHERE "{column}" IS NOT NULL""").fetchall()
    db.close()


def _older(path: str) -> None:
    """Put back to what it was before the last two things were done."""
    _alone(path)
    shutil.copyfile(path + ".old", path)


def _another(path: str) -> None:
    """Replaced by that of another book."""
    _alone(path)
    shutil.copyfile(path + ".other", path)


DAMAGES: dict[str, Callable[[str], None]] = {
    "deleted": _deleted,
    "emptied": _emptied,
    "cut": _cut,
    "garbage": _garbage,
    "half garbage": _half_garbage,
    "a folder": _folder,
    "another program's": _replaced,
    "without tables": _without_tables,
    "nonsense": _nonsense,
    "older": _older,
    "another book's": _another,
}


def databases(findings: Findings, folder: str, every: int) -> None:
    """Every damage of every database, under every verb; of these every so many."""
    template, other = os.path.join(folder, "template"), os.path.join(folder, "other")
    filled(template)
    filled(other)
    for name in ("transcripts", "journal"):
        path = f"{template}/.memorybook/{name}.sqlite"
        shutil.copyfile(path, path + ".old")
        shutil.copyfile(f"{other}/.memorybook/{name}.sqlite", path + ".other")
    with opened(template) as memory:
        memory.process_session_end([message("Please remember that Ada rows.", "m3")], "s3")
        memory.search("heron")
    cases = product(("transcripts", "journal", "index"), DAMAGES, VERBS, (False, True))
    for name, damage, verb, warm in islice(cases, 0, None, every):
        if name != "index" or damage not in ("older", "another book's"):
            _database(findings, template, f"{folder}/book", name, damage, DAMAGES[damage], verb, warm)


def _database(
    findings: Findings,
    template: str,
    root: str,
    name: str,
    damage: str,
    do: Callable[[str], None],
    verb: str,
    warm: bool,
) -> None:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root)
    where = f"{name} {damage}, {verb}, {'open' if warm else 'opened anew'}"
    path = f"{root}/.memorybook/{name}.sqlite"
    try:
        memory = opened(root)
    except Exception as problem:
        findings.found("cannot be opened whole", f"{where}: {problem}")
        return
    with memory:
        if warm:
            memory.search("heron")
            memory.history()
            do(path)
        else:
            do(path)
        if name != "index" and damage != "nonsense":
            status, error = findings.call(VERBS["status"], memory, f"status of {where}")
            if error is not None or (status is not None and not any(name in one for one in status["degraded"])):
                findings.found(f"status is green: {name} {damage}", f"{where}: {error} {status and status['degraded']}")
        answer, error = findings.call(VERBS["search"], memory, f"search of {where}")
        if error is not None or (answer is not None and not any("heron" in hit.passage.text for hit in answer.hits)):
            findings.found(f"search fails: {name} {damage}", f"{where}: {error}")
        findings.call(VERBS[verb], memory, where)
        if verb not in ("forget", "undo", "purge", "flush", "memorize", "update", "tidy"):
            answer, error = findings.call(VERBS["search"], memory, f"search after {where}")
            if error is not None or (
                answer is not None and not any("heron" in hit.passage.text for hit in answer.hits)
            ):
                findings.found(f"search fails afterwards: {name} {damage}", f"{where}: {error}")


# --- disk ----------------------------------------------------------------------------------------

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/types.h>
static long at = -1, count = 0; static int code = 0, lasting = 0;
void fault_arm(long when, int error, int forever) { count = 0; code = error; lasting = forever; at = when; }
long fault_count(void) { return count; }
static int fails(void) {
    if (at < 0) return 0;
    long now = count++;
    if (now == at || (lasting && now > at)) { errno = code; return 1; }
    return 0;
}
#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define WRAP(type, name, args, given) type name args { REAL(name); return fails() ? -1 : real given; }
WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t place), (fd, data, size, place))
WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t place), (fd, data, size, place))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size))
WRAP(int, rename, (const char *a, const char *b), (a, b))
WRAP(int, renameat, (int c, const char *a, int d, const char *b), (c, a, d, b))
WRAP(int, renameat2, (int c, const char *a, int d, const char *b, unsigned flags), (c, a, d, b, flags))
WRAP(int, unlink, (const char *a), (a))
WRAP(int, unlinkat, (int d, const char *a, int flags), (d, a, flags))
WRAP(int, mkdir, (const char *a, mode_t mode), (a, mode))
WRAP(int, mkdirat, (int d, const char *a, mode_t mode), (d, a, mode))
#define OPEN(name) int name(const char *a, int flags, ...) { \
    va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, int); va_end(rest); REAL(name); \
    return (flags & (O_WRONLY | O_RDWR | O_CREAT)) && fails() ? -1 : real(a, flags, mode); }
OPEN(open) OPEN(open64)
#define OPENAT(name) int name(int d, const char *a, int flags, ...) { \
    va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, int); va_end(rest); REAL(name); \
    return (flags & (O_WRONLY | O_RDWR | O_CREAT)) && fails() ? -1 : real(d, a, flags, mode); }
OPENAT(openat) OPENAT(openat64)
"""

CELLO, BOAT, IDA, HARBOUR = "Lena plays the cello.", "boat leaves at nine", "Ida sails.", "The cello was tuned."


def _entries(memory: Memory, text: str) -> list[int]:
    """How often each entry that says it was said."""
    return [one.entry.hits for one in memory.entries(limit=200).entries if one.entry.text == text]


def _lines(memory: Memory, text: str) -> int:
    return sum(
        text in line for path in Path(memory.root, "daily").glob("*.md") for line in path.read_text().split("\n")
    )


DONE: dict[str, Callable[[Memory], Any]] = {
    "remember": lambda memory: _entries(memory, CELLO),
    "append": lambda memory: [1] * _lines(memory, HARBOUR),
    "memorize": lambda memory: _entries(memory, IDA),
    "add_messages": lambda memory: _turns(memory),
    "forget": lambda memory: [] if _entries(memory, FACT) else [1],
    "update": lambda memory: [
        1 for one in memory.entries().entries if one.entry.text == FACT and one.entry.score < 0.5
    ],
}
"""Of verbs that write, how often it was done, as `[1]` for once."""


def _turns(memory: Memory) -> list[int]:
    uuid = memory.book.transcripts.session("live").uuid
    return [1 for turn in memory.book.transcripts.turns(uuid) if BOAT in turn.text]


def disk(findings: Findings, folder: str, every: int, verbs: list[str]) -> None:
    """Every operation on files of every verb that writes fails, in a child that has the shim."""
    source, shim = os.path.join(folder, "shim.c"), os.path.join(folder, "shim.so")
    Path(source).write_text(SHIM)
    if not shutil.which("gcc"):
        findings.found("skipped: no gcc", "")
        return
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl"], check=True)
    filled(os.path.join(folder, "template"))
    env = {**os.environ, "LD_PRELOAD": shim, "PYTHONDONTWRITEBYTECODE": "1"}
    told = subprocess.run(
        [sys.executable, __file__, "--disk-child", folder, "--every", str(every), "--verbs", *verbs],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if told.returncode:
        findings.found("the child ended", told.stderr[-3000:])
        return
    found = json.loads(told.stdout)
    findings.tried += found["tried"]
    findings.wrong.update(found["wrong"])
    findings.examples |= found["examples"]


def disk_child(folder: str, every: int, verbs: list[str]) -> None:
    """What the child of `disk` does."""
    import ctypes

    findings, shim = Findings(), ctypes.CDLL(os.path.join(folder, "shim.so"))
    for verb in verbs or DONE:
        done = DONE[verb]
        steps = _failing(findings, shim, folder, verb, done, 10**9, errno.EIO, forever=False)
        for at in range(0, steps, every):
            for code in (errno.EIO, errno.ENOSPC, errno.EACCES):
                for forever in (False, True):
                    _failing(findings, shim, folder, verb, done, at, code, forever=forever)
        findings.wrong[f"(operations of {verb}: {steps})"] = 1
    print(json.dumps(findings.json()))


def _failing(
    findings: Findings,
    shim: Any,
    folder: str,
    verb: str,
    done: Callable[[Memory], Any],
    at: int,
    code: int,
    *,
    forever: bool,
) -> int:
    """Do a verb of which one operation fails; returns how many there were."""
    root = f"{folder}/book"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(f"{folder}/template", root)
    where = f"{verb}, operation {at}: {errno.errorcode[code]}{' for ever' if forever else ''}"
    with opened(root) as memory:
        shim.fault_arm(ctypes_long(at), code, int(forever))
        try:
            answer, refused = findings.call(VERBS[verb], memory, where)
        finally:
            steps = shim.fault_count()
            shim.fault_arm(ctypes_long(-1), 0, 0)
        try:
            before = done(memory)
            if getattr(answer, "queued", False):
                refused = Unavailable("it is queued, and said to be: what is missing is done later")
            if refused is None and before != [1]:
                findings.found(f"{verb} was acknowledged, and is done {before}", where)
            if refused is not None and before == [1] and not any(one in str(refused) for one in _SAYS_DONE):
                findings.found(f"{verb} is done, and the error does not say so", f"{where}: {refused}")
        except Exception as error:
            findings.found(f"reading fails after {verb}: {type(error).__name__}", f"{where}: {error}")
    with opened(root) as memory:
        if refused is not None:
            findings.call(VERBS[verb] if verb != "forget" else _forget_again, memory, f"again after {where}")
        try:
            if done(memory) != [1]:
                findings.found(f"{verb} tried again is done {done(memory)}", f"{where}: {refused}")
            if verb != "forget" and not any(
                "heron" in hit.passage.text for hit in memory.search("staging database").hits
            ):
                findings.found("an old entry is lost", where)
            if reasons := memory.status()["degraded"]:
                findings.found("status is red afterwards", f"{where}: {reasons}")
        except Exception as error:
            findings.found(f"reading fails after {verb} again: {type(error).__name__}", f"{where}: {error}")
    return int(steps)


_SAYS_DONE = ("is done", "will be done")


def _forget_again(memory: Memory) -> Any:
    return memory.forget(entry(memory)) if _entries(memory, FACT) else None


def ctypes_long(number: int) -> Any:
    """As the shim takes it."""
    from ctypes import c_long

    return c_long(number)


# --- pages ---------------------------------------------------------------------------------------


def _cut_to(eighths: int, path: Path) -> None:
    os.truncate(path, path.stat().st_size * eighths // 8)


def pages(findings: Findings, folder: str) -> None:
    """MEMORY.md loses its text to another program, agents go on, and a person takes it back."""
    damages: dict[str, Callable[[Path], Any]] = {
        "deleted": Path.unlink,
        "emptied": lambda path: path.write_bytes(b""),
        **{f"cut to {n}/8": partial(_cut_to, n) for n in range(1, 8)},
        "written anew": lambda path: path.write_text("# Something else\n", encoding="utf-8"),
    }
    for number, (damage, do) in enumerate(damages.items()):
        for writes in (0, 1, 60):
            root = f"{folder}/{number}-{writes}"
            findings.tried += 1
            with opened(root) as memory:
                texts = {f"The {word} is called {word}{word}." for word in ("heron", "crane", "stork", "ibis", "egret")}
                for text in texts:
                    memory.remember(text)
                do(page := Path(root, "MEMORY.md"))
                if page.exists():
                    os.utime(page, (time.time() - 60,) * 2)
                before = memory.status()
                for n in range(writes):
                    memory.remember(f"Something new of number {n} is said.")
                after = memory.status()
                for status in (before, after):
                    if not any("out of MEMORY.md" in one for one in status["degraded"]):
                        findings.found(f"status is green: {damage}", f"{writes} writes: {status['degraded']}")
                with suppress(MemoryBookError):
                    memory.undo("MEMORY.md")
                found = {one.entry.text for one in memory.entries(limit=200).entries}
                if not texts <= found or len(found) != 5 + writes:
                    findings.found(f"not all came back: {damage}", f"{writes} writes: {len(found)}")
                if memory.status()["degraded"]:
                    findings.found(f"status is red after taking back: {damage}", str(memory.status()["degraded"]))


# --- kills ---------------------------------------------------------------------------------------

MORTAL = """
import sys, os, memorybook
from memorybook.config.settings import Config
root, log = sys.argv[1:]
config = Config(timezone="UTC", vector_enabled=False)
print("begins", flush=True)
with memorybook.open(root, config=config) as memory, open(log, "a", buffering=1) as told:
    me, n = os.getpid(), 0
    while True:
        n += 1
        entry = memory.remember(f"mortal {me} remembers fact {n}").known.entry
        told.write(f"entry\\tmortal {me} remembers fact {n}\\n")
        memory.append(f"mortal {me} adds remark {n}")
        told.write(f"note\\tmortal {me} adds remark {n}\\n")
        memory.process_session_end([{"role": "user", "content": f"Please remember that mortal {me} sails boat {n}.",
                                     "id": "m1"}], f"s{me}-{n}")
        told.write(f"turn\\tmortal {me} sails boat {n}\\n")
        if n % 3 == 0:
            memory.forget(entry.id)
            told.write(f"gone\\tmortal {me} remembers fact {n}\\n")
        if n % 5 == 0:
            memory.backup(root + ".tar.gz")
"""


def kills(findings: Findings, folder: str, many: int = 200) -> None:
    """A process that writes all the while is killed, again and again."""
    root, log, chance = os.path.join(folder, "book"), os.path.join(folder, "log"), random.Random(3)
    filled(root)
    for _ in range(many):
        victim = subprocess.Popen(
            [sys.executable, "-c", MORTAL, root, log], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if victim.stdout is not None:
            victim.stdout.readline()  # it is about to open the book
        time.sleep(0.6 + chance.random() * 1.6)
        victim.send_signal(signal.SIGKILL)
        _, said = victim.communicate()
        findings.tried += 1
        if "Error" in said:
            findings.found("the process failed", said[-2000:])
    with opened(root) as memory:
        memory.retry_parked()
        memory.backup(root + ".tar.gz")
        told = [line.split("\t", 1) for line in Path(log).read_text().splitlines() if "\t" in line]
        entries = Counter(one.text for one in memory.book.entries())
        lines = [line.rstrip("\n") for path in Path(root, "daily").glob("*.md") for line in path.open(encoding="utf-8")]
        notes = Counter(line[at:] for line in lines if (at := line.find("mortal")) >= 0)
        gone = {text for kind, text in told if kind == "gone"}
        turns = " ".join(
            turn.text
            for session in memory.book.transcripts.sessions()
            for turn in memory.book.transcripts.turns(session.uuid)
        )
        for kind, text in told:
            if kind == "entry" and text not in gone and entries[text] != 1 and not _forgotten_unasked(text, told):
                findings.found("an acknowledged entry is not there once", f"{text}: {entries[text]}")
            if kind == "note" and notes[text] != 1:
                findings.found("an acknowledged note is not there once", f"{text}: {notes[text]}")
            if kind == "turn" and text not in turns:
                findings.found("an acknowledged turn is lost", text)
            if kind == "gone" and entries[text]:
                findings.found("what was forgotten is back", text)
        findings.wrong[f"(acknowledged: {len(told)})"] = 1
        if reasons := memory.status()["degraded"]:
            findings.found("status is red afterwards", str(reasons))
        if left := [name for name in os.listdir(folder) if ".mb-tmp" in name]:
            findings.found("parts of a killed backup are left", str(left))


def _forgotten_unasked(text: str, said: list[list[str]]) -> bool:
    """Whether forgetting it was under way when its process was killed."""
    number = int(text.rpartition(" ")[2])
    return number % 3 == 0 and ["note", text.replace("remembers fact", "adds remark")] in said


PARTS = ("databases", "disk", "pages", "kills")


def main() -> None:
    """Run the parts and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--every", type=int, default=1, help="only every n-th case of `databases` and `disk`")
    parser.add_argument("--verbs", nargs="+", choices=DONE, default=list(DONE), help="of `disk`")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--disk-child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.disk_child:
        disk_child(given.disk_child, given.every, given.verbs)
        return
    report = {}
    for part in given.part:
        findings, started = Findings(), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            if part == "disk":
                disk(findings, folder, given.every, given.verbs)
            elif part == "kills":
                kills(findings, folder, given.kills)
            elif part == "pages":
                pages(findings, folder)
            else:
                databases(findings, folder, given.every)
        report[part] = {**findings.json(), "seconds": round(time.monotonic() - started)}
    print(json.dumps(report, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
