"""`spanwise predict`: documents in, annotated documents out, whole or not at all."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from label_askers import emboldened
from spanwise import formats
from spanwise.formats import plain
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline

Command = Callable[..., Any]
LEGACY = Path(__file__).resolve().parents[1] / "legacy"
TEXTS = ["Ada Moss met Bo in Upper Dale .", "", "In Westmoor it rained ."]


@pytest.fixture(scope="module")
def wanted(trained: Path) -> list[list[tuple[int, int, str]]]:
    return [[(e.start, e.end, e.label) for e in d.entities] for d in Extractor.from_pretrained(trained)(TEXTS)]


def records(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def spans(output: str) -> list[list[tuple[int, int, str]]]:
    return [[(e["start"], e["end"], e["label"]) for e in record["entities"]] for record in records(output)]


def lines(*texts: str) -> bytes:
    return "".join(text + "\n" for text in texts).encode()


def jsonl(*texts: str) -> bytes:
    return lines(*(json.dumps({"text": text, "id": str(number)}) for number, text in enumerate(texts)))


def test_a_file_gives_a_file(command: Command, trained: Path, wanted: Any, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(jsonl(*TEXTS))
    done = command("predict", trained, tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert (done.code, done.out) == (0, "")
    assert done.err == "3 documents\n"
    output = (tmp_path / "out.jsonl").read_text()
    assert spans(output) == wanted
    assert [(record["text"], record.get("id")) for record in records(output)] == list(zip(TEXTS, "012", strict=True))
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out.jsonl"}


def test_standard_input_gives_standard_output(command: Command, trained: Path, wanted: Any) -> None:
    done = command("predict", trained, stdin=jsonl(*TEXTS))
    assert done.code == 0
    assert spans(done.out) == wanted


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_plain_lines_are_texts(command: Command, trained: Path, wanted: Any, tmp_path: Path, ending: bytes) -> None:
    content = lines(*TEXTS).replace(b"\n", ending)
    (tmp_path / "in.txt").write_bytes(content)
    from_file = command("predict", trained, tmp_path / "in.txt", "--lines")
    from_input = command("predict", trained, "--lines", stdin=content)
    for done in (from_file, from_input):
        assert done.code == 0
        assert [record["text"] for record in records(done.out)] == TEXTS
        assert spans(done.out) == wanted


NOTES = "Ada Moss met Bo in Upper Dale .\r\n\nIn Westmoor it rained .\n"


def found_in(trained: Path, text: str) -> list[tuple[int, int, str]]:
    return [(e.start, e.end, e.label) for e in Extractor.from_pretrained(trained)(text).entities]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "byte order mark"])
def test_a_text_file_is_one_document(command: Command, trained: Path, tmp_path: Path, mark: bytes) -> None:
    (tmp_path / "notes.TXT").write_bytes(mark + NOTES.encode())
    done = command("predict", trained, tmp_path / "notes.TXT")
    assert (done.code, done.err) == (0, "1 document\n")
    (record,) = records(done.out)
    assert (record["text"], record["id"]) == (NOTES, "notes.TXT")
    assert spans(done.out) == [found_in(trained, NOTES)]
    assert len(record["entities"]) == 4


def test_a_folder_of_text_files_is_a_document_per_file(command: Command, trained: Path, tmp_path: Path) -> None:
    for name, text in {
        "b.txt": NOTES,
        "a/c.txt": "Bo left .",
        "a/empty.txt": "",
        ".hidden.txt": "x",
        "c.md": "x",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    done = command("predict", trained, tmp_path)
    assert done.err == "3 documents\n"
    assert {record["id"]: record["text"] for record in records(done.out)} == {
        "a/c.txt": "Bo left .",
        "a/empty.txt": "",
        "b.txt": NOTES,
    }
    assert spans(done.out)[2] == found_in(trained, NOTES)


@pytest.mark.parametrize(
    "text", [NOTES, "[Music] Bo left Kell .", "\n\n  Bo left Kell ."], ids=["notes", "bracket", "blank"]
)
def test_plain_text_on_standard_input_is_one_document(command: Command, trained: Path, text: str) -> None:
    done = command("predict", trained, stdin=text.encode())
    assert [(record["text"], record.get("id")) for record in records(done.out)] == [(text, None)]
    assert spans(done.out) == [found_in(trained, text)]


def test_blank_lines_before_json_lines_are_passed_over(command: Command, trained: Path, wanted: Any) -> None:
    for blank in (b"\n", b" \r\n" * 10_000, b"\xef\xbb\xbf\n"):
        assert spans(command("predict", trained, stdin=blank + jsonl(*TEXTS)).out) == wanted


def test_any_file_is_plain_text_when_asked_for(command: Command, trained: Path, tmp_path: Path) -> None:
    text = '{"text": "Bo left Kell ."}'
    (tmp_path / "notes.md").write_text(text)
    for done in (
        command("predict", trained, tmp_path / "notes.md", "--from", "text"),
        command("predict", trained, "--from", "text", stdin=text.encode()),
    ):
        assert [record["text"] for record in records(done.out)] == [text]


@pytest.mark.parametrize("name", ["notes.md", "notes", "notes.log"])
def test_a_text_of_another_extension_is_refused_with_the_option_that_reads_it(
    command: Command, trained: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("# Notes\n\nBo left Kell .\n")
    refusal = command("predict", trained, tmp_path / name).refusal
    assert refusal.startswith(f"{tmp_path / name}: the format is not recognized; choose it: one of brat, ")
    assert refusal.endswith("; for plain text add --from text.")
    assert command("predict", trained, tmp_path / name, "--from", "text").code == 0


def test_layers_of_tags_are_the_entities_of_the_input(command: Command, tmp_path: Path) -> None:
    (tmp_path / "in.conll").write_text("Mara B-Person O\nleft O O\nBrenford O B-Place\n")
    given = ("predict", LEGACY / "spert", tmp_path / "in.conll", "--given")
    found = spans(command(*given, "--tag-columns", "2,3").out)
    assert found == [[(0, 4, "Person"), (10, 18, "Place")]]
    assert spans(command(*given, "--tag-columns", "2").out) == [[(0, 4, "Person")]]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--lines"], "--lines reads plain text, which has no --tag-columns; leave one of them out."),
        (["--from", "text"], "tag columns belong to CoNLL files, not to 'text'; leave them out."),
        ([], "standard input can only be read as 'jsonl', not as 'conll'; give a file."),
    ],
    ids=["lines", "text", "standard input"],
)
def test_tag_columns_of_what_has_none_are_refused(
    command: Command, trained: Path, options: list[str], sentence: str
) -> None:
    refusal = command("predict", trained, "-", "--tag-columns", "2", *options, stdin=b"Bo left .").refusal
    assert refusal.endswith(sentence)


def test_a_text_file_of_a_known_format_keeps_it(command: Command, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "brat").mkdir()
    for folder in (tmp_path, tmp_path / "brat"):
        (folder / "a.txt").write_text("Bo left Kell .")
        (folder / "a.ann").write_text("T1\tPerson 0 2\tBo\n")
    (tmp_path / "columns.txt").write_text("Bo B-Person\nleft O\nKell B-Place\n")
    for source in (tmp_path / "a.txt", tmp_path / "brat"):
        (record,) = records(command("predict", trained, source).out)
        assert (record["id"], record["text"]) == ("a", "Bo left Kell .")
    (record,) = records(command("predict", trained, tmp_path / "columns.txt").out)
    assert record["text"] == "Bo left Kell"


def test_a_bad_text_file_is_refused_or_skipped_by_its_name(command: Command, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Bo left .")
    (tmp_path / "b.txt").write_bytes("Bo left .\nAndré\n".encode("latin-1"))
    assert f"{tmp_path / 'b.txt'}:2: byte 0xe9 is not UTF-8" in command("predict", trained, tmp_path).refusal
    done = command("predict", trained, tmp_path, "--skip-bad")
    assert [record["id"] for record in records(done.out)] == ["a.txt"]
    assert "1 bad record" in done.err


def test_a_text_that_is_too_long_for_a_document_is_refused(
    command: Command, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "MAX_RECORD", 8)
    (tmp_path / "a.txt").write_text("Bo left Kell .")
    assert "a.txt: the text is longer than" in command("predict", trained, tmp_path / "a.txt").refusal


class Terminal(io.TextIOWrapper):
    """Standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """on_terminal("predict", …): what is on the screen afterwards."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object, stdin: bytes = b"") -> str:
        terminal = Terminal(io.BytesIO(), encoding="utf-8", write_through=True)
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", terminal)
            assert command(*arguments, stdin=stdin).code == 0
        terminal.seek(0)
        return terminal.read()

    return call


def test_a_terminal_shows_marked_text(on_terminal: Callable[..., str], trained: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Bo left Kell .")
    shown = on_terminal("predict", trained, tmp_path / "notes.txt").splitlines()
    assert shown[:2] == ["notes.txt", "Bo left Kell ."]
    assert "Person" in shown[2]
    assert "{" not in "".join(shown)
    assert "Place" in on_terminal("predict", trained, stdin=b"Bo left Kell .")


@pytest.mark.parametrize("options", [["-", "-"], ["--to", "jsonl"]], ids=repr)
def test_a_terminal_gets_json_when_asked_for(
    on_terminal: Callable[..., str], trained: Path, wanted: Any, options: list[str]
) -> None:
    assert spans(on_terminal("predict", trained, *options, stdin=jsonl(*TEXTS))) == wanted


def test_a_terminal_shows_relations(on_terminal: Callable[..., str], tmp_path: Path) -> None:
    document = {"text": "Mara Ostrow met Bo Lind in Brenford .", "entities": [
        {"start": 0, "end": 11, "label": "Person"}, {"start": 27, "end": 35, "label": "Place"}]}  # fmt: skip
    (tmp_path / "in.jsonl").write_text(json.dumps(document))
    options = ["--given", "--relation-threshold", "0", "--html", tmp_path / "page.html"]
    shown = on_terminal("predict", LEGACY / "spert", tmp_path / "in.jsonl", *options)
    assert re.search("Mara Ostrow —.+→ Brenford", shown)
    assert "Mara Ostrow" in (tmp_path / "page.html").read_text()


def test_plain_text_has_no_entities_to_relate(command: Command) -> None:
    done = command("predict", LEGACY / "spert", "--given", stdin=b"Bo left Kell .")
    assert done.err.splitlines()[-1] == (
        "error: --given keeps the entities of the input, but plain text has none; give a file with entities."
    )


def test_a_mistyped_model_folder_is_reported_before_the_hub_is_asked(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    sentence = "model folder 'runs/mien' does not exist; did you mean 'runs/mine'?"
    assert command("predict", "runs/mien", stdin=b"Bo").refusal == sentence
    assert command("evaluate", "runs/mien").refusal == sentence


def test_a_last_line_without_its_end_counts(command: Command, trained: Path) -> None:
    assert len(records(command("predict", trained, "--lines", stdin=b"Bo left .\nBo left .").out)) == 2


def test_other_formats_can_be_written(command: Command, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(jsonl(TEXTS[0]))
    assert command("predict", trained, tmp_path / "in.jsonl", tmp_path / "out.conll").code == 0
    (document,) = formats.read(tmp_path / "out.conll")
    assert [document.text_of(entity) for entity in document.entities] == ["Ada Moss", "Bo", "Upper Dale"]


def test_thresholds_hold_for_all_labels_or_for_one(command: Command, trained: Path) -> None:
    def labels(*options: str) -> set[str]:
        done = command("predict", trained, "--lines", *options, stdin=lines(*TEXTS))
        return {label for found in spans(done.out) for _, _, label in found}

    assert labels() == {"Person", "Place"}
    assert labels("--threshold", "1") == set()
    assert labels("--label-threshold", "Person=1") == {"Place"}
    assert labels("--threshold", "1", "--label-threshold", "Person=0") == {"Person"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--label-threshold", "Planet=0.5"],
            "unknown label 'Planet' in a threshold; choose from Person, Place.",
        ),
        (["--label-threshold", "Person=2"], "a threshold is a probability between 0 and 1, not 2.0."),
        (["--label-threshold", "Person"], "a label threshold has the form LABEL=0.8, not 'Person'."),
    ],
)
def test_a_wrong_threshold_is_refused(command: Command, trained: Path, options: list[str], sentence: str) -> None:
    assert command("predict", trained, "--lines", *options, stdin=lines(*TEXTS)).refusal == sentence


def test_a_threshold_beyond_one_is_refused(command: Command, trained: Path) -> None:
    done = command("predict", trained, "--lines", "--threshold", "1.5", stdin=b"")
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err


@pytest.mark.parametrize("existing", [None, "what was there"])
def test_a_failure_in_the_middle_leaves_no_trace(
    command: Command, trained: Path, tmp_path: Path, existing: str | None
) -> None:
    """The bad record comes after the first chunk of texts has been predicted and written to the draft."""
    (tmp_path / "in.jsonl").write_bytes(jsonl(*["Bo left ."] * 700) + b"{oops\n")
    target = tmp_path / "out.jsonl"
    if existing:
        target.write_text(existing)
    refusal = command("predict", trained, tmp_path / "in.jsonl", target).refusal
    assert "in.jsonl:701: the line is not a JSON object" in refusal
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", *(["out.jsonl"] if existing else [])}
    assert not existing or target.read_text() == existing


def test_bad_records_are_passed_over_when_asked_for(command: Command, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"{oops\n" + jsonl(*TEXTS))
    done = command("predict", trained, tmp_path / "in.jsonl", tmp_path / "out.jsonl", "--skip-bad")
    assert (done.code, len(records((tmp_path / "out.jsonl").read_text()))) == (0, 3)
    assert "skipped 1 bad record:" in done.err
    done = command("predict", trained, "--lines", "--skip-bad", stdin="Bo left .\nAndré\n".encode("latin-1"))
    assert len(records(done.out)) == 1
    assert "skipped 1 bad record:" in done.err


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (["{folder}"], b"", "this is a folder"),
        (["{folder}", "--lines"], b"", "Is a directory."),
        (["{folder}/no.jsonl"], b"", "no.jsonl: no such file or folder; check the path."),
        (["{folder}/no.txt", "--lines"], b"", "no.txt: No such file or directory."),
        (["-"], b"", "standard input: the file holds no documents: it is empty"),
        (["-"], b"{oops\n", "standard input:1: the line is not a JSON object"),
        (["-"], b"[]\n", "standard input:1: "),
        (["-"], '{"text": "André"}\n'.encode("latin-1"), "standard input:1: byte 0xe9 is not UTF-8"),
        (["-", "--lines"], "Bo\nAndré\n".encode("latin-1"), "standard input:2: byte 0xe9 is not UTF-8"),
        (["-", "{folder}", "--to", "jsonl"], jsonl("Bo"), "this is a folder"),
        (["-", "{folder}/no/out.jsonl"], jsonl("Bo"), "does not exist; create it first."),
        (["-", "{folder}/out.xyz"], jsonl("Bo"), "the extension '.xyz' does not determine the format"),
        (["-", "-", "--to", "conll"], jsonl("Bo"), "only 'jsonl' can go to standard output"),
        (["-", "--from", "conll"], jsonl("Bo"), "standard input can only be read as 'jsonl'"),
    ],
)
def test_bad_input_is_refused(
    command: Command, trained: Path, tmp_path: Path, arguments: list[str], stdin: bytes, sentence: str
) -> None:
    filled = [argument.format(folder=tmp_path) for argument in arguments]
    assert sentence in command("predict", trained, *filled, stdin=stdin).refusal
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("text", [" ".join([TEXTS[0]] * 32_768), "Bo" * 524_288], ids=["sentences", "one word"])
def test_a_line_of_a_megabyte_is_read_to_its_end(command: Command, trained: Path, text: str) -> None:
    began = time.process_time()
    done = command("predict", trained, "--lines", stdin=text.encode())
    assert done.code == 0
    (record,) = records(done.out)
    assert record["text"] == text
    assert time.process_time() - began < 60
    if text.startswith("Ada"):
        assert {10 * entity["start"] // len(text) for entity in record["entities"]} == set(range(10))


NEW = {"Town": "where people live, of any size", "Human": "persons by their names"}


@pytest.fixture(scope="module")
def asker(make_pipeline: Callable[..., TorchPipeline], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that takes new labels."""
    folder = tmp_path_factory.mktemp("models") / "asker"
    Extractor(emboldened(make_pipeline("lear", shared=True))).save_pretrained(folder)
    return folder


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    (tmp_path / "labels.yaml").write_text(f"entities: {json.dumps(NEW)}\n")
    return tmp_path / "labels.yaml"


