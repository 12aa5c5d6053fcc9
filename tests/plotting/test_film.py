"""Films: which moments they show, and what stands around them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from robustirl.plotting import figure_strip, save_film
from tests.plotting.worlds import film


def test_a_film_has_every_fourth_moment_of_all(tmp_path, monkeypatch):
    titles, moments = [], []
    monkeypatch.setattr("robustirl.plotting.film._draw", lambda panel, moment, box: moments.append((panel, moment)))
    monkeypatch.setattr("matplotlib.axes.Axes.set_title", lambda self, name, **_: titles.append(name))
    films = {"one": film(9, 0.5), "two": film(3, 0.5)}
    path = save_film(tmp_path / "film.gif", films)
    with Image.open(path) as found:
        assert (found.n_frames, found.size) == (1, (448, 196))  # Nothing is drawn, so all pictures are one.
    # Moments 0, 4 and 8, of which the shorter film shows its last; Matplotlib draws the first once more.
    shown = [next(k for k in films for one in films[k] if one is moment) for _, moment in moments]
    places = [next(n for k in films for n, one in enumerate(films[k]) if one is moment) for _, moment in moments]
    assert list(zip(shown, places, strict=True))[-6:] == [
        *(("one", 0), ("two", 0)),
        *(("one", 4), ("two", 2)),
        *(("one", 8), ("two", 2)),
    ]
    assert titles[-2:] == ["one", "two"]
    assert moments[-1][0].get_subplotspec().get_geometry()[:2] == (1, 2)


def test_a_single_film_of_a_body_at_rest_has_a_frame_around_it(tmp_path):
    still = [[np.zeros((2, 2))]] * 2
    path = save_film(tmp_path / "film.gif", {"one": still}, every=1, rate=25)
    with Image.open(path) as found:
        assert (found.size, found.info["duration"]) == ((224, 196), 80)  # Pixels, and milliseconds of two.
    (panel,) = figure_strip({"one": still}, pictures=1).axes
    assert panel.get_xlim() == pytest.approx((-8e-8, 8e-8))
    plt.close("all")
