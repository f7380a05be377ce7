"""The commands of the program as functions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Iterable, Literal, Mapping, Optional, Sequence, Union, cast

from . import _profbridge
from ._errors import Error, GateError, UsageError
from ._profbridge import Iprof, Profile, Stacks
from ._settings import (
    Limits,
    MergeSettings,
    Path,
    Paths,
    Source,
    Unpack,
    limits as _limits,
    number as _number,
    paths as _paths,
    settings as _settings,
    texts as _texts,
)
from ._types import Check, Description, Diff, Fit, Generated, Order

_Sources = Union[Source, Iterable[Source]]


def check(source: Source, *, name: Optional[str] = None, limits: Optional[Limits] = None) -> Check:
    """Check a file of any format, like ``profbridge check --json``.

    Faults of the file are part of the result. Only a file that cannot be opened raises an exception.

    Parameters
    ----------
    source : path, bytes, open binary file or profile
        The file.
    name : str, optional
        The name of bytes in messages. Without a known format, ``.iprof`` selects the checks of iprof files.
    limits : dict, optional
        See :class:`MergeSettings`.

    Returns
    -------
    Check
        ``verdict`` and ``findings``.

    Examples
    --------
    >>> import profbridge
    >>> found = profbridge.check(b":ir\\nmain\\n1\\n2\\n5\\n", name="cut.proftext")
    >>> found["verdict"], [finding["code"] for finding in found["findings"]]
    ('unusable: record again', ['text.truncated'])
    """
    return _profbridge.check(source, name, _limits(limits))


def describe(source: Source, *, name: Optional[str] = None, limits: Optional[Limits] = None) -> Description:
    """Describe a file and its sections, like ``profbridge info --json``.

    Parameters
    ----------
    source : path, bytes, open binary file or profile
        The file.
    name : str, optional
        The name of bytes in messages.
    limits : dict, optional
        See :class:`MergeSettings`.

    Returns
    -------
    Description

    Examples
    --------
    >>> import profbridge
    >>> profbridge.describe(b":ir\\nmain\\n1\\n1\\n5\\n")["description"]
    'LLVM text profile'
    """
    return _profbridge.describe(source, name, _limits(limits))


def diff(
    first: Source, second: Source, *, topn: int = 10, exact_names: bool = False, limits: Optional[Limits] = None
) -> Diff:
    """Compare two profiles, like ``profbridge diff --json``.

    Parameters
    ----------
    first, second : path, bytes, open binary file or profile
        The profiles.
    topn : int, optional
        The length of each list.
    exact_names : bool, optional
        Whether to compare functions only under the same name and hash. Otherwise functions whose names or hashes differ
        between LLVM releases are matched.
    limits : dict, optional
        See :class:`MergeSettings`.

    Returns
    -------
    Diff

    Examples
    --------
    >>> import profbridge
    >>> found = profbridge.diff(b":ir\\nmain\\n1\\n1\\n5\\n", b":ir\\nmain\\n1\\n1\\n5\\n\\nf\\n1\\n1\\n5\\n")
    >>> found["total_overlap"], found["new_functions"]["functions"]
    (0.5, ['f'])
    """
    return _profbridge.diff(first, second, _number("topn", topn, 0), exact_names, _limits(limits))


def overlap(
    base: Source,
    test: Source,
    *,
    function: Optional[str] = None,
    value_cutoff: Optional[int] = None,
    topn: Optional[int] = None,
    context_sensitive: bool = False,
    exact_names: bool = False,
    limits: Optional[Limits] = None,
) -> dict[str, Any]:
    """Measure how similar the counts of two profiles are, like ``profbridge overlap --json``.

    Parameters
    ----------
    base, test : path, bytes, open binary file or profile
        Two LLVM instrumentation profiles, two LLVM sample profiles, or two sources of stacks.
    function : str, optional
        Whether to list the functions whose name contains this text.
    value_cutoff : int, optional
        Whether to list the functions of `test` whose largest count is at least this.
    topn : int, optional
        The number of listed functions, the hottest ones.
    context_sensitive : bool, optional
        Whether to compare context-sensitive records instead of the others.
    exact_names : bool, optional
        See :func:`diff`.
    limits : dict, optional
        See :class:`MergeSettings`.

    Returns
    -------
    dict

    Examples
    --------
    >>> import profbridge
    >>> profile = profbridge.read(b":ir\\nmain\\n1\\n2\\n5\\n3\\n")
    >>> profbridge.overlap(profile, profile)["program"]["common"]["edges"]
    1.0
    """
    settings = {
        "function": function,
        "value_cutoff": None if value_cutoff is None else _number("value_cutoff", value_cutoff, 0),
        "topn": None if topn is None else _number("topn", topn, 0),
        "context_sensitive": context_sensitive,
        "exact_names": exact_names,
        "limits": _limits(limits),
    }
    return _profbridge.overlap(base, test, settings)


def fit(
    profile: Source,
    against: Source,
    *,
    target: Optional[str] = None,
    topn: int = 10,
    fail_below: Optional[Mapping[str, float]] = None,
    limits: Optional[Limits] = None,
) -> Fit:
    """Report how much of a profile a new build can still use, like ``profbridge fit --json``.

    Parameters
    ----------
    profile : path, bytes, open binary file or profile
        An LLVM instrumentation or sample profile, or an iprof.
    against : path, bytes, open binary file or profile
        The new build: a program or library, a profile that it wrote, or classes.
    target : str, optional
        The toolchain that uses the profile [default: the compiler of the new build, if it is known].
    topn : int, optional
        The length of each list.
    fail_below : dict, optional
        The least values of ``"used-counts"``, ``"used-functions"`` and ``"profiled-functions"``, from 0 to 1. If a
        share is smaller or unknown, a :class:`GateError` is raised.
    limits : dict, optional
        See :class:`MergeSettings`.

    Returns
    -------
    Fit

    Examples
    --------
    >>> import profbridge
    >>> old = profbridge.read(b":ir\\nmain\\n1\\n1\\n5\\n\\nf\\n2\\n1\\n5\\n")
    >>> new = profbridge.read(b":ir\\nmain\\n1\\n1\\n7\\n\\nf\\n3\\n1\\n9\\n")
    >>> profbridge.fit(old, new)["used_counts"]
    0.5
    """
    with tempfile.TemporaryDirectory(prefix="profbridge-") as folder:
        build = _file(against, folder, "against")
        return _profbridge.fit(profile, build, target, _number("topn", topn, 0), _shares(fail_below), _limits(limits))


def _shares(given: Optional[Mapping[str, float]]) -> Optional[str]:
    """Return thresholds in the notation of the program."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise UsageError(f"fail_below must be a dictionary of shares, not {given!r}")
    return ",".join(f"{name}={share}" for name, share in given.items()) or None


