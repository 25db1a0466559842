"""XML that cannot hurt: no DOCTYPE, no entities, bounded in depth and number of elements; names lose their prefix."""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from grouser.errors import VehicleError

MAX_DEPTH = 100


def parse_xml(data: bytes, what: str, *, most_elements: int) -> Element:
    """The root element of a text; what: its kind for messages, such as "COLLADA mesh"."""
    # Without its zero bytes, UTF-16 and UTF-32 text reads like ASCII.
    plain = data.replace(b"\0", b"").upper()
    if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
        raise _declared(what)
    builder = TreeBuilder()
    depth = elements = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > MAX_DEPTH:
            raise VehicleError(f"element <{tag:.60}>: is nested deeper than {MAX_DEPTH}, which no {what} needs")
        if elements > most_elements:
            raise VehicleError(f"element <{tag:.60}>: there are more than {most_elements} elements in this {what}")
        builder.start(tag.rpartition(":")[2], attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag.rpartition(":")[2])

    def refuse(*_: object) -> None:
        raise _declared(what)

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.UnparsedEntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
        root = builder.close()
    except (expat.ExpatError, ValueError, LookupError, RecursionError) as error:
        raise VehicleError(f"is not well-formed XML: {error!s:.200}") from None
    if not isinstance(root, Element):
        raise VehicleError("is not well-formed XML: it has no element")
    return root


def _declared(what: str) -> VehicleError:
    return VehicleError(f"a DOCTYPE or entity declaration is refused; a {what} needs neither, remove it")
