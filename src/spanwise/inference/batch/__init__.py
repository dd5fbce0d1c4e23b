"""Extraction over a whole corpus: the input is cut into parts, workers extract them, and a killed run resumes."""
