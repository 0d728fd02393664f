"""Open pages in Chromium and switch between their views."""

from contextlib import contextmanager

CHROMIUM_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
EMPTY_MAP = {
    "terms": ["moon"], "class_of": [0], "profiles": [[[0, 1.0]]],
    "panels": [{"title": "t", "caption": "", "neighbor_share": 0.5, "places": [[0.5, 0.5]]}],
}  # fmt: skip


@contextmanager
def opened(browser, address, **options):
    """Open a page, and fail if it sends requests to other hosts or logs messages."""
    context = browser.new_context(**options)
    page = context.new_page()
    messages = []
    urls = []
    page.on("console", lambda message: messages.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("dialog", lambda dialog: (messages.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: urls.append(request.url))
    page.set_default_timeout(20_000)
    page.goto(address)
    page.wait_for_selector("main h1")
    yield page
    origin = address.split("#")[0].rstrip("/")
    foreign_urls = [url for url in urls if not url.startswith((origin, "data:"))]
    assert not foreign_urls
    if address.startswith("file:"):
        assert len(urls) == 1
    assert not messages
    context.close()


def show(page, view):
    """Open a view, wait until it is shown, and return its text."""
    page.evaluate("delete document.getElementById('main').dataset.view")
    page.evaluate("view => { location.hash = ''; location.hash = view }", view)
    name = view.split("/")[0]
    page.wait_for_selector(f"main[data-view={name}]:not([aria-busy])")
    return page.inner_text("main")
