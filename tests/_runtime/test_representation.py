"""What a prompt and a notebook show of the library's objects: numbers in a few lines, never types of arrays."""

import dataclasses
import enum
import inspect
import re

import equinox as eqx
import jax
import numpy as np
import pytest

import robustirl
from robustirl import demonstrations, envs, planning, rewards, theory
from robustirl._runtime import ShortRepr, double_precision, html_columns, html_table, representation, short_value
from robustirl.theory.uncertainty import Ball
from tests.invented import selection

ROOMS = ("mdp", "envs", "planning", "rewards", "demonstrations", "control", "irl", "theory")
MAX_LINES = 11


@pytest.fixture(scope="module")
def objects():
    """One of each kind of object that a user meets first, all from the three-state world."""
    env = envs.ThreeState()
    world = env.mdp()
    fit = robustirl.fit(world, [0.1, 0.8, 0.1], alpha=0.9)
    demos = demonstrations.Demonstrations.from_arrays([[0, 1, 1], [0, 2, 2]] * 4, terminated=True)
    model = robustirl.RobustIRL(alpha=0.9).fit(world, demos)
    solution = planning.solve(world, [0.0, 1.0, 0.0])
    with double_precision():
        numbers = [jax.device_put(value) for value in (1.0, 0.9, 1.0, *[np.zeros(3)] * 3, np.full((3, 2), 0.05))]
    *ends, strength = numbers
    certificate = theory.Certificate(*ends, solution.verdict, solution.verdict, Ball(world, strength))
    found = [
        *(env, world, robustirl.MarkovGame(world, 0.9), world.kernel, fit, fit.verdict, fit.history, fit.diagnosis),
        *(solution, solution.verdict, certificate),
        *(demos, demos[0], demonstrations.estimate_occupancy(demos, world), selection(), model, model.judgment_),
        *(model.evidence_, envs.make("gridworld-4"), envs.make("objectworld"), envs.GaussianGrid()),
        *(rewards.LinearReward(np.eye(3)), rewards.NetworkReward(np.eye(3), key=jax.random.key(0))),
        *(theory.find_matching_policy(world, fit.occupancy), theory.closest_occupancy(world, fit.occupancy)),
        robustirl.RobustIRL(),
    ]
    return {type(one).__name__: one for one in found}


def public_classes():
    for room in ROOMS:
        module = getattr(robustirl, room)
        for name in getattr(module, "DOCUMENTED", module.__all__):
            if inspect.isclass(one := getattr(module, name)):
                yield f"{room}.{name}", one


@pytest.mark.parametrize(("name", "cls"), list(public_classes()))
def test_no_public_class_prints_types_of_arrays_or_whole_arrays(name, cls):
    if issubclass(cls, BaseException | enum.Enum) or inspect.isabstract(cls):
        return
    assert cls.__repr__ is not eqx.Module.__repr__, f"{name}: derive it from PlainModule or ScopedModule"
    if dataclasses.is_dataclass(cls):
        code = getattr(inspect.unwrap(cls.__repr__), "__code__", None)
        written = code is not None and code.co_filename == "<string>"  # By `dataclass`, which compiles a text.
        arrays = [f.name for f in dataclasses.fields(cls) if f.repr and re.search("Array|ndarray", str(f.type))]
        assert not (written and arrays), f"{name} prints {arrays} in full: derive it from ShortRepr"


def test_reprs_are_short_and_hold_numbers(objects):
    for name, one in objects.items():
        text = repr(one)
        assert text.count("\n") < MAX_LINES, name
        assert not re.search(r"\b[fiub]\d{1,2}\[|bool\[|array\(", text), text
        assert max(map(len, text.splitlines())) <= 300, text


def test_a_fit_says_its_size_its_end_and_its_gap(objects):
    text = repr(objects["Fit"])
    assert "3 states, 2 actions, α = 0.9" in text
    assert f"occupancy gap {float(objects['Fit'].verdict.occupancy_gap):.4g}" in text
    assert objects["Fit"].verdict.status.value in text


