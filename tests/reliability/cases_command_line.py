"""Bad requests on the command line, run in a folder of sound files."""

from inline_snapshot import snapshot

from robustirl import envs
from tests.reliability.cases import Case

THREE = "fit --env three-state --demos walks.npz"

CASES = [
    Case(
        "theory of an unknown environment",
        "theory gridworld-9",
        (
            f"there is no environment 'gridworld-9' here ({', '.join(envs.names())}), and as a Gymnasium id it will not"
            " do: Gymnasium cannot make 'gridworld-9' with options {} (Environment `gridworld-9` doesn't exist)."
        ),
    ),
    Case(
        "theory with a discount of one",
        "theory --discount 1",
        snapshot("the discount γ is 1.0, but a number with 0 <= γ < 1 is needed."),
    ),
    Case(
        "theory with negative noise",
        "theory --expert-noise -0.5",
        snapshot("the noise is -0.5, but a probability between 0 and 1 is needed."),
    ),
    Case(
        "theory of an occupancy that is not there",
        "theory --occupancy gone.txt",
        snapshot("gone.txt cannot be read (No such file or directory); give the path of a file."),
    ),
    Case(
        "theory of an occupancy that is no text",
        "theory --occupancy walks.npz",
        snapshot(
            "walks.npz is not a saved model: it holds actions, lengths, schema, states, terminated; give a file that"
            " save() has written."
        ),
    ),
    Case(
        "theory of an occupancy in words",
        "theory --occupancy file",
        snapshot("line 1 of file holds 'mine', which is no number; give one number a state."),
    ),
    Case(
        "theory into a file",
        "theory --out file",
        snapshot("file is a file, but --out must name a folder; choose another name."),
    ),
    Case(
        "fit into a folder with files",
        f"{THREE} --out taken",
        snapshot("taken is not empty; choose a new or an empty folder as --out."),
    ),
    Case(
        "fit into a file",
        f"{THREE} --out file",
        snapshot("file is a file, but --out must name a folder; choose another name."),
    ),
    Case(
        "fit an unknown environment",
        "fit --env nowhere --demos walks.npz --out new",
        (
            f"there is no environment 'nowhere' here ({', '.join(envs.names())}), and as a Gymnasium id it "
            f"will not do: Gymnasium cannot make 'nowhere' with options {{}} (Environment `nowhere` doesn't "
            "exist)."
        ),
    ),
    Case(
        "fit demonstrations that are not there",
        "fit --env three-state --demos gone.npz --out new",
        snapshot("gone.npz cannot be read (No such file or directory); give the path of a file."),
    ),
    Case(
        "fit a model",
        "fit --env three-state --demos estimator.npz --out new",
        snapshot(
            "estimator.npz has no array 'schema', only checksum, fit.alpha, fit.expert_occupancy, "
            "fit.history.dual, fit.history.occupancy_gap, fit.history.planner_steps and 15 more; give schema, "
            "states, lengths and, if they are known, actions and terminated."
        ),
    ),
    Case(
        "fit with α = 2",
        f"{THREE} --alpha 2 --out new",
        snapshot("alpha is 2.0, but a number with 0 < alpha <= 1 is needed."),
    ),
    Case(
        "fit with too much noise",
        f"{THREE} --noise 2 --out new",
        snapshot("the noise is 2.0, but a probability between 0 and 1 is needed."),
    ),
    Case(
        "fit with a tolerance of zero",
        f"{THREE} --tolerance 0 --out new",
        snapshot("the tolerance is 0.0, but a finite number above 0 is needed."),
    ),
    Case(
        "fit with features that are not there",
        f"{THREE} --reward linear --out new",
        snapshot("three-state has no features for a linear reward; choose a tabular one."),
    ),
    Case(
        "fit with actions that are not offered",
        "fit --env gridworld-4 --demos walks.npz --out new",
        snapshot(
            "episode 0 takes action 0 in state 0 at step 0, where the world does not offer it; correct the "
            "recording, or use .without_actions() to go by states alone."
        ),
    ),
    Case(
        "make demonstrations over others",
        "demos make --env gridworld-4 --out walks.npz",
        snapshot("walks.npz exists already; choose another name, or remove it first."),
    ),
    Case(
        "make demonstrations of an unknown kind",
        "demos make --env gridworld-4 --out new.txt",
        snapshot(
            "new.txt has the suffix '.txt', which names no known format; choose one of .npz, .jsonl, .csv, .parquet."
        ),
    ),
    Case(
        "make no demonstrations",
        "demos make --env gridworld-4 --episodes 0 --out new.npz",
        snapshot("the number of episodes is 0, but a whole number of at least 1 is needed."),
    ),
    Case(
        "make demonstrations below a file",
        "demos make --env three-state --episodes 1 --out file/new.npz",
        snapshot(
            "file/new.npz cannot be written (file is not a folder); choose a place in an existing folder that may be "
            "written to."
        ),
    ),
    Case(
        "convert onto itself",
        "demos convert walks.npz walks.npz",
        snapshot("walks.npz exists already; choose another name, or remove it first."),
    ),
    Case(
        "convert what is not there",
        "demos convert gone.npz new.csv",
        snapshot("gone.npz cannot be read (No such file or directory); give the path of a file."),
    ),
    Case(
        "convert to an unknown kind",
        "demos convert walks.npz new.xlsx",
        snapshot(
            "new.xlsx has the suffix '.xlsx', which names no known format; choose one of .npz, .jsonl, .csv, .parquet."
        ),
    ),
    Case(
        "inspect a model",
        "demos inspect fit.npz",
        snapshot(
            "fit.npz has no array 'schema', only checksum, fit.alpha, fit.expert_occupancy, fit.history.dual, "
            "fit.history.occupancy_gap, fit.history.planner_steps and 13 more; give schema, states, lengths "
            "and, if they are known, actions and terminated."
        ),
    ),
    Case(
        "inspect against an unknown world",
        "demos inspect walks.npz --env nowhere",
        (
            f"there is no environment 'nowhere' here ({', '.join(envs.names())}), and as a Gymnasium id it "
            f"will not do: Gymnasium cannot make 'nowhere' with options {{}} (Environment `nowhere` doesn't "
            "exist)."
        ),
    ),
]
