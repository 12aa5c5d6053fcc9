r"""Sepsis: two groups of patients whose bodies answer differently to the same treatments.

The simulator of Oberst and Sontag ("Counterfactual Off-Policy Evaluation with Gumbel-Max Structural Causal Models",
ICML 2019). A state holds four vital signs and three treatments that are on or off; an action switches the treatments.
A patient whose signs are all normal without treatment is discharged (+1); one with three or more abnormal signs dies
(-1). The groups are patients without and with diabetes: the learner's hospital may have the one, the expert's the
other, which is a mismatch that nobody made up. The largest ℓ1 distance between rows of the two is 1.42.

The kernels are those that the authors estimated from 10,000 draws a pair, kept as counts (repository
clinicalml/gumbel-max-scm, MIT; `data/sepsis-LICENSE.txt`). Discharge and death pay when they are entered and lead to
one more state, 720, where the episode is over: rewards are paid once.
"""

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl._check import short_repr
from robustirl.envs.recorded import read_data
from robustirl.envs.registry import frozen, register
from robustirl.envs.tables import Outcomes, TabularEnvironment
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP

SIGNS = {
    "heart rate": ("low", "normal", "high"),
    "pressure": ("low", "normal", "high"),
    "oxygen": ("low", "normal"),
    "glucose": ("very low", "low", "normal", "high", "very high"),
}
TREATMENTS = ("antibiotics", "vasopressors", "ventilation")  # As states count them; actions: the last two swapped.
NORMAL = (1, 1, 1, 2)
LEVELS = (*map(len, SIGNS.values()), 2, 2, 2)
PATIENTS = int(np.prod(LEVELS))
DRAWS = 10_000  # A pair of state and action.
OTHER_GROUP = "other-group"
FEATURES = ("outcomes", "abnormal signs", "levels")


@dataclasses.dataclass(frozen=True, eq=False)
class Sepsis(TabularEnvironment):
    """Patients of two groups as an environment; `sepsis` makes it.

    Noise ε of the model `other-group` mixes the kernels of the groups, so that ε = 1 is the other group.
    """

    group: int = 0

    def mdp(self, noise: float = 0.0, noise_model: str | None = None, *, group: int | None = None) -> MDP:
        """Return the world of a group: 0 for patients without diabetes, 1 for patients with it."""
        if group is not None and group != self.group:
            return sepsis(group=group, discount=self.discount).mdp(noise, noise_model)
        return super().mdp(noise, noise_model)

    @property
    def positions(self) -> Float[np.ndarray, "S 2"]:
        """Return a chart: glucose and treatments from left to right, the other signs downwards, the end below."""
        rate, pressure, oxygen, glucose, *treated = np.indices(LEVELS).reshape(len(LEVELS), -1)
        row = 1.5 * (rate * 3 + pressure) * 2 + 1.2 * oxygen
        column = 9 * glucose + 4 * treated[0] + 2 * treated[1] + treated[2]
        places = np.stack([column, -row], -1)
        return np.vstack([places, [column.max() / 2, -row.max() - 3]]).astype(float)

    def features_by(self, kind: str) -> tuple[Float[np.ndarray, "S d"], tuple[str, ...]]:
        """Return indicators of classes of states and their names.

        Args:
            kind: `outcomes` (death and discharge), `abnormal signs` (how many, and whether anything is treated, besides
                outcomes) or `levels` (every level of every sign, each treatment and outcomes).

        Example:
            >>> phi, names = sepsis().features_by("outcomes")
            >>> phi.sum(0).tolist(), names
            ([416.0, 1.0], ('death', 'discharge'))
        """
        if kind not in FEATURES:
            raise InvalidInputError(f"there are no features {short_repr(kind)}; choose one of {', '.join(FEATURES)}.")
        values = np.indices(LEVELS).reshape(len(LEVELS), -1)
        dead, home = self.reward[:PATIENTS] < 0, self.reward[:PATIENTS] > 0
        columns: dict[str, Any] = {}
        if kind == "abnormal signs":
            count = (values[:4] != np.array(NORMAL)[:, None]).sum(0)
            columns = {f"{k} abnormal": count == k for k in range(3)} | {"treated": values[4:].any(0)}
        elif kind == "levels":
            named = zip(SIGNS.items(), values, strict=False)
            columns = {f"{sign} {word}": level == k for (sign, words), level in named for k, word in enumerate(words)}
            columns |= {name: treated == 1 for name, treated in zip(TREATMENTS, values[4:], strict=True)}
        columns = {name: column & ~dead & ~home for name, column in columns.items()} | {
            "death": dead,
            "discharge": home,
        }
        phi = np.zeros((PATIENTS + 1, len(columns)))
        phi[:PATIENTS] = np.stack(list(columns.values()), -1)
        return phi, tuple(columns)


