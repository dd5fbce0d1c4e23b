"""Graphs in int8: weights of products per output channel, embeddings per row, activations while the graph runs."""

from __future__ import annotations

import ast
import logging
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from spanwise.pipeline.onnx_runner import GRAPHS

SCOPES = "pkg.torch.onnx.name_scopes"  # metadata of a node: the modules around it, outermost first, then its own name
LAYER = re.compile(r"\.transformer\..*?layers?\.(\d+)")
MIN_TABLE = 2**16  # numbers of an embedding table that is worth quantizing


def parts(folder: Path) -> list[str]:
    """The parts of the graphs whose weights can be quantized, such as "encoder layer 0"; others have none."""
    graphs = [onnx.load(folder / name).graph for name in GRAPHS if (folder / name).is_file()]
    return list(dict.fromkeys(_part(node) for graph in graphs for node in graph.node if _is_weighted(node, graph)))


def quantize_graphs(source: Path, target: Path, excluded: Collection[str] = ()) -> None:
    """Write the graphs of a folder in int8; parts that are `excluded` keep their weights in fp32."""
    target.mkdir(parents=True, exist_ok=True)
    for name in GRAPHS:
        if (source / name).is_file():
            _quantize(source / name, target / name, excluded)


def _quantize(source: Path, target: Path, excluded: Collection[str]) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load(source)
    _quantize_tables(model.graph, excluded)
    del model.graph.value_info[:]  # shapes of before: they do not fit the products that are rewritten below
    kept = [node.name for node in model.graph.node if _part(node) in excluded]
    if not any(node.op_type in ("MatMul", "Gemm") for node in model.graph.node):
        onnx.save(model, target)
        return
    with _without_warnings():
        quantize_dynamic(
            model,
            target,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=True,  # 7 bits: without VNNI, sums of two products of 8 bits overflow 16 bits
            weight_type=QuantType.QInt8,
            nodes_to_exclude=kept,
        )


def _quantize_tables(graph: onnx.GraphProto, excluded: Collection[str]) -> None:
    """Store the rows of embedding tables in int8, each with its own scale."""
    weights = {tensor.name: tensor for tensor in graph.initializer}
    nodes: list[NodeProto] = []
    tables = set()
    for node in graph.node:
        if _is_lookup(node, weights) and _part(node) not in excluded:
            tables.add(node.input[0])
            nodes += _scaled_lookup(node)
        else:
            nodes.append(node)
    used = {name for node in nodes for name in node.input}
    kept = [tensor for name, tensor in weights.items() if name not in tables or name in used]
    stored = [half for name in sorted(tables) for half in _rows_and_scales(weights[name])]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend([*kept, *stored])


def _scaled_lookup(node: NodeProto) -> Iterator[NodeProto]:
    """Rows in int8 times their scales, in place of rows in fp32."""
    (table, index), (output,) = node.input, node.output
    rows, numbers, scales = (f"{output}_{part}" for part in ("rows", "numbers", "scales"))
    made = [
        helper.make_node("Gather", [f"{table}_int8", index], [rows], axis=0),
        helper.make_node("Cast", [rows], [numbers], to=TensorProto.FLOAT),
        helper.make_node("Gather", [f"{table}_scale", index], [scales], axis=0),
        helper.make_node("Mul", [numbers, scales], [output]),
    ]
    for number, each in enumerate(made):
        each.name = f"{node.name}_int8_{number}"
        yield each


def _rows_and_scales(tensor: TensorProto) -> tuple[TensorProto, TensorProto]:
    table = numpy_helper.to_array(tensor)
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12).astype(np.float32) / 127
    rows = np.rint(table / scale).astype(np.int8)
    return numpy_helper.from_array(rows, f"{tensor.name}_int8"), numpy_helper.from_array(scale, f"{tensor.name}_scale")


def _is_weighted(node: NodeProto, graph: onnx.GraphProto) -> bool:
    weights = {tensor.name: tensor for tensor in graph.initializer}
    is_product = node.op_type in ("MatMul", "Gemm") and node.input[1] in weights
    return is_product or _is_lookup(node, weights)


def _is_lookup(node: NodeProto, weights: dict[str, TensorProto]) -> bool:
    """Whether a node looks up rows of a large table of floating-point numbers."""
    table = weights.get(node.input[0]) if node.op_type == "Gather" else None
    if table is None or table.data_type != TensorProto.FLOAT or len(table.dims) != 2:
        return False
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
    return axis == 0 and int(np.prod(table.dims)) >= MIN_TABLE


def _part(node: NodeProto) -> str:
    """The module that a node belongs to, in the words that a user reads."""
    scopes = next((entry.value for entry in node.metadata_props if entry.key == SCOPES), "[]")
    modules = [scope for scope in ast.literal_eval(scopes)[:-1] if scope]
    module = modules[-1].removeprefix("model.") if modules else ""
    if layer := LAYER.search(f".{module}."):
        return f"encoder layer {layer[1]}"
    return "embeddings" if "embeddings" in module else "task layers"


@contextmanager
def _without_warnings() -> Iterator[None]:
    """The library recommends a step of its own that dynamic shapes do not need."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def graph_sizes(folder: Path) -> dict[str, int]:
    """The bytes of each graph."""
    return {name: (folder / name).stat().st_size for name in GRAPHS if (folder / name).is_file()}


def copy_graphs(source: Path, target: Path) -> None:
    for name in graph_sizes(source):
        shutil.copyfile(source / name, target / name)
