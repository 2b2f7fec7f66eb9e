"""An extension that raises when it is called."""


def register() -> None:
    raise KeyError("no table of operators")