def sepsis(*, group: int = 0, features: str | None = None, discount: float = 0.99) -> Sepsis:
    """Return the patients of one group as an environment, whose noise is the other group.

    Args:
        group: 0 for patients without diabetes, 1 for patients with it.
        features: What rewards are linear in, a kind of `Sepsis.features_by`; a weight for every state if omitted.
        discount: γ.

    Example:
        >>> env = sepsis(features="outcomes")
        >>> env.mdp(group=1).num_states, float(env.reward.sum()), env.feature_names
        (721, -415.0, ('death', 'discharge'))
        >>> env.state_names[376], env.action_names[5]
        ('heart rate normal, pressure normal, oxygen normal, glucose normal', 'antibiotics, vasopressors')
    """
    if isinstance(group, bool) or group not in (0, 1):
        raise InvalidInputError(f"the group is {short_repr(group)}, but 0 (not diabetic) or 1 (diabetic) is needed.")
    kernels, initial, reward = _data()
    outcome = {-1.0: "death", 0.0: "in care", 1.0: "discharge"}
    env = Sepsis(
        "sepsis",
        outcomes=kernels[group],
        rewards=np.append(reward, 0.0),
        initial=np.append(initial[group], 0.0),
        discount=discount,
        disturbances={OTHER_GROUP: kernels[1 - group]},
        calm=np.append(reward != 0, True),
        last=PATIENTS,
        words={
            "classes": (*(outcome[pay] for pay in reward.tolist()), "over"),
            "state_names": (*map(_state_name, itertools.product(*map(range, LEVELS))), "over"),
            "action_names": tuple(_switched((a, v, w)) or "nothing" for a, w, v in itertools.product((0, 1), repeat=3)),
        },
        group=group,
    )
    if features is None:
        return env
    phi, names = env.features_by(features)
    return dataclasses.replace(env, phi=phi, words={**env.words, "feature_names": names})


def _switched(treated: tuple[int, ...]) -> str:
    return ", ".join(name for name, on in zip(TREATMENTS, treated, strict=True) if on)


def _state_name(values: tuple[int, ...]) -> str:
    signs = [f"{sign} {words[k]}" for (sign, words), k in zip(SIGNS.items(), values, strict=False)]
    return ", ".join([*signs, *filter(None, [_switched(values[4:])])])


@functools.cache
def _data() -> tuple[tuple[Outcomes, Outcomes], np.ndarray, np.ndarray]:
    """Return the kernels of both groups, starts `[2, 720]` and what arrivals pay `[720]`.

    The file holds, for every state that is no outcome, action and group, how often each successor was drawn: numbers of
    successors, their distances from one another, and counts.
    """
    data = read_data("sepsis.npz")
    reward = data["reward_of_arrival"].astype(float)
    patients, lengths = np.flatnonzero(reward == 0), data["lengths"].astype(int)
    first = np.cumsum(lengths) - lengths
    columns = np.cumsum(data["steps"].astype(int))
    columns -= np.repeat(columns[first] - data["steps"][first], lengths)
    longest = int(lengths.max())
    place = np.repeat(np.arange(lengths.size), lengths), np.arange(columns.size) - np.repeat(first, lengths)
    places, chances = np.zeros((lengths.size, longest), int), np.zeros((lengths.size, longest))
    places[place], chances[place] = columns, data["counts"] / DRAWS
    kernels = []
    for rows in (slice(None, lengths.size // 2), slice(lengths.size // 2, None)):
        successors = np.full((PATIENTS + 1, 8, longest), PATIENTS)
        probabilities = np.zeros((PATIENTS + 1, 8, longest))
        probabilities[..., 0] = 1  # Outcomes lead to the end.
        successors[patients], probabilities[patients] = (a[rows].reshape(-1, 8, longest) for a in (places, chances))
        kernels.append(Outcomes(frozen(successors), frozen(probabilities)))
    return (kernels[0], kernels[1]), frozen(data["initial"]), frozen(reward)


register("sepsis", sepsis)
