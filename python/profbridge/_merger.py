"""Merges that are distributed over machines or processes, or continued later."""

from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Union

from . import _profbridge
from ._errors import UsageError
from ._settings import AnyProfile, MergeSettings, Source, Unpack, settings as _settings, sources_of as _sources_of
from ._types import InputReport


class Merger:
    """A merge that can be continued in another process.

    Add inputs in order, and merge mergers with those of later inputs. If the order is preserved, the result has the
    same bytes and warnings as one merge of all inputs, however they were grouped.

    A pickled merger is a *partial merge* with the settings: sums and the state of the merge. The bytes of
    :meth:`to_bytes` are those that ``profbridge merge --partial`` writes after the profile. The program and :meth:`add`
    accept them as an input.

    Filters, weights and renamings apply when an input is added. With the ``failure_mode`` ``"any"``, a damaged input
    raises an error and is not added; otherwise it is recorded, and the mode applies in :meth:`finish`, like ``target``
    and the thresholds. All inputs must be of the family of the first profile. Empty files belong to every family. A
    file before the first profile that is not a profile belongs to ``family``.

    Parameters
    ----------
    **settings : MergeSettings
        See :class:`profbridge.MergeSettings`.

    Examples
    --------
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
        """Add a profile or a partial merge after the other inputs.

        An input that is also in a partial merge is an error unless ``allow_duplicates`` is set. An error leaves the
        merger unchanged.

        Parameters
        ----------
        source : path, bytes, open binary file or profile
            The input. The files of a directory are added one by one.
        weight : int, optional
            How often the counts are added.
        name : str, optional
            The name of bytes in messages.

        Returns
        -------
        Merger
            This merger.
        """
        if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
            for file in _profbridge.files_of(source):
                self._part.add(file, weight, name)
        else:
            self._part.add(source, weight, name)
        return self

    def add_all(self, sources: Union[Source, Iterable[Source]], *, weights: Optional[Iterable[int]] = None) -> Merger:
        """Add several profiles, in order.

        Parameters
        ----------
        sources : iterable of sources
            See :meth:`add`.
        weights : iterable of int, optional
            The weight of each source.

        Returns
        -------
        Merger
            This merger.
        """
        given = _sources_of(sources)
        chosen = [1] * len(given) if weights is None else list(weights)
        if len(chosen) != len(given):
            raise UsageError(f"the number of weights is {len(chosen)}, that of inputs is {len(given)}")
        for source, weight in zip(given, chosen):
            self.add(source, weight=weight)
        return self

    def merge(self, later: Merger) -> Merger:
        """Add the inputs of another merger after those of this one.

        An input that is in both mergers is an error unless ``allow_duplicates`` is set.

        Parameters
        ----------
        later : Merger
            A merger with the same target.

        Returns
        -------
        Merger
            This merger.
        """
        self._part.append(later._part)
        return self

    def finish(self) -> AnyProfile:
        """Return the merged profile of all inputs so far, like :func:`profbridge.merge`. More inputs can be added.

        Returns
        -------
        Profile, SampleProfile, MemoryProfile, Iprof or Stacks
        """
        return self._part.finish()

    @property
    def inputs(self) -> list[InputReport]:
        """The inputs so far, with the outcome of each."""
        return self._part.inputs()

    def __len__(self) -> int:
        return len(self._part)

    def to_bytes(self) -> bytes:
        """Return the merger as a partial merge.

        The partial merge names the target and the thresholds that were given, so that :meth:`from_bytes` restores them.

        Returns
        -------
        bytes
        """
        return self._part.to_bytes()

    @classmethod
    def from_bytes(cls, part: bytes, **settings: Unpack[MergeSettings]) -> Merger:
        """Return a merger that continues a partial merge.

        Parameters
        ----------
        part : bytes
            The result of :meth:`to_bytes`, or a file of ``profbridge merge --partial``.
        **settings : MergeSettings
            The settings of the merger. Its target and thresholds are those of the partial merge unless they are given.

        Returns
        -------
        Merger
        """
        merger = cls(**settings)
        kept = merger._part.restore(part, True)
        added = {name: value for name, value in kept.items() if name not in settings}
        if added:
            again = cls(**{**settings, **added})
            again._part.append(merger._part)
            return again
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

