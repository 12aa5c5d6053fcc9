r"""Rust's buses across groups: learn from Zurcher's choices for one group, act in another, for every ordered pair.

The mileage of the groups grows differently, the decision-maker is the same. Three ways lead from a group E, where
choices were recorded, to a policy for a group L:

    standard    pretend that the choices were made in the world of L, α = 1
    robust      the same with an opponent whose α the data choose (`auto`); also the best α in hindsight
    transfer    learn the cost in the world of E, plan with it in the world of L; also from all other groups jointly

each by likelihood of the choices and by occupancy matching. A policy π is judged by what Zurcher did in L:

    log-probability   mean of log π(a|s) over his choices in L, none of which was used; its gain over that of standard
                      by likelihood; standard errors take buses of L as independent, and what was learned as given
    replacements      Σ π(replace|x) over the months he decided about, and the mean mileage x under these weights
    cost              of a month, by the cost θ_L estimated on L itself: θ_L · c(π), c(π) the discounted mean of the
                      features, with the interval of θ_L; and by how much it exceeds that of the policy for θ_L, both
                      less the entropy, which is what choosing softly is worth in Rust's model

The excess is d = θ_L · (c(π) - c(π_L)) - (H(π) - H(π_L)) >= 0. Its derivative in θ_L is c(π) - c(π_L), since π_L is the
best policy for θ_L; hence its standard error. No engine of groups 1 and 2 was replaced. Their cost is not identified:
as E they are fitted with a weak prior (`penalty`), as L they have no cost to judge by.
"""

import dataclasses

from robustirl.errors import InvalidInputError
from robustirl.paper.studies.buses_groups import Group, read_group
from robustirl.paper.studies.buses_resampling import HEADINGS as RESAMPLED_HEADINGS
from robustirl.paper.studies.buses_resampling import ResampleRecord, resample_specs, resampled_rows
from robustirl.paper.studies.buses_results import HEADINGS, cells, summarize
from robustirl.paper.studies.buses_runs import BusesRecord, OneCostRecord, one_cost_specs, row_of, specs_of
from robustirl.paper.studies.buses_ways import BIN_MILES
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.sweeps import Spec


@register_study("buses")
@dataclasses.dataclass(frozen=True)
class BusesStudy:
    """Learn from Zurcher's choices for one group of Rust's buses and act in another.

    This is done for every ordered pair of groups.
    """

    groups: tuple[int, ...] = (4, 3, 1, 2)
    """Which groups."""
    discount: float = 0.9999
    """The discount of a month for likelihoods and costs."""
    matched_discount: float = 0.98
    """That for occupancy matching: records last 24 to 125 months, and what follows them is a guess."""
    tail: str = "chain"
    """What follows a record; see `estimate_occupancy`."""
    resamples: int = 200
    """How many times to draw buses anew, for an interval of transfer's gain over standard; 0 for none."""

    def run(self, frame: Frame) -> None:
        """Write the table of all ways and pairs, and a summary."""
        if len(set(self.groups)) < 2:
            raise InvalidInputError(f"--groups is {self.groups!r}, but at least two different groups are needed.")
        groups = {number: read_group(number, self.discount, self.matched_discount) for number in self.groups}
        records = frame.compute(self._specs(list(groups.values())))
        rows = [row_of(record) for record in records if isinstance(record, BusesRecord)]
        frame.write_table("buses", HEADINGS, map(cells, rows))
        frame.write_table("buses-summary", *summarize(rows))
        if self.resamples > 0:
            drawn = [record for record in records if isinstance(record, ResampleRecord)]
            frame.write_table("buses-resampled", RESAMPLED_HEADINGS, resampled_rows(drawn))
        for number, group in groups.items():
            at = group.choices.states[group.choices.actions == 1]
            seen = f", at {BIN_MILES * (at.mean() + 0.5):,.0f} miles on average" if at.size else ""
            frame.say(f"group {number}: {len(group.choices)} months, {at.size} engines replaced{seen}")
        for test in (record for record in records if isinstance(record, OneCostRecord)):
            frame.say(
                f"one cost for groups {' and '.join(test.spec.groups.split())}: twice the log-likelihood lost is"
                f" {test.statistic:.2f}, chi-squared with {test.freedom} degrees of freedom (p = {test.p_value:.2g})"
            )

    def _specs(self, groups: list[Group]) -> list[Spec]:
        """Return all runs: ways and pairs, resamples, and the test of one cost."""
        return [
            *specs_of(groups, self.discount, self.matched_discount, self.tail),
            *resample_specs(groups, self.discount, self.resamples),
            *one_cost_specs(groups, self.discount),
        ]
