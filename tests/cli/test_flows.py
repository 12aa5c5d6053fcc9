"""What commands do with what is computed: which runs they ask for, what they print, and their exit status.

Computations that take minutes have stand-ins that note what they were asked for.
"""

import dataclasses
import logging
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.cli import compare, continuous, demo, engines, imitate, layouts, reproduce, serve, study
from robustirl.cli.console import PhaseBars, answer, console, errors, say_files, take_answers
from robustirl.cli.output_options import OutputOptions, output, print_answers
from robustirl.paper.finite.comparison import Explanation
from robustirl.paper.studies import StudyInterrupted
from robustirl.sweeps import Outcome
from robustirl.sweeps.batches import Timing
from tests.cli.test_printed import learners, printed, published_runs
from tests.invented_runs import layouts as runs_of_layouts
from tests.invented_runs import record_of


def finished(records, *, complete=True):
    return Outcome(list(records), complete, len(records), Timing(), [])


def run(command, request):
    """The exit status of a command, and what it printed."""
    status = []
    said = printed(lambda: status.append(command(request)))
    take_answers()
    return status[0], said


@pytest.mark.parametrize(("worst", "count"), [(2, 2), (1, 1), (0, 0), (-1, 0)])
def test_compare_explains_the_cells_that_differ_most(monkeypatch, tmp_path, worst, count):
    asked, explained = [], []
    records = published_runs()
    monkeypatch.setattr(engines, "compute", lambda specs, *_, **__: (asked.extend(specs), finished(records))[1])

    def explain(cell, *, draws):
        explained.append((cell.record, draws))
        return Explanation(cell, -1.0, 0.0, -2.0)

    monkeypatch.setattr(compare, "explain", explain)
    status, said = run(compare.run_compare, compare.Compare(("gridworld-1",), worst=worst, draws=1, out=tmp_path))
    assert status == 0
    assert {(spec.environment, spec.noise_model, spec.steps) for spec in asked} == {("gridworld-1", "published", 200)}
    assert explained == [(one, 1) for one in records[::-1][:count]]  # Each is further from its number than the last.
    assert ("the cells that differ most" in said) == (count > 0)
    assert "relative error against the published numbers" in said
    assert "against the published numbers, 5 cells" in said


def test_compare_needs_a_draw_only_where_it_explains(monkeypatch, tmp_path, refused):
    monkeypatch.setattr(engines, "compute", lambda *_, **__: finished(published_runs(), complete=False))
    assert run(compare.run_compare, compare.Compare(("gridworld-1",), worst=0, draws=0, out=tmp_path))[0] == 130
    with refused("--draws is 0"):
        run(compare.run_compare, compare.Compare(("gridworld-1",), worst=1, draws=0, out=tmp_path))


