"""An exception on its way from a worker to the main process."""

import pickle
import traceback
from typing import Any

__all__ = ["ExceptionWrapper"]


class _KeyErrorMessage(str):
    """A message that KeyError, which shows the repr of its argument, shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The type and the traceback, as text, of an exception.

    Parameters
    ----------
    error
        The exception. Of a type that cannot be sent to another process, only the text is kept.
    where
        Where it was raised, for the message.
    """

    def __init__(self, error: BaseException, where: str) -> None:
        self.exc_type: Any = type(error) if _can_be_sent(type(error)) else RuntimeError
        self.name = type(error).__name__
        self.exc_msg = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same type with the original traceback in its message.

        A type that cannot be made from a message is replaced by RuntimeError.
        """
        message: str = f"Caught {self.name} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = _KeyErrorMessage(message)
        try:
            error = self.exc_type(message)
        except Exception:  # noqa: BLE001 - the constructor is anyone's
            raise RuntimeError(message) from None
        try:
            raise error
        finally:
            # Else frame and error hold each other, and the loader's workers with them, until garbage is collected.
            del error


def _can_be_sent(cls: type) -> bool:
    try:
        pickle.dumps(cls)
    except (pickle.PicklingError, AttributeError):
        return False
    return True
