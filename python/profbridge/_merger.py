"""Merging in parts: on other machines, in other processes, later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Optional

from . import _profbridge
from ._settings import MergeSettings, Source, settings as _settings

if TYPE_CHECKING:
    from ._settings import Unpack


class Merger:
    """A merge that can go on elsewhere.

    Inputs are added in order, one by one, and mergers are joined with those of the inputs that follow. However
    the inputs are split into runs, and in whatever tree their mergers are joined: as long as the order stays,
    the result has the bytes, and the warnings, of one merge of all of them.

    A merger is pickled as a *partial merge*: sums, and what is needed to go on exactly. Its bytes
    (:meth:`to_bytes`) are what ``profbridge merge --partial`` writes, without the profile in front of them; the
    program and :meth:`add` take them as an input.

    The settings are those of :class:`profbridge.MergeSettings`. Filters, weights and renamings apply as inputs are
    added, ``failure_mode`` then and at the end: with ``"any"`` a bad input raises and is not added, else it is
    remembered. ``target`` and the minimums apply at the end. All inputs are of one family, which the first that is
    a profile decides; empty files go with any. A file that is no profile and comes before it goes with ``family``.

    >>> import pickle, profbridge
    >>> first = profbridge.Merger().add(b":ir\\nmain\\n1\\n1\\n5\\n")
    >>> second = pickle.loads(pickle.dumps(profbridge.Merger().add(b":ir\\nmain\\n1\\n1\\n7\\n", weight=2)))
    >>> profile = first.merge(second).finish()
    >>> profile.find("main")[0].entry_count
    19
    """

    __slots__ = ("_part", "_settings")

    def __init__(self, **settings: Unpack[MergeSettings]) -> None:
        self._settings = _settings(**settings)
        self._part = _profbridge.Part(self._settings)

    def add(self, source: Source, *, weight: int = 1, name: Optional[str] = None) -> Merger:
        """Add a profile, or a partial merge, that comes after those that were added; returns the merger.

        A profile that is in a partial merge and was added, too, is an error unless ``allow_duplicates`` is set.
        ``name`` is what messages call bytes. When it raises, the merger is as it was before.
        """
        self._part.add(source, weight, name)
        return self

    def add_all(self, sources: Iterable[Source]) -> Merger:
        """Add several profiles, in order."""
        for source in sources:
            self.add(source)
        return self

    def merge(self, later: Merger) -> Merger:
        """Add the inputs of another merger, which come after those of this one; returns the merger."""
        self._part.append(later._part)
        return self

    def finish(self) -> Any:
        """The result for all inputs so far, as :func:`profbridge.merge` gives it. More can be added after it."""
        return self._part.finish()

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """The inputs so far, and what became of each."""
        return self._part.inputs()

    def __len__(self) -> int:
        return len(self._part)

    def to_bytes(self) -> bytes:
        """The merger as a partial merge."""
        return self._part.to_bytes()

    @classmethod
    def from_bytes(cls, part: bytes, **settings: Unpack[MergeSettings]) -> Merger:
        """The merger that goes on from a partial merge; ``settings`` are those of the constructor."""
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
