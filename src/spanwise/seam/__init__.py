"""The seam between the models and the rest: what a model is made from, takes and gives."""
