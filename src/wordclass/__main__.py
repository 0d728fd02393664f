"""`python -m wordclass` is the `wordclass` command."""

from wordclass.cli.main import main

main()
