"""The examples run, find what their words say, and stand in the documentation as they are."""

import re

import numpy as np
import pytest

from tests.test_docs import blocks
from tools.execute_examples import IMAGES, PAGES, cells, examples, execute, on_page

FAST = "gridworld"  # Every script compiles programs of its own; the fast suite runs one.
SCRIPTS = [pytest.param(path, id=path.stem) for path in examples()]
QUICK = [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem != FAST)) for path in examples()]


def test_there_are_examples_and_what_each_finds_is_looked_at():
    assert {path.stem for path in examples()} == set(CLAIMS)


@pytest.mark.parametrize("path", QUICK)
def test_it_runs_in_its_quick_form(path):
    if path.stem == "frozen_lake":
        pytest.importorskip("gymnasium")
    run = execute(path, quick=True)
    assert sum(len(output.figures) for output in run.outputs) >= 1
    assert any(output.printed for output in run.outputs)


@pytest.mark.parametrize("path", SCRIPTS)
def test_its_page_has_the_words_and_the_code_of_the_script_and_its_figures(path):
    page = PAGES / f"{path.stem}.md"
    script = cells(path.read_text("utf-8"))
    assert [block.text.strip() for block in blocks(page, "python")] == [cell.text for cell in script if not cell.prose]
    text, place = page.read_text("utf-8"), 0
    for cell in script:
        place = text.find(on_page(cell.text) if cell.prose else cell.text, place)
        assert place >= 0, f"{page.name} lacks: {cell.text[:60]}"
    figures = re.findall(r"\]\(\.\./images/([\w-]+\.png)\)", text)
    assert figures
    assert sorted(figures) == sorted(file.name for file in IMAGES.glob(f"example-{path.stem}-*.png"))


def test_a_script_is_taken_apart_into_prose_and_code():
    assert cells("# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\nprint(1)\n") == [
        (True, "# Title\n\nWords."),
        (False, "print(1)"),
    ]


def test_a_script_begins_with_a_cell():
    with pytest.raises(ValueError, match="begins with a cell"):
        cells("print(1)\n# %%\n")


def digits_aside(text):
    """The text with numbers left out: other processors round differently."""
    return re.sub(r"[-−]?\d+(\.\d+)?", "#", re.sub(r" +", " ", text))


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS)
def test_its_page_shows_what_it_prints(path):
    if path.stem == "frozen_lake":
        pytest.importorskip("gymnasium")
    run = execute(path)
    printed = [output.printed.strip() for output in run.outputs if output.printed.strip()]
    shown = [block.text.strip() for block in blocks(PAGES / f"{path.stem}.md", "text")]
    assert list(map(digits_aside, printed)) == list(map(digits_aside, shown))
    CLAIMS[path.stem](run.variables)


def gridworld_finds(found):
    returns = found["returns"]
    assert max(returns.values()) > returns[1.0] + 10
    assert returns[found["chosen"]] > returns[1.0] + 10


def buses_find(found):
    assert [f"{number:.4f}" for number in found["model"].inference_.parameters[:2]] == ["2.2930", "10.0750"]
    ways = {row[:3]: row[3] for row in found["table"]}
    assert ways[3, 4, "transfer"] < ways[3, 4, "standard"] < ways[3, 4, "own cost"]
    assert ways[4, 3, "transfer"] < ways[4, 3, "standard"] < ways[4, 3, "own cost"]
    assert {name for _, _, name in ways} == {"transfer", "standard", "robust (1)", "own cost"}


def labyrinth_finds(found):
    uniform, reward, first, second = found["scores"].values()
    assert uniform < reward < second
    assert abs(reward - first) < 1e-3


def frozen_lake_finds(found):
    arrives = found["arrives"]
    assert found["auto"].alpha_ < 1
    assert arrives[found["auto"].alpha_] > max(0.95, arrives[1.0])
    assert arrives[found["strong"]] < 0.1


def roads_find(found):
    assert (np.abs(np.asarray(found["fit"].parameters) - found["planted"]) < 3 * found["errors"]).all()
    loss, earned, _ = zip(*found["scores"].values(), strict=True)
    assert loss[0] < loss[1] < loss[4] < loss[3] < loss[2]  # The drivers, carried over, and 0.95 to 1.
    assert earned[4] > earned[3] > earned[2]


def gaussian_grid_finds(found):
    assert all(float(one.goal_share) > 0.9 for tries in found["measured"].values() for one in tries)
    returns = {name: [float(one.mean_return) for one in tries] for name, tries in found["measured"].items()}
    assert (
        min(returns["robust"])
        > max(returns["standard"])
        > min(returns["standard"])
        > float(found["at_home"].mean_return)
    )


CLAIMS = {
    "buses": buses_find,
    "frozen_lake": frozen_lake_finds,
    "gaussian_grid": gaussian_grid_finds,
    "gridworld": gridworld_finds,
    "labyrinth": labyrinth_finds,
    "roads": roads_find,
}
