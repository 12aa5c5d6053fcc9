"""Cells of columns: each different text is looked at once, however long the column."""

from robustirl.demonstrations.io import columns, names, ordering


def test_equal_texts_are_looked_at_once_and_equal_numbers_of_other_kinds_are_not_mixed():
    seen = []
    found = columns.of_each(lambda cell: seen.append(cell) or type(cell), ["1", 1, 1.0, True, "1", 1, None, 1.0])
    assert found == [str, int, float, bool, str, int, type(None), float]
    assert seen.count("1") == 1
    assert [type(cell) for cell in seen].count(int) == 1


def test_a_long_column_of_few_cells_is_read_as_one_of_few(monkeypatch):
    calls = []

    def counted(module, name):
        plain = getattr(module, name)
        monkeypatch.setattr(module, name, lambda cell: calls.append(name) or plain(cell))

    counted(columns, "_is_missing")
    counted(columns, "as_whole")
    counted(ordering, "spelled")
    counted(names, "as_word")
    column = columns.as_column(["hall", "7", "attic"] * 100)
    ordering.number_episodes(column, str)
    names.names_or_numbers(column, str, names.Numbering("state", given=["hall", "7", "attic"]))
    names.names_or_numbers(columns.as_column(["7", "8"] * 100), str, names.Numbering("state"))
    assert len(calls) < 30