def test_labels_of_a_file_are_asked_for_instead_of_the_models_own(command: Command, asker: Path, labels: Path) -> None:
    done = command("predict", asker, "--lines", "--labels", labels, stdin=lines(*TEXTS))
    assert done.code == 0
    extractor = Extractor.from_pretrained(asker)
    wanted = [[(e.start, e.end, e.label) for e in d.entities] for d in extractor(TEXTS, labels=NEW)]
    assert spans(done.out) == wanted
    found = {label for row in wanted for _, _, label in row}
    assert found
    assert found <= set(NEW)
    own = command("predict", asker, "--lines", stdin=lines(*TEXTS)).out
    assert {label for row in spans(own) for _, _, label in row} <= {"Organization", "Person", "Place"}


def test_labels_go_with_files_and_their_own_thresholds(
    command: Command, asker: Path, labels: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_bytes(jsonl(*TEXTS))

    def found(*options: str) -> set[str]:
        done = command("predict", asker, tmp_path / "in.jsonl", tmp_path / "out.jsonl", "--labels", labels, *options)
        assert done.code == 0
        return {label for row in spans((tmp_path / "out.jsonl").read_text()) for _, _, label in row}

    assert found("--label-threshold", "Town=1") == {"Human"}
    assert found("--label-threshold", "Human=1") == {"Town"}
    assert found("--threshold", "1") == set()
    refusal = command(
        "predict", asker, tmp_path / "in.jsonl", "--labels", labels, "--label-threshold", "Person=1"
    ).refusal
    assert refusal == "unknown label 'Person' in a threshold; choose from Town, Human."


def test_a_model_that_takes_no_new_labels_says_so(command: Command, trained: Path, labels: Path) -> None:
    refusal = command("predict", trained, "--lines", "--labels", labels, stdin=lines(*TEXTS)).refusal
    assert refusal.startswith("this seq-ner has fixed labels and takes no new ones; ")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "labels.yaml: No such file or directory."),
        ("Town: where people live\n", "labels.yaml: Town: unknown key."),
        ("entities: [Town]\n", "labels.yaml: entities: Input should be a valid dictionary, not ['Town']."),
        ("entities: {Town: [\n", "labels.yaml:2: invalid YAML ("),
        ("", "labels= is empty; give at least one label."),
        ("relations: {in: is found in}\n", "labels= is empty; give at least one label."),
        ("entities: {Town: ''}\n", "a label and its description are texts and not empty; labels= has ''."),
    ],
    ids=["missing", "no section", "list", "not YAML", "empty", "relations alone", "no description"],
)
def test_a_wrong_file_of_labels_is_refused(
    command: Command, asker: Path, tmp_path: Path, content: str | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / "labels.yaml").write_text(content)
    target = tmp_path / "out.jsonl"
    done = command("predict", asker, "-", target, "--labels", tmp_path / "labels.yaml", stdin=jsonl(*TEXTS))
    assert sentence in done.refusal
    assert not target.exists()


def test_a_page_in_a_missing_folder_is_refused_before_anything_is_predicted(
    command: Command, trained: Path, tmp_path: Path
) -> None:
    page, out = tmp_path / "nope" / "page.html", tmp_path / "out.jsonl"
    refused = command("predict", trained, "--lines", "-", out, "--html", page, stdin=b"Bo\n").refusal
    assert refused == f"{page}: the folder '{page.parent}' does not exist; create it first."
    assert not out.exists()
