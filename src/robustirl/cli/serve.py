"""`robustirl serve DIR`: the page of a store or of a fit over http, on this machine alone, with runs as they finish."""

import contextlib
import dataclasses
import http.server
import socket
import tempfile
import threading
import time
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

import tyro

from robustirl._runtime import one_line, printable, short_repr
from robustirl.cli.console import console
from robustirl.errors import InvalidInputError, RobustIRLError
from robustirl.explorer import write_explorer, write_fit_page
from robustirl.reports import is_fit_folder

HOST = "127.0.0.1"
GROWING = 120.0
"""Seconds after its last change for which a store counts as growing, and the page renews itself."""
RENEW = 15


@dataclasses.dataclass(frozen=True)
class Serve:
    """Show the page of a store or a single fit at http://127.0.0.1:PORT, on this machine alone.

    As in

        robustirl serve out                the runs of `robustirl reproduce --out out`, as they finish
        robustirl serve found --port 0     what `robustirl fit --out found` has learned, at any free port

    The page renews itself while a store grows; Ctrl-C ends the command.
    """

    store: Annotated[Path, tyro.conf.Positional]
    """The folder of results, the --out of fit, reproduce, layouts or continuous."""
    port: int = 8765
    """The port; 0 for any that is free."""
    certificates: bool = False
    """Compute what every finite player is sure to achieve, some 15 ms a run; for stores only."""


class Pages:
    """The page of a store or of a fit, made anew when the folder has changed."""

    def __init__(self, store: Path, certificates: bool):
        self.store: Path = store
        self.certificates: bool = certificates
        self._lock, self._seen, self._page = threading.Lock(), -1.0, b""
        self._growth = -1.0, 0.0  # The last change that `growing` has seen, and when it ends, in monotonic seconds.

    def changed(self) -> float:
        """Return when the store last changed."""
        # A command may replace a folder by renaming, within one tick of the clock: the model has a time of its own.
        parts = (self.store, self.store / "batches", self.store / "model.npz")
        times = [path.stat().st_mtime for path in parts if path.exists()]
        return max(times, default=0.0)

    def current(self) -> bytes:
        """Return the page of what is finished now."""
        with self._lock:
            if (now := self.changed()) != self._seen:
                with tempfile.TemporaryDirectory() as folder:
                    target = Path(folder) / "page.html"
                    if is_fit_folder(self.store):
                        write_fit_page(self.store, target)
                    else:
                        write_explorer(self.store, target, certificates=self.certificates)
                    self._page = target.read_bytes()
                self._seen = now
            return self._page

    def growing(self) -> bool:
        """Return whether runs may still be added.

        The times of files are those of the clock on the wall, which tells the age of a change when it is first seen. It
        may be set, and files may come from a machine that is ahead: from then on the seconds are counted.
        """
        if is_fit_folder(self.store):
            return False
        if (changed := self.changed()) != self._growth[0]:
            age = max(0.0, time.time() - changed)
            self._growth = changed, time.monotonic() + GROWING - age
        return time.monotonic() < self._growth[1]


def handler_of(pages: Pages) -> type[http.server.BaseHTTPRequestHandler]:
    """Return a handler that serves one page, to this machine's own browser alone."""

    class Handler(http.server.BaseHTTPRequestHandler):
        """Answer requests for the page; everything else is not there."""

        server_version, sys_version = "robustirl", ""
        timeout = 60.0  # Seconds until an idle connection is closed.

        def handle(self) -> None:
            """Answer a request, and ignore that the client disconnects or times out meanwhile."""
            with contextlib.suppress(ConnectionError, TimeoutError):
                super().handle()

        def do_GET(self) -> None:
            """Answer a request."""
            # A page of another site that has its name lead to this address would send its own name here.
            name = self.headers.get("Host", "").rsplit(":", 1)[0]
            if name not in (HOST, "localhost"):
                self.send_error(HTTPStatus.FORBIDDEN, "this server answers to 127.0.0.1 alone")
                return
            if self.path not in ("/", "/index.html"):
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            try:
                content = pages.current()
            except (RobustIRLError, OSError) as error:  # A folder may be removed at any time.
                self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, "no page", printable(str(error)))
                return
            except Exception as error:  # What no check has foreseen ends this answer, and not in silence.
                reason = f"{type(error).__name__}: {one_line(error)}"
                self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, "no page", printable(reason))
                return
            self.send_response(HTTPStatus.OK)
            headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(content))}
            headers |= {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"}
            if pages.growing():
                headers["Refresh"] = str(RENEW)
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Print nothing: a request is no news."""

    return Handler


def make_server(store: Path, port: int, certificates: bool) -> http.server.ThreadingHTTPServer:
    """Return a server that listens on 127.0.0.1, after checking that there is a store to show."""
    if not 0 <= port <= 65535:
        raise InvalidInputError(f"--port is {port}, but a number from 0 to 65535 is needed.")
    pages = Pages(store, certificates)
    try:
        pages.current()  # Refuse a folder that is no store now, not at the first request.
    except OSError as error:
        raise InvalidInputError(
            f"{short_repr(str(store), 120)} cannot be read ({error.strerror}); name a folder of results."
        ) from None
    try:
        return http.server.ThreadingHTTPServer((HOST, port), handler_of(pages))
    except OSError as error:
        raise InvalidInputError(f"--port {port} cannot be used ({error.strerror}); choose another, or 0.") from None


def run_serve(command: Serve) -> int:
    """Run the `serve` command."""
    with make_server(command.store, command.port, command.certificates) as server:
        server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        console.print(f"http://{HOST}:{server.server_address[1]} shows {command.store}; Ctrl-C ends it.")
        server.serve_forever()
    return 0