def _file(source: Source, folder: str, name: str) -> str:
    """Return a file with the content of a source."""
    content = _profbridge.content(source)
    if content is None:
        return os.fsdecode(cast(str, source))
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content[1])
    return path


def interop(
    toolchains: Union[str, Iterable[str]] = (),
    *,
    kinds: Union[str, Iterable[str]] = (),
    fail_below: Optional[float] = None,
    keep: Optional[Path] = None,
    timeout: int = 60,
    jobs: Optional[int] = None,
) -> dict[str, Any]:
    """Report which compiler uses the profiles of which, like ``profbridge interop --json``.

    This compiles and runs small programs. It takes seconds to minutes; an interrupt ends it.

    Parameters
    ----------
    toolchains : str or list of str, optional
        Names such as ``clang-16``, or paths of compilers [default: all that are found].
    kinds : str or list of str, optional
        Kinds of profiles [default: all].
    fail_below : float, optional
        The smallest share of cells that must hold, from 0 to 1. Otherwise a :class:`GateError` is raised.
    keep : path, optional
        A new or empty directory for programs, profiles and messages.
    timeout : int, optional
        The longest time of each compiler, tool or program in seconds.
    jobs : int, optional
        The number of programs that run at once [default: the number of processors].

    Returns
    -------
    dict
        The document of ``docs/json-schema/interop-1.json``.

    Examples
    --------
    >>> import profbridge
    >>> try:
    ...     profbridge.interop("/nosuch/clang")
    ... except profbridge.UsageError as error:
    ...     print(error.kind)
    usage
    """
    arguments = ["interop", "--json", f"--timeout={_number('timeout', timeout, 1)}"]
    arguments += [f"--toolchain={toolchain}" for toolchain in _texts("toolchains", toolchains)]
    chosen = _texts("kinds", kinds)
    if chosen:
        arguments.append("--kind=" + ",".join(chosen))
    if fail_below is not None:
        arguments.append(f"--fail-below={fail_below}")
    if keep is not None:
        arguments.append(f"--keep={os.fsdecode(keep)}")
    if jobs is not None:
        arguments.append(f"--jobs={_number('jobs', jobs, 1)}")
    # The program ends its children when it is interrupted, so it is a process of its own.
    ran = subprocess.run([sys.executable, "-m", "profbridge", *arguments], capture_output=True, text=True)
    if ran.returncode == 0:
        return cast("dict[str, Any]", json.loads(ran.stdout))
    message, _, hint = ran.stderr.strip().partition("\n")
    classes: dict[int, type[Error]] = {2: UsageError, 3: GateError}
    raise classes.get(ran.returncode, Error)(
        message.partition("error: ")[2] or message or "interop failed",
        kind={2: "usage", 3: "gate-failed"}.get(ran.returncode, "interop-failed"),
        hint=hint.partition("hint: ")[2] or None,
    )


