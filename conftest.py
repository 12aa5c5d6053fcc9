"""For tests and doctests alike: everything tabular is computed in double precision."""

import robustirl

robustirl.enable_x64()
