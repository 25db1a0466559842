"""`python -m grouser`: the command line."""

from grouser.cli import main

main()