def order(
    source: Source, *, test_traces: int = 0, topn: Optional[int] = None, limits: Optional[Limits] = None
) -> Order:
    """Return a function order that reduces page faults at startup, like ``profbridge order --json``.

    Parameters
    ----------
    source : path, bytes, open binary file or profile
        A profile with temporal traces.
    test_traces : int, optional
        The number of last traces that evaluate the order and are not used for ordering.
    topn : int, optional
        The number of functions.
    limits : dict, optional
        See :class:`MergeSettings`.

    Returns
    -------
    Order
        The first function of ``functions`` comes first. ``page_fault_area`` is the quality by the test traces.

    Examples
    --------
    >>> import profbridge
    >>> file = profbridge.generate("indexed", functions=3, kinds=["temporal"], seed=1)
    >>> 0 < len(profbridge.order(file.content)["functions"]) <= 3
    True
    """
    found = _profbridge.order(source, _number("test_traces", test_traces, 0), _limits(limits))
    if topn is not None:
        del found["functions"][_number("topn", topn, 1) :]
    return found


def repair(
    source: Source,
    *,
    assume_version: Optional[str] = None,
    salvage: bool = False,
    keep_whole_rows: bool = False,
    reset_call_counts: bool = False,
    join_sections: bool = False,
    drop_never_executed: bool = False,
    limits: Optional[Limits] = None,
) -> Iprof:
    """Return a valid profile of a damaged or truncated iprof file, like ``profbridge repair``.

    Parameters
    ----------
    source : path, bytes or open binary file
        The damaged file.
    assume_version : str, optional
        The version of a file without a usable version.
    salvage : bool, optional
        Whether to keep the entries before a syntax error.
    keep_whole_rows : bool, optional
        Whether to keep the complete rows of entries that end within a row.
    reset_call_counts : bool, optional
        Whether to move call counts at other positions to position 0.
    join_sections : bool, optional
        Whether to join sections that occur twice.
    drop_never_executed : bool, optional
        Whether to drop branches that never ran.
    limits : dict, optional
        See :class:`MergeSettings`.

    Returns
    -------
    Iprof
        Its ``report`` has ``verdict`` and ``repairs``.

    Examples
    --------
    >>> import profbridge
    >>> whole = profbridge.generate("iprof", functions=5, seed=1).content
    >>> repaired = profbridge.repair(whole[:-30], salvage=True)
    >>> len(repaired) > 0
    True
    """
    settings = {
        "assume_version": assume_version,
        "salvage": salvage,
        "keep_whole_rows": keep_whole_rows,
        "reset_call_counts": reset_call_counts,
        "join_sections": join_sections,
        "drop_never_executed": drop_never_executed,
        "limits": _limits(limits),
    }
    return _profbridge.repair(source, settings)


