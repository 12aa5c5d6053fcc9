"""Bad requests on the command line, run in a folder of sound files."""

from inline_snapshot import snapshot

from robustirl import envs
from robustirl.paper.finite.catalog import EXPERIMENTS
from tests.reliability.cases import Case

THREE = "fit --env three-state --demos walks.npz"

CASES = [
    Case(
        "reproduce an unknown environment",
        "reproduce gridworld-9 --out new",
        (f"there is no environment 'gridworld-9'; choose one of {', '.join(envs.names())}."),
    ),
    Case(
        "reproduce with α = 0",
        "reproduce three-state --alphas 0 --out new",
        snapshot("alpha is 0.0, but a number with 0 < alpha <= 1 is needed."),
    ),
    Case(
        "reproduce with α twice",
        "reproduce three-state --alphas 1 1 --out new",
        snapshot("the alphas are (1.0, 1.0), but at least one is needed and none twice."),
    ),
    Case(
        "reproduce with too much noise",
        "reproduce three-state --expert-noise 1.5 --out new",
        snapshot("the noise is 1.5, but a probability between 0 and 1 is needed."),
    ),
    Case(
        "reproduce under an unknown noise model",
        "reproduce --noise-model fog --out new",
        snapshot("gridworld-1 has no noise model 'fog'; choose one of uniform-state, uniform-action, published."),
    ),
    Case(
        "reproduce an unknown experiment",
        "reproduce three-state --experiments figure-9 --out new",
        (f"there is no experiment 'figure-9'; choose from all, {', '.join(EXPERIMENTS)}."),
    ),
    Case(
        "reproduce for fewer than no steps",
        "reproduce three-state --steps -1 --out new",
        snapshot("steps is -1, but a whole number of at least 0 is needed."),
    ),
    Case(
        "reproduce into a file",
        "reproduce three-state --out file",
        snapshot("file is a file, but --out must name a folder; choose another name."),
    ),
    Case(
        "reproduce into a folder with files",
        "reproduce three-state --out taken",
        snapshot("taken holds files but no store; choose an empty or new folder as --out, or remove that one."),
    ),
    Case(
        "reproduce into another's store",
        "reproduce three-state --out store",
        snapshot("store holds results of another request; choose another --out or remove that folder first."),
    ),
    Case(
        "reproduce below a file",
        "reproduce three-state --out file/new",
        snapshot("file is a file, so that file/new cannot be made; choose another --out."),
    ),
    Case(
        "compare what was not published",
        "compare three-state --out new",
        snapshot("three-state has no noise model 'published'; choose one of slip."),
    ),
    Case(
        "compare with no draws",
        "compare --draws 0 --out new",
        snapshot("--draws is 0, but a whole number of at least 1 is needed."),
    ),
    Case(
        "one layout",
        "layouts --layouts 1 --out new",
        snapshot("--layouts is 1, but a whole number of at least 4 is needed."),
    ),
    Case(
        "layouts without a robust α",
        "layouts --alphas 1 --out new",
        snapshot("--alphas are (1.0,), but standard (1) and at least one robust α are needed, to compare them."),
    ),
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
        "fit a store",
        "fit --env three-state --demos store/store.json --out new",
        snapshot(
            "store/store.json has the suffix '.json', which names no known format; choose one of .npz, .jsonl, "
            ".csv, .parquet."
        ),
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
