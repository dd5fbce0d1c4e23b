"""Layers that more than one model uses: tensors in, tensors out. They know neither documents nor labels."""
