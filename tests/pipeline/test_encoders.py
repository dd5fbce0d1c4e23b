"""Encoders: found and checked before they are used, and every usual family read without knowing which it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import ByteLevelBPETokenizer, Tokenizer, models, normalizers, pre_tokenizers, trainers

from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.errors import EncoderError, RecipeError
from spanwise.pipeline import encoders
from spanwise.pipeline import folder as model_folder
from spanwise.pipeline.collate import collate
from spanwise.pipeline.encoders import load_pretrained, minilm_folder, window_limits
from spanwise.pipeline.pipeline import WindowSettings
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import EncoderConfig, Recipe
from spanwise.seam.batch import Words
from spanwise.text.alignment import align
from spanwise.text.examples import Example
from spanwise.text.pieces import WordPieces
from spanwise.training.preparation import prepare

TEXT = ["Mara Ostrow met Bo Lind in Brenford and Kell .", "The University of Westmoor opened , said Ada Moss ."] * 20
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def word_pieces_vocabulary(special: list[str]) -> dict[str, int]:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(TEXT, trainers.WordPieceTrainer(vocab_size=90, special_tokens=special))
    return tokenizer.get_vocab()


def byte_level(special: list[str]) -> dict[str, Any]:
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(TEXT, vocab_size=320, special_tokens=special)
    model = json.loads(tokenizer.to_str())["model"]
    return {"vocab": model["vocab"], "merges": [tuple(merge) for merge in model["merges"]]}


def unigram(special: list[str], unknown: str, *, cased: bool = False) -> list[tuple[str, float]]:
    tokenizer = Tokenizer(models.Unigram())
    if not cased:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=special, unk_token=unknown)
    tokenizer.train_from_iterator(TEXT, trainer)
    return [tuple(row) for row in json.loads(tokenizer.to_str())["model"]["vocab"]]


def roberta() -> tuple[Any, Any]:
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizer

    tokenizer = RobertaTokenizer(**byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]))
    config = RobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=66, **SMALL)
    return tokenizer, RobertaModel(config)


def xlm_roberta() -> tuple[Any, Any]:
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizer

    tokenizer = XLMRobertaTokenizer(unigram(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "<unk>", cased=True))
    config = XLMRobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=66, **SMALL)
    return tokenizer, XLMRobertaModel(config)


def mpnet() -> tuple[Any, Any]:
    from transformers import MPNetConfig, MPNetModel, MPNetTokenizer

    tokenizer = MPNetTokenizer(word_pieces_vocabulary(["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]))
    return tokenizer, MPNetModel(MPNetConfig(vocab_size=len(tokenizer), max_position_embeddings=66, **SMALL))


def albert() -> tuple[Any, Any]:
    from transformers import AlbertConfig, AlbertModel, AlbertTokenizer

    tokenizer = AlbertTokenizer(unigram(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], "<unk>"))
    config = AlbertConfig(vocab_size=len(tokenizer), embedding_size=16, max_position_embeddings=64, **SMALL)
    return tokenizer, AlbertModel(config)


def electra() -> tuple[Any, Any]:
    from transformers import BertTokenizer, ElectraConfig, ElectraModel

    tokenizer = BertTokenizer(word_pieces_vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    config = ElectraConfig(vocab_size=len(tokenizer), embedding_size=16, max_position_embeddings=64, **SMALL)
    return tokenizer, ElectraModel(config)


def deberta() -> tuple[Any, Any]:
    from transformers import DebertaConfig, DebertaModel, DebertaTokenizer

    tokenizer = DebertaTokenizer(**byte_level(["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]))
    options = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "pad_token_id": tokenizer.pad_token_id}
    return tokenizer, DebertaModel(
        DebertaConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **options, **SMALL)
    )


def deberta_v2() -> tuple[Any, Any]:
    from transformers import DebertaV2Config, DebertaV2Model, DebertaV2Tokenizer

    tokenizer = DebertaV2Tokenizer(unigram(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "[UNK]"), do_lower_case=True)
    options = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    return tokenizer, DebertaV2Model(
        DebertaV2Config(vocab_size=len(tokenizer), max_position_embeddings=64, **options, **SMALL)
    )


def distilbert() -> tuple[Any, Any]:
    from transformers import BertTokenizer, DistilBertConfig, DistilBertModel

    tokenizer = BertTokenizer(word_pieces_vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    config = DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=64
    )
    return tokenizer, DistilBertModel(config)


def roformer() -> tuple[Any, Any]:
    from transformers import BertTokenizer, RoFormerConfig, RoFormerModel

    tokenizer = BertTokenizer(word_pieces_vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    config = RoFormerConfig(vocab_size=len(tokenizer), embedding_size=16, max_position_embeddings=64, **SMALL)
    return tokenizer, RoFormerModel(config)


FAMILIES = (roberta, xlm_roberta, mpnet, albert, electra, deberta, deberta_v2, distilbert, roformer)


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda family: family.__name__)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random encoder of one family, all of which read 64 pieces."""
    folder = tmp_path_factory.mktemp(request.param.__name__)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        for part in request.param():
            part.save_pretrained(folder)
    return folder


