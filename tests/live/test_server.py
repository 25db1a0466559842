"""Who is answered, and what: token, Host, Origin; one page at a time; the latest picture, every news."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from grouser.errors import GrouserError
from grouser.live.channel import Channel, TakenError
from grouser.live.frame import FRAME, NEWS, message, news
from grouser.live.server import MOST_BYTES, Guard, Server, is_loopback, new_token

TOKEN = "tOken-" * 6
"""The same in all processes that collect these tests."""


class Answers:
    """Stands behind the server; remembers what it was told to do."""

    def __init__(self) -> None:
        self.channel = Channel()
        self.done: list[dict[str, Any]] = []
        self.gone = threading.Event()

    def page(self) -> tuple[str, str]:
        return "<!doctype html><p>here", "default-src 'none'"

    def left(self) -> None:
        self.gone.set()

    def do(self, command: dict[str, Any]) -> dict[str, Any]:
        if command["do"] == "fail":
            raise GrouserError("no, since: it is a test")
        self.done.append(command)
        return {"fine": True}


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server("127.0.0.1", 0, Answers(), TOKEN)
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.answers.channel.end()
    made.shutdown()
    made.server_close()


def ask(server: Server, path: str, *, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, bytes, Any]:
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        headers.setdefault("Content-Type", "application/json")
    line.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = line.getresponse()
    found = answer.status, answer.read(), answer.headers
    line.close()
    return found


def test_with_the_token_there_is_the_page_with_its_policy(server: Server) -> None:
    assert server.address == f"http://127.0.0.1:{server.server_port}/{TOKEN}/"
    code, body, headers = ask(server, f"/{TOKEN}/")
    assert (code, body) == (200, b"<!doctype html><p>here")
    assert headers["Content-Security-Policy"] == "default-src 'none'"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    "path",
    ["/", "", "/page", f"/{TOKEN}", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", f"/x/{TOKEN}/", f"/{TOKEN.swapcase()}/", "//",
     "/%2e%2e/", f"/?{TOKEN}", "/%C3%A4/"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_token_there_is_nothing(server: Server, path: str, method: str) -> None:
    body = {"do": "pause", "page": ""} if method == "POST" else None
    code, said, headers = ask(server, path, method=method, body=body)
    assert (code, said) == (403, b"")
    assert "Python" not in headers.get("Server", "")
    assert server.answers.done == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},  # a name that was made to lead to 127.0.0.1 (DNS rebinding)
        {"Host": "127.0.0.1:1"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": "10.0.0.7:{port}"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://localhost:{port}"},  # not what the page was opened as
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_host_or_origin_is_refused_even_with_the_token(server: Server, headers: dict[str, str]) -> None:
    given = {name: value.format(port=server.server_port) for name, value in headers.items()}
    for method, path in (("GET", ""), ("GET", "stream?page=a"), ("POST", "do")):
        body = {"do": "pause", "page": ""} if method == "POST" else None
        code, said, _ = ask(server, f"/{TOKEN}/{path}", method=method, body=body, **given)
        assert (code, said) == (403, b"")
    assert server.answers.done == []  # type: ignore[attr-defined]
    assert server.answers.channel.opened == 0


def test_its_own_names_and_origin_are_admitted(server: Server) -> None:
    port = server.server_port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
        assert ask(server, f"/{TOKEN}/", Host=host)[0] == 200
        assert ask(server, f"/{TOKEN}/", Host=host, Origin=f"http://{host}", Sec_Fetch_Site="same-origin")[0] == 200


def test_served_to_others_any_address_is_admitted_but_no_foreign_name() -> None:
    guard = Guard(TOKEN, "0.0.0.0", 80)
    assert guard.admits({"Host": "192.168.1.5:80"})
    assert guard.admits({"Host": "[fe80::1]:80"})
    assert not guard.admits({"Host": "evil.example:80"})
    assert Guard(TOKEN, "rover.local", 80).admits({"Host": "rover.local:80", "Origin": "http://rover.local:80"})
    assert all(map(is_loopback, ("127.0.0.1", "127.5.5.5", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "10.0.0.1", "a.b", "", "127.0.0.1.evil.example")))


def test_tokens_are_long_and_different() -> None:
    found = {new_token() for _ in range(100)}
    assert len(found) == 100
    assert min(map(len, found)) >= 32


@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        (b"{}", {"Content-Type": "text/plain"}, 415),  # what another page could post without asking
        (b"x" * (MOST_BYTES + 1), {"Content-Type": "application/json"}, 413),
        (b"[1]", {"Content-Type": "application/json"}, 422),
        (b"{", {"Content-Type": "application/json"}, 422),
        (b"[" * 9000, {"Content-Type": "application/json"}, 422),
        (b'{"do": "pause", "page": "somebody"}', {"Content-Type": "application/json"}, 409),
        (b'{"page": ""}', {"Content-Type": "application/json"}, 422),
        (b'{"do": "fail", "page": ""}', {"Content-Type": "application/json"}, 422),
    ],
)
def test_what_is_no_command_is_refused(server: Server, body: bytes, headers: dict[str, str], code: int) -> None:
    got, said, _ = ask(server, f"/{TOKEN}/do", method="POST", body=body, **headers)
    assert got == code
    assert b"Traceback" not in said
    assert server.answers.done == []  # type: ignore[attr-defined]
    if b"fail" in body:
        assert json.loads(said) == {"error": "no, since: it is a test"}


def test_commands_are_of_the_page_that_is_open(server: Server) -> None:
    server.answers.channel.enter("one", take=False)
    assert ask(server, f"/{TOKEN}/do", method="POST", body={"do": "a", "page": "two"})[0] == 409
    code, said, _ = ask(server, f"/{TOKEN}/do", method="POST", body={"do": "a", "page": "one"})
    assert (code, json.loads(said)) == (200, {"fine": True})
    assert server.answers.done == [{"do": "a", "page": "one"}]  # type: ignore[attr-defined]


def messages(data: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        found.append((kind, data[at + 8 : at + 8 + length]))
        at += 8 + length
    return found


def test_a_page_streams_the_latest_picture_and_all_news(server: Server) -> None:
    channel = server.answers.channel
    for k in range(5):
        channel.show(message(FRAME, bytes([k])))
    channel.tell("state", news({"type": "state", "k": 1}))
    channel.tell("state", news({"type": "state", "k": 2}))  # only the last is told to a page that opens later
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    line.request("GET", f"/{TOKEN}/stream?page=one")
    answer = line.getresponse()
    assert answer.status == 200
    first = message(FRAME, b"\x04")
    known = news({"type": "state", "k": 2})
    assert messages(answer.read(len(first) + len(known))) == [(NEWS, known[8:]), (FRAME, b"\x04")]
    # Another page is told that one is open, and may take over; then the first one's stream ends in order.
    assert ask(server, f"/{TOKEN}/stream?page=two")[0] == 409
    channel.enter("two", take=True)
    rest = [kind for kind, _ in messages(answer.read())]
    assert set(rest) <= {0}
    assert channel.client == "two"
    assert not server.answers.gone.is_set()  # type: ignore[attr-defined]


def test_a_page_that_is_closed_is_noticed(server: Server) -> None:
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    line.request("GET", f"/{TOKEN}/stream?page=one")
    answer = line.getresponse()
    assert server.answers.channel.client == "one"
    answer.close()
    line.close()
    assert server.answers.gone.wait(30)  # type: ignore[attr-defined]
    assert server.answers.channel.client == ""


def test_pictures_nobody_fetched_are_dropped_and_news_are_not() -> None:
    channel = Channel()
    channel.enter("one", take=False)
    with pytest.raises(TakenError):
        channel.enter("two", take=False)
    for k in range(3):
        channel.show(bytes([k]))
        channel.tell("n", b"n%d" % k)
    number, data = channel.fetch("one", 0, 0.0) or (0, b"")
    assert data == b"n0n1n2\x02"
    assert channel.fetch("one", number, 0.0) == (number, b"")
    assert channel.fetch("two", 0, 0.0) is None
    channel.end()
    assert channel.fetch("one", number, 0.0) is None


def test_a_port_in_use_and_an_address_that_is_not_ours_are_named(server: Server) -> None:
    with pytest.raises(GrouserError, match=rf"^--port: {server.server_port} on 127.0.0.1 is in use by another program"):
        Server("127.0.0.1", server.server_port, Answers(), TOKEN)
    with pytest.raises(GrouserError, match=r"^--host: 192.0.2.1 is not an address of this machine"):
        Server("192.0.2.1", 0, Answers(), TOKEN)
    with pytest.raises(GrouserError, match=r"^--port: 99999 is not between 0 and 65535"):
        Server("127.0.0.1", 99999, Answers(), TOKEN)


def test_a_line_that_breaks_in_the_middle_harms_nobody(server: Server) -> None:
    for data in (
        b"GET",
        b"GET / HTTP/1.1\r\nHost: ",
        b"\x16\x03\x01\x02\x00",
        b"POST /%b/do HTTP/1.1\r\n" % TOKEN.encode(),
    ):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as line:
            line.sendall(data)
    assert ask(server, f"/{TOKEN}/")[0] == 200


@pytest.mark.parametrize(
    "request_line",
    [b"GET /\xc3\xa4/ HTTP/1.1", b"OPTIONS /%b/ HTTP/1.1", b"PUT /%b/do HTTP/1.1", b"HEAD /%b/ HTTP/1.1"],
)
def test_other_methods_get_as_little_as_without_the_token(server: Server, request_line: bytes) -> None:
    line_ = request_line.replace(b"%b", TOKEN.encode())
    request = b"%b\r\nHost: 127.0.0.1:%d\r\nOrigin: http://evil.example\r\n\r\n" % (line_, server.server_port)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as line:
        line.sendall(request)
        said = b""
        while part := line.recv(4096):
            said += part
    assert said.startswith(b"HTTP/1.1 403 ")
    assert said.endswith(b"\r\n\r\n")
    assert b"Allow" not in said


def test_two_hosts_in_one_request_are_refused(server: Server) -> None:
    request = f"GET /{TOKEN}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\nHost: evil.example\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as line:
        line.sendall(request.encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 403 ")
