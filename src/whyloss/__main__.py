"""`python -m whyloss`: the command line."""

from whyloss.cli.main import main

if __name__ == "__main__":
    main(prog_name="python -m whyloss")
