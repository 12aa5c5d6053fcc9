"""Published figures stand beside ours."""

from robustirl.paper.studies.physics_published import published_rows
from tests.paper.studies.hand_made import records_of


def test_published_figures_stand_beside_ours():
    records = [*records_of("hopper", "mass", 2.0, {"alpha=1": (60, 50), "alpha=0.9": (110, 10)})]
    records += [
        *records_of("hopper", "mass", 0.5, {"alpha=1": (0, 70)}),
        *records_of("hopper", "friction", 2.0, {}),
    ]
    records += [*records_of("hopper", "mass", 0.5, {"alpha=1": (0, 99)}, episodes=4)]
    rows = published_rows(records)
    assert [row[:3] for row in rows] == [
        ("hopper", "published", "1"),
        ("hopper", "published", "0.98"),
        ("hopper", "ours", "1"),
        ("hopper", "ours", "0.9"),
    ]
    assert rows[1][3:] == ("790", "1083", "1462", "1628", "1915", "212")
    assert rows[2][3:] == ("70", "", "", "", "", "50")
    assert rows[3][3:] == ("", "", "", "", "", "10")
