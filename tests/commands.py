"""The command line as tests use it: in this process, in a folder of its own."""

from robustirl.cli import main


def robustirl(line, capsys):
    """The exit status, and what was printed to either stream as one line each."""
    status = main(line.split())
    printed = capsys.readouterr()
    return status, " ".join(printed.out.split()), " ".join(printed.err.split())
