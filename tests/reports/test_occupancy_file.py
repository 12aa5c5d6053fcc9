"""Occupancies are read from texts and tables."""

from robustirl.reports.occupancy_file import read_occupancy


def test_occupancies_are_read_from_texts_and_tables(tmp_path, refused):
    path = tmp_path / "rho.txt"
    path.write_text("0.5 0.25 # two\n# none\n0.25\n")
    assert read_occupancy(path).tolist() == [0.5, 0.25, 0.25]
    path.write_text("0.5\n0.5 inf\n")
    with refused("line 2 of", "'inf', which is no number"):
        read_occupancy(path)
    table = tmp_path / "reward.csv"
    table.write_text("state,expert_occupancy\n0,0.75\n1,0.25\n")
    assert read_occupancy(table).tolist() == [0.75, 0.25]
    for text, why in (
        ("state,expert_occupancy\n0,nan\n1,0.5\n", "not finite"),
        ("state,expert_occupancy\n", "no numbers"),
    ):
        table.write_text(text)
        with refused(why):
            read_occupancy(table)


def test_rows_stand_in_the_order_of_their_states(tmp_path, refused):
    table = tmp_path / "reward.csv"
    table.write_text("state,expert_occupancy\n1,0.75\n0,0.25\n")
    with refused("row 0 of", "is of state '1', but state 0 is due"):
        read_occupancy(table)
    table.write_text("expert_occupancy\n0.75\n0.25\n")
    assert read_occupancy(table).tolist() == [0.75, 0.25]


def test_marks_and_names_do_not_end_lines(tmp_path):
    path = tmp_path / "rho.txt"
    path.write_text("0.5 0.5\n", encoding="utf-8-sig")
    assert read_occupancy(path).tolist() == [0.5, 0.5]
    table = tmp_path / "reward.csv"
    table.write_text("state,expert_occupancy,state_name\n0,0.75,a\u2028b\n1,0.25,c\x0cd\n", encoding="utf-8")
    assert read_occupancy(table).tolist() == [0.75, 0.25]