@pytest.fixture
def build(make_pipeline: Callable[..., TorchPipeline]) -> Callable[[Path], TorchPipeline]:
    return lambda folder: make_pipeline("span-ner", encoder={"name": str(folder)})


def test_a_family_reads_as_many_pieces_as_it_has_positions(
    family: Path, build: Callable[[Path], TorchPipeline]
) -> None:
    pipeline = build(family)
    transformer, tokenizer = pipeline.model.encoder.transformer, pipeline.tokenizer
    assert window_limits(transformer, tokenizer, EncoderConfig()).limit == 64
    full = torch.tensor([[*pipeline.pieces.prefix, *[7] * 62, *pipeline.pieces.suffix]])
    assert full.shape == (1, 64)
    hidden = transformer(input_ids=full, attention_mask=torch.ones_like(full)).last_hidden_state
    assert torch.isfinite(hidden).all()


def test_a_familys_words_have_the_pieces_they_have_within_a_text(family: Path) -> None:
    _, tokenizer = load_pretrained(str(family))
    words = TEXT[0].split()
    whole = tokenizer("in " + TEXT[0])["input_ids"]
    pieces = WordPieces.of(tokenizer, max_per_word=16)
    ids = [i for word in pieces(["in", *words]) for i in word]
    first = len(pieces(["in"])[0])  # a text's first word may be written without the space before it
    assert whole[len(pieces.prefix) :][-len(ids) - len(pieces.suffix) + first :] == [*ids[first:], *pieces.suffix]
    assert tuple(whole[: len(pieces.prefix)]) == pieces.prefix == (tokenizer.cls_token_id,)
    assert pieces.suffix == (tokenizer.sep_token_id,)
    assert tokenizer.unk_token_id not in ids


def test_a_text_that_spells_out_a_familys_special_tokens_does_not_use_them(family: Path) -> None:
    _, tokenizer = load_pretrained(str(family))
    found = {i for ids in WordPieces.of(tokenizer, max_per_word=16)(tokenizer.all_special_tokens) for i in ids}
    assert not found & (set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})


def words_of(pipeline: TorchPipeline, examples: list[Example]) -> Words[torch.Tensor]:
    return collate(examples, pipeline.pieces, None).words.map(torch.from_numpy)


