"""The named corpora: their files, format, license, and where they come from. None ships but the demo."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

PACKAGE = Path(__file__).parents[1]  # bundled files lie under it
OPEN = "open/"  # begins the names of corpora of many label sets
ANNOTATED_LABELS = "open/schemas.json"  # the labels that parts of these corpora were annotated for
_OPEN = json.loads((PACKAGE / "data/corpora/open.json").read_text("utf-8"))


@dataclass(frozen=True)
class NamedCorpus:
    """A declaration; files are relative to the data root. `folds` are further cuts of the same documents, as "name/0".

    `schema_file` holds the labels in SpERT's form, as GENEVA's ontology or in our own; without one they come from the
    documents. `descriptions` and `relation_descriptions` say what labels mean whose files do not. `without_overlaps`
    leaves the documents out in which entities overlap.
    """

    name: str
    task: str
    format: str
    splits: Mapping[str, str]
    entity_types: int
    license: str
    source: str
    language: str = "en"  # as ISO 639 abbreviates it
    relation_types: int = 0
    nested: bool = False
    without_overlaps: bool = False
    folds: tuple[Mapping[str, str], ...] = ()
    schema_file: str = ""
    schema_form: Literal["spert", "ontology", "open", "native"] = "native"
    descriptions: Mapping[str, str] = field(default_factory=dict)
    relation_descriptions: Mapping[str, str] = field(default_factory=dict)
    bundled: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """Every file that the corpus can need."""
        cuts = (self.splits, *self.folds)
        others = (self.schema_file, ANNOTATED_LABELS if self.schema_form == "open" else "")
        return (*(path for cut in cuts for path in cut.values()), *filter(None, others))


_ADE = NamedCorpus(
    name="ade",
    task="drugs and their adverse effects in case reports",
    format="spert",
    splits={"all": "ade/ade_full.json"},
    folds=tuple({split: f"ade/ade_split_{n}_{split}.json" for split in ("train", "test")} for n in range(10)),
    entity_types=2,
    relation_types=1,
    nested=True,
    schema_file="ade/ade_types.json",
    schema_form="spert",
    descriptions={
        "Adverse-Effect": "A harmful effect of a drug on a patient, such as a symptom or a disease.",
        "Drug": "The name of a drug or of a therapeutic substance, also its abbreviation or its class.",
    },
    relation_descriptions={"Adverse-Effect": "The adverse effect was caused by the drug."},
    license="none stated",
    source="Gurulingappa et al. 2012, in the ten folds published with SpERT, github.com/lavis-nlp/spert",
)


def _open_corpora() -> Iterator[NamedCorpus]:
    """Corpora of one format whose labels have names and descriptions."""
    for name, entry in _OPEN["corpora"].items():
        yield NamedCorpus(
            name=OPEN + name,
            task=entry["task"],
            format="open",
            splits=_open_files(name),
            entity_types=entry["types"],
            schema_file="open/labels.yaml",
            schema_form="open",
            license=entry["license"],
            source=entry["source"],
        )


def _open_files(name: str) -> dict[str, str]:
    files = {"train": f"open/{name}.jsonl", "test": f"open/{name}.test.jsonl"}
    return {split: files[split] for split in _OPEN["corpora"][name]["splits"]}


CORPORA: tuple[NamedCorpus, ...] = (
    NamedCorpus(
        name="conll04",
        task="entities and relations in news",
        format="spert",
        splits={split: f"conll04/conll04_{split}.json" for split in ("train", "dev", "test")},
        entity_types=4,
        relation_types=5,
        schema_file="conll04/conll04_types.json",
        schema_form="spert",
        descriptions={
            "Loc": "The name of a place, such as a city, a state, a country, a region or a natural feature.",
            "Org": "The name of an organization, such as a company, an authority, a party or a university.",
            "Peop": "The name of a person, with the title before it.",
            "Other": "Another name or expression, such as a date, a quantity, a nationality or a title of a work.",
        },
        relation_descriptions={
            "Work_For": "The person works for the organization or is a member of it.",
            "Kill": "The first person killed the second.",
            "OrgBased_In": "The organization has its seat or works in the place.",
            "Live_In": "The person lives, lived or was born in the place, or comes from it.",
            "Located_In": "The first place lies in the second.",
        },
        license="none stated",
        source="Roth and Yih 2004, split by Gupta et al. 2016, as published with SpERT, github.com/lavis-nlp/spert",
    ),
    _ADE,
    replace(
        _ADE,
        name="ade-flat",
        task="ADE without the 119 sentences whose entities overlap",
        nested=False,
        without_overlaps=True,
    ),
    NamedCorpus(
        name="scierc",
        task="entities and relations in abstracts of AI papers",
        format="spert",
        splits={split: f"scierc/spert_json/scierc_{split}.json" for split in ("train", "dev", "test")},
        entity_types=6,
        relation_types=7,
        nested=True,
        schema_file="scierc/spert_json/scierc_types.json",
        schema_form="spert",
        descriptions={
            "Task": "A problem to be solved or an application, such as machine translation or object detection.",
            "Method": "A method, model, algorithm, system, tool or component that is used or proposed.",
            "Material": "Data or another resource that is worked on, such as a corpus, images, speech or a language.",
            "OtherScientificTerm": "Another term of science, such as a phenomenon, a property or a structure.",
            "Metric": "A measure or criterion by which something is judged, such as accuracy, BLEU or cost.",
            "Generic": "A general word or pronoun that stands for a term named elsewhere, such as method or it.",
        },
        relation_descriptions={
            "Used-for": "The first is used for the second, models it, or is what the second is based on.",
            "Feature-of": "The first belongs to the second as a feature, a property or the domain it lives in.",
            "Hyponym-of": "The first is a kind or an example of the second.",
            "Evaluate-for": "The first is a measure or the data by which the second is evaluated.",
            "Part-of": "The first is a part or component of the second.",
            "Compare": "The two are compared with each other or set against each other.",
            "Conjunction": "The two stand side by side in the same role, often joined by and or or.",
        },
        license="none stated",
        source="Luan et al. 2018, in the form published with SpERT, github.com/lavis-nlp/spert",
    ),
    NamedCorpus(
        name="wnut17",
        task="emerging entities in noisy user text",
        format="conll",
        splits={
            "train": "wnut17/wnut17train.conll",
            "dev": "wnut17/emerging.dev.conll",
            "test": "wnut17/emerging.test.annotated",
        },
        entity_types=6,
        descriptions={
            "person": "The name of a person, real or invented, with nicknames and user names that stand for one.",
            "location": "The name of a place: a country, city, region, building, venue or natural feature.",
            "corporation": "The name of a company or business, when the company itself is meant and not what it sells.",
            "product": "The name of something that can be bought or used, such as a device, a food or an app.",
            "creative-work": "The title of a work such as a film, book, song, game, programme or web series.",
            "group": "The name of a group of people that is no company, such as a band, a team, a party or a club.",
        },
        license="CC BY 4.0",
        source="Derczynski et al. 2017, the WNUT 2017 shared task, github.com/leondz/emerging_entities_17",
    ),
    NamedCorpus(
        name="bc5cdr",
        task="chemicals and diseases in PubMed abstracts",
        format="conll",
        splits={"train": "bc5cdr/train.tsv", "dev": "bc5cdr/devel.tsv", "test": "bc5cdr/test.tsv"},
        entity_types=2,
        descriptions={
            "Chemical": "A drug or another chemical substance, by any name or abbreviation.",
            "Disease": "A disease, disorder, symptom, injury or adverse effect, by its full name or abbreviation.",
        },
        license="CC BY 4.0",
        source="Li et al. 2016, BioCreative V, as tagged sentences in github.com/cambridgeltl/MTL-Bioinformatics-2016",
    ),
    NamedCorpus(
        name="genia",
        task="nested biomedical entities in MEDLINE abstracts",
        format="spert",
        splits={split: f"genia/genia_{split}.json" for split in ("train", "dev", "test")},
        entity_types=5,
        nested=True,
        descriptions={
            "DNA": "A stretch of DNA, such as a gene, a promoter, a binding site or another region of a chromosome.",
            "RNA": "An RNA molecule or a region of one, such as a messenger RNA or a transcript.",
            "cell_line": "A population of cells that is kept in culture, by its name or its description.",
            "cell_type": "A kind of cell as it occurs in an organism, such as T lymphocytes or monocytes.",
            "protein": "A protein, a family or complex of proteins, or a part of one, such as a domain or subunit.",
        },
        license="CC BY 3.0",
        source="Kim et al. 2003, the GENIA corpus 3.02, geniaproject.org, with the usual five types",
    ),
    NamedCorpus(
        name="weibo",
        task="named and nominal entities in Chinese social media",
        format="conll-weibo",
        splits={split: f"weibo/weiboNER_2nd_conll.{split}" for split in ("train", "dev", "test")},
        entity_types=8,
        descriptions={
            "PER.NAM": "The name of a person: a full name, a family name, a nickname or a user name.",
            "PER.NOM": "A noun that refers to a person without a name, such as a friend, a mother or a man.",
            "LOC.NAM": "The name of a place that is no political unit, such as a park, a street or a mountain.",
            "LOC.NOM": "A noun that refers to a place without a name, such as a square, a hotel or a school building.",
            "GPE.NAM": "The name of a political unit: a country, a province, a city or a district.",
            "GPE.NOM": "A noun that refers to a political unit without a name, such as a country or a city.",
            "ORG.NAM": "The name of an organization, such as a company, a school, a team or a broadcaster.",
            "ORG.NOM": "A noun that refers to an organization without a name, such as a company or a government.",
        },
        language="zh",
        license="CC BY-SA 3.0",
        source="Peng and Dredze 2015, second edition of the Weibo NER corpus, github.com/hltcoe/golden-horse",
    ),
    NamedCorpus(
        name="resume",
        task="entities in Chinese resumes",
        format="conll",
        splits={split: f"resume/{split}.char.bmes" for split in ("train", "dev", "test")},
        entity_types=8,
        descriptions={
            "NAME": "The name of the person the resume is about.",
            "CONT": "The country a person is a citizen of.",
            "RACE": "The ethnic group a person belongs to.",
            "TITLE": "A position or professional title that a person holds or held.",
            "EDU": "A degree or a level of education.",
            "ORG": "An organization, such as a company, a university or an authority.",
            "PRO": "A field of study or a profession.",
            "LOC": "The place where a person was born or comes from.",
        },
        language="zh",
        license="none stated",
        source="Zhang and Yang 2018, published with Lattice LSTM, github.com/jiesutd/LatticeLSTM",
    ),
    NamedCorpus(
        name="geneva",
        task="event triggers of types described in words",
        format="oneie",
        splits={"train": "geneva/train_union_derived.json", "dev": "geneva/val.json", "test": "geneva/test.json"},
        entity_types=115,
        schema_file="geneva/event_ontology.json",
        schema_form="ontology",
        license="CC BY 3.0",
        source="Parekh et al. 2023, derived from FrameNet, github.com/PlusLabNLP/GENEVA",
    ),
    NamedCorpus(
        name="demo",
        task="entities, relations and events in invented news",
        format="jsonl",
        splits={split: f"data/demo/{split}.jsonl" for split in ("train", "dev", "test")},
        entity_types=14,
        relation_types=15,
        nested=True,
        schema_file="data/demo/schema.json",
        license="Apache 2.0",
        source="part of spanwise",
        bundled=True,
    ),
    NamedCorpus(
        name="anem",
        task="anatomy in biomedical abstracts and articles",
        format="conll",
        splits={split: f"anem/{split}.conll" for split in ("train", "test")},
        entity_types=11,
        license="CC BY-SA 3.0",
        source="Ohta et al. 2012, AnEM, nactem.ac.uk/anatomy",
    ),
    NamedCorpus(
        name="gum",
        task="mentions of eleven types in many genres",
        format="conll",
        splits={split: f"gum/{split}.conll" for split in ("train", "test")},
        entity_types=11,
        license="CC BY 4.0, parts non-commercial",
        source="Zeldes 2017, the GUM corpus, github.com/amir-zeldes/gum, flattened",
    ),
    NamedCorpus(
        name="re3d",
        task="defence and security news",
        format="conll",
        splits={split: f"re3d/{split}.conll" for split in ("train", "test")},
        entity_types=10,
        license="CC BY-SA and OGL",
        source="Defence Science and Technology Laboratory 2017, github.com/dstl/re3d",
    ),
    NamedCorpus(
        name="wikigold",
        task="entities in Wikipedia",
        format="conll",
        splits={"train": "wikigold/wikigold.conll"},
        entity_types=4,
        license="CC BY 4.0",
        source="Balasuriya et al. 2009, as one file of tagged sentences",
    ),
    NamedCorpus(
        name="btc",
        task="entities in tweets: part g, e as dev and b as test",
        format="conll",
        splits={"train": "btc/g.conll", "dev": "btc/e.conll", "test": "btc/b.conll"},
        entity_types=3,
        license="CC BY 4.0",
        source="Derczynski et al. 2016, the Broad Twitter Corpus, github.com/GateNLP/broad_twitter_corpus",
    ),
    *_open_corpora(),
)

CHECKSUMS: Mapping[str, str] = {
    "conll04/conll04_dev.json": "3965a5110a79671fb74a78c0fd0113c4da6583c3833bd418c1ca414bb491e010",
    "conll04/conll04_test.json": "347f45cf181b5641d2373248a1af0592954415234f72536835dde1df1b504556",
    "conll04/conll04_train.json": "65c52d5b6134c72c44277c74c5ecb354bf33aa352fc7b856edf6bda0bb436eea",
    "conll04/conll04_types.json": "9244d21d2640430f03eda97f59ce3e0a28a766964b1c04683c80656b5e505ad8",
    "anem/test.conll": "2bd9d25228f8739338e843c3003f141fe3576e4ce84c82133d39b31609b1cdb1",
    "anem/train.conll": "239fec75a746a109f6f2b093d24b1d4805d20c34da3c7f4656b57140c4d5f784",
    "btc/b.conll": "504a094a0398e03fd7b394510e313b8fc844407102252182d90aea23f53cc322",
    "btc/e.conll": "77aca745cdc28ae0fafbcf36a93ccfd15357a8db97c21d91083592dd85e348c5",
    "btc/g.conll": "d53a27645cabc4e63313d573498b48b0cc5ed780d280edfbdc4fedefe23479da",
    "gum/test.conll": "decb4912daf763357db7d4ad2a3e44879192e5c864c0901615847e00a59bb144",
    "gum/train.conll": "fd555c463551c0f953e1af15ad42ee2896c33930f0482be12d0658e0f6a64485",
    "re3d/test.conll": "885c389d81d9488bcb33c670ef9761ed7ab118c34a056925fdf6b772bda20cb1",
    "re3d/train.conll": "036a45856cef9355631c7bca3b0e23a84a6cf09c1897c9f6489a22eb90997902",
    "wikigold/wikigold.conll": "c797a64d0cf73ed058363f77671486bcfd413e70fda1726ad4a6ba624455225f",
    **_OPEN["files"],
    **{
        path: _OPEN["corpora"][name]["splits"][split]
        for name in _OPEN["corpora"]
        for split, path in _open_files(name).items()
    },
    "ade/ade_full.json": "5bc2355bcb3fa326d0749af0368e7b428b44a63fb8a1fb76ffeef14825e51384",
    "ade/ade_split_0_test.json": "6d6a3584d3876a35854ef703f7a7059363599ad7ed3ab9c3e6e449ae8a252e9a",
    "ade/ade_split_0_train.json": "6624ac4d015c75f551aa15a43bd05e268082d98297d18269662737f7df358365",
    "ade/ade_split_1_test.json": "532fa740c11466c54d06dfe4e2989bd800c046cb31c409f074b7b3d49cf99b23",
    "ade/ade_split_1_train.json": "811befd6d23d2aeb7cff3469d4b22d0c58fa61557b03257986ea1559042d42fe",
    "ade/ade_split_2_test.json": "69c4844907809f4e76516d7e9b7f8f2fa5eab2bdf27ee0dc02bdb367e673f994",
    "ade/ade_split_2_train.json": "c13ff04545537879e1d2fa41ed25c4e5831bbd75d2c07a4d7c0e60d2691b5b25",
    "ade/ade_split_3_test.json": "07e188e39118bd9644d4bb74ad841099853a5dfbecb035e5af2dc83a7d927495",
    "ade/ade_split_3_train.json": "1d65b2aab0da37d3125cb0a90f6c66ad05af4ebb6f4685c4ede242cfb587cb1e",
    "ade/ade_split_4_test.json": "937eff5f8982fff83655872fcf150876145e75a381dcedfc45e2411f47146edc",
    "ade/ade_split_4_train.json": "de8cdb999563697d330d97b9ac95a5ae1c83106eb812f25b12d807c6628f28a4",
    "ade/ade_split_5_test.json": "d01d706574d4921304d3b53a0b013fbe41d2f97439245cf768c503df1e70a9f3",
    "ade/ade_split_5_train.json": "474668717b0fbcb4cf6fda984b8897b2e66f2550c9a052187c6ece012960a6cf",
    "ade/ade_split_6_test.json": "3e35e7278060f16103665a47db1480e305346f255872ced202617c6d8025bb01",
    "ade/ade_split_6_train.json": "c3e41dea7c11c34da7f32be45ced3a162fff30abeb0939698937fe7a83446dca",
    "ade/ade_split_7_test.json": "6c4f25fffd1ce4fb1bf67bc54713b44f6e1abb9ca744d06a38ed88731a8d1371",
    "ade/ade_split_7_train.json": "3839c5f7cfd5c9e260a3a60a9c79f6ed54d21d66288413c8a2c2d8e985e9081c",
    "ade/ade_split_8_test.json": "69fb620cc4f9fe4d35533dba74b7234ebb2c2e69a988a8945219563ad12feb3c",
    "ade/ade_split_8_train.json": "9c5c698bb7d5a72e11685a63de4a6b525e073eede445eaae0d44ce42166fffcc",
    "ade/ade_split_9_test.json": "a02776d17963ada8aad5e1d4370e96d2478a8e44fd0944274ac0c44f4499b0ed",
    "ade/ade_split_9_train.json": "e863f0b8a717364fd553e55e041ea89e2a52d116e5b047cbaa1882410ab0813f",
    "ade/ade_types.json": "3675aea50f600cb61d4e55ffa2e376ac64385a3d8a6e8f54c27e07ab44f46919",
    "scierc/spert_json/scierc_dev.json": "77506c1a9d9e6a3f596fdce937a1d80679c24df75a8b7cb836737c2a43ff0ec0",
    "scierc/spert_json/scierc_test.json": "ecc88eca58a88cf2087aaa996dada9edad433c3c2f3f8f5be93625b098c20703",
    "scierc/spert_json/scierc_train.json": "40879beb794a2d947c60f4e7e936c269b5f35ce516e9e155cbff1feea0c3e8da",
    "scierc/spert_json/scierc_types.json": "c092a29d28cc0186b5846c1c56e844e3cb07c6f5196c2efdf432888119434a85",
    "wnut17/emerging.dev.conll": "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8",
    "wnut17/emerging.test.annotated": "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0",
    "wnut17/wnut17train.conll": "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5",
    "bc5cdr/devel.tsv": "b909de65c4f7e3c23bb09ad52d654cdc92e96db941abe1a5dcf6f6010c03cff5",
    "bc5cdr/test.tsv": "e41a2843a5fff0cd8d1a88cb147968d61ae29336ca70cddc3d7fb8ff21dfa1e8",
    "bc5cdr/train.tsv": "b731361c0ed73afd04cc5fdad39afcdfd8f325d6e46c282339185a91d1af4c14",
    "genia/genia_dev.json": "3940518ed3d28548018fc0f529475b1d3e0c08a9a0e611f48cfc53a6526f581b",
    "genia/genia_test.json": "e89e442d6701ba785891ca607b05b29ed4257498611f678c4d3e7c3b60f48700",
    "genia/genia_train.json": "cb53d3a11daeb7ebb77f6445cbbdf241b4d44580e8e8dd9bd66c4a98cd88e02d",
    "weibo/weiboNER_2nd_conll.dev": "e72730d83aac680505280b6301c879b3ba470d29ac308979d48cdc58ee4907cc",
    "weibo/weiboNER_2nd_conll.test": "faaf6c0ebde5348b935cfd5c89f0f22c9e0779d60667d8b5efbc647b6707d50e",
    "weibo/weiboNER_2nd_conll.train": "4e8954c54ab33b0afc9a8abb85715c47422645cc6d1b49fdb24540f4a427e997",
    "resume/dev.char.bmes": "1b0d67153e6e8543e9444936ed1b107bd843078c282533898085e1a9aa293952",
    "resume/test.char.bmes": "c4a9f42622819a4b59f66e184d446ebfa89b2f1dbba06e11d70675e59fe7e79b",
    "resume/train.char.bmes": "93b9bb0be5dd4730121587f9dc1378de3fbbe55cba1c575edec271f822c27be7",
    "geneva/event_ontology.json": "62d82cce8f3380291f42f2499bb719ccc35cedc34f17b2b9f1c5a51b56a6340a",
    "geneva/test.json": "313cf9a334fb9d4e68244403cd01b7bd4e48530fee49b532bfd97f504e626627",
    "geneva/train_union_derived.json": "fbdbe25ec6ac2d029f824fa5fe37b06ea82a3e04f18a9f4e87f7cecf9e0007a7",
    "geneva/val.json": "df23646948f76c3240c555b31d0386929076814465275071ecf5349ee2d98c71",
}
"""SHA-256 of the files as published, by their path under the data root."""