def test_a_batch_of_fits_and_a_traced_world_have_reprs(objects):
    many = jax.tree.map(lambda leaf: np.stack([leaf] * 2), objects["Fit"])
    assert "2 fits of 3 states" in repr(many)
    seen = []
    jax.eval_shape(lambda game: seen.append(repr(game)), objects["MarkovGame"])
    assert "α = <traced number>" in seen[0]


def test_notebooks_get_tables(objects):
    for name in ("Fit", "Solution", "Certificate", "Demonstrations", "AlphaSelection", "RobustIRL"):
        page = objects[name]._repr_html_()
        assert page.startswith("<table>"), name
        assert page.endswith("</table>"), name
    assert "<td>0.9" in objects["AlphaSelection"]._repr_html_()


def test_tables_escape_what_they_are_given():
    assert "<script>" not in html_table("<script>", [("<b>", "<i>")])
    assert "&lt;b&gt;" in html_columns("t", {"<b>": ["x"]})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "0.1"),
        (np.bool_(True), "True"),
        (np.arange(3), "[0, 1, 2]"),
        (np.zeros((7, 2)), "<7 × 2, from 0 to 0>"),
        (np.zeros(0), "[]"),
        ((1,), "(1,)"),
        (["x" * 80], "['xx"),
        ({"a": 1}, "<1 entries>"),
        (jax.random.key(0), "<random key>"),
        (np.array(["a", "b"]), "['a', 'b']"),
    ],
)
def test_values_in_a_few_words(value, text):
    assert short_value(value).startswith(text)
    assert len(short_value(value)) <= 60


def test_a_solver_shows_the_numbers_that_are_not_the_default_ones():
    assert repr(planning.NewtonKrylov()) == "NewtonKrylov()"
    assert repr(planning.NewtonKrylov(sweeps=7)) == "NewtonKrylov(sweeps=7)"


def test_long_sequences_are_counted_and_dataclasses_show_no_whole_arrays():
    assert short_value([1, 2, 3, 4, 5, 6]) == "[1, 2, 3, 4, 5, 6]"
    assert short_value([1.5, "a", 2, 3, 4, 5, 6]) == "<7 × float>"
    assert short_value(np.arange(7)) == "<7, from 0 to 6>"
    assert short_value(np.arange(2 * 10**6).reshape(2, -1)) == "<2 × 1000000>"
    assert short_value("x" * 58) == repr("x" * 58)
    assert short_value("x" * 59) == "'" + "x" * 56 + "..."
    assert short_value(["x" * 56]) == repr(["x" * 56])
    assert short_value(["x" * 57]) == "['" + "x" * 55 + "..."

    class Said:
        def __init__(self, text):
            self.text = text

        def __repr__(self):
            return self.text

    assert [short_value(Said(text)) for text in ("y" * 60, "y" * 61, "y\ny")] == ["y" * 60, "Said(...)", "Said(...)"]

    @dataclasses.dataclass
    class Plain(ShortRepr):
        numbers: np.ndarray

    @dataclasses.dataclass
    class Own(ShortRepr):
        numbers: np.ndarray

        def __repr__(self):
            return "mine"

    assert re.sub(r"^.*Plain", "Plain", repr(Plain(np.zeros(7)))) == "Plain(numbers=<7, from 0 to 0>)"
    assert repr(Own(np.zeros(7))) == "mine"


def test_many_fields_are_cut_and_long_lines_broken():
    fields = {f"field{k}": k for k in range(10)}
    shown = representation.field_repr(object(), {**fields, "field9": "y" * 40})
    assert shown.startswith("object(\n  field0=0,\n")
    assert shown.endswith("  field7=7,\n  and 2 more fields\n)")
    assert "and" not in representation.field_repr(object(), dict(list(fields.items())[:9]))
    assert representation.joined("n", ["x" * 97]) == f"n({'x' * 97})"
    assert representation.joined("n", ["x" * 98]) == f"n(\n  {'x' * 98}\n)"
