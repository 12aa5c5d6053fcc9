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
