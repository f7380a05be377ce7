"""The types of rows, summaries and reports."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Optional, TypedDict


class FunctionRow(TypedDict):
    """A row of :meth:`profbridge.Profile.functions`: a function name and its FuncHash."""

    name: str
    name_ref: int
    func_hash: int
    entry_count: Optional[int]
    max_count: Optional[int]
    total_count: Optional[int]
    num_counters: int
    num_covered: int
    num_value_sites: int
    pseudo_count: Optional[Literal["hot", "warm"]]
    counters: list[int]


class ValueSiteRow(TypedDict):
    """A row of :meth:`profbridge.Profile.value_sites`: a value of a value site."""

    name: str
    func_hash: int
    kind: Literal["indirect-call-target", "memop-size", "vtable-target"]
    site: int
    value: int
    count: int
    target: Optional[str]


class SampledFunctionRow(TypedDict):
    """A row of :meth:`profbridge.SampleProfile.functions`: a function, perhaps in a calling context."""

    name: str
    context: Optional[str]
    total_samples: int
    head_samples: int
    checksum: int
    inlined_calls: int


class LineRow(TypedDict):
    """A row of :meth:`profbridge.SampleProfile.lines`: a line of a function."""

    function: str
    inlined: Optional[str]
    line_offset: int
    discriminator: int
    samples: int


class AllocatorRow(TypedDict):
    """A row of :meth:`profbridge.MemoryProfile.functions`: a function that allocates memory."""

    name: str
    bytes: int
    allocations: int


class AllocationRow(TypedDict):
    """A row of :meth:`profbridge.MemoryProfile.allocations`: a call stack."""

    function: Optional[str]
    bytes: int
    allocations: int
    average_lifetime_ms: float
    hotness: str
    stack: list[str]


class MethodRow(TypedDict):
    """A row of :meth:`profbridge.Iprof.functions`: a method."""

    name: str
    id: int
    calls: int
    samples: int


class EntryRow(TypedDict):
    """A row of :meth:`profbridge.Iprof.entries`: an entry of a section."""

    section: str
    method: str
    bci: int
    context: str
    depth: int
    events: int


class SampledMethodRow(TypedDict):
    """A row of :meth:`profbridge.Stacks.functions`: a method."""

    name: str
    self_hits: int
    total_hits: int


class StackRow(TypedDict):
    """A row of :meth:`profbridge.Stacks.samples`: a sample."""

    stack: list[str]
    thread: Optional[str]
    source: str
    hits: int


#: A share of all counts, the smallest of the largest counts that make up this share, and the number of these counts.
Cutoff = tuple[float, int, int]


class InstrSummary(TypedDict):
    """The summary of a :class:`profbridge.Profile`."""

    num_functions: int
    num_counts: int
    max_function_count: int
    max_count: int
    max_internal_count: int
    total_count: int
    cutoffs: list[Cutoff]


class SampleSummary(TypedDict):
    """The summary of a :class:`profbridge.SampleProfile`."""

    num_functions: int
    num_counts: int
    total_count: int
    max_count: int
    max_head_count: int
    cutoffs: list[Cutoff]


class InputReport(TypedDict):
    """An input of a merge.

    ``outcome`` is ``"used"``, ``"empty"``, ``"failed"`` (then ``error`` has the message) or ``"other"``.
    """

    path: str
    weight: int
    outcome: Literal["used", "empty", "failed", "other"]
    error: Optional[str]
    records: int
    warnings: list[str]


class MergeReport(TypedDict):
    """The outcomes of a merge: the numbers of functions of the result and of used inputs, and the inputs."""

    functions: Optional[int]
    used: int
    inputs: list[InputReport]


class TargetReport(TypedDict):
    """The target of a merge, and what selected it: ``option``, ``environment`` or ``inputs``."""

    release: str
    indexed_version: int
    source: str


class SoftError(TypedDict):
    """Records that were not merged exactly: the reason, their number, and the first ones."""

    error: str
    records: int
    first: list[str]


class InstrReport(MergeReport):
    """The outcomes of a merge of instrumentation profiles."""

    records: Optional[int]
    soft_errors: list[SoftError]
    target: TargetReport


class Finding(TypedDict):
    """A finding of :func:`profbridge.check`; ``more`` is the number of further cases."""

    level: Literal["info", "warning", "error"]
    code: str
    path: str
    offset: Optional[int]
    message: str
    more: int


class _Check(TypedDict, total=False):
    hint: Any
    density: float


class Check(_Check):
    """The result of :func:`profbridge.check`: the verdict, and the findings."""

    path: str
    format: str
    version: Optional[str]
    verdict: str
    findings: list[Finding]


class _Description(TypedDict, total=False):
    compression: str
    inflated_size: int
    partial_merge: dict[str, Any]


class Description(_Description):
    """The result of :func:`profbridge.describe`, as of ``profbridge info --json``."""

    description: str
    supported: bool
    size: int
    parts: list[dict[str, Any]]
    warnings: list[str]
    error: Optional[dict[str, Any]]


class Section(TypedDict, total=False):
    """A section of a comparison."""

    section: str
    overlap: float
    first_events: int
    second_events: int
    common: int
    only_first: int
    only_second: int


class Move(TypedDict):
    """A function whose share of the counts changed."""

    function: str
    first_share: float
    second_share: float


class FunctionList(TypedDict):
    """Functions of one of two profiles, and the number of further ones."""

    functions: list[str]
    more: int


class _Diff(TypedDict, total=False):
    fit: dict[str, Any]


class Diff(_Diff):
    """The result of :func:`profbridge.diff`, as of ``profbridge diff --json``."""

    smallest_overlap: float
    total_overlap: float
    sections: list[Section]
    functions_by: str
    risers: list[Move]
    fallers: list[Move]
    new_functions: FunctionList
    lost_functions: FunctionList
    flipped_branches: dict[str, Any]
    changed_receivers: dict[str, Any]
    followed: list[dict[str, Any]]


class Fit(TypedDict):
    """The result of :func:`profbridge.fit`, as of ``profbridge fit --json``. Shares are from 0 to 1."""

    family: str
    profile_is: str
    program_is: str
    counted: str
    used_functions: Optional[float]
    used_counts: Optional[float]
    profiled_functions: Optional[float]
    functions: list[dict[str, Any]]
    program: list[dict[str, Any]]
    lost: list[dict[str, Any]]
    more_lost: int
    changed: list[str]
    unprofiled: list[str]
    targets: Optional[dict[str, Any]]
    releases: Optional[dict[str, Any]]
    sections: list[dict[str, Any]]
    notes: list[str]


class _OrderedFunction(TypedDict, total=False):
    file: str


class OrderedFunction(_OrderedFunction):
    """A function of :func:`profbridge.order`; ``file`` is there for a local function."""

    name: str


class Order(TypedDict):
    """The result of :func:`profbridge.order`, as of ``profbridge order --json``."""

    functions: list[OrderedFunction]
    page_fault_area: Optional[float]


class Generated(NamedTuple):
    """A file of :func:`profbridge.generate`.

    ``totals`` are the numbers that a reader must find, ``damage`` describes the damage of the file, if there is any.
    """

    content: bytes
    totals: dict[str, int]
    damage: Optional[dict[str, Any]]
