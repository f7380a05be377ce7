"""``python -m profbridge``: the program."""

from ._program import main

main()
