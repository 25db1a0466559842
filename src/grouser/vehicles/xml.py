"""XML that cannot hurt: no DOCTYPE, no entities, bounded in size, depth and number of elements."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from grouser.errors import VehicleError
from grouser.vehicles.file import read_limited

__all__ = ["read_xml"]

MAX_BYTES = 4_000_000
MAX_DEPTH = 50
MAX_ELEMENTS = 50_000
FORBIDDEN = (b"<!DOCTYPE", b"<!ENTITY")


def read_xml(path: str | os.PathLike[str]) -> Element:
    """The root element of an XML file; every fault is a `VehicleError`."""
    file = Path(path).name
    data = read_limited(path, MAX_BYTES)
    # Without its zero bytes, UTF-16 and UTF-32 text reads like ASCII.
    plain = data.replace(b"\0", b"").upper()
    if any(word in plain for word in FORBIDDEN):
        raise _refused(file)
    try:
        return _parse(data, file)
    except (expat.ExpatError, ValueError, LookupError, RecursionError) as error:
        raise VehicleError(f"{file}: is not well-formed XML: {error!s:.200}") from None


def _parse(data: bytes, file: str) -> Element:
    builder = TreeBuilder()
    depth = elements = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > MAX_DEPTH:
            raise VehicleError(f"{file}: elements are nested deeper than {MAX_DEPTH}, which no URDF needs")
        if elements > MAX_ELEMENTS:
            raise VehicleError(f"{file}: has more than {MAX_ELEMENTS} elements, which no URDF needs")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise _refused(file)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.UnparsedEntityDeclHandler = refuse
    parser.Parse(data, True)
    root = builder.close()
    if not isinstance(root, Element):
        raise VehicleError(f"{file}: is not well-formed XML: it has no element")
    return root


def _refused(file: str) -> VehicleError:
    return VehicleError(
        f"{file}: has a DOCTYPE or entity declaration, which is refused; a URDF needs neither, remove it"
    )
