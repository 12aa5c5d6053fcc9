"""The paper's own numbers, shipped with the package."""

from robustirl.paper.published.numbers import LOST_LAYOUTS as LOST_LAYOUTS
from robustirl.paper.published.numbers import PublishedContinuous as PublishedContinuous
from robustirl.paper.published.numbers import PublishedReturn as PublishedReturn
from robustirl.paper.published.numbers import published_continuous as published_continuous
from robustirl.paper.published.numbers import published_expert_returns as published_expert_returns
from robustirl.paper.published.numbers import published_optimal_returns as published_optimal_returns
from robustirl.paper.published.numbers import published_returns as published_returns
