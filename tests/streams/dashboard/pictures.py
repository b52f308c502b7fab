"""The README's pictures, made of the demo's log: ``make pictures``. The model is simulated, which each picture says."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.architecture.pages import ROOT
from tests.streams.cli.calling import process
from tests.streams.dashboard.conftest import chromium
from tests.streams.dashboard.serving import serving

SCREENS = ROOT / "deploy" / "screens"
WIDE, HIGH = 1280, 1300
TOLD = """
select episode from records a where kind = 'controller.acted' and json_extract(body, '$.action') = 'restart'
  and exists (select 1 from records g where g.episode = a.episode and g.kind = 'graded'
    and json_extract(g.body, '$.outcome') = 'right') order by offset desc limit 1
"""
"""An episode that was right after it had begun again."""


def main() -> None:
    """Run the demo, look at it in a browser, and keep what is seen."""
    path = chromium()
    assert path is not None, "no Chromium here: apt-get install chromium"
    with tempfile.TemporaryDirectory() as folder:
        with process("demo", cwd=Path(folder)) as demo:
            assert demo.wait(300) == 0
        log = Path(folder) / "demo.db"
        with closing(sqlite3.connect(log)) as db:
            (episode,) = db.execute(TOLD).fetchone()
        with serving(log) as site, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDE, "height": HIGH})
            for name, address in {"overview": "/", "episode": f"/episode?id={episode}"}.items():
                page.goto(site.url + address)
                page.screenshot(path=SCREENS / f"{name}.png")
            browser.close()


if __name__ == "__main__":
    main()
