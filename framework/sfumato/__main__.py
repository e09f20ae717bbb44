"""``python -m sfumato``: the command line, where its script is not on the path."""

from sfumato.commands import main

main()