def convert(source: Source, path: Path, *, force: bool = False, **settings: Unpack[MergeSettings]) -> None:
    """Write a profile in another format, like ``profbridge convert``.

    The file extension of the output selects the format. An LLVM profile becomes an iprof or the other way round, and
    stacks become an iprof, collapsed text or pprof. Use the methods ``to_iprof``, ``to_llvm`` and ``write`` for other
    options of a conversion.

    Parameters
    ----------
    source : path, bytes, open binary file or profile
        The profile.
    path : path
        The output.
    force : bool, optional
        Whether to replace a file that is not an earlier output.
    **settings
        See :class:`MergeSettings`. ``target`` is the toolchain that reads the output.

    Examples
    --------
    >>> import os, profbridge, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "main.iprof")
    ...     profbridge.convert(b"main\\n1\\n1\\n5\\n", path)
    ...     profbridge.family_of(path)
    'iprof'
    """
    form, chosen = _profbridge.form_of(path), _settings(True, **settings)
    # An iprof has a section for exact call counts.
    chosen["reads_calls"] = form == "iprof"
    if form == "stacks" and chosen["binary"]:
        # With its program, a recording is read as a sample profile.
        profile = _profbridge.merge([source], None, chosen, None)
    else:
        profile = _profbridge.read(source, None, chosen)
    if isinstance(profile, (Profile, Stacks)) and form == "iprof":
        profile = profile.to_iprof()
    elif isinstance(profile, Iprof) and form == "llvm":
        profile = profile.to_llvm(target=settings.get("target"))
    elif isinstance(profile, Iprof) and form == "stacks":
        profile = _profbridge.stacks_of(profile.to_bytes())
    profile.write(path, force=force)


def flamegraph(
    sources: _Sources,
    *,
    baseline: Optional[_Sources] = None,
    format: Literal["svg", "html"] = "svg",
    title: Optional[str] = None,
    include: Union[str, Sequence[str]] = (),
    exclude: Union[str, Sequence[str]] = (),
    demangle: bool = True,
    reverse: bool = False,
    per_thread: bool = False,
    method: Optional[str] = None,
    width: int = 1200,
    min_width: float = 0.1,
    full_names: bool = False,
    upright: bool = False,
    binary: Paths = (),
    profiled_binaries: Paths = (),
    limits: Optional[Limits] = None,
) -> str:
    """Draw a flame graph, like ``profbridge flamegraph``.

    Parameters
    ----------
    sources : path, bytes, open binary file or profile, or an iterable of them
        Recordings, stacks, pprof, iprof files, memory or sample profiles.
    baseline : path, bytes, open binary file or profile, or an iterable of them, optional
        A profile of the same kind to compare with.
    format : {"svg", "html"}, optional
        An image, or a page with the image.
    title : str, optional
        The title [default: the names of the files].
    include, exclude : str or list of str, optional
        Use only stacks with, or without, these methods: a package, class, method, or ``/REGEX/``.
    demangle : bool, optional
        Whether to demangle the names of C++ and Rust functions.
    reverse : bool, optional
        Whether to start with the running methods, and draw their callers.
    per_thread : bool, optional
        Whether to draw each thread separately.
    method : str, optional
        Draw the callees of this method from all stacks; with `reverse`, its callers.
    width : int, optional
        The width in pixels, 100 to 20000.
    min_width : float, optional
        Omit boxes narrower than this many pixels.
    full_names : bool, optional
        Whether to truncate names on the left instead of shortening them to class and method.
    upright : bool, optional
        Whether to draw callees above callers.
    binary : path or list of paths, optional
        Programs of a recording of perf.
    profiled_binaries : path or list of paths, optional
        Programs that wrote raw memory profiles.
    limits : dict, optional
        See :class:`MergeSettings`.

    Returns
    -------
    str
        The SVG or HTML text. Notebooks show it with ``IPython.display.SVG`` or ``HTML``.

    Examples
    --------
    >>> import profbridge
    >>> "<svg" in profbridge.flamegraph(b"main;f 3\\nmain;g 4\\n", title="f and g")
    True
    """
    drawing = _drawing(title, include, exclude, demangle, binary, profiled_binaries, limits)
    flame = {
        "format": format,
        "reverse": reverse,
        "per_thread": per_thread,
        "method": method,
        "width": _number("width", width, 100),
        "min_width": min_width,
        "full_names": full_names,
        "upright": upright,
    }
    return _profbridge.flamegraph(sources, baseline, drawing, flame)


