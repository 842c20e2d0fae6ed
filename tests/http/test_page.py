"""The commands of `docs/server.md` are run, against servers of this process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from serving import OWNER, Served

PAGE = Path(__file__).parents[2] / "docs" / "server.md"


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="needs curl and bash")
def test_every_command_of_the_page_is_answered(one: Served, many: Served) -> None:
    blocks = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    asked = [block for block in blocks if block.startswith("curl")]
    assert len(asked) >= 5
    env = os.environ | {"MEMORYBOOK": one.url, "MANY": many.url, "TOKEN": OWNER}
    script = "\n".join(["set -euo pipefail", *asked])
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-2000:]
