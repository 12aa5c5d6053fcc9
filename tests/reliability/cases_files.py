"""Bad files of every format: demonstrations, saved models, stores."""

import io
import json
import os
import pickle

import numpy as np
from inline_snapshot import snapshot

from robustirl.demonstrations import from_minari, load, save, to_minari
from robustirl.irl import RobustIRL, load_fit, save_fit
from robustirl.irl._archive import Archive, read_archive, write_archive
from tests.reliability.cases import WALKS, Case, changed, header, npz, with_members, written

COLUMNS = "episode,step,state,action,terminated\n"
HEADER = '{"format": "robustirl.demonstrations", "schema": 1, "episodes": 1, "has_actions": true}\n'
SOUND = {"schema": 1, "states": [0, 1], "lengths": [2], "terminated": [True]}


class Trap:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("trapped",)


HUGE = "{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000000,), }"


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array))
    return buffer.getvalue()


def parquet(name, **columns):
    import pyarrow
    import pyarrow.parquet

    table = {"episode": [0, 0], "step": [0, 1], "state": [0, 1], "action": [0, None], "terminated": [None, True]}
    kept = {key: column for key, column in (table | columns).items() if column is not None}
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(kept), sink)
    return written(sink.getvalue(), name)


DEMONSTRATIONS = [
    Case(
        "a file that is not there",
        lambda: load("gone.npz"),
        snapshot("gone.npz cannot be read (No such file or directory); give the path of a file."),
    ),
    Case(
        "a folder for a file",
        lambda: load("folder.npz"),
        snapshot(
            "folder.npz is a folder without state.json, so that imitation has not saved it; give a file (.npz, .jsonl, .csv, .parquet), a folder of imitation's trajectories, or minari:ID."
        ),
    ),
    Case(
        "an unknown suffix",
        lambda: load("walks.txt"),
        snapshot(
            "walks.txt has the suffix '.txt', which names no known format; choose one of .npz, .jsonl, .csv, .parquet."
        ),
    ),
    Case(
        "neither a file nor a folder",
        lambda: load("walks"),
        snapshot(
            "there is no file or folder walks; give a file of demonstrations (.npz, .jsonl, .csv, .parquet) or a folder that imitation saved."
        ),
    ),
    Case(
        "no suffix",
        lambda: save(WALKS, "walks"),
        snapshot("walks has the suffix '', which names no known format; choose one of .npz, .jsonl, .csv, .parquet."),
    ),
    Case(
        "a folder that is not there",
        lambda: save(WALKS, "nowhere/walks.npz"),
        snapshot(
            "nowhere/walks.npz cannot be written (No such file or directory); choose a place in an existing folder "
            "that may be written to."
        ),
    ),
    Case(
        "an empty file",
        lambda: load(written("", "empty.csv")),
        snapshot("empty.csv is empty; write it anew with save()."),
    ),
    Case(
        "an npz file cut off",
        lambda: load(changed("walks.npz", "cut.npz", lambda b: b[:200])),
        snapshot("cut.npz is damaged or not an .npz file of plain arrays (File is not a zip file)."),
    ),
    Case(
        "an npz file that is text",
        lambda: load(written("states", "text.npz")),
        snapshot("text.npz is damaged or not an .npz file of plain arrays (it is not a zip archive)."),
    ),
    Case(
        "a single array",
        lambda: load(changed("walks.npz", "one.npz", lambda _: header("x"))),
        snapshot("one.npz is damaged or not an .npz file of plain arrays (it holds a single array)."),
    ),
    Case(
        "pickled states",
        lambda: load(npz("pickled.npz", **SOUND | {"states": np.array([Trap()], object)})),
        snapshot(
            "pickled.npz is damaged or not an .npz file of plain arrays (Object arrays cannot be loaded when "
            "allow_pickle=False)."
        ),
    ),
    Case(
        "a pickle named npz",
        lambda: load(written(pickle.dumps(Trap()), "pickle.npz")),
        snapshot("pickle.npz is damaged or not an .npz file of plain arrays (it is not a zip archive)."),
    ),
    Case(
        "an npz file without lengths",
        lambda: load(npz("few.npz", schema=1, states=[0])),
        snapshot(
            "few.npz has no array 'lengths', only schema, states; give schema, states, lengths and, if they are "
            "known, actions and terminated."
        ),
    ),
    Case(
        "an npz file of a later schema",
        lambda: load(npz("late.npz", **SOUND | {"schema": 9})),
        snapshot("late.npz is of schema 9, but this release of robustirl reads up to 1; upgrade robustirl."),
    ),
    Case(
        "an npz schema in words",
        lambda: load(npz("words.npz", **SOUND | {"schema": "one"})),
        snapshot("words.npz names the schema 'one', but a whole number from 1 to 1 is needed."),
    ),
    Case(
        "lengths that do not add up",
        lambda: load(npz("long.npz", **SOUND | {"lengths": [7]})),
        snapshot(
            "long.npz: there are 2 states, but the episodes' lengths add up to 7; both must count every state, the "
            "last ones included."
        ),
    ),
    Case(
        "a damaged array header",
        lambda: load(with_members("walks.npz", "b.npz", states=header("{'descr': ("))),
        snapshot(
            "b.npz is damaged or not an .npz file of plain arrays (the header of its array 'states' cannot be read)."
        ),
    ),
    Case(
        "an array larger than memory",
        lambda: load(with_members("walks.npz", "b.npz", states=header(HUGE))),
        snapshot(
            "b.npz is damaged or not an .npz file of plain arrays (Unable to allocate 7.11 PiB for an array with "
            "shape (1000000000000000,) and data type int64)."
        ),
    ),
    Case(
        "JSON cut off",
        lambda: load(changed("walks.jsonl", "cut.jsonl", lambda b: b[:-10])),
        snapshot(
            "line 3 of cut.jsonl is not JSON (Unterminated string starting at: line 1 column 32 (char 31)); it may "
            "have been cut off."
        ),
    ),
    Case(
        "JSON without a header",
        lambda: load(written('{"states": [0]}\n', "bare.jsonl")),
        snapshot(
            'line 1 of bare.jsonl is not the header that is needed, {"format": "robustirl.demonstrations", '
            '"schema": 1, "episodes": how many, "has_actions": true or false}.'
        ),
    ),
    Case(
        "fewer episodes than announced",
        lambda: load(written(HEADER, "few.jsonl")),
        snapshot("few.jsonl has 0 episodes, but its header says 1; it was cut off, or the header needs correcting."),
    ),
    Case(
        "an episode that is a list",
        lambda: load(written(HEADER + "[0, 1]\n", "list.jsonl")),
        snapshot("line 2 of list.jsonl is not a JSON object; write one object an episode."),
    ),
    Case(
        "an episode without states",
        lambda: load(written(HEADER + '{"terminated": true}\n', "no.jsonl")),
        snapshot("line 2 of no.jsonl has no field 'states', which is needed."),
    ),
    Case(
        "an end in a word",
        lambda: load(written(HEADER + '{"states": [0], "actions": [], "terminated": "yes"}\n', "yes.jsonl")),
        snapshot("`terminated` is 'yes' in line 2 of yes.jsonl, but true or false is needed."),
    ),
    Case(
        "too many actions",
        lambda: load(written(HEADER + '{"states": [0], "actions": [0], "terminated": true}\n', "many.jsonl")),
        snapshot("line 2 of many.jsonl has 1 states and 1 actions, but one action fewer than states is needed."),
    ),
    Case(
        "JSON deeper than can be read",
        lambda: load(written(HEADER + "[" * 100_000, "deep.jsonl")),
        snapshot(
            "line 2 of deep.jsonl is not JSON (maximum recursion depth exceeded while decoding a JSON array from a "
            "unicode string); it may have been cut off."
        ),
    ),
    Case(
        "JSON in Latin 1",
        lambda: load(written(b'{"caf\xe9": 1}', "latin.jsonl")),
        snapshot("latin.jsonl is not a text file in UTF-8 (invalid continuation byte); save it as one."),
    ),
    Case(
        "CSV without states",
        lambda: load(written("episode,step\n0,0\n", "few.csv")),
        snapshot(
            "few.csv has no column 'state', only episode, step; say which one it is with columns={\"state\": ...}."
        ),
    ),
    Case(
        "CSV with a column twice",
        lambda: load(written("state," + COLUMNS + "0,0,0,0,,true\n", "two.csv")),
        snapshot("two.csv has the column 'state' more than once; keep one."),
    ),
    Case(
        "CSV without rows",
        lambda: load(written(COLUMNS, "none.csv")),
        snapshot("none.csv has no rows under its header; there must be at least one episode."),
    ),
    Case(
        "CSV with a word for a state",
        lambda: load(written(COLUMNS + "0,0,start,,true\n1,0,7,,true\n", "word.csv")),
        snapshot("the column 'state' holds 'start' in line 2 of word.csv, but a whole number of at least 0 is needed."),
    ),
    Case(
        "CSV with a negative state",
        lambda: load(written(COLUMNS + "0,0,-1,,true\n", "minus.csv")),
        snapshot("the column 'state' holds '-1' in line 2 of minus.csv, but a whole number of at least 0 is needed."),
    ),
    Case(
        "CSV with 5000 digits",
        lambda: load(written(COLUMNS + f"0,0,{'1' * 5000},,true\n", "digits.csv")),
        snapshot(
            "the column 'state' holds '111111111111111111111111111111111111111... in line 2 of digits.csv, but a "
            "whole number of at least 0 is needed."
        ),
    ),
    Case(
        "CSV with a gap",
        lambda: load(written(COLUMNS + "0,0,1,0,\n0,2,1,,true\n", "gap.csv")),
        snapshot(
            "line 3 of gap.csv is step 2 of episode '0', but step 1 is due; number the steps of an episode from 0 or "
            "1 without gaps, or leave the column out if the rows are in order."
        ),
    ),
    Case(
        "CSV without an end",
        lambda: load(written(COLUMNS + "0,0,1,,true\n1,0,1,,\n", "open.csv")),
        snapshot(
            "the column 'terminated' says nothing in line 3 of open.csv, step 0 of episode 1; it must be true or "
            "false in the last row of every episode and empty or false in all others (the file may have been cut off)."
        ),
    ),
    Case(
        "CSV with a missing action",
        lambda: load(written(COLUMNS + "0,0,1,0,\n0,1,1,,\n0,2,1,,true\n", "a.csv")),
        snapshot(
            "the column 'action' is empty in line 3 of a.csv, step 1 of episode 0; every row has an action but the "
            "last of each episode, or none has."
        ),
    ),
    Case(
        "CSV with a row cut off",
        lambda: load(written(COLUMNS + "0,0,1\n", "cut.csv")),
        snapshot("line 2 of cut.csv has 3 columns, but the header has 5; it may have been cut off."),
    ),
    Case(
        "CSV with fewer rows than announced",
        lambda: load(changed("walks.csv", "less.csv", lambda b: b.rsplit(b"\n", 2)[0] + b"\n")),
        snapshot("less.csv has 3 rows, but line 1 says 4; it was cut off, or that line is outdated."),
    ),
    Case(
        "Parquet cut off",
        lambda: load(changed("walks.parquet", "cut.parquet", lambda b: b[:-20])),
        snapshot("cut.parquet is damaged or not a Parquet file (Parquet magic bytes not found in footer)."),
    ),
    Case(
        "Parquet with states between numbers",
        lambda: load(parquet("floats.parquet", state=[0.0, 1.5])),
        snapshot(
            "the column 'state' holds 1.5 in row 1 of floats.parquet, but a whole number of at least 0 is needed."
        ),
    ),
    Case(
        "Parquet with words for ends",
        lambda: load(parquet("open.parquet", terminated=[None, "perhaps"])),
        snapshot(
            "the column 'terminated' holds 'perhaps' in row 1 of open.parquet, but true or false (or 1 or 0) is needed,"
            " or nothing."
        ),
    ),
    Case(
        "Parquet with a negative state",
        lambda: load(parquet("minus.parquet", state=[0, -1])),
        snapshot("the column 'state' holds -1 in row 1 of minus.parquet, but a whole number of at least 0 is needed."),
    ),
    Case(
        "Parquet without states",
        lambda: load(parquet("few.parquet", state=None)),
        snapshot(
            "few.parquet has no column 'state', only episode, step, action, terminated; say which one it is with"
            ' columns={"state": ...}.'
        ),
    ),
    Case(
        "a Minari dataset that is not there",
        lambda: from_minari("nobody/nothing-v0"),
        snapshot(
            "the Minari dataset nobody/nothing-v0 cannot be read (The data path minari/nobody/nothing-v0/data "
            "doesn't exist); fetch it with `minari download nobody/nothing-v0` if it is not on this machine."
        ),
    ),
    Case(
        "a Minari id without a version",
        lambda: to_minari(WALKS.subset([0]), "walks"),
        snapshot("the Minari id 'walks' is not of the form `namespace/name-v0`; end it with a version."),
    ),
    Case(
        "an episode too short for Minari",
        lambda: to_minari(WALKS, "walks/short-v0"),
        snapshot(
            "episode 1 has no transition, and Minari cannot hold such episodes; leave them out with "
            ".subset(demonstrations.lengths > 1)."
        ),
    ),
    Case(
        "too few states for Minari",
        lambda: to_minari(WALKS.subset([0]), "walks/few-v0", num_states=2),
        snapshot("the number of states is 2, but a whole number of at least 3 is needed."),
    ),
]