def report(
    sources: _Sources,
    *,
    baseline: Optional[_Sources] = None,
    title: Optional[str] = None,
    include: Union[str, Sequence[str]] = (),
    exclude: Union[str, Sequence[str]] = (),
    demangle: bool = True,
    topn: Optional[int] = None,
    binary: Paths = (),
    profiled_binaries: Paths = (),
    limits: Optional[Limits] = None,
) -> str:
    """Write a profile as one HTML page, like ``profbridge report``.

    Parameters
    ----------
    sources : path, bytes, open binary file or profile, or an iterable of them
        Profiles of one family.
    baseline : path, bytes, open binary file or profile, or an iterable of them, optional
        A profile of the same kind to compare with.
    title : str, optional
        The title [default: the names of the files].
    include, exclude, demangle : optional
        See :func:`flamegraph`.
    topn : int, optional
        The number of rows of each table, at most 500.
    binary, profiled_binaries, limits : optional
        See :func:`flamegraph`.

    Returns
    -------
    str
        The HTML text.

    Examples
    --------
    >>> import profbridge
    >>> "main" in profbridge.report(b":ir\\nmain\\n1\\n1\\n5\\n")
    True
    """
    drawing = _drawing(title, include, exclude, demangle, binary, profiled_binaries, limits)
    return _profbridge.report(sources, baseline, drawing, None if topn is None else _number("topn", topn, 1))


def _drawing(
    title: Optional[str],
    include: Union[str, Sequence[str]],
    exclude: Union[str, Sequence[str]],
    demangle: bool,
    binary: Paths,
    profiled_binaries: Paths,
    limits: Optional[Limits],
) -> dict[str, Any]:
    return {
        "title": title,
        "include": _texts("include", include),
        "exclude": _texts("exclude", exclude),
        "demangle": demangle,
        "binary": _paths("binary", binary),
        "profiled_binaries": _paths("profiled_binaries", profiled_binaries),
        "limits": _limits(limits),
    }


def generate(
    format: str,
    *,
    functions: int = 100,
    contexts: Optional[int] = None,
    kinds: Optional[Sequence[str]] = None,
    seed: int = 0,
    number: int = 1,
    target: Optional[str] = None,
    format_version: Optional[int] = None,
    raw_arch: Optional[Literal["64le", "64be", "32le", "32be"]] = None,
    to_version: Optional[str] = None,
    damage: Optional[str] = None,
) -> Generated:
    """Generate a synthetic profile, like ``profbridge generate``.

    The same arguments give the same bytes on every machine.

    Parameters
    ----------
    format : str
        The format of the file, such as ``"raw"``, ``"indexed"``, ``"iprof"`` or ``"collapsed"``.
    functions : int, optional
        The number of functions or methods.
    contexts : int, optional
        The number of calling contexts of an iprof, or of stacks [default: four for each method].
    kinds : list of str, optional
        The kinds of content [default: the usual ones of the format].
    seed : int, optional
        The start of the random numbers.
    number : int, optional
        The number of the file, from 1. Other files have other counts of the same functions.
    target : str, optional
        The toolchain that reads LLVM's formats.
    format_version : int, optional
        The version of the format [default: that of the toolchain].
    raw_arch : {"64le", "64be", "32le", "32be"}, optional
        Width and byte order of raw profiles.
    to_version : str, optional
        The version of an iprof.
    damage : str, optional
        A damage of the file, such as ``"lengths"``.

    Returns
    -------
    Generated
        ``content``, ``totals`` and ``damage``.

    Examples
    --------
    >>> import profbridge
    >>> file = profbridge.generate("text", functions=3)
    >>> file.totals["functions"], len(profbridge.read(file.content))
    (3, 3)
    """
    settings = {
        "target": target,
        "format_version": None if format_version is None else _number("format_version", format_version, 0),
        "raw_arch": raw_arch,
        "to_version": to_version,
        "functions": _number("functions", functions, 1),
        "contexts": None if contexts is None else _number("contexts", contexts, 1),
        "kinds": None if kinds is None else _texts("kinds", kinds),
        "seed": _number("seed", seed, 0),
        "number": _number("number", number, 1),
        "damage": damage,
    }
    return Generated(*_profbridge.generate(format, settings))
