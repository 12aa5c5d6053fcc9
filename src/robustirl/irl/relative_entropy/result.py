"""What relative-entropy IRL returns: the policies, the reward's weights, how learning went, and a verdict on it."""

from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import PlainModule, html_table, joined, short_value, warn_renamed
from robustirl.control import GaussianPolicy
from robustirl.irl._result import AbstractFit, AbstractVerdict


class RelativeEntropyVerdict(AbstractVerdict):
    """How a fit ended.

    Attributes:
        converged: Whether the feature gap came within the tolerance (false if none was given).
        valid: Whether all numbers were finite and the weights never rested on a single trajectory. If not, the fit
            ended with the round in which that happened, and its policies and reward are those before it.
        stopped: Whether a callback or an interrupt ended the fit early.
        rounds: Rounds begun.
        feature_gap: ‖φ̄^mix - φ̄^E‖₁ of the final policies, on fresh episodes; infinite where it is no number.
        first_gap: That gap before anything was learned.
        finished: The share of those episodes that ended before the horizon. At zero the mixture gets nowhere: the
            world never ends, or the opponent is too strong at this α.
        effective: The smallest effective number of trajectories behind a step on θ.
    """

    converged: Bool[Array, "*batch"]
    valid: Bool[Array, "*batch"]
    stopped: Bool[Array, "*batch"]
    rounds: Int[Array, "*batch"]
    feature_gap: Float[Array, "*batch"]
    first_gap: Float[Array, "*batch"]
    finished: Float[Array, "*batch"]
    effective: Float[Array, "*batch"]

    @property
    def sound(self) -> Bool[Array, "*batch"]:
        """The name of `valid` in version 0.1."""
        warn_renamed("RelativeEntropyVerdict.sound")
        return self.valid

    def history_length(self) -> int:
        return int(self.rounds)

    def __str__(self) -> str:
        """Return the verdict in a sentence."""
        words = (
            f"{self.status.value} after {int(self.rounds)} rounds with a feature gap of {float(self.feature_gap):.3g}"
        )
        if not self.finished > 0:
            words += "; no episode ended before the horizon, so the world does not end or the opponent is too strong"
        if self.valid and not self.feature_gap < self.first_gap:
            words += (
                f"; before learning it was {float(self.first_gap):.3g}, so nothing was matched: the opponent is too"
                " strong, or the rates are too high"
            )
        return words + "."


class RelativeEntropyHistory(PlainModule):
    """One entry a round, along the first axis after those of a batch.

    Attributes:
        feature_gap: ‖φ̄^mix - φ̄^E‖₁ of the trajectories sampled.
        effective: The effective number of trajectories, the smallest of the round.
        finished: The share of episodes that ended before the horizon.
        parameters: θ after the round.
    """

    feature_gap: Float[Array, "*batch"]
    effective: Float[Array, "*batch"]
    finished: Float[Array, "*batch"]
    parameters: Float[Array, "*batch d"]


class RelativeEntropyFit(AbstractFit):
    """The outcome of (robust) relative-entropy IRL.

    Attributes:
        player: π_pl, the policy to act with.
        opponent: π_op.
        parameters: θ of the learned reward R_θ(s) = ⟨θ, φ(s)⟩.
        expert_features: φ̄^E, what was to be matched.
        features: φ̄ of the mixture in the learner's world.
        alpha: α.
        history: How learning went.
        verdict: How it ended.
    """

    player: GaussianPolicy
    opponent: GaussianPolicy
    parameters: Float[Array, "*batch d"]
    expert_features: Float[Array, "*batch d"]
    features: Float[Array, "*batch d"]
    alpha: Float[Array, "*batch"]
    history: RelativeEntropyHistory
    verdict: RelativeEntropyVerdict

    def __repr__(self) -> str:
        return joined("RelativeEntropyFit", [f"{name} {text}" for name, text in self._rows()])

    def _repr_html_(self) -> str:
        return html_table("RelativeEntropyFit", self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        """Return what a prompt shows: names and texts."""
        single = self.alpha.ndim == 0
        return [
            ("α =", short_value(self.alpha)),
            ("ended", str(self.verdict).removesuffix(".") if single else short_value(self.verdict.converged)),
            ("θ =", short_value(self.parameters)),
        ]

    def explain_failure(self, which: str) -> str:
        return (
            f"round {int(self.verdict.rounds) - 1}{which} had numbers that were not finite, or weights on"
            f" {float(self.verdict.effective):.2f} trajectories in effect; check the world's features for NaN, lower"
            " the learning rates or set weight_range, or pass throw=False to keep the last valid round."
        )

    def explain_gap(self, tolerance: float, which: str) -> str:
        return (
            f"the feature gap{which} is {float(self.verdict.feature_gap):.3e} after {int(self.verdict.rounds)} rounds,"
            f" above the tolerance {tolerance:.3e}; raise rounds or the tolerance, or pass throw=False to keep the fit."
        )
