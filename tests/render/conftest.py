"""A browser to look at pages with, where there is one."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser import BROWSERS

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --virtual-time-budget=3000 --dump-dom"
)


@pytest.fixture
def browse(tmp_path: Path) -> Callable[..., str]:
    """Shows what a page has become after its script ran, in a window of this width."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on this machine")

    def shown(page: str, width: int = 1000) -> str:
        path = tmp_path / "page.html"
        path.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))
        more = [f"--window-size={width},900", f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
        return subprocess.run(
            [browser, *FLAGS.split(), *more], capture_output=True, timeout=120, check=True
        ).stdout.decode()

    return shown


@pytest.fixture
def measure(browse: Callable[..., str]) -> Callable[[str, str], Any]:
    """The value of an expression of JavaScript on a page that is as wide as a phone (375 pixels)."""

    def value(page: str, expression: str) -> Any:
        script = f"onload = () => setTimeout(() => {{ document.title = JSON.stringify({expression}); }}, 500);"
        page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        page = page.replace("<body>", '<body style="width:375px">').replace(
            "</body>", f"<script>{script}</script></body>"
        )
        found = re.search(r"<title>(.*?)</title>", browse(page, 500), re.DOTALL)  # no window is narrower than 500
        assert found
        return json.loads(html.unescape(found[1]))

    return value
