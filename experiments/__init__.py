"""The paper's experiments and the studies behind the pages, run as `python -m experiments`; no part of the wheel.

`runner` computes lists of specs in batches that survive a kill; `paper` holds the finite experiments, the continuous
one and the published numbers; `studies` one file a study; `figures` what both draw.
"""

import os

os.environ.setdefault("NPROC", "1")  # One thread of XLA a process: last digits of the continuous runs hang on it.
os.environ.setdefault("MPLBACKEND", "agg")
