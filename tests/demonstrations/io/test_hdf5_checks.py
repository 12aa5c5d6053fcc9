"""An HDF5 file that leads to other files of the machine is refused, whichever way it leads there."""

import os

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, from_minari, to_minari
from robustirl.demonstrations.io import hdf5_checks
from robustirl.errors import InvalidInputError

h5py = pytest.importorskip("h5py")
pytest.importorskip("minari")

WALKS = Demonstrations.from_arrays([[0, 1, 2], [1, 2]], [[0, 1], [1]], terminated=True)
SECRET = np.array([2, 1, 0], dtype=np.int64)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """The folder of a Minari dataset, beside a file that is nobody's business."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    (tmp_path / "secret").write_bytes(SECRET.tobytes())
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["values"] = SECRET
    to_minari(WALKS, "walks/here-v0")
    return tmp_path / "minari" / "walks" / "here-v0" / "data"


def external_storage(data, group):
    group.create_dataset("observations", (3,), np.int64, external=[(str(data.parents[3] / "secret"), 0, 24)])


def virtual_dataset(data, group):
    layout = h5py.VirtualLayout((3,), np.int64)
    layout[:] = h5py.VirtualSource(str(data.parents[3] / "secret.h5"), "values", (3,), np.int64)
    group.create_virtual_dataset("observations", layout)


def external_link(data, group):
    group["observations"] = h5py.ExternalLink(str(data.parents[3] / "secret.h5"), "values")


def without_end(data, group):
    group.create_dataset("observations", (2**50,), np.int64, chunks=(1024,))


WAYS = {
    external_storage: "keeps its values in another file",
    virtual_dataset: "is a virtual dataset",
    external_link: "is a link to another file",
    without_end: "GiB of memory are available",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_dataset_that_leads_elsewhere_is_refused(data, way):
    with h5py.File(data / "main_data.hdf5", "a") as file:
        del file["episode_0"]["observations"]
        way(data, file["episode_0"])
    with pytest.raises(InvalidInputError) as caught:
        from_minari("walks/here-v0")
    message = str(caught.value)
    assert message.startswith("the Minari dataset walks/here-v0 cannot be read (main_data.hdf5")
    assert WAYS[way] in message
    assert message.endswith(".")


@pytest.mark.parametrize("way", [external_storage, external_link])
def test_a_dataset_object_is_checked_too(data, way):
    import minari

    dataset = minari.load_dataset("walks/here-v0")
    with h5py.File(data / "main_data.hdf5", "a") as file:
        del file["episode_0"]["observations"]
        way(data, file["episode_0"])
    with pytest.raises(InvalidInputError, match=r"is damaged .* another file"):
        from_minari(dataset)


def test_a_pipe_is_refused_and_not_waited_for(data):
    (data / "metadata.json").unlink()
    os.mkfifo(data / "metadata.json")
    with pytest.raises(InvalidInputError, match=r"metadata\.json is not a regular file"):
        from_minari("walks/here-v0")


def test_links_within_the_file_that_lead_in_a_circle_are_no_harm(data):
    with h5py.File(data / "main_data.hdf5", "a") as file:
        file["episode_0"]["back"] = file["/"]
        file["soft"] = h5py.SoftLink("/episode_0")
        file.attrs["note"] = "kept"
        del file["episode_0"]["back"], file["soft"]
        file["episode_0/infos/again"] = file["episode_0"]
    from robustirl.demonstrations.io.hdf5_checks import require_self_contained

    require_self_contained(data)


def test_a_sound_dataset_is_read(data):
    assert from_minari("walks/here-v0") == WALKS


def test_the_bytes_of_all_arrays_are_added_up(data, monkeypatch):
    asked, bytes_ = [], []
    monkeypatch.setattr(hdf5_checks, "excess", asked.append)
    hdf5_checks.require_self_contained(data)
    with h5py.File(data / "main_data.hdf5") as file:
        file.visititems(lambda _, part: bytes_.append(part.nbytes) if isinstance(part, h5py.Dataset) else None)
    assert sum(asked) == sum(bytes_) > 0


@pytest.mark.parametrize("kind", ["hard", "soft", "group"])
def test_what_links_lead_to_counts_once_for_every_link(tmp_path, monkeypatch, kind):
    with h5py.File(tmp_path / "main.hdf5", "w") as file:
        file["first/values"] = np.zeros(1000)
        for place in range(9):
            if kind == "group":
                file[f"episode_{place}"] = file["first"]
            else:
                group = file.create_group(f"episode_{place}")
                group["values"] = file["first/values"] if kind == "hard" else h5py.SoftLink("/first/values")
                group["nowhere"] = h5py.SoftLink("/nowhere")
        file["first/back"] = file["/"]
    monkeypatch.setattr("robustirl._runtime.reading.available_bytes", lambda: 80_000)
    hdf5_checks.require_self_contained(tmp_path)
    monkeypatch.setattr("robustirl._runtime.reading.available_bytes", lambda: 79_999)
    with pytest.raises(ValueError, match=r"main\.hdf5 holds .* GiB of memory are available"):
        hdf5_checks.require_self_contained(tmp_path)
