"""`python -m wordclass` is the `wordclass` command."""

from wordclass.cli import main

main()
