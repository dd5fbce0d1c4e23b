"""The page of the service in a real browser, under a strict policy."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from fake import FakeExtractor, served
from page_server import PageServer

from browser import Browser
from spanwise import Offsets
from spanwise.render.layout import Open, Text, nested_pieces

pytestmark = pytest.mark.slow
DESK, PHONE = 1280, 390
NEWS = "🙂 The University of Brenford hired Ada Moss, who lives in Kell near the river."
HOSTILE = "<img src=x onerror=alert(1)><script>alert('x')</script> & \"Ann\" </div> \u202eolleh"
LABEL = "<b onclick='x'>\"&amp;" + "W" * 400


def entity(text: str, words: str, label: str, score: float = 1.0) -> dict[str, Any]:
    start = text.index(words)
    return {"start": start, "end": start + len(words), "label": label, **({"score": score} if score < 1 else {})}


DOCUMENTS = {
    NEWS: {
        "entities": [
            entity(NEWS, "University of Brenford", "Organization", 0.91),
            entity(NEWS, "Brenford", "Place", 0.62),
            entity(NEWS, "Ada Moss", "Person"),
            entity(NEWS, "Kell", "Place", 0.84),
            entity(NEWS, "Brenford hired", "Event", 0.4),
        ],
        "relations": [
            {"head": 2, "tail": 0, "label": "works_for", "score": 0.8},
            {"head": 2, "tail": 3, "label": "lives_in", "score": 0.9},
        ],
    },
    HOSTILE: {
        "entities": [entity(HOSTILE, "<script>", LABEL, 0.9), entity(HOSTILE, "Ann", LABEL, 0.9)],
        "relations": [{"head": 0, "tail": 1, "label": LABEL, "score": 0.9}],
    },
}
SCHEMA = {
    "model": "demo",
    "entities": [
        {"name": "Person", "description": "A human being."},
        {"name": "Organization", "description": ""},
        {"name": "Place", "description": "A city, a country, a river."},
    ],
    "relations": [{"name": "works_for", "description": ""}, {"name": "lives_in", "description": ""}],
    "predicts_relations": True,
}


@pytest.fixture
def server() -> Iterator[PageServer]:
    server = PageServer(DOCUMENTS, SCHEMA)
    yield server
    server.shutdown()
    server.server_close()


def opened(browser: Browser, server: PageServer, width: int = DESK, *, dark: bool = False) -> None:
    browser.problems.clear()
    browser.requests.clear()
    browser.open(server.address, width, dark=dark)
    browser.until("!document.querySelector('#model').textContent.startsWith('Loading')")


def extract(browser: Browser, text: str) -> None:
    browser.value(f"document.querySelector('#text').value = {json.dumps(text)}; 1")
    browser.value("document.querySelector('#result').removeAttribute('aria-busy'); 1")
    browser.click("#extract")
    browser.until("document.querySelector('#result').getAttribute('aria-busy') === 'false'")
    browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")


def texts(browser: Browser, selector: str) -> list[str]:
    found: list[str] = browser.value(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)"
    )
    return found


def marks(browser: Browser) -> list[tuple[str, str]]:
    found = browser.value("[...document.querySelectorAll('mark')].map((e) => [e.textContent, e.dataset.label])")
    return [(text, label) for text, label in found]


def set_threshold(browser: Browser, value: float) -> None:
    browser.value(
        f"(() => {{ const slider = document.querySelector('#threshold'); slider.value = {value};"
        "slider.dispatchEvent(new Event('input', {bubbles: true}));"
        "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1)))); })()"
    )


def test_a_text_is_extracted_by_keyboard_with_offsets_in_code_points(browser: Browser, server: PageServer) -> None:
    opened(browser, server)
    browser.click("#text")
    browser.type(NEWS)
    browser.press("Enter", control=True)
    browser.until("!!document.querySelector('mark')")
    assert server.asked == [{"text": NEWS}]
    assert texts(browser, ".text") == [NEWS]
    assert marks(browser) == [
        ("University of Brenford", "Organization"),
        ("Brenford", "Event"),  # crosses the organization, so it is drawn in two pieces
        ("Brenford", "Place"),
        (" hired", "Event"),
        ("Ada Moss", "Person"),
        ("Kell", "Place"),
    ]
    assert browser.value("document.querySelector('mark').title") == "Organization · 0.91"
    assert texts(browser, "#entity-chips .chip") == ["Person 1", "Organization 1", "Place 2", "Event 1"]
    assert texts(browser, "#status") == ["5 entities · 2 relations"]
    assert texts(browser, ".doc li") == [
        "Ada Moss —works_for→ University of Brenford 0.80",
        "Ada Moss —lives_in→ Kell 0.90",
    ]
    browser.click("#table summary")
    browser.until("!!document.querySelector('#table tbody')")
    assert texts(browser, "#table tbody tr:nth-child(2) td") == ["Brenford", "Place", "0.62", "20–28"]


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_inner_boxes_lie_in_outer_ones_and_arcs_end_on_their_boxes(
    browser: Browser, server: PageServer, width: int
) -> None:
    opened(browser, server, width)
    extract(browser, NEWS)
    boxes = browser.value(
        "Object.fromEntries([...document.querySelectorAll('mark')].map((e) => { const rects = [...e.getClientRects()];"
        "return [e.dataset.entity + e.dataset.label, rects.map((r) => [r.left, r.top, r.right, r.bottom])]; }))"
    )
    for left, top, right, bottom in boxes["1Place"]:
        assert any(a < left and b <= top and right < c and bottom <= d for a, b, c, d in boxes["0Organization"])
    arcs = browser.value(
        "[...document.querySelectorAll('.arcs path')].map((path) => { const at = path.ownerSVGElement"
        ".getBoundingClientRect(); const [x, y] = path.getAttribute('d').match(/-?[\\d.]+/g).map(Number);"
        "return [path.dataset.head, path.dataset.tail, x + at.left, y + at.top]; })"
    )
    assert [(head, tail) for head, tail, _, _ in arcs] == [("2", "0"), ("2", "3")]
    for _, _, x, y in arcs:
        assert any(a <= x <= c and (abs(y - b) < 1.5 or abs(y - d) < 1.5) for a, b, c, d in boxes["2Person"])
    (ys,) = [browser.value("[...document.querySelectorAll('.arcs text')].map((e) => Number(e.getAttribute('y')))")]
    assert all(y > 0 for y in ys)


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_hostile_text_and_labels_are_text_and_nothing_overflows(
    browser: Browser, server: PageServer, width: int
) -> None:
    opened(browser, server, width)
    extract(browser, HOSTILE)
    browser.click("#table summary")
    browser.until("!!document.querySelector('#table tbody')")
    assert texts(browser, ".text") == [HOSTILE]
    assert [text for text, _ in marks(browser)] == ["<script>", "Ann"]
    assert texts(browser, "#entity-chips .name") == [LABEL]
    assert browser.value("document.querySelectorAll('main img, main script, main b').length") == 0
    assert browser.value("[document.documentElement.scrollWidth, document.body.scrollWidth]") == [width] * 2
    outside = (
        "[...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll > *, .arcs') && "
        f"e.getBoundingClientRect().right > {width} + 0.5).map((e) => e.outerHTML.slice(0, 200))"
    )
    assert browser.value(outside) == []
    assert browser.problems == []  # no message, and no violation of the policy
    assert {address.removeprefix(server.address) for address in browser.requests if address[:5] != "data:"} == {
        "",
        "v1/schema",
        "v1/extract",
        *(f"assets/{name}" for name in ("marks.css", "style.css", "arcs.js", "app.js")),
        *(f"assets/{name}" for name in ("labels.js", "marks.js", "service.js", "view.js")),
    }


def test_labels_and_threshold_filter_without_a_new_request(browser: Browser, server: PageServer) -> None:
    opened(browser, server)
    extract(browser, NEWS)
    browser.click("#entity-chips .chip:nth-child(3)")
    assert {label for _, label in marks(browser)} == {"Organization", "Event", "Person"}
    assert texts(browser, ".arcs text") == ["works_for · 0.80works_for"]  # the other one ends on a place
    browser.click("#entity-chips .chip:nth-child(3)")
    set_threshold(browser, 0.85)
    assert [text for text, _ in marks(browser)] == ["University of Brenford", "Ada Moss"]
    assert texts(browser, "#entity-chips .count") == ["1", "1", "0", "0"]
    assert texts(browser, "#status") == ["2 of 5 entities · 0 of 2 relations"]
    assert texts(browser, ".text") == [NEWS]
    set_threshold(browser, 0)
    assert len(texts(browser, ".arcs path")) == 2
    browser.click("#relation-chips .chip:nth-child(1)")
    assert texts(browser, ".arcs text") == ["lives_in · 0.90lives_in"]
    assert browser.value("document.querySelector('.arcs path').getAttribute('d')")
    assert len(server.asked) == 1


def test_what_is_shown_is_copied_and_downloaded_with_its_own_indices(
    browser: Browser, server: PageServer, tmp_path: Path
) -> None:
    opened(browser, server)
    extract(browser, NEWS)
    set_threshold(browser, 0.7)
    wanted = [DOCUMENTS[NEWS]["entities"][number] for number in (0, 2, 3)]
    ties = [{**tie, "head": 1, "tail": tail} for tie, tail in zip(DOCUMENTS[NEWS]["relations"], (0, 2), strict=True)]
    browser.value("navigator.clipboard.writeText = async (text) => { window.copied = text; }; 1")
    browser.click("#copy")
    assert json.loads(browser.value("copied")) == {"text": NEWS, "entities": wanted, "relations": ties}
    assert texts(browser, "#status") == ["The JSON of what is shown is copied."]
    browser.value(
        "URL.createObjectURL = (blob) => { window.saved = blob; return '#'; };"
        "HTMLAnchorElement.prototype.click = function () { window.named = this.download; }; 1"
    )
    browser.click("#download")
    line = browser.value("saved.text()")
    assert line.count("\n") == 1
    assert json.loads(line) == {"text": NEWS, "entities": wanted, "relations": ties}
    assert browser.value("named") == "extraction.jsonl"


def test_the_label_editor_sends_names_and_descriptions(browser: Browser, server: PageServer) -> None:
    server.open_labels = True
    opened(browser, server)
    extract(browser, NEWS)
    for _ in range(2):
        browser.click(".rows li:nth-child(2) .icon")
    browser.value("document.querySelector('.rows li .about').value = ''; 1")
    browser.click("#add-label")
    browser.type("river")
    extract(browser, NEWS)
    browser.press("Tab")
    browser.value("document.querySelector('.rows li:nth-child(2) .about').focus(); 1")
    browser.type("Running water.")
    extract(browser, NEWS)
    assert [request.get("labels") for request in server.asked] == [
        None,  # the model's own
        ["Person", "river"],
        {"Person": "", "river": "Running water."},
    ]
    browser.value("document.querySelector('.rows li:nth-child(2) .name').value = 'Person'; 1")
    extract(browser, NEWS)
    assert len(server.asked) == 3
    assert "“Person” occurs twice" in texts(browser, "#alert")[0]
    assert browser.problems == []


def test_errors_have_sentences_and_a_token_is_asked_for_once(browser: Browser, server: PageServer) -> None:
    server.token = "sesame"  # noqa: S105
    opened(browser, server)
    browser.until("!document.querySelector('#token-form').hidden")
    browser.click("#token")
    browser.type("sesame")
    browser.press("Enter")
    browser.until("document.querySelector('#model').textContent.includes('demo')")
    for refusal, wanted in (
        ((413, "at most 5 characters"), "The text is too long for this service. at most 5 characters"),
        ((503, "the queue is full"), "The service is busy. Try again in a moment. the queue is full"),
    ):
        server.refusal = refusal
        extract(browser, NEWS)
        assert texts(browser, "#alert") == [wanted]
    server.refusal = None
    extract(browser, "x" * 2001)
    assert texts(browser, "#alert") == ["The text is too long for this service. At most 2,000 characters are allowed."]
    extract(browser, NEWS)
    assert browser.value("document.querySelector('#alert').hidden")
    assert len(marks(browser)) >= 5
    assert browser.value("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    server.shutdown()
    server.server_close()
    extract(browser, NEWS)
    assert "does not answer" in texts(browser, "#alert")[0]


def test_labels_of_relations_are_listed_only_if_the_model_predicts_them(browser: Browser, server: PageServer) -> None:
    for predicts, listed in ((True, ["works_for", "lives_in"]), (False, [])):
        server.schema = {**server.schema, "predicts_relations": predicts}
        opened(browser, server)
        assert texts(browser, "#label-list .tie .name") == listed


def test_dropped_files_are_read_and_binary_ones_refused(browser: Browser, server: PageServer) -> None:
    opened(browser, server)
    drop = (
        "(() => {{ const data = new DataTransfer(); data.items.add(new File([{content}], 'a.txt'));"
        "document.body.dispatchEvent(new DragEvent('drop', {{dataTransfer: data, bubbles: true, cancelable: true}}));"
        "return 1; }})()"
    )
    browser.value(drop.format(content=json.dumps(NEWS)))
    browser.until(f"document.querySelector('#text').value === {json.dumps(NEWS)}")
    browser.value(drop.format(content="new Uint8Array([255, 254, 0])"))
    browser.until("!document.querySelector('#alert').hidden")
    assert "is not a text in UTF-8" in texts(browser, "#alert")[0]


@pytest.mark.parametrize(("width", "dark"), [(DESK, True), (PHONE, False)])
def test_the_modes_differ_and_all_controls_show_their_focus(
    browser: Browser, server: PageServer, width: int, dark: bool, tmp_path: Path
) -> None:
    server.open_labels = True
    opened(browser, server, width, dark=dark)
    extract(browser, NEWS)
    red, green, blue = map(int, re.findall(r"\d+", browser.value("getComputedStyle(document.body).backgroundColor")))
    assert (max(red, green, blue) < 60) == dark
    wanted = browser.value(
        "window.wanted = [...document.querySelectorAll('button, summary, input, textarea')].filter((e) => "
        "e.checkVisibility()); document.activeElement.blur(); wanted.length"
    )
    reached = set()
    for _ in range(wanted + 3):
        browser.press("Tab")
        place, outlined = browser.value(
            "(() => { const e = document.activeElement; const around = e.type === 'checkbox' ? e.closest('.chip') : "
            "e.type === 'file' ? e.previousElementSibling : e;"
            "return [wanted.indexOf(e), getComputedStyle(around).outlineStyle]; })()"
        )
        reached.add(place)
        assert place < 0 or outlined == "solid"
    assert set(range(wanted)) <= reached


def test_the_page_of_the_service_itself_extracts_with_a_clean_console(browser: Browser) -> None:
    with served(FakeExtractor()) as address:
        browser.problems.clear()
        browser.open(f"{address}/", PHONE, dark=True)
        browser.until("document.querySelector('#model').textContent.startsWith('Model')")
        extract(browser, "Mara met Bo and <b>Ada</b>.")
        assert [text for text, _ in marks(browser)] == ["Mara", "Bo", "Ada"]
        assert len(texts(browser, ".arcs path")) == 2
        assert browser.value("document.documentElement.scrollWidth") == PHONE
        blocked = "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        assert browser.value(f"{blocked} document.body.append(s); return window.ran ?? 0; }})()") == 0
        assert [problem for problem in browser.problems if "Content Security Policy" not in problem] == []
        assert len(browser.problems) == 1  # the script that the policy blocked


def test_the_page_cuts_spans_as_the_renderer_of_files_does(browser: Browser, server: PageServer) -> None:
    opened(browser, server)
    rng = random.Random(7)  # noqa: S311
    for _ in range(25):
        spans = [sorted(rng.sample(range(13), 2)) for _ in range(rng.randint(0, 7))]
        expected = [
            ["text", piece.start, piece.end]
            if isinstance(piece, Text)
            else ["open", piece.entity, piece.begins, piece.ends, piece.height]
            if isinstance(piece, Open)
            else ["close"]
            for piece in nested_pieces(12, [Offsets(start, end) for start, end in spans])
        ]
        rows = json.dumps([{"start": start, "end": end} for start, end in spans])
        found = browser.value(
            f"import('./assets/marks.js').then(({{nestedPieces}}) => nestedPieces(12, {rows}).map((t) => t.kind === "
            "'text' ? ['text', t.start, t.end] : t.kind === 'open' ? ['open', t.entity, t.begins, t.ends, t.height] "
            ": ['close']))"
        )
        assert found == expected, spans


def test_the_page_holds_no_inline_code_and_nothing_from_elsewhere() -> None:
    folder = files("spanwise").joinpath("serve", "page")
    for part in folder.iterdir():
        source = part.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//cdn|innerHTML|outerHTML|insertAdjacent|eval\(|Function\(|@import", source)
    page = folder.joinpath("index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?! src=)", page)
