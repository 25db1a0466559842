"""Reading a report back as a browser would: elements, tables, pictures, and everything that could do harm."""

from __future__ import annotations

import base64
from html.parser import HTMLParser
from pathlib import Path


class Read(HTMLParser):
    """What is on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.cells: list[list[str]] = []
        self.words = ""
        self._cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "tr":
            self.cells.append([])
        self._cell = tag in ("td", "th")
        if self._cell:
            self.cells[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        self.words += data
        if self._cell:
            self.cells[-1][-1] += data

    def value(self, first: str) -> list[str]:
        """The other cells of the first row that begins so."""
        return next(row[1:] for row in self.cells if row and row[0] == first)

    @property
    def pictures(self) -> list[bytes]:
        """The pictures' own bytes."""
        sources = [value for tag, name, value in self.attributes if (tag, name) == ("img", "src")]
        return [base64.b64decode(source.partition(",")[2]) for source in sources]


def read(path: Path) -> Read:
    """A page; whatever would run, fetch or frame anything fails here."""
    page = Read()
    page.feed(path.read_text(encoding="utf-8"))
    assert not {"script", "iframe", "object", "embed", "link", "form", "svg", "base"} & set(page.tags)
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), f"{tag} has {name}"
        if name in ("src", "href"):
            assert value.startswith(("data:image/svg+xml;base64,", "data:image/png;base64,"))
    policy = next(v for tag, name, v in page.attributes if (tag, name) == ("meta", "content") and "default-src" in v)
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    return page
