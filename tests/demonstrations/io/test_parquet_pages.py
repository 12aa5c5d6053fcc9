"""Pages of Parquet files: what they unpack to is known before one is unpacked, however they were written."""

import contextlib
import io
import itertools

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, load
from robustirl.demonstrations.io import parquet as module
from robustirl.demonstrations.io import thrift
from robustirl.demonstrations.io.parquet_pages import page_sizes, pages_bytes, read_columns_of
from robustirl.errors import InvalidInputError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ROWS = 3000
TABLE = pyarrow.table(
    {
        "episode": np.arange(ROWS) // 10,
        "state": [f"link {i % 7}" * (i % 5) for i in range(ROWS)],
        "weight": np.linspace(0, 1, ROWS),
        "seen": pyarrow.array([[i, None] if i % 3 else [] for i in range(ROWS)]),
        "end": pyarrow.array([None if i % 4 else i % 8 == 0 for i in range(ROWS)]),
    }
)
WAYS = [
    {"compression": compression, "data_page_version": version, "use_dictionary": words, "data_page_size": size}
    for compression, version, words, size in itertools.product(
        ("none", "snappy", "gzip", "zstd", "lz4"), ("1.0", "2.0"), (True, False), (1000, 2**20)
    )
]


def written(table=TABLE, **options):
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, **{"write_page_checksum": True, "row_group_size": 1100} | options)
    return buffer.getvalue()


@pytest.mark.parametrize("options", WAYS, ids=lambda options: " ".join(map(str, options.values())))
def test_pages_are_as_large_as_the_end_of_an_honest_file_says(options):
    content = written(**options)
    metadata, found = parquet.ParquetFile(io.BytesIO(content)).metadata, read_columns_of(content)
    places = list(itertools.product(range(metadata.num_row_groups), range(metadata.num_columns)))
    assert len(found) == len(places) == 3 * 5
    for (i, j), ours in zip(places, found, strict=True):
        theirs = metadata.row_group(i).column(j)
        assert ours.name == theirs.path_in_schema.split(".")[0]
        assert (ours.values, ours.rows) == (theirs.num_values, metadata.row_group(i).num_rows)
        assert sum(map(sum, page_sizes(content, ours))) == ours.declared == theirs.total_uncompressed_size
    assert pages_bytes(content, found) == sum(pages_bytes(content, [one]) for one in found) > 0


def test_columns_are_known_by_the_table_and_not_by_what_they_say_of_themselves():
    nested = pyarrow.array([{"a": 1, "b": [{"c": "x"}]}])
    table = pyarrow.table({"dotted.name": [1], "nested": nested, "state": [2]})
    content = written(table, compression="none")
    names = ["dotted.name", "nested", "nested", "state"]
    assert [column.name for column in read_columns_of(content)] == names
    place = content.rindex(b"state", 0, content.rindex(b"ARROW:schema"))  # In the part of the column.
    renamed = content[:place] + b"other" + content[place + 5 :]
    assert [column.name for column in read_columns_of(renamed)] == names


def test_a_file_that_ends_the_process_when_pyarrow_describes_it_is_read_or_refused(tmp_path):
    """pyarrow's accessor of a column aborts where the statistics of its sizes do not fit its levels."""
    words = {"state": ["a", "bb"], "terminated": [None, True]}
    content = written(pyarrow.table({"episode": [0, 0]} | words))
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for place in range(start, start + 100):  # Three of these bytes are among them.
        changed = bytearray(content)
        changed[place] ^= 0x10
        (tmp_path / "walks.parquet").write_bytes(changed)
        with contextlib.suppress(InvalidInputError):
            load(tmp_path / "walks.parquet")


def test_a_file_of_other_programs_is_read(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"episode": [0, 0, 1], "state": [3, 4, 5]})
    table.to_parquet(tmp_path / "walks.parquet", compression="gzip")
    assert load(tmp_path / "walks.parquet").states.tolist() == [3, 4, 5]


def bomb(path, rows=20, letters=5 * 10**6):
    """A small file of long words that differ."""
    words = [f"{i}" + "x" * letters for i in range(rows)]
    table = pyarrow.table({"episode": [0] * rows, "step": list(range(rows)), "state": words})
    parquet.write_table(table, path, compression="zstd", use_dictionary=False)
    return path


def test_a_small_file_of_long_words_is_refused_before_one_is_unpacked(tmp_path, monkeypatch, refused):
    path = bomb(tmp_path / "walks.parquet")
    assert path.stat().st_size < 2 * 10**5
    monkeypatch.setattr("robustirl._runtime.reading.available_bytes", lambda: 5 * 10**7)
    before = pyarrow.total_allocated_bytes()
    monkeypatch.setattr(parquet.ParquetFile, "read", lambda *_, **__: pytest.fail("it was unpacked"))
    with refused("walks.parquet does not fit into memory (unpacked, its columns would hold 0.1 GiB", "split the file"):
        load(path)
    assert pyarrow.total_allocated_bytes() - before < 10**7