def test_a_familys_scores_do_not_depend_on_padding(
    family: Path, build: Callable[[Path], TorchPipeline], flat_corpus: Corpus
) -> None:
    pipeline = build(family)
    examples = [e for document in flat_corpus.splits["train"] for e in pipeline.task.builder.examples(document)]
    with torch.inference_mode():
        together = pipeline.model.encoder(words_of(pipeline, examples))
        for row, example in enumerate(examples):
            alone = pipeline.model.encoder(words_of(pipeline, [example]))
            torch.testing.assert_close(together.words[row, : example.length], alone.words[0], atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(together.sentence[row], alone.sentence[0], atol=1e-5, rtol=1e-4)


def test_a_familys_model_predicts_the_same_after_save_and_load(
    family: Path, build: Callable[[Path], TorchPipeline], flat_corpus: Corpus, tmp_path: Path
) -> None:
    pipeline = build(family)
    documents = flat_corpus.splits["train"]
    found = pipeline.predict(documents)
    assert any(document.entities for document in found)
    model_folder.save(pipeline, tmp_path / "model")
    assert model_folder.load(tmp_path / "model").predict(documents) == found


def test_a_familys_long_text_runs_through_windows(family: Path, build: Callable[[Path], TorchPipeline]) -> None:
    pipeline = build(family)
    (document,) = pipeline.predict([Document("Mara met Bo Lind in Kell . " * 40)])
    assert document.entities[-1].end > len(document.text) * 0.8


def test_a_folder_is_loaded_without_its_pooler(tiny_encoder: Path) -> None:
    transformer, tokenizer = load_pretrained(str(tiny_encoder))
    assert transformer.pooler is None
    assert transformer.dtype == torch.float32
    assert tokenizer.tokenize("Ostrow") == ["ost", "##r", "##ow"]


@pytest.mark.parametrize("name", ["/no/such/folder", "./nowhere", "~/nowhere", "a/b/c"])
def test_a_missing_folder_is_reported_in_one_sentence(name: str) -> None:
    with pytest.raises(EncoderError, match=f"encoder folder '{name}' does not exist; give another folder or a name"):
        load_pretrained(name)


def test_a_name_that_the_hub_does_not_give_is_reported_in_one_sentence() -> None:
    with pytest.raises(
        EncoderError, match=r"encoder 'nobody/nothing' cannot be loaded \(.+\); give a folder or hub name"
    ):
        load_pretrained("nobody/nothing")


@pytest.fixture
def copy(tiny_encoder: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "encoder"
    folder.mkdir()
    for file in tiny_encoder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def test_a_folder_without_its_tokenizer_is_refused_and_not_read_as_unknown_words(copy: Path) -> None:
    for file in copy.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(EncoderError, match=r"has no vocabulary; add the tokenizer files to the folder"):
        load_pretrained(str(copy))


@pytest.mark.parametrize("broken", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_damaged_folder_is_reported_in_one_sentence(copy: Path, broken: str, how: str) -> None:
    content = (copy / broken).read_bytes()
    (copy / broken).unlink() if how == "gone" else (copy / broken).write_bytes(content[: len(content) // 2])
    with pytest.raises(EncoderError, match=r"encoder '.*' (cannot be loaded \(.+\)|has no vocabulary); "):
        load_pretrained(str(copy))


def test_no_file_of_an_encoder_is_unpickled(copy: Path) -> None:
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(EncoderError, match=r"cannot be loaded"):
        load_pretrained(str(copy))


def test_the_default_encoder_is_the_published_file() -> None:
    assert (minilm_folder() / "model.safetensors").is_file()


def test_a_default_encoder_with_other_weights_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "MINILM_SHA256", "0" * 64)
    with pytest.raises(EncoderError, match=r"is not the published file; reinstall the package"):
        load_pretrained("minilm")


def test_a_default_encoder_that_is_not_installed_names_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "MINILM", "no-such-distribution")
    with pytest.raises(EncoderError, match=r"pip install 'spanwise\[minilm\]'"):
        load_pretrained("minilm")


def test_windows_share_the_overlap_but_at_most_a_quarter(tiny_encoder: Path) -> None:
    parts = load_pretrained(str(tiny_encoder))
    assert window_limits(*parts, EncoderConfig()) == WindowSettings(96, 24)
    assert window_limits(*parts, EncoderConfig(overlap=5)) == WindowSettings(96, 5)
    assert window_limits(*parts, EncoderConfig(max_pieces=80)) == WindowSettings(80, 20)
    assert window_limits(*parts, EncoderConfig(window="sentence")) == WindowSettings(96, 24, by_sentence=True)


def test_more_pieces_than_the_encoder_reads_are_refused(tiny_encoder: Path) -> None:
    parts = load_pretrained(str(tiny_encoder))
    with pytest.raises(EncoderError, match=r"encoder\.max_pieces is 97, but 'tiny' reads at most 96"):
        window_limits(*parts, EncoderConfig(name="tiny", max_pieces=97))


@pytest.mark.parametrize("positions", [-1, 0])
def test_an_encoder_without_a_stated_limit_reads_512(tiny_encoder: Path, positions: int) -> None:
    transformer, tokenizer = load_pretrained(str(tiny_encoder))
    tokenizer.model_max_length = int(1e30)
    transformer.config.max_position_embeddings = positions
    assert window_limits(transformer, tokenizer, EncoderConfig()).limit == 512


def test_frozen_embeddings_do_not_learn(make_pipeline: Callable[..., TorchPipeline]) -> None:
    model = make_pipeline("seq-ner", encoder={"freeze_embeddings": True}).model
    still = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    assert still == ["encoder.transformer.embeddings.word_embeddings.weight"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm", "e5-small"])
def test_pretrained_english_encoders_know_that_words_are_related(name: str, request: pytest.FixtureRequest) -> None:
    folder = name if name == "minilm" else str(request.getfixturevalue("encoder_root") / name)
    transformer, tokenizer = load_pretrained(folder)
    pieces = WordPieces.of(tokenizer, max_per_word=16)
    assert tokenizer.convert_ids_to_tokens(pieces(["Ostrow"])[0]) == ["os", "##tro", "##w"]

    def vector(word: str) -> torch.Tensor:
        ids = torch.tensor([[*pieces.prefix, *pieces([word])[0], *pieces.suffix]])
        return transformer(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0, 1]

    with torch.inference_mode():
        king, queen, potato = map(vector, ("king", "queen", "potato"))
    cosine = torch.nn.functional.cosine_similarity
    assert cosine(king, queen, dim=0) > cosine(king, potato, dim=0)


@pytest.mark.slow
def test_the_chinese_encoder_has_a_piece_per_character_and_runs(
    make_pipeline: Callable[..., TorchPipeline], encoder_root: Path
) -> None:
    pipeline = make_pipeline("span-ner", encoder={"name": str(encoder_root / "roformer-zh-small")})
    sentence = "王小明在北京大学工作。"
    pieces = pipeline.pieces(list(sentence))
    assert pipeline.tokenizer.convert_ids_to_tokens([i for word in pieces for i in word]) == list(sentence)
    (example,) = pipeline.task.builder.examples(Document(sentence))
    assert example.counts.tolist() == [1] * len(sentence)
    (found,) = pipeline.predict([Document(sentence)])
    assert all(0 <= e.start < e.end <= len(sentence) for e in found.entities)


def test_blocks_that_are_computed_again_teach_the_same(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus
) -> None:
    found = []
    for recompute in (False, True):
        pipeline = make_pipeline("seq-ner", encoder={"gradient_checkpointing": recompute})
        calls: list[int] = []
        first = pipeline.model.encoder.transformer.encoder.layer[0]
        first.attention.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        built = map(pipeline.training_task.builder.gold_examples, map(align, flat_corpus.splits["train"][:4]))
        batch = pipeline.training_batch([example for examples, _ in built for example in examples])
        pipeline.model.train()
        torch.manual_seed(3)
        pipeline.model.training_loss(batch.map(torch.from_numpy)).total.backward()
        assert len(calls) == 1 + recompute
        found.append({name: p.grad for name, p in pipeline.model.named_parameters() if p.grad is not None})
    plain, again = found
    assert plain.keys() == again.keys()
    for name, gradient in plain.items():
        torch.testing.assert_close(again[name], gradient, msg=name)


def test_an_encoder_that_cannot_compute_again_is_refused(
    make_pipeline: Callable[..., TorchPipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import BertModel

    monkeypatch.setattr(BertModel, "supports_gradient_checkpointing", False)
    with pytest.raises(EncoderError, match=r"set encoder\.gradient_checkpointing: false"):
        make_pipeline("seq-ner", encoder={"gradient_checkpointing": True})


def test_selected_layers_are_kept_with_their_weights() -> None:
    whole, _ = load_pretrained("minilm")
    half, _ = load_pretrained("minilm", [0, 2, 5])
    assert half.config.num_hidden_layers == 3
    for kept, index in zip(half.encoder.layer, (0, 2, 5), strict=True):
        torch.testing.assert_close(kept.state_dict(), whole.encoder.layer[index].state_dict())


def test_a_model_on_selected_layers_predicts_the_same_after_save_and_load(
    tmp_path: Path, make_recipe: Callable[..., Recipe], flat_corpus: Corpus
) -> None:
    recipe = make_recipe("span-ner", encoder={"layers": [1]})
    pipeline = prepare(recipe, flat_corpus).pipeline()
    assert len(pipeline.model.encoder.transformer.encoder.layer) == 1
    model_folder.save(pipeline, tmp_path / "model")
    documents = flat_corpus.splits["train"][:4]
    assert model_folder.load(tmp_path / "model").predict(documents) == pipeline.predict(documents)


@pytest.mark.parametrize("layers", [[2], [0, 7]])
def test_layers_that_an_encoder_does_not_have_are_refused(tiny_encoder: Path, layers: list[int]) -> None:
    with pytest.raises(EncoderError, match=r"layer (2|7), but .* has layers 0 to 1"):
        load_pretrained(str(tiny_encoder), layers)


@pytest.mark.parametrize("layers", [[1, 0], [1, 1]])
def test_layers_in_another_order_are_refused(make_recipe: Callable[..., Recipe], layers: list[int]) -> None:
    with pytest.raises(RecipeError, match="ascending order"):
        make_recipe("span-ner", encoder={"layers": layers})
