"""Times are of one kind, and exact."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

from robustirl.demonstrations.io.columns import as_column
from robustirl.demonstrations.io.times import CLOCK, NUMBER, STAMP, ZONED, read_times

UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30, microseconds=1))
ONE_OF_EACH = {
    NUMBER: "5",
    CLOCK: "0:05",
    STAMP: "1970-01-01 00:00:09",
    ZONED: "1970-01-01T00:00:09+00:00",
}


def read(*cells):
    return read_times(as_column(cells), lambda i: f"row {i}")


@pytest.mark.parametrize(
    ("cell", "kind", "seconds"),
    [
        (5, NUMBER, "5"),
        ("5", NUMBER, "5"),
        (0.1, NUMBER, "0.1"),
        ("1e1", NUMBER, "10"),
        (np.float64(0.5), NUMBER, "0.5"),
        (np.uint64(2**64 - 1), NUMBER, "18446744073709551615"),
        ("1714550400000000001", NUMBER, "1714550400000000001"),
        ("1e-400", NUMBER, "0"),
        ("8:30", CLOCK, "30600"),
        ("25:00:00.125", CLOCK, "90000.125"),
        ("1970-01-02", STAMP, "86400"),
        ("1970-01-01T00:00:00.000001", STAMP, "0.000001"),
        ("1970-01-01T05:30:00+05:30", ZONED, "0"),
        (datetime.datetime(1970, 1, 1, 0, 0, 7), STAMP, "7"),
        (datetime.datetime(1970, 1, 1, 5, 30, tzinfo=EAST), ZONED, "-0.000001"),
        (datetime.datetime(1, 1, 1, tzinfo=EAST), ZONED, "-62135616600.000001"),
        (np.datetime64(1, "ns"), STAMP, "0.000000001"),
        (np.datetime64("1970-01-03", "D"), STAMP, "172800"),
        (np.datetime64("1970-02", "M"), STAMP, "2678400"),
        (np.datetime64(5, "25s"), STAMP, "125"),
    ],
)
def test_every_digit_of_a_time_is_kept(cell, kind, seconds):
    found = read(cell)
    assert found.kind == kind
    assert found.seconds == [Decimal(seconds)]


@pytest.mark.parametrize("first", ONE_OF_EACH)
@pytest.mark.parametrize("second", ONE_OF_EACH)
def test_times_of_two_kinds_are_refused(first, second, refused):
    if first == second:
        assert read(*[ONE_OF_EACH[first]] * 2).kind == first
        return
    with refused(f"in row 0, {first}, and", f"in row 2, {second}; write all times in one way."):
        read(ONE_OF_EACH[first], ONE_OF_EACH[first], ONE_OF_EACH[second])


def test_pandas_and_python_agree():
    pandas = pytest.importorskip("pandas")
    cells = list(pandas.to_datetime([0, 100, 200]))  # Nanoseconds.
    assert read(*cells).seconds == [Decimal(0), Decimal("1e-7"), Decimal("2e-7")]


@pytest.mark.parametrize("cells", [(20240430, 20240501), ("20240430",), (20240430.0, "20240501"), ("202404300830",)])
def test_dates_without_separators_are_no_numbers(cells, refused):
    with refused("may be dates", "2024-04-30"):
        read(*cells)


def test_numbers_of_eight_digits_are_numbers_if_one_of_them_is_no_date():
    assert read(20240430, 20240501, 20240532).seconds[2] == 20240532
    assert read(99991231).kind == NUMBER
    assert read("20240430T0830").kind == STAMP


@pytest.mark.parametrize(
    "cell",
    [
        *("soon", "1_0", "inf", "nan", "1e400", "8:60", "2024-13-01", True, 1j, np.complex128(1), b"5", (5,)),
        *(np.timedelta64(5, "s"), datetime.timedelta(5), datetime.time(5), datetime.date(2024, 5, 1), 10**400),
        *(np.datetime64(2**61, "Y"), np.datetime64(-(2**61), "M")),
    ],
)
def test_what_is_no_time_is_refused(cell, refused):
    with refused("the column 'time' holds", "in row 1", "is needed"):
        read(5, cell)


@pytest.mark.parametrize("cell", [None, float("nan"), np.datetime64("NaT"), " "])
def test_an_empty_time_is_refused(cell, refused):
    with refused("the column 'time' holds nothing in row 0"):
        read(cell)
