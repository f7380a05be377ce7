"""``python -m profbridge``: the program."""

from ._program import main

if __name__ == "__main__":
    main()
