"""HTTP server of the page, its stream of frames and its commands. A request without the token gets an empty 403.

A stream that the page fetches and commands that it posts need nothing but the standard library, so `grouser drive`
works after a plain installation; on loopback a post takes a millisecond.
"""

from __future__ import annotations

import errno
import hmac
import ipaddress
import json
import secrets
import socket
import socketserver
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from grouser.errors import GrouserError
from grouser.live.channel import Channel, TakenError

MOST_BYTES = 10_000
"""Longest command [byte]."""
QUIET = 0.5
"""Time without events after which the stream sends a sign of life [s]."""
STUCK = 10.0
"""Time after which a page that reads nothing counts as closed [s]."""


def new_token() -> str:
    """A random token of 192 bits."""
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Guard:
    """Admits requests by token, Host and Origin."""

    token: str
    """Part of the page's address."""
    host: str
    """Address of the server."""
    port: int
    """Port of the server."""

    def place(self, path: str) -> str | None:
        """Path after the token; None without the token, which is compared in constant time."""
        given, slash, rest = path.removeprefix("/").partition("/")
        right = hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())
        return rest if right and slash else None

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Whether Host is this server (against DNS rebinding) and Origin, if given, is that Host.

        A browser sends its page's Origin with every POST and with requests from other pages.
        """
        host = headers.get("Host", "").lower()
        name, colon, port = host.rpartition(":")
        if not colon or port != str(self.port) or not self._is_ours(name):
            return False
        origin = headers.get("Origin")
        if origin is not None and origin.lower() != f"http://{host}":
            return False
        return headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")

    def _is_ours(self, name: str) -> bool:
        bare = name.removeprefix("[").removesuffix("]")
        if is_loopback(self.host):
            return is_loopback(bare)
        try:
            ipaddress.ip_address(bare)
        except ValueError:
            return bare in ("localhost", self.host.lower())
        return True  # a numeric address cannot be rebound


class Answers(Protocol):
    """What the server serves."""

    channel: Channel

    def page(self) -> tuple[str, str]:
        """The page and its content security policy."""

    def do(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out a command; GrouserError if it is not one."""

    def left(self) -> None:
        """The page was closed."""


class Server(ThreadingHTTPServer):
    """Listens on one address."""

    daemon_threads = True
    guard: Guard

    def __init__(self, host: str, port: int, answers: Answers, token: str) -> None:
        self.answers = answers
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            raise GrouserError(_refusal(host, port, error)) from None
        except OverflowError:
            raise GrouserError(f"--port: {port} is not between 0 and 65535; 0 is any that is free") from None
        self.guard = Guard(token, host, self.server_address[1])

    def server_bind(self) -> None:
        """As its base class, without a lookup of the host name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are ignored."""

    @property
    def address(self) -> str:
        """Address of the page."""
        host = str(self.server_address[0])
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
        return f"http://{shown}:{self.server_port}/{self.guard.token}/"


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"--port: {port} on {host} is in use by another program; choose another, or leave it out for a free one"
    if error.errno == errno.EACCES:
        return f"--port: {port} may not be used without root; choose one from 1024 on, or leave it out for a free one"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"--host: {host} is not an address of this machine; leave it out to serve this machine only"
    return f"--host: {host}, port {port} cannot be served: {error.strerror or error}"


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "grouser", ""
    disable_nagle_algorithm = True
    timeout = 60.0

    def do_GET(self) -> None:
        """The page or its stream."""
        place = self._place()
        if place is None:
            return
        path, query = place
        if path == "":
            text, policy = self.server.answers.page()
            self._send(200, "text/html; charset=utf-8", text.encode(), policy)
        elif path == "stream":
            self._stream(query.get("page", [""])[0][:80], take=query.get("take") == ["1"])
        else:
            self._send(404)

    def do_POST(self) -> None:
        """A command."""
        place = self._place()
        if place is None:
            return
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > MOST_BYTES or place[0] != "do":
            self.close_connection = True
            self._send(413 if size.isdecimal() else 411)
            return
        body = self.rfile.read(int(size))
        # Another type could be posted by any page without asking first.
        if self.headers.get_content_type() != "application/json":
            self._send(415)
            return
        code, answer = self._done(body)
        self._send(code, "application/json", json.dumps(answer, allow_nan=False).encode())

    def _done(self, body: bytes) -> tuple[int, dict[str, Any]]:
        answers = self.server.answers
        try:
            command = json.loads(body)
            if not isinstance(command, dict):
                raise GrouserError("a command is a JSON object")
            if command.get("page") != answers.channel.client:
                return 409, {"error": "another page drives"}
            return 200, answers.do(command)
        except GrouserError as error:
            return 422, {"error": str(error)}
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return 422, {"error": "this is no command"}

    def _place(self) -> tuple[str, dict[str, list[str]]] | None:
        """Path after the token, and query; None, and an empty 403 is sent, if the request is not admitted."""
        parts = urlsplit(self.path)
        guard = self.server.guard
        headers = {name: self.headers.get(name) for name in ("Host", "Origin", "Sec-Fetch-Site")}
        given = {name: value for name, value in headers.items() if value is not None}
        place = guard.place(parts.path)
        many = len(self.headers.get_all("Host", [])) != 1
        if place is None or many or not guard.admits(given):
            self.close_connection = True
            self._send(403)
            return None
        return place, parse_qs(parts.query)

    def _send(self, code: int, kind: str = "", body: bytes = b"", policy: str = "") -> None:
        self.send_response(code)
        self._say({"Content-Type": kind, "Content-Length": str(len(body)), "Content-Security-Policy": policy})
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _say(self, headers: dict[str, str]) -> None:
        more = {
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",  # the address holds the token
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
        }
        for name, value in {**headers, **more}.items():
            if value:
                self.send_header(name, value)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Other methods and invalid HTTP get the same 403 as requests without the token."""
        self.close_connection = True
        self._send(403)

    def _stream(self, client: str, *, take: bool) -> None:
        channel = self.server.answers.channel
        try:
            channel.enter(client, take=take)
        except TakenError:
            self._send(409, "application/json", b'{"error": "another page is open"}')
            return
        self.close_connection = True
        self.connection.settimeout(STUCK)
        self.send_response(200)
        self._say({"Content-Type": "application/octet-stream", "Transfer-Encoding": "chunked", "Connection": "close"})
        self.end_headers()
        seen, alive = 0, b"\0" * 8  # a message of no kind, with nothing in it
        try:
            while (found := channel.fetch(client, seen, QUIET)) is not None:
                seen, data = found[0], found[1] or alive
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass  # the page is gone
        finally:
            if channel.leave(client):
                self.server.answers.left()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: they contain the token."""