MODELS = [
    Case(
        "a model that is not there",
        lambda: load_fit("gone.npz"),
        snapshot("gone.npz cannot be read (No such file or directory); give the path of a saved model."),
    ),
    Case(
        "demonstrations for a model",
        lambda: load_fit("walks.npz"),
        snapshot(
            "walks.npz is not a saved model: it holds actions, lengths, schema, states, terminated; give a file "
            "that save() has written."
        ),
    ),
    Case(
        "a model cut off",
        lambda: RobustIRL.load(changed("estimator.npz", "cut.npz", lambda b: b[:-100])),
        snapshot(
            "cut.npz is damaged, cut off or not an .npz file of plain arrays (File is not a zip file); use a copy "
            "of the original."
        ),
    ),
    Case(
        "a fit for an estimator",
        lambda: RobustIRL.load("fit.npz"),
        snapshot("fit.npz holds a fit, not an estimator; read it with load_fit."),
    ),
    Case(
        "a model that was altered",
        lambda: load_fit(with_members("fit.npz", "x.npz", **{"fit.alpha": npy(0.5)})),
        snapshot("x.npz was altered or damaged: its content does not match its checksum; use a copy of the original."),
    ),
    Case(
        "a pickle for a model",
        lambda: load_fit(written(pickle.dumps(Trap()), "trap.npz")),
        snapshot(
            "trap.npz is damaged, cut off or not an .npz file of plain arrays (it is not a zip archive); use a "
            "copy of the original."
        ),
    ),
    Case(
        "a model with a pickled array",
        lambda: load_fit(npz("trap.npz", note=np.array([Trap()], object))),
        snapshot(
            "trap.npz is damaged, cut off or not an .npz file of plain arrays (Object arrays cannot be loaded when "
            "allow_pickle=False); use a copy of the original."
        ),
    ),
    Case(
        "a model of a later schema",
        lambda: load_fit(later_model("late.npz")),
        snapshot("late.npz was written by a newer robustirl (schema 9, this one reads up to 1); update robustirl."),
    ),
    Case(
        "a model of arrays that do not go together",
        lambda: load_fit(misshapen("odd.npz")),
        snapshot(
            "odd.npz is a saved model, but not one this robustirl understands (ValueError: its array 'reward' has "
            "the shape (7,) instead of (3,)); save it anew with this version."
        ),
    ),
    Case(
        "a model under another suffix",
        lambda: save_fit(load_fit("fit.npz"), "fit.pkl"),
        snapshot("fit.pkl has the suffix '.pkl', but models are .npz files; name it so."),
    ),
    Case(
        "a model into a folder that is not there",
        lambda: RobustIRL.load("estimator.npz").save("no/model.npz"),
        snapshot(
            "no/model.npz cannot be written (No such file or directory); choose a place in an existing folder that "
            "may be written to."
        ),
    ),
    Case(
        "a state that the model has not",
        lambda: RobustIRL.load("estimator.npz").predict([9]),
        snapshot("state 9 was asked about, but there are 3 states, numbered from 0."),
    ),
]


def later_model(name):
    archive = read_archive("fit.npz")
    note = np.frombuffer(json.dumps(archive.note | {"schema": 9}).encode(), np.uint8)
    return npz(name, note=note, checksum=np.zeros(1, np.uint8), **archive.arrays)


def misshapen(name):
    archive = read_archive("fit.npz")
    write_archive(Archive(archive.note, archive.arrays | {"fit.reward": np.zeros(7)}), name)
    return changed(name, name, bytes)


CASES = [*DEMONSTRATIONS, *MODELS]
