"""The site as it is built: the same content as its pages, nothing from the network, and a browser's view of it."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

from browser import Browser

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
DESK, PHONE = 1280, 390
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page loads, where it links to, its ids, and how many tables, items and code blocks its article has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.ids: set[str] = set()
        self.counts: Counter[str] = Counter()
        self._in_article = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._in_article |= tag == "article"
        self.ids |= {str(given["id"])} if given.get("id") else set()
        if tag == "a" and given.get("href"):
            self.linked.append(str(given["href"]))
        if tag in LOADED and given.get(LOADED[tag]):
            self.loaded.append(str(given[LOADED[tag]]))
        if self._in_article and tag in ("table", "li", "pre", "h2", "h3"):
            self.counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self._in_article &= tag != "article"


@pytest.fixture(scope="module")
def html_pages(built_site: Path) -> dict[str, Page]:
    return {path.relative_to(built_site).as_posix(): Page(path) for path in sorted(built_site.rglob("*.html"))}


def test_every_page_has_the_tables_lists_and_code_of_its_source(
    html_pages: dict[str, Page], site_pages: ModuleType
) -> None:
    """Python-Markdown, which mkdocs uses, reads lists and tables in another way than Git hosts do."""
    tags = {"table_open": "table", "list_item_open": "li", "fence": "pre", "code_block": "pre"}
    for name, page in html_pages.items():
        source = ROOT / site_pages.source(name.removesuffix(".html") + ".md")
        if not source.exists():
            continue
        tokens = MarkdownIt("commonmark").enable("table").parse(source.read_text(encoding="utf-8"))
        wanted = Counter(tags[token.type] for token in tokens if token.type in tags)
        wanted += Counter(token.tag for token in tokens if token.type == "heading_open" and token.tag in ("h2", "h3"))
        assert page.counts == wanted, name


def test_every_link_of_the_site_leads_somewhere_and_nothing_is_loaded_from_elsewhere(
    built_site: Path, html_pages: dict[str, Page]
) -> None:
    for name, page in html_pages.items():
        if name == "404.html":  # its links are those of the root of a host
            continue
        for target in page.loaded:
            parts = urlsplit(target)
            assert not parts.netloc, (name, target)
            assert (built_site / Path(name).parent / unquote(parts.path)).is_file(), (name, target)
        for target in page.linked:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            path = (built_site / Path(name).parent / unquote(parts.path)).resolve() if parts.path else built_site / name
            path = path / "index.html" if path.is_dir() else path
            assert path.is_file(), (name, target)
            if parts.fragment and path.suffix == ".html":
                aimed = html_pages[path.relative_to(built_site.resolve() if parts.path else built_site).as_posix()]
                assert unquote(parts.fragment) in aimed.ids, (name, target)


@pytest.fixture(scope="module")
def address(built_site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(built_site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def clean(browser: Browser, address: str) -> Iterator[Browser]:
    """A browser whose console stays empty and that asks nobody but the site."""
    browser.problems.clear()
    browser.requests.clear()
    yield browser
    assert browser.problems == []
    strangers = {url for url in browser.requests if not url.startswith((address, "data:", "blob:"))}
    assert strangers == set()


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_search_finds_a_page(clean: Browser, address: str, width: int) -> None:
    clean.open(f"{address}/index.html", width)
    if width == PHONE:
        clean.click("label.md-header__button[for=__search]")
    else:
        clean.click(".md-search__input")
    clean.until("document.activeElement.matches('.md-search__input')")
    clean.type("boundary smoothing")
    clean.until("document.querySelectorAll('.md-search-result__item').length > 0")
    found = clean.value("[...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)")
    assert any("dspert" in link or "spans" in link for link in found), found


@pytest.mark.parametrize("dark", [False, True])
def test_no_page_is_wider_than_a_phone(
    clean: Browser, address: str, html_pages: dict[str, Page], tmp_path: Path, dark: bool
) -> None:
    names = [name for name in html_pages if name != "404.html"]
    wide = {}
    for name in names if not dark else ["choosing.html", "reference/python.html"]:
        clean.open(f"{address}/{name}", PHONE, dark=dark)
        width = clean.value("document.documentElement.scrollWidth")
        if width > PHONE:
            wide[name] = width
    assert wide == {}
    scheme = clean.value("document.body.getAttribute('data-md-color-scheme')")
    assert scheme == ("slate" if dark else "default")
