"""Spark: `mapInPandas` on a local session gives the rows of `Extractor.table`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spanwise.inference.extractor import Extractor
from spanwise.integrations.spark import extract
from spanwise.pipeline.torch_pipeline import TorchPipeline

pytestmark = pytest.mark.slow
TEXTS = [f"Mara {number} met Bo in Kell ." for number in range(100)]


@pytest.fixture(scope="module")
def model(make_pipeline: Callable[..., TorchPipeline], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tagger"
    Extractor(make_pipeline("seq-ner")).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on this machine whose workers run the same Python."""
    sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs java")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    folder = str(tmp_path_factory.mktemp("spark"))
    local = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    patch = pytest.MonkeyPatch()
    patch.setenv("PYSPARK_PYTHON", sys.executable)
    session = local.config("spark.sql.warehouse.dir", folder).config("spark.local.dir", folder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
    patch.undo()


def test_rows_are_those_of_a_data_frame(spark: Any, model: Path) -> None:
    texts = spark.createDataFrame([(number, text) for number, text in enumerate(TEXTS)], "number long, body string")
    function, schema = extract(str(model), text_column="body", id_column="number")
    found = texts.repartition(2).mapInPandas(function, schema).toPandas()
    found = found.assign(document=found["id"].astype(int)).sort_values(["document", "start"], ignore_index=True)
    wanted = Extractor.from_pretrained(model).table(TEXTS)
    columns = ["document", "kind", "label", "start", "end", "text"]
    assert len(wanted) > len(TEXTS)
    assert found[columns].to_numpy().tolist() == wanted[columns].to_numpy().tolist()
    assert found["score"].tolist() == pytest.approx(wanted["score"].tolist())


def test_a_missing_text_has_no_rows(spark: Any, model: Path) -> None:
    texts = spark.createDataFrame([("a", None), ("b", "Mara met Bo .")], "id string, text string")
    found = texts.mapInPandas(*extract(str(model))).toPandas()
    assert set(found["id"]) == {"b"}
    assert texts.mapInPandas(*extract(str(model), threshold=1.0)).count() == 0
