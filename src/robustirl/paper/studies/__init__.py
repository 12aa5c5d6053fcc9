"""Studies beyond the paper's figures, one module each; `robustirl study NAME` runs them (see `registry`)."""

from robustirl.paper.studies.options import require_options as require_options
from robustirl.paper.studies.registry import Frame as Frame
from robustirl.paper.studies.registry import Study as Study
from robustirl.paper.studies.registry import StudyInterrupted as StudyInterrupted
from robustirl.paper.studies.registry import register_study as register_study
from robustirl.paper.studies.registry import studies as studies
from robustirl.paper.studies.registry import study_aliases as study_aliases
