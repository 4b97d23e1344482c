"""Figures for papers and pages, drawn with matplotlib: each function returns its Figure, to be restyled or saved.

A module for each kind: a run (`run`), a comparison (`comparison`), a sweep (`sweep`), a capture (`capture`) and the
air over time (`timeline`). `style` has what they share: sizes, fonts and colours; `labels` the names of quantities.
"""