def test_what_the_end_of_a_file_says_of_its_columns_is_not_believed(tmp_path, monkeypatch, refused):
    path = bomb(tmp_path / "walks.parquet")
    content = path.read_bytes()
    declared = read_columns_of(content)[2].declared
    where = content.rindex(varint(declared))
    lied = bytearray(content)
    lied[where : where + len(varint(declared))] = varint(declared, smaller=True)
    path.write_bytes(lied)
    assert read_columns_of(bytes(lied))[2].declared == 17
    monkeypatch.setattr("robustirl._runtime.reading.available_bytes", lambda: 5 * 10**7)
    with refused("does not fit into memory"):
        load(path)


def varint(number, smaller=False):
    """A number of Thrift; `smaller` has as many bytes and a value of 17."""
    number *= 2
    groups = [number & 127]
    while number := number >> 7:
        groups.append(number & 127)
    if smaller:
        groups = [34] + [0] * (len(groups) - 1)
    return bytes(group | 128 for group in groups[:-1]) + bytes(groups[-1:])


@pytest.mark.parametrize("change", [0, 1, 2, 3, 5, 8])
def test_a_damaged_header_is_one_sentence(tmp_path, refused, change):
    content = bytearray(written(TABLE.select(["episode", "state"]), compression="none", use_dictionary=False))
    start = parquet.ParquetFile(io.BytesIO(bytes(content))).metadata.row_group(0).column(0).data_page_offset
    content[start + change] = 0xFF
    (tmp_path / "walks.parquet").write_bytes(content)
    with refused("walks.parquet", "damaged"):
        load(tmp_path / "walks.parquet")


def test_the_reader_asks_for_the_columns_that_it_takes(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(module, "pages_bytes", lambda _, parts: asked.append([part.name for part in parts]) or 0)
    table = pyarrow.table({"episode": [0], "state": [1], "other": ["x"]})
    parquet.write_table(table, tmp_path / "walks.parquet")
    load(tmp_path / "walks.parquet")
    assert asked == [["episode", "state"]]


@pytest.mark.parametrize("options", [{"compression": "none"}, {"compression": "zstd", "data_page_version": "2.0"}])
def test_every_damaged_byte_of_a_file_ends_in_a_sentence_or_is_read(tmp_path, options):
    words = {"state": ["a", "bb", "a"], "terminated": [None, True, None]}
    content = written(pyarrow.table({"episode": [0, 0, 1], "step": [0, 1, 0]} | words), **options)
    path, refusals = tmp_path / "walks.parquet", []
    for place in range(0, len(content), 3):
        changed = bytearray(content)
        changed[place] ^= (1, 0x10, 0x80, 0xFF)[place % 4]
        path.write_bytes(changed)
        try:
            load(path)
        except InvalidInputError as error:
            refusals.append(str(error))
    assert len(refusals) > 100
    assert all(refusal.endswith(".") and "\n" not in refusal for refusal in refusals)


def test_a_word_that_is_not_utf8_is_refused_in_a_file_and_in_a_frame(tmp_path, refused):
    content = written(pyarrow.table({"episode": [0], "state": ["abcdef"]}), compression="none", use_dictionary=False)
    (tmp_path / "walks.parquet").write_bytes(content.replace(b"abcdef", b"\xff" * 6))
    with refused("walks.parquet is damaged"):
        load(tmp_path / "walks.parquet")
    wrong = pyarrow.array([b"\xff\xfe"]).view(pyarrow.string())
    with refused("the column 'state' has a word that is not UTF-8"):
        Demonstrations.from_frame(pyarrow.table({"episode": [0], "state": wrong}))


def test_a_description_of_many_values_is_refused_before_it_is_read(tmp_path, monkeypatch, refused):
    """pyarrow skips fields it does not know, which may be lists of millions of empty structs."""
    monkeypatch.setattr(thrift.Allowance.__init__, "__defaults__", (10**5,))
    content = written(TABLE.select(["episode", "state"]))
    length = int.from_bytes(content[-8:-4], "little")
    unknown = b"\x09\xc8\x01\xfc\xc0\x9a\x0c" + bytes(200_000) + b"\x00"  # Field 100: a list of empty structs.
    end = content[-8 - length : -9] + unknown
    (tmp_path / "end.parquet").write_bytes(content[: -8 - length] + end + len(end).to_bytes(4, "little") + b"PAR1")
    with refused("end.parquet does not fit into memory (it is described by more than 100,000 values); split the file"):
        load(tmp_path / "end.parquet")
    start = read_columns_of(content)[0].start
    (tmp_path / "page.parquet").write_bytes(content[:start] + unknown + content[start:])
    with refused("page.parquet does not fit into memory (it is described by more than 100,000 values)"):
        load(tmp_path / "page.parquet")
