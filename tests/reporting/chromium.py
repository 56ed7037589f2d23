"""Opening pages in a headless Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


def dumped(address: str, profile: object, *, wait: float | None = 4, width: int = 1280) -> str:
    """The page as it stands after its scripts ran.

    Args:
        address: address of the page.
        profile: folder for the browser's own files.
        wait: seconds of its clock to wait for scripts; None takes the page as it is when it is loaded.
        width: width of the window.
    """
    budget = [] if wait is None else [f"--virtual-time-budget={int(1000 * wait)}"]
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *budget]
    command.append(f"--window-size={width},1000")
    done = subprocess.run([*command, "--dump-dom", address], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def ready_after(page: str) -> float:
    """Seconds from the start of loading until the page was drawn, by the page's own clock."""
    return int(re.search(r'data-ready="(\d+)"', page)[1]) / 1000
