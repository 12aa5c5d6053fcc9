"""What the commands write about one fit, one pair of worlds, or demonstrations."""

from robustirl.reports.evidence import DemonstrationsReport as DemonstrationsReport
from robustirl.reports.evidence import report_demonstrations as report_demonstrations
from robustirl.reports.evidence import report_guarantee as report_guarantee
from robustirl.reports.fit import OPTIMIZERS as OPTIMIZERS
from robustirl.reports.fit import FitJob as FitJob
from robustirl.reports.fit import FitRequest as FitRequest
from robustirl.reports.fit import prepare_fit as prepare_fit
from robustirl.reports.fit import write_fit as write_fit
from robustirl.reports.fit_folder import FitFolder as FitFolder
from robustirl.reports.fit_folder import is_fit_folder as is_fit_folder
from robustirl.reports.fit_folder import next_steps as next_steps
from robustirl.reports.fit_folder import read_fit_folder as read_fit_folder
from robustirl.reports.fit_record import MOST_ENDS as MOST_ENDS
from robustirl.reports.fit_record import WorldRecord as WorldRecord
from robustirl.reports.html import embedded as embedded
from robustirl.reports.html import render as render
from robustirl.reports.logs import read_demonstrations as read_demonstrations
from robustirl.reports.markdown import to_markdown as to_markdown
from robustirl.reports.occupancy_file import read_occupancy as read_occupancy
from robustirl.reports.theory import Learned as Learned
from robustirl.reports.theory import PairReport as PairReport
from robustirl.reports.theory import report_pairs as report_pairs
from robustirl.reports.worlds import explain_noise as explain_noise
from robustirl.reports.worlds import find_environment as find_environment
from robustirl.reports.worlds import parse_arguments as parse_arguments
