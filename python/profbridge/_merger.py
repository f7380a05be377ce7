"""Merges that are distributed over machines or processes, or continued later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Optional

from . import _profbridge
from ._settings import MergeSettings, Source, settings as _settings

if TYPE_CHECKING:
    from ._settings import Unpack


class Merger:
    """A merge that can be continued in another process.

    Add inputs in order, and merge mergers with those of later inputs. If the order is preserved, the result has the
    same bytes and warnings as one merge of all inputs, however they were grouped.

    A pickled merger is a *partial merge*: sums and the state of the merge. Its bytes (:meth:`to_bytes`) are those that
    ``profbridge merge --partial`` writes after the profile. The program and :meth:`add` accept them as an input.

    The settings are those of :class:`profbridge.MergeSettings`. Filters, weights and renamings apply when an input is
    added. With the ``failure_mode`` ``"any"``, a damaged input raises an error and is not added; otherwise it is
    recorded, and the mode applies in :meth:`finish`, like ``target`` and the thresholds. All inputs must be of the
    family of the first profile. Empty files belong to every family. A file before the first profile that is not a
    profile belongs to ``family``.

    >>> import pickle, profbridge
    >>> first = profbridge.Merger().add(b":ir\\nmain\\n1\\n1\\n5\\n")
    >>> second = pickle.loads(pickle.dumps(profbridge.Merger().add(b":ir\\nmain\\n1\\n1\\n7\\n", weight=2)))
    >>> profile = first.merge(second).finish()
    >>> profile.find("main")[0].counters.to_pylist()
    [19]
    """

    __slots__ = ("_part", "_settings")

    def __init__(self, **settings: Unpack[MergeSettings]) -> None:
        self._settings = _settings(**settings)
        self._part = _profbridge.Part(self._settings)

    def add(self, source: Source, *, weight: int = 1, name: Optional[str] = None) -> Merger:
        """Add a profile or a partial merge after the other inputs. Return the merger.

        An input that is also in a partial merge is an error unless ``allow_duplicates`` is set.
        ``name`` is the name of bytes in messages. An error leaves the merger unchanged.
        """
        self._part.add(source, weight, name)
        return self

    def add_all(self, sources: Iterable[Source]) -> Merger:
        """Add several profiles, in order."""
        for source in sources:
            self.add(source)
        return self

    def merge(self, later: Merger) -> Merger:
        """Add the inputs of another merger after those of this one. Return this merger."""
        self._part.append(later._part)
        return self

    def finish(self) -> Any:
        """Return the merged profile of all inputs so far, like :func:`profbridge.merge`. More inputs can be added."""
        return self._part.finish()

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """The inputs so far, with the outcome of each."""
        return self._part.inputs()

    def __len__(self) -> int:
        return len(self._part)

    def to_bytes(self) -> bytes:
        """Return the merger as a partial merge."""
        return self._part.to_bytes()

    @classmethod
    def from_bytes(cls, part: bytes, **settings: Unpack[MergeSettings]) -> Merger:
        """Return a merger that continues a partial merge; ``settings`` are those of the constructor."""
        merger = cls(**settings)
        merger._part.restore(part, True)
        return merger

    def __repr__(self) -> str:
        return f"<profbridge.Merger of {len(self)} inputs>"

    def __getstate__(self) -> tuple[dict[str, Any], Optional[bytes]]:
        return self._settings, self.to_bytes() if len(self) else None

    def __setstate__(self, state: tuple[dict[str, Any], Optional[bytes]]) -> None:
        settings, part = state
        self._settings = settings
        self._part = _profbridge.Part(settings)
        if part is not None:
            self._part.restore(part, False)
