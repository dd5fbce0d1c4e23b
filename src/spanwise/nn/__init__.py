"""Layers shared by several models: tensors in, tensors out. They do not depend on documents or schemas."""
