"""Published experiments, run with Grouser; `python -m experiments` lists them. Not in the wheel."""