def test_layouts_prints_a_table_for_every_measure(monkeypatch, tmp_path, refused):
    settled = {0: -10.0, 1: -30.0, 2: -19.0, 3: -21.0}
    records = [dataclasses.replace(one, optimal_return=settled[one.spec.seed]) for one in runs_of_layouts()]
    drawn, complete = [], [True, False]
    monkeypatch.setattr(engines, "compute", lambda *_, **__: finished(records, complete=complete.pop(0)))
    monkeypatch.setattr(layouts, "write_layout_tables", lambda *_: [tmp_path / "layouts.csv"])
    monkeypatch.setattr(layouts, "draw_layouts", lambda found, model, out: drawn.append(model) or [])
    judged, shapes = [], layouts.shapes
    monkeypatch.setattr(layouts, "shapes", lambda found, of: judged.append(len(found)) or shapes(found, of))
    request = layouts.Layouts(4, alphas=(1.0, 0.9), learner_noise=(0.0,), expert_noise=(0.1,), out=tmp_path)
    status, said = run(layouts.run_layouts, request)
    assert (status, drawn) == (0, ["uniform-state"])
    assert judged == [len(records), len(records), len(records) // 2]  # All layouts, or the settled ones alone.
    assert "2 of 4 layouts are settled" in said
    assert said.count("the paper's shape") == 3
    assert said.count(f"wrote {tmp_path / 'layouts.csv'}") == 1
    assert run(layouts.run_layouts, request)[0] == 130
    for alphas in ((1.0,), (0.9, 0.8)):
        with refused(f"--alphas are {alphas}"):
            run(layouts.run_layouts, dataclasses.replace(request, alphas=alphas))
    with refused("--layouts is 3"):
        run(layouts.run_layouts, dataclasses.replace(request, layouts=3))


def plans(monkeypatch, complete=True):
    """What `reproduce` is asked to run; its runs are invented."""
    asked = []

    def stand_in(plan, out, **options):
        asked.append((plan, options))
        return finished([record_of(spec) for spec in plan.specs], complete=complete)

    monkeypatch.setattr(reproduce, "reproduce", stand_in)
    return asked


SMALL = {"alphas": (1.0, 0.9), "learner_noise": (0.0,), "expert_noise": (0.0, 0.1)}


@pytest.mark.parametrize(
    ("names", "models", "tables", "lines"),
    [
        (("gridworld-4",), (), 1, 0),
        (("gridworld-4",), ("uniform-state", "published"), 2, 1),
        (("gridworld-4", "gridworld-1"), ("published",), 0, 1),
    ],
)
def test_reproduce_prints_a_table_of_one_environment(monkeypatch, tmp_path, names, models, tables, lines):
    asked = plans(monkeypatch)
    request = reproduce.Reproduce(names, models, ("best-alpha",), redraw=True, out=tmp_path, **SMALL)
    status, said = run(reproduce.run_reproduce, request)
    assert status == 0
    assert said.count("by the expert's noise") == tables
    assert said.count("against the published numbers") == lines
    (plan, options), *_ = asked
    assert (plan.explain, plan.noise_models) == (True, models or ("uniform-state",))
    assert options["redraw"]


def test_reproduce_says_what_an_experiment_sets_itself(monkeypatch, tmp_path):
    plans(monkeypatch, complete=False)
    usual = reproduce.Reproduce(("gridworld-4",), experiments=("all-alphas", "alpha-study", "robust-experts"))
    assert reproduce.departures(usual, reproduce.plan_of(usual)) == []
    other = dataclasses.replace(usual, alphas=(1.0, 0.7), learner_noise=(0.05,), out=tmp_path)
    status, said = run(reproduce.run_reproduce, other)
    assert status == 130
    assert "alpha-study is defined by α = 1, 0.95, 0.9" in said
    assert "does not follow --alphas" in said
    assert [reproduce._values(kept) for kept in (None, (1.0, 0.5), "soft")] == [
        "the environment's usual layout",
        "1, 0.5",
        "soft",
    ]


def test_continuous_prints_its_cells(monkeypatch, tmp_path):
    complete = [True, False]
    monkeypatch.setattr(
        continuous, "reproduce_continuous", lambda *_, **__: finished(learners(), complete=complete.pop(0))
    )
    request = continuous.Continuous(seeds=1, alphas=(1.0,), learner_noise=(0.0,), expert_noise=(0.1,), out=tmp_path)
    status, said = run(continuous.run_continuous, request)
    assert (status, "reach the goal" in said) == (0, True)
    assert run(continuous.run_continuous, request)[0] == 130


def test_continuous_draws_a_packed_store(monkeypatch, tmp_path, refused):
    records, specs = learners(), []
    monkeypatch.setattr(continuous, "unpack_store", lambda path, folder: SimpleNamespace(specs=specs))
    monkeypatch.setattr(continuous, "learners", lambda store: records)
    monkeypatch.setattr(continuous, "Store", SimpleNamespace(read=lambda folder: None))
    monkeypatch.setattr(
        continuous,
        "rebuild_report",
        lambda folder, progress: dataclasses.replace(finished(records), files=[folder / "report.html"]),
    )
    request = continuous.Continuous(records=tmp_path / "packed.npz", out=tmp_path / "out")
    status, said = run(continuous.run_continuous, request)
    assert status == 0
    assert f"wrote {tmp_path / 'out' / 'report.html'}" in said
    records = []
    with refused("packed.npz holds no runs, but --records draws continuous ones"):
        run(continuous.run_continuous, request)


class Seen:
    """Recordings, as far as the command handles them."""

    def __init__(self, note="seen"):
        self.note = note

    def without_actions(self):
        return self

    def save(self, path):
        path.write_text(self.note)

    def __repr__(self):
        return self.note


def stand_ins(monkeypatch):
    """Replace training and measuring; return what they were asked for."""
    asked = {}

    def train(worlds, *, steps, callback, keys):
        asked["training"] = (worlds, steps, [jax.random.key_data(key).tolist() for key in keys])
        callback(1, 2)
        returns = ([9.0] * 20 + [1.0] * 20, [0.0] * 20 + [2.0] * 20)
        return [
            SimpleNamespace(policy=f"expert {n}", progress=SimpleNamespace(episode_return=returns[n])) for n in (0, 1)
        ]

    def record(world, policy, *, episodes, key):
        asked["recording"] = (world, policy, episodes, jax.random.key_data(key).tolist())
        return Seen()

    def fit(worlds, seen, alphas, *, config, callbacks, keys):
        asked["fits"] = (worlds, seen, alphas, config.steps, [jax.random.key_data(key).tolist() for key in keys])
        callbacks[0](SimpleNamespace(steps=1, total=2))
        return [SimpleNamespace(player=f"player {n}", judgment=f"judged {n}", gap=-n) for n in range(len(worlds))]

    def measure(worlds, policies, *, episodes, keys):
        asked["measured"] = (worlds, policies, episodes, [jax.random.key_data(key).tolist() for key in keys])
        return [[float(n), n + 1.0] for n in range(len(policies))]

    monkeypatch.setattr("robustirl.control.train_policies", train)
    monkeypatch.setattr("robustirl.control.measure_returns", measure)
    monkeypatch.setattr("robustirl.demonstrations.record", record)
    monkeypatch.setattr("robustirl.irl.fit_imitation_many", fit)
    monkeypatch.setattr("robustirl.irl.closest", lambda fits: min(fits, key=lambda one: one.gap))
    monkeypatch.setattr("robustirl.irl.save_fit", lambda fit, path: path.write_text(fit.player))
    monkeypatch.setattr(imitate, "_films", lambda world, policies, folder: asked.update(films=policies) or ["film.gif"])
    return asked


def test_imitate_trains_an_expert_and_two_learners(monkeypatch, tmp_path):
    asked = stand_ins(monkeypatch)
    request = imitate.Imitate(
        physics=("mass=0.2",), expert_physics=("length=0.6",), attempts=2, episodes=3, out=tmp_path / "out", seed=5
    )
    status, said = run(imitate.run_imitate, request)
    assert status == 0
    keys = list(jax.random.split(jax.random.key(5), 4))
    numbers = [jax.random.key_data(key).tolist() for key in keys]
    homes, steps, trained = asked["training"]
    assert (len(homes), steps) == (2, 600_000)
    assert trained == [jax.random.key_data(key).tolist() for key in jax.random.split(keys[0], 2)]
    assert asked["recording"] == (homes[0], "expert 1", 3, numbers[1])  # The better one at the end of its training.
    worlds, seen, alphas, steps, learning = asked["fits"]
    assert (len(worlds), len(seen), alphas, steps) == (4, 4, [1.0, 1.0, 0.95, 0.95], 600_000)
    assert learning == [jax.random.key_data(key).tolist() for key in jax.random.split(keys[2], 2)] * 2
    assert homes[0].parameters["length"] == pytest.approx(0.6)
    assert worlds[0].parameters["mass"] == pytest.approx(0.2)
    assert asked["measured"][1:] == (["player 1", "player 3", "expert 1"], 16, [numbers[3]] * 3)
    assert asked["films"] == {"α = 1": "player 1", "α = 0.95": "player 3", "the expert": "expert 1"}
    lines = said.splitlines()
    assert lines[0].startswith("seen; the learner's world: ")
    for line in (
        "α = 1: return 0.5 in the learner's world (no learner saw a reward)",
        "α = 0.95: return 1.5 in the learner's world (no learner saw a reward)",
        "the expert carried over: return 2.5 in the learner's world (no learner saw a reward)",
        "α = 1: judged 1",
        "α = 0.95: judged 3",
    ):
        assert line in lines
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert texts == {"demos.npz": "seen", "fit-alpha-1.npz": "player 1", "fit-alpha-0.95.npz": "player 3"}
    assert [line for line in lines if line.startswith("wrote")] == [
        f"wrote {tmp_path / 'out' / name}"
        for name in ("demos.npz", "fit-alpha-1.npz", "fit-alpha-0.95.npz", "film.gif")
    ]


@pytest.mark.parametrize(
    ("demos", "kind"),
    [
        ("minari:a/b-v0", "minari a/b-v0"),
        ("seen.npz", "file seen.npz"),
        ("minari:", "file minari:"),
        ("c:seen.npz", "file c:seen.npz"),
    ],
)
def test_imitate_reads_what_was_seen(monkeypatch, tmp_path, demos, kind):
    asked = stand_ins(monkeypatch)
    known = SimpleNamespace(from_minari=lambda name: Seen(f"minari {name}"), load=lambda path: Seen(f"file {path}"))
    monkeypatch.setattr("robustirl.demonstrations.Recordings", known)
    status, said = run(imitate.run_imitate, imitate.Imitate(demos=demos, episodes=1, out=tmp_path / "out"))
    assert status == 0
    assert said.startswith(kind)
    assert "training" not in asked
    assert asked["measured"][1] == ["player 0", "player 1"]
    assert "carried over" not in said


def test_imitate_takes_one_update_and_one_below_one(monkeypatch, tmp_path, refused):
    stand_ins(monkeypatch)
    batch = 4096
    request = imitate.Imitate(steps=batch, expert_steps=batch, out=tmp_path / "out", alpha=0.5)
    assert run(imitate.run_imitate, request)[0] == 0
    for change, culprit in (
        ({"steps": batch - 1}, f"at least {batch} steps"),
        ({"expert_steps": batch - 1}, f"at least {batch} steps"),
        ({"alpha": 0.0}, "--alpha is 0.0"),
        ({"alpha": 1.0}, "--alpha is 1.0"),
        ({"episodes": 0}, "--episodes is 0"),
        ({"attempts": 0}, "--attempts is 0"),
    ):
        with refused(culprit):
            run(imitate.run_imitate, dataclasses.replace(request, **change))


def test_imitate_estimates_memory_by_steps(monkeypatch):
    asked = []
    monkeypatch.setattr(imitate, "require_memory", lambda size, *words: asked.append((size, *words)))
    imitate._require_memory(imitate.Imitate(attempts=3, episodes=5), 4096, 500)
    assert asked == [
        (2 * 3 * 4096 * 400, "--attempts 3", "take fewer"),
        (5 * 500 * 400, "--episodes 5", "record fewer"),
    ]


def test_worlds_with_bodies_are_named_or_files(monkeypatch, tmp_path, refused):
    made = []
    monkeypatch.setattr("robustirl.envs.physics.mujoco_world", lambda name, **options: made.append((name, options)))
    assert imitate._world("pendulum", {"mass": 2.0}).parameters["mass"] == 2.0
    model = tmp_path / "model.xml"
    model.write_text("")
    for name in ("hopper", str(model)):
        imitate._world(name, {"mass": 2.0})
    assert made == [("hopper", {"fast": True, "mass": 2.0}), (str(model), {"fast": True, "mass": 2.0})]
    with refused("--env is 'hoper'"):
        imitate._world("hoper", {})


def test_an_episode_is_filmed_with_its_last_state_and_without_its_clock(monkeypatch):
    asked = {}

    def collect(world, policy, **options):
        asked.update(options)
        states = np.arange(5 * 1 * 3).reshape(5, 1, 3)
        return SimpleNamespace(states=states, lengths=np.array([2]))

    monkeypatch.setattr("robustirl.control.collect", collect)
    world = SimpleNamespace(horizon=4)
    monkeypatch.setattr("robustirl._runtime.in_working_precision", lambda one: one)
    assert imitate._episode(world, None).tolist() == [[0, 1], [3, 4], [6, 7]]
    assert (asked["episodes"], asked["horizon"], asked["mean_action"]) == (1, 4, True)
    assert jax.random.key_data(asked["key"]).tolist() == jax.random.key_data(jax.random.key(0)).tolist()


@pytest.mark.parametrize("bodies", [True, False])
def test_films_are_of_worlds_with_bodies_to_draw(monkeypatch, tmp_path, bodies):
    line = np.array([[0.0, 0.0], [1.0, 1.0]])
    equations = SimpleNamespace(skeleton=lambda state, parameters: [line + state] if bodies else [])
    monkeypatch.setattr(imitate, "_episode", lambda world, policy: np.arange(6.0 if bodies else 1.0)[:, None])
    world = SimpleNamespace(equations=equations, parameters={})
    found = imitate._films(world, {"one": None, "two": None}, tmp_path)
    assert found == (["film.png", "film.svg", "film.gif"] if bodies else [])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(found)


@pytest.mark.parametrize("opened", [True, False])
def test_the_demo_sets_a_calm_learner_against_a_noisy_expert(monkeypatch, tmp_path, opened):
    asked = {"shown": []}
    grid = envs.make("gridworld-1")

    class Grid:
        reward, expert, shape = grid.reward, grid.expert, grid.shape
        mdp = staticmethod(lambda noise: SimpleNamespace(noise=noise, num_states=100))
        evaluation_mdp = staticmethod(lambda noise: SimpleNamespace(judged=noise))

    class Model:
        policy_, judgment_ = "policy", "test it"

        def __init__(self, alpha):
            self.fit_ = SimpleNamespace(alpha=0.9 if alpha == "auto" else alpha)

        def fit(self, world, demos):
            asked.setdefault("fits", []).append((world.noise, demos, float(self.fit_.alpha)))
            return self

        def predict(self, states):
            return np.asarray(states) % 4

    def sample(world, policy, *, episodes, horizon, key):
        asked["sampled"] = (world.judged, policy, episodes, horizon, jax.random.key_data(key).tolist())
        return "walks"

    monkeypatch.setattr("robustirl.envs.make", lambda name: Grid)
    monkeypatch.setattr("robustirl.RobustIRL", Model)
    monkeypatch.setattr("robustirl.demonstrations.sample_demonstrations", sample)
    monkeypatch.setattr("robustirl.planning.expert_policy", lambda world, reward, kind: (vars(world), kind))
    monkeypatch.setattr("robustirl.planning.state_occupancy", lambda world, policy: np.ones(3))
    monkeypatch.setattr("robustirl.planning.total_return", lambda world, policy, reward: -12.25 - world.judged)
    monkeypatch.setattr("robustirl.plotting.figure_fit", lambda *given: given)
    monkeypatch.setattr(
        "robustirl.plotting.save_figure", lambda figure, path: [path.with_suffix(end) for end in (".png", ".svg")]
    )
    monkeypatch.setattr(demo, "_has_screen", lambda: opened)
    monkeypatch.setattr(demo.webbrowser, "open", asked["shown"].append)
    status, said = run(demo.run_demo, demo.Demo(out=tmp_path / "out"))
    assert status == 0
    zero = jax.random.key_data(jax.random.key(0)).tolist()
    expert = ({"noise": 0.2, "num_states": 100}, grid.expert)
    assert asked["sampled"] == (0.2, expert, 200, 1000, zero)
    assert asked["fits"] == [(0.0, "walks", 1.0), (0.0, "walks", 0.9)]
    assert "standard (alpha = 1): return -12.2; the best there is: -12.2" in said
    assert "robust (alpha = 0.9)" in said
    assert said.count("\n  ↑ → ↓ ← ↑ → ↓ ← ↑ →\n") == 10  # Every other row of ten cells, for two learners.
    assert asked["shown"] == ([(tmp_path / "out" / "demo.png").resolve().as_uri()] if opened else [])
    assert run(demo.run_demo, demo.Demo(out=tmp_path / "quiet", open=False))[0] == 0
    assert len(asked["shown"]) == opened


@pytest.mark.parametrize(
    ("platform", "variables", "terminal", "screen"),
    [
        ("darwin", {}, True, True),
        ("linux", {"DISPLAY": ":0"}, True, True),
        ("linux", {"WAYLAND_DISPLAY": "w"}, True, True),
        ("linux", {}, True, False),
        ("darwin", {}, False, False),
    ],
)
def test_a_screen_is_where_somebody_sits(monkeypatch, platform, variables, terminal, screen):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stdout = SimpleNamespace(isatty=lambda: terminal)
    monkeypatch.setattr(demo, "sys", SimpleNamespace(platform=platform, stdout=stdout))
    assert demo._has_screen() is screen
    monkeypatch.setattr(demo, "sys", SimpleNamespace(platform="darwin", stdout=None))
    assert demo._has_screen() is False


def test_bars_name_their_phase_and_say_what_is_compiled_first(monkeypatch):
    told = []

    class Bar:
        def __init__(self):
            self.start, self.stop = (lambda name=name: told.append(name) for name in ("start", "stop"))

        def add_task(self, note, *, total, completed):
            told.append((note, total, completed))
            return note

        def update(self, task, **changes):
            told.append((task, changes["completed"], changes["total"], changes["description"]))

    monkeypatch.setattr(sys.modules["robustirl.cli.console"], "progress_bar", Bar)
    bars = PhaseBars()
    bars.stop()
    for phase, done, of in (("learning", 0, 2), ("learning", 1, 2), ("drawing", 0, 3), ("there already", 2, 2)):
        bars.report(phase, done, of)
    bars.stop()
    bars.report("learning", 2, 2)
    slow = "learning (compiling first)"
    assert told == [
        "start",
        (slow, 2, 0),
        (slow, 0, 2, None),
        (slow, 1, 2, "learning"),
        ("drawing", 3, 0),
        ("drawing", 0, 3, None),
        ("there already", 2, 2),
        ("there already", 2, 2, "there already"),
        "stop",
        "start",
        ("learning", 2, 2),
        ("learning", 2, 2, "learning"),
    ]


def test_of_many_files_the_folders_of_the_others_are_named():
    files = [Path("out") / f"{n}.csv" for n in range(8)] + [Path("pages") / "report.html"]
    assert "and 6 more in out" in printed(say_files, files)
    assert "and 7 more in out and pages" in printed(say_files, [*files[:-1], Path("pages") / "a.png", files[-1]])
    take_answers()


@dataclasses.dataclass(frozen=True)
class Invented:
    """A study."""

    kept: int | None = None

    def run(self, frame):
        frame.say("said")
        frame.progress("computing", 1, 2)
        frame.outcomes.append(dataclasses.replace(finished([]), notices=("a batch was damaged",)))
        frame.files.append(frame.out / "table.md")
        if self.kept:
            raise StudyInterrupted(finished([SimpleNamespace(verdict="budget")] * self.kept, complete=False), 9)


@pytest.mark.parametrize("former", [None, "old-name"])
def test_a_study_says_what_it_wrote_and_what_it_is_called_now(tmp_path, former):
    request = study.StudyRequest("new_name", Invented(), tmp_path / "out", engines.HERE, former=former)
    status, said = run(study.run_study, request)
    assert status == 0
    assert said.startswith(f"said\nwrote {tmp_path / 'out' / 'table.md'}\n")
    assert ("robustirl: the study old-name is now called new-name." in said) == (former is not None)
    assert "robustirl: a batch was damaged" in said


def test_a_study_that_is_interrupted_says_how_far_it_came(tmp_path):
    (tmp_path / "there").write_text("")  # A folder that is not empty may be one that the study goes on in.
    status, said = run(study.run_study, study.StudyRequest("name", Invented(3), tmp_path, engines.HERE))
    assert status == 130
    assert "robustirl: interrupted after 3 of 9 runs" in said


def test_studies_are_found_by_their_names_and_their_earlier_ones():
    for words, name, former in (
        (["transfer", "--draws", "2"], "transfer", None),
        (["reward-transfer", "--draws", "2"], "transfer", "reward-transfer"),
    ):
        found = study.parse_study(words)
        assert (found.name, found.former, found.options.draws, found.out) == (name, former, 2, Path("out/transfer"))


@pytest.mark.parametrize(
    ("quiet", "json", "hushed"), [(False, False, False), (True, False, True), (False, True, True), (True, True, True)]
)
def test_a_quiet_command_and_one_that_answers_in_json_print_no_text(quiet, json, hushed):
    before = console.quiet
    with output(OutputOptions(quiet=quiet, json=json), "fit"):
        assert console.quiet is hushed
    assert console.quiet is before


def test_the_answer_of_a_command_is_one_line_of_json(capsys):
    take_answers()
    answer(name="α", gap=float("nan"))
    print_answers("fit", 0)
    print_answers("fit", 2, "no.")
    assert capsys.readouterr().out == (
        '{"command": "fit", "exit_status": 0, "name": "α", "gap": null}\n'
        '{"command": "fit", "exit_status": 2, "error": "no."}\n'
    )


def test_a_log_has_what_was_said_line_by_line(tmp_path):
    path = tmp_path / "run.log"

    def say():
        with output(OutputOptions(log_file=path), "fit --env e"):
            console.print("first\nsecond")
            console.print("")
            errors.print("wrong")
            logging.getLogger("robustirl.somewhere").info("noted")
        console.print("after")

    printed(say)
    lines = [line.split(" ", 2)[2] for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == ["INFO robustirl fit --env e", "INFO first | second", "ERROR wrong", "INFO noted"]
    assert logging.getLogger("robustirl").level == logging.NOTSET


def test_serve_ends_well_and_says_where_it_was(monkeypatch, tmp_path):
    class Server:
        server_address, socket = ("127.0.0.1", 4321), SimpleNamespace(setsockopt=lambda *_: None)
        __enter__, __exit__, serve_forever = (lambda self: self), (lambda *_: None), (lambda self: None)

    asked = []
    monkeypatch.setattr(serve, "make_server", lambda *given: asked.append(given) or Server())
    status, said = run(serve.run_serve, serve.Serve(tmp_path, port=0))
    assert (status, asked) == (0, [(tmp_path, 0, False)])
    assert said == f"http://127.0.0.1:4321 shows {tmp_path}; Ctrl-C ends it.\n"
