"""`robustirl serve`: one page on this machine alone."""

import http.client
import os
import shutil
import socket
import struct
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from robustirl.cli import main, serve
from robustirl.cli.serve import HOST, Pages, handler_of, make_server
from robustirl.errors import InvalidInputError
from tests.cli.running import run

GOLDEN = Path(__file__).parents[1] / "golden" / "estimator-0.1.npz"


@pytest.fixture
def address(tmp_path, monkeypatch):
    """Return where a server listens whose page is a file that a test can change."""
    import http.server

    page = tmp_path / "page.html"
    page.write_text("first")
    pages = Pages(tmp_path, False)
    # The making of the page is tested with the explorer; here it is what happens to be in the folder.
    monkeypatch.setattr(pages, "current", lambda: page.read_bytes())
    with http.server.ThreadingHTTPServer((HOST, 0), handler_of(pages)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1], page
        server.shutdown()


def _get(port: int, path: str = "/", host: str | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    connection.request("GET", path, headers={"Host": host or f"{HOST}:{port}"})
    return connection.getresponse()


def test_the_page_is_served_anew_and_nothing_else(address):
    port, page = address
    answer = _get(port)
    assert (answer.status, answer.read()) == (200, b"first")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Refresh"] == "15"  # The folder has just changed.
    page.write_text("second")
    assert _get(port).read() == b"second"
    for path in ("/../page.html", "/page.html", "/etc/passwd", "/?x"):
        assert _get(port, path).status == 404
    assert _get(port, host="evil.example").status == 403  # A foreign name that leads here is not answered.


def test_who_leaves_in_the_middle_leaves_no_word(address, capfd):
    port, page = address
    page.write_bytes(bytes(2**24))
    for sent in (b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", b"GET / HT"):
        with socket.create_connection((HOST, port)) as connection:
            connection.sendall(sent)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # Reset at once.
    page.unlink()
    answer = _get(port)
    assert answer.status == 503  # Neither is a page that has gone a traceback.
    assert capfd.readouterr().err == ""


def test_what_cannot_be_served_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(serve.http.server.ThreadingHTTPServer, "serve_forever", lambda self: None)
    assert main(["serve", str(tmp_path / "nowhere")]) == 2
    assert "there is neither a store of runs nor a fit in" in " ".join(capsys.readouterr().err.split())
    assert main(["serve", str(tmp_path / ("x" * 300))]) == 2
    name, _, rest = " ".join(capsys.readouterr().err.split()).partition("... ")
    assert rest == "cannot be read (File name too long); name a folder of results."
    assert len(name) == len("robustirl: ") + 120
    with pytest.raises(InvalidInputError, match="--port is 70000, but a number from 0 to 65535 is needed"):
        make_server(tmp_path, 70000, False)


def test_the_folder_of_a_fit_is_served_too(tmp_path):
    shutil.copy(GOLDEN, tmp_path / "model.npz")
    pages = Pages(tmp_path, False)
    assert b"robustirl fit" in pages.current()
    assert not pages.growing()  # Though it has just been written: a fit is whole from the start.


def test_serve_ends_well_and_says_where_it_was(monkeypatch, tmp_path):
    class Socket:
        setsockopt = staticmethod(lambda *_: None)

    class Server:
        server_address, socket = ("127.0.0.1", 4321), Socket()
        __enter__, __exit__, serve_forever = (lambda self: self), (lambda *_: None), (lambda self: None)

    asked = []
    monkeypatch.setattr(serve, "make_server", lambda *given: asked.append(given) or Server())
    status, said = run(serve.run_serve, serve.Serve(tmp_path, port=0))
    assert (status, asked) == (0, [(tmp_path, 0, False)])
    assert said == f"http://127.0.0.1:4321 shows {tmp_path}; Ctrl-C ends it.\n"


def test_serve_knows_when_a_folder_has_changed(tmp_path, monkeypatch):
    pages = serve.Pages(tmp_path / "store", certificates=True)
    assert pages.changed() == 0.0  # There is no folder yet,
    (tmp_path / "store" / "batches").mkdir(parents=True)
    os.utime(tmp_path / "store", (100, 100))
    os.utime(tmp_path / "store" / "batches", (300, 300))
    assert pages.changed() == 300.0
    made = []

    def write(store, target, *, certificates):
        made.append(certificates)
        target.write_text(f"page {len(made)}")

    monkeypatch.setattr(serve, "write_explorer", write)
    monkeypatch.setattr(serve, "is_fit_folder", lambda folder: False)
    assert [pages.current(), pages.current()] == [b"page 1"] * 2  # Made once,
    os.utime(tmp_path / "store", (400, 400))
    assert pages.current() == b"page 2"  # and again when a batch has come.
    assert made == [True, True]
    for now, growing in ((519.0, True), (520.0, False)):
        monkeypatch.setattr(serve, "time", SimpleNamespace(time=lambda now=now: now, monotonic=lambda: 7.0))
        assert Pages(tmp_path / "store", False).growing() is growing
    with serve.make_server(tmp_path / "store", 0, True) as server:
        assert server.server_address[0] == "127.0.0.1"  # At any free port.
    for port in (-1, 65536):
        with pytest.raises(InvalidInputError, match=f"--port is {port}, but a number from 0 to 65535"):
            serve.make_server(tmp_path, port, False)


def test_a_store_of_a_clock_that_is_ahead_does_not_grow_without_end(tmp_path, monkeypatch):
    (tmp_path / "store").mkdir()
    os.utime(tmp_path / "store", (10**6, 10**6))
    pages, clock = Pages(tmp_path / "store", False), SimpleNamespace(wall=400.0, seconds=7.0)
    monkeypatch.setattr(serve, "time", SimpleNamespace(time=lambda: clock.wall, monotonic=lambda: clock.seconds))
    assert pages.growing()
    clock.wall, clock.seconds = 0.0, 7.0 + 119  # The clock on the wall is set back meanwhile.
    assert pages.growing()
    clock.seconds += 1
    assert not pages.growing()
    os.utime(tmp_path / "store", (300, 300))
    clock.wall = 310.0
    assert pages.growing()
    clock.seconds += 110
    assert not pages.growing()


def test_what_no_check_has_foreseen_is_answered_in_a_line(tmp_path, monkeypatch, capfd):
    pages = Pages(tmp_path, False)
    monkeypatch.setattr(pages, "current", lambda: {}["<missing>"])
    with serve.http.server.ThreadingHTTPServer((HOST, 0), handler_of(pages)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        answer = _get(server.server_address[1])
        server.shutdown()
    assert answer.status == 503
    assert "KeyError: '&lt;missing&gt;'" in answer.read().decode()
    assert capfd.readouterr().err == ""
