"""`make docs`: the reference from docstrings, the pictures from the code; --tables measures the cost table anew."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "tools"))


def main() -> None:
    """Write what is asked for and say what changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-pictures", action="store_true", help="the reference only, which takes seconds")
    parser.add_argument("--tables", action="store_true", help="measure cost against fidelity anew (minutes, one core)")
    given = parser.parse_args()

    import reference

    changed = reference.write(DOCS)
    if not given.no_pictures:
        import pictures

        changed += pictures.write(DOCS / "images")
    if given.tables:
        import cost

        changed += cost.write(DOCS / "how-to" / "step-size-and-model.md")
    for path in changed:
        print(f"wrote {path.relative_to(DOCS.parent)}")
    if not changed:
        print("nothing changed")


if __name__ == "__main__":
    main()
