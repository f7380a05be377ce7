"""Exceptions and warnings of the package."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Optional, Union


class Error(Exception):
    """An error of an input, an output or a request.

    The attributes describe the error. Unknown attributes are ``None``:

    ``kind``
        the kind of error, as a stable identifier: ``"truncated"``, ``"bad-header"``, ...
    ``path``, ``format``, ``section``, ``offset``
        the file, its format and version, the section, and the byte offset in the file; ``line`` for text formats
    ``expected``, ``found``
        the two contradictory numbers; for a :class:`GateError` the threshold and the value, numbers or shares from 0 to 1
    ``hint``
        an instruction that solves the problem

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
        expected: Union[int, float, None] = None,
        found: Union[int, float, None] = None,
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
        # Workers of a cluster send errors to other processes.
        return (_restore, (type(self), self.message, dict(vars(self))))


class FormatError(Error, ValueError):
    """The file is damaged, or is not a profile."""


class UnsupportedError(Error):
    """The operation does not support the format or its version."""


class UsageError(Error, ValueError):
    """The arguments are invalid or contradictory."""


class MergeError(Error):
    """The profiles cannot be merged, or too many inputs are damaged."""


class GateError(Error):
    """The result is below a threshold: too few inputs, functions or counts.

    ``expected`` and ``found`` describe the first threshold that failed.
    """


class LossError(Error):
    """The output format cannot store some data, and ``strict`` forbids dropping it."""


class LimitError(Error):
    """The input exceeds a resource limit."""


class ProgramError(Error):
    """The profiled program is missing, or lacks data that the profile needs."""


class IoError(Error, OSError):
    """The operating system reported an error; see ``errno`` and ``filename``."""


class MissingFileError(IoError, FileNotFoundError):
    """A file does not exist."""


class AccessError(IoError, PermissionError):
    """The permissions of a file forbid the operation."""


class DirectoryError(IoError, IsADirectoryError):
    """A directory was passed in place of a file."""


class ProfileWarning(UserWarning):
    """A problem of an input or a result that does not end the operation."""


def _restore(cls: type[Error], message: str, fields: dict[str, Any]) -> Error:
    error = cls.__new__(cls, message)
    Error.__init__(error, message)
    vars(error).update(fields)
    return error


def _warn(message: str) -> None:
    # Report the line of the caller, outside the package.
    level = 2
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "profbridge":
        frame = frame.f_back  # type: ignore[assignment]
        level += 1
    warnings.warn(message, ProfileWarning, stacklevel=level)
