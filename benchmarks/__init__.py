"""Measurements: ratios within one run, against a named peer or a plain copy of the same data.

Each module has asv classes (``time_*``, ``track_*``) and prints its ratios with
``python -m benchmarks.NAME``.
"""
