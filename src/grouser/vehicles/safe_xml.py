"""XML that cannot hurt: no DOCTYPE, no entities, bounded in depth and number of elements."""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from grouser.errors import VehicleError


def parse_xml(data: bytes, what: str, *, most_elements: int, most_depth: int = 100, prefixes: bool = False) -> Element:
    """The root element of a text; what: its kind for messages, such as "COLLADA mesh".

    Names lose their prefix, unless prefixes are wanted.
    """
    # Without its zero bytes, UTF-16 and UTF-32 text reads like ASCII.
    plain = data.replace(b"\0", b"").upper()
    if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
        raise _declared(what)
    builder = TreeBuilder()
    depth = elements = 0

    def named(tag: str) -> str:
        return tag if prefixes else tag.rpartition(":")[2]

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > most_depth:
            raise VehicleError(f"element <{tag:.60}>: is nested deeper than {most_depth}, which no {what} needs")
        if elements > most_elements:
            raise VehicleError(f"element <{tag:.60}>: there are more than {most_elements} elements in this {what}")
        builder.start(named(tag), attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(named(tag))

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
