"""Who may ask: only a page that this server gave, opened by whoever knows the token."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"


def new_token() -> str:
    """A random part of an address; 192 bits."""
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Guard:
    """Judges requests by token, Host and Origin."""

    token: str
    """What the address holds."""
    host: str
    """The address that is listened on."""
    port: int
    """The port that is listened on."""

    def place(self, path: str) -> str | None:
        """What is asked for behind the token; None without it. The time it takes does not depend on the token."""
        given, slash, rest = path.removeprefix("/").partition("/")
        right = hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())
        return rest if right and slash else None

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Whether Host is ours, so that no other name was made to lead here, and Origin, if any, is that Host.

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
        return True  # an address is no name, so it leads nowhere else
