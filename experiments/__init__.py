"""The experiments of the papers, run again with Grouser; `python -m experiments` lists them. Not in the wheel."""
