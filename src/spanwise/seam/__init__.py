"""The interface between the models and the rest of the package: configs, inputs, outputs and decoders."""
