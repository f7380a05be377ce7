"""Exceptions and warnings of the package."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Optional


class Error(Exception):
    """Something is wrong with an input, an output or a request.

    Every error says what is wrong and, as far as it is known, where and what to do about it:

    ``kind``
        what is wrong, in one word that does not change: ``"truncated"``, ``"bad-header"``, ...
    ``path``, ``format``, ``section``, ``offset``
        the file, its format and version in words, the section, and the byte from the start of
        the file; ``line`` for texts
    ``expected``, ``found``
        the two numbers that disagree
    ``hint``
        what to do about it

    >>> import profbridge
    >>> try:
    ...     profbridge.read(b"\\xfflprofi\\x81\\x0c\\0\\0\\0\\0\\0\\0\\0")
    ... except profbridge.Error as error:
    ...     print(error.kind, error.format, error.section)
    truncated indexed v12 header
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "usage",
        path: Optional[str] = None,
        format: Optional[str] = None,
        section: Optional[str] = None,
        offset: Optional[int] = None,
        line: Optional[int] = None,
        expected: Optional[int] = None,
        found: Optional[int] = None,
        hint: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.path = path
        self.format = format
        self.section = section
        self.offset = offset
        self.line = line
        self.expected = expected
        self.found = found
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  hint: {self.hint}"

    def __reduce__(self) -> Any:
        # Errors cross from one process to another, as workers of a cluster send them.
        return (_restore, (type(self), self.message, dict(vars(self))))


class FormatError(Error, ValueError):
    """The file is damaged, or is no profile."""


class UnsupportedError(Error):
    """The format or its version is known, but this is not done with it."""


class UsageError(Error, ValueError):
    """What was asked cannot be done with these arguments."""


class MergeError(Error):
    """The profiles cannot be added up, or too many inputs are bad."""


class GateError(Error):
    """The result is not as it has to be: too few inputs, functions or counts."""


class LossError(Error):
    """The output format cannot store some data, and ``strict`` forbids dropping it."""


class LimitError(Error):
    """The input would expand to more than the limits allow."""


class ProgramError(Error):
    """The program that ran is needed, or does not tell what the profile lacks."""


class IoError(Error, OSError):
    """The operating system refused; ``errno`` and ``filename`` say what and why."""


class ProfileWarning(UserWarning):
    """Something about an input or a result that is worth knowing and ends nothing."""


def _restore(cls: type[Error], message: str, fields: dict[str, Any]) -> Error:
    error = cls.__new__(cls, message)
    Error.__init__(error, message)
    vars(error).update(fields)
    return error


def _warn(message: str) -> None:
    # The line that is named is the caller's, outside the package.
    level = 2
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "profbridge":
        frame = frame.f_back  # type: ignore[assignment]
        level += 1
    warnings.warn(message, ProfileWarning, stacklevel=level)
