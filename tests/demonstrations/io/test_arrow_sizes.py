"""Arrow streams: what they unpack to is known before a buffer is unpacked."""

import json
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robustirl.demonstrations import load
from robustirl.demonstrations.io.arrow_sizes import require_stream_fits, unpacked_bytes
from robustirl.demonstrations.io.imitation import DATA, STATE
from robustirl.errors import InvalidInputError

pyarrow = pytest.importorskip("pyarrow")
STEPS = 10**6


def stream(compression, table=None, **options):
    table = walks() if table is None else table
    sink = pyarrow.BufferOutputStream()
    chosen = pyarrow.ipc.IpcWriteOptions(compression=compression, **options)
    with pyarrow.ipc.new_stream(sink, table.schema, options=chosen) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def walks(steps=STEPS):
    zeros = pyarrow.array(np.zeros(steps + 1, np.int64))
    offsets = pyarrow.array([0, steps + 1], pyarrow.int32())
    obs = pyarrow.ListArray.from_arrays(offsets, zeros)
    acts = pyarrow.ListArray.from_arrays(pyarrow.array([0, steps], pyarrow.int32()), zeros[:steps])
    return pyarrow.table({"obs": obs, "acts": acts, "terminal": [True]})


def messages(content):
    reader = pyarrow.ipc.MessageReader.open_stream(pyarrow.py_buffer(content))
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def sizes(content):
    return sum(unpacked_bytes(message) for message in messages(content))


def folder_of(folder, content):
    (folder / DATA).write_bytes(content)
    (folder / STATE).write_text(json.dumps({"_data_files": [{"filename": DATA}]}))
    return folder


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_buffers_tell_what_they_unpack_to(compression):
    content = stream(compression)
    assert len(content) < STEPS
    assert 16 * STEPS < sizes(content) < 16 * STEPS + 1000
    assert sizes(stream(None)) == 0  # What is not compressed is in memory already.


def test_words_in_a_dictionary_count_and_so_does_every_batch():
    words = pyarrow.array(["x" * 10**5, "y" * 10**5]).dictionary_encode()
    table = pyarrow.table({"word": words})
    assert sizes(stream("zstd", table)) > 2 * 10**5
    twice = pyarrow.concat_tables([walks(1000), walks(1000)])
    assert sizes(stream("zstd", twice)) == pytest.approx(2 * sizes(stream("zstd", walks(1000))), abs=100)


def test_buffers_that_do_not_shrink_are_stored_as_they_are():
    noise = pyarrow.table({"noise": np.random.default_rng(0).integers(0, 2**62, 1000)})
    message = next(one for one in messages(stream("zstd", noise)) if one.type == "record batch")
    body = message.body.to_pybytes()
    place = body.index(struct.pack("<q", 8000))
    stored = body[:place] + struct.pack("<q", -1) + body[place + 8 :]
    holding: Any = SimpleNamespace(metadata=message.metadata, body=pyarrow.py_buffer(stored))
    assert (unpacked_bytes(message), unpacked_bytes(holding)) == (8000, 0)


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_small_folder_that_unpacks_beyond_memory_is_refused_before_it_is_unpacked(
    tmp_path, monkeypatch, refused, compression
):
    folder_of(tmp_path, stream(compression))
    monkeypatch.setattr("robustirl._runtime.reading.available_bytes", lambda: 8 * STEPS)
    monkeypatch.setattr(pyarrow.ipc, "open_stream", lambda *_: pytest.fail("it was unpacked"))
    before = pyarrow.total_allocated_bytes()
    with refused("does not fit into memory (unpacked, it would hold 0.0 GiB", "save fewer trajectories in a folder"):
        load(tmp_path)
    assert pyarrow.total_allocated_bytes() - before < STEPS


def places(content):
    """Where in a stream the buffers of its batches say what they unpack to."""
    found, start = [], 0
    while (at := content.find(struct.pack("<q", 8 * STEPS), start)) >= 0:
        found.append(at)
        start = at + 1
    return found


@pytest.mark.parametrize("declared", [2**60, 2**40, 2**63 - 1])
def test_a_buffer_that_declares_more_than_any_memory_is_refused_in_a_sentence(tmp_path, refused, declared):
    content = bytearray(stream("zstd"))
    (place,) = places(content)  # The actions; there is one state more.
    content[place : place + 8] = struct.pack("<q", declared)
    with refused("does not fit into memory", "save fewer trajectories"):
        load(folder_of(tmp_path, bytes(content)))


@pytest.mark.parametrize("declared", [0, 17, -2, -(2**63)])
def test_a_buffer_that_declares_less_than_it_holds_is_refused_in_a_sentence(tmp_path, refused, declared):
    content = bytearray(stream("zstd"))
    (place,) = places(content)
    content[place : place + 8] = struct.pack("<q", declared)
    with refused("save the trajectories anew"):
        load(folder_of(tmp_path, bytes(content)))


def test_every_damaged_byte_of_a_header_ends_in_a_sentence_or_in_the_same_trajectories(tmp_path):
    content, refusals = stream("zstd", walks(20)), []
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x81
        try:
            load(folder_of(tmp_path, bytes(changed)))
        except InvalidInputError as error:
            refusals.append(str(error))
    assert len(refusals) > 100
    assert all(refusal.endswith(".") and "\n" not in refusal for refusal in refusals)


def test_damaged_messages_are_called_damaged():
    message = next(one for one in messages(stream("zstd")) if one.type == "record batch")
    header = message.metadata.to_pybytes()
    for wrong in (header[:8], b"\xff" * len(header)):
        holding: Any = SimpleNamespace(metadata=pyarrow.py_buffer(wrong), body=message.body)
        with pytest.raises((ValueError, struct.error, IndexError)):
            unpacked_bytes(holding)
    require_stream_fits(stream("zstd", walks(10)))
