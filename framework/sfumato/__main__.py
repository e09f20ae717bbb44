"""``python -m sfumato``: the command line, where its script is not on the path."""

from sfumato.commands import start

if __name__ == "__main__":  # the laws import every module
    start()
