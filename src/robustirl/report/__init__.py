"""Report one fit: numbers and named checks, with text, a notebook's table, JSON and a web page as views of them."""

from robustirl.report.report import Report as Report
from robustirl.report.report import Weight as Weight
from robustirl.report.report import report_fit as report_fit

__all__ = ["Report", "report_fit"]
