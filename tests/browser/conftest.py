"""A headless Chromium for the pages; without it, or without Playwright, these tests are skipped."""

import shutil

import pytest

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def visit(browser, tmp_path):
    """visit(html, width=, scheme=, scripts=) -> the open page; at its end no error may have been told and nothing asked of the network."""
    pages, told, asked = [], [], []

    def visit(html: str, *, width: int = 1100, scheme: str = "light", scripts: bool = True):
        file = tmp_path / f"page{len(pages)}.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts, bypass_csp=False)
        page = context.new_page()
        page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: (told.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        pages.append(context)
        return page

    yield visit
    for context in pages:
        context.close()
    assert told == [] and [url for url in asked if not url.startswith("file://")] == []
