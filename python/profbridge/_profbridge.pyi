# The docstrings are those of the extension module; tests/test_package.py renews them.
from os import PathLike
from types import GenericAlias
from typing import (
    Any,
    Callable,
    ClassVar,
    Final,
    Generic,
    Iterable,
    Iterator,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
    Union,
    final,
    overload,
)

from ._settings import AnyProfile, Family, Path, Source
from ._types import (
    AllocationRow,
    AllocatorRow,
    Check,
    Description,
    Diff,
    EntryRow,
    Fit,
    FunctionRow,
    InputReport,
    InstrReport,
    InstrSummary,
    LineRow,
    MergeReport,
    MethodRow,
    Order,
    SampledFunctionRow,
    SampledMethodRow,
    SampleSummary,
    StackRow,
    ValueSiteRow,
)

_Row = TypeVar("_Row", bound=Mapping[str, Any], covariant=True)
_Sources = Union[Source, Iterable[Source]]

__all__ = [
    "Column",
    "Iprof",
    "MemoryProfile",
    "Part",
    "Profile",
    "Record",
    "SampleProfile",
    "Stacks",
    "Table",
    "VERSION",
    "check",
    "content",
    "describe",
    "diff",
    "family_of",
    "files_of",
    "fit",
    "flamegraph",
    "form_of",
    "generate",
    "merge",
    "order",
    "overlap",
    "read",
    "repair",
    "report",
    "restore",
    "restore_table",
    "run_program",
    "stacks_of",
]

VERSION: Final[str]

@final
class Column:
    """Values of one type.

    Columns of numbers share their memory with NumPy and Arrow. The counters of a large profile have several chunks; all
    other columns have one.
    """
    @property
    def type(self) -> str:
        """The type of the values, with Arrow's name."""
    @property
    def chunks(self) -> list[Column]:
        """The chunks of memory, each as a column."""
    @property
    def is_contiguous(self) -> bool:
        """Whether the column has one chunk."""
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __array__(self, dtype: Optional[Any] = None, copy: Optional[bool] = None) -> Any: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> Column: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def to_numpy(self) -> Any:
        """The values as a NumPy array.

        Returns
        -------
        numpy.ndarray
            Numbers without a copy if the column has one chunk. Numbers with missing values become float64 with NaN,
            strings and lists become objects.
        """
    def to_pylist(self) -> list[Any]:
        """All values.

        Returns
        -------
        list
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> tuple[object, object]: ...

@final
class Table(Generic[_Row]):
    """Rows in named columns.

    A table is an Arrow table, which pandas, polars, pyarrow and duckdb read without a copy. `table["name"]` is a column,
    `table[0]` a row, `table[10:20]` a table, and iterating returns rows as dictionaries.
    """
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
    @property
    def num_rows(self) -> int:
        """The number of rows; the same as `len(table)`."""
    @property
    def num_columns(self) -> int:
        """The number of columns."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: str, /) -> Column: ...
    @overload
    def __getitem__(self, key: int, /) -> _Row: ...
    @overload
    def __getitem__(self, key: slice, /) -> Table[_Row]: ...
    def __contains__(self, key: str, /) -> bool: ...
    def __iter__(self) -> Iterator[_Row]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...
    def row(self, index: int) -> _Row:
        """One row as a dictionary.

        Parameters
        ----------
        index : int
            The number of the row; negative numbers count from the end.

        Returns
        -------
        dict
        """
    def to_pydict(self) -> dict[str, list[Any]]:
        """All columns.

        Returns
        -------
        dict of list
            The values of each column by its name.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> tuple[object, object]: ...

@final
class Record:
    """The counts of one version of a function. Different builds of a function have different records."""
    @property
    def name(self) -> str:
        """The function's name. Bytes that are not UTF-8 become `\\xNN`."""
    @property
    def name_bytes(self) -> bytes:
        """The function's name, unchanged from the file."""
    @property
    def name_ref(self) -> int:
        """The low 64 bits of the name's MD5, which profiles use as a reference to the function."""
    @property
    def func_hash(self) -> int:
        """The structural hash of the function."""
    @property
    def counters(self) -> Column:
        """The counters, which share the profile's memory."""
    @property
    def entry_count(self) -> Optional[int]:
        """The number of calls of the function; `None` for a pseudo count, and for kinds whose first counter is not that of
        the entry.
        """
    @property
    def pseudo_count(self) -> Optional[str]:
        """`"hot"` or `"warm"` for a pseudo count, otherwise `None`."""
    @property
    def bitmap(self) -> bytes:
        """The bits of MC/DC test vectors, unchanged from the file."""
    def value_sites(self, kind: str = "indirect-call-target") -> list[list[tuple[int, int]]]:
        """The values of each site of a kind, as pairs of value and count: `"indirect-call-target"` (values are
        references to names), `"memop-size"` or `"vtable-target"`.
        """

@final
class Profile:
    """A profile of a program built with LLVM's instrumentation, for PGO or coverage.

    It is a mapping from names of functions to their records: `profile["main"]`, `"main" in profile`,
    `for name in profile`, `len(profile)`. Two profiles are equal if they are written as the same bytes.
    """
    FAMILY: ClassVar[str]
    @property
    def kind(self) -> list[str]:
        """The kind of instrumentation in words.

        `"ir"` or `"front-end"`, and `"context-sensitive"`, `"entry-first"`, `"loop-entries"`, `"byte-coverage"`,
        `"function-entry-only"`, `"debug-info-correlate"`, `"memprof"`, `"temporal"`.
        """
    @property
    def target(self) -> str:
        """The toolchain that the inputs were merged for."""
    @property
    def target_is_given(self) -> bool:
        """Whether the caller requested the target; otherwise the inputs determined it."""
    @property
    def report(self) -> InstrReport:
        """The inputs with their outcomes, and the numbers of functions and records of the result.

        `"target"` has the release, the indexed version and what selected them; `"soft_errors"` has the records that
        were not merged exactly, by kind. See :class:`profbridge.MergeReport`.
        """
    @property
    def warnings(self) -> list[str]:
        """The warnings that were issued when the profile was created."""
    @property
    def binary_ids(self) -> list[str]:
        """The ids of the images that ran, in hexadecimal."""
    def __len__(self) -> int: ...
    def __contains__(self, key: Union[str, bytes], /) -> bool: ...
    def __getitem__(self, key: Union[str, bytes], /) -> list[Record]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...
    def functions(self) -> Table[FunctionRow]:
        """One row per record: names, hashes and counts.

        Returns
        -------
        Table
            A record has a function name and a FuncHash. The columns are:

            ``name`` : str
                The function name. Bytes that are not UTF-8 are ``\\xNN``; `Record.name_bytes` has the original bytes.
            ``name_ref``, ``func_hash`` : uint64
                The hash of the name, and the structural hash of the function.
            ``entry_count`` : uint64
                The number of calls; missing for IR profiles that do not begin with the entry, and for pseudo counts.
            ``max_count``, ``total_count`` : uint64
                The largest counter and the sum, at most 2**64 - 1; missing for a pseudo count.
            ``num_counters``, ``num_covered``, ``num_value_sites`` : uint32
                The number of counters, of counters above zero, and of value sites.
            ``pseudo_count`` : str
                ``"hot"``, ``"warm"`` or missing.
            ``counters`` : list of uint64
                The counters, which share the profile's memory.
        """
    def value_sites(self) -> Table[ValueSiteRow]:
        """One row per value of a value site.

        Returns
        -------
        Table
            The columns are:

            ``name``, ``func_hash`` : str, uint64
                The record.
            ``kind`` : str
                ``"indirect-call-target"``, ``"memop-size"`` or ``"vtable-target"``.
            ``site`` : uint32
                The number of the site among those of its kind.
            ``value``, ``count`` : uint64
                The value and how often it occurred.
            ``target`` : str
                The name of the function or vtable that the value refers to; missing if it is unknown.
        """
    def records(self) -> list[Record]:
        """All records, in order of first appearance: that of the rows of `functions()`.

        Returns
        -------
        list of Record
        """
    def find(self, name: Union[str, bytes]) -> list[Record]:
        """The records of a function.

        Parameters
        ----------
        name : str or bytes
            The function name, as bytes if it is not UTF-8.

        Returns
        -------
        list of Record
            Empty if there is no such function.
        """
    def summary(self, *, context_sensitive: bool = False) -> InstrSummary:
        """The profile summary for compilers, which have one for context-sensitive records and one for the others.

        Parameters
        ----------
        context_sensitive : bool, optional
            Whether to summarize the context-sensitive records instead of the others.

        Returns
        -------
        InstrSummary
            ``num_functions``, ``num_counts``, ``max_function_count``, ``max_count``, ``max_internal_count`` and
            ``total_count``. ``cutoffs`` is a list of tuples: a share of all counts (0.99), the smallest of the largest
            counts that make up this share, and the number of these counts.
        """
    def traces(self) -> list[tuple[int, list[str]]]:
        """Temporal traces.

        Returns
        -------
        list of tuple
            Each trace has a weight, and the names of functions in the order of their first execution.
        """
    def to_iprof(self, *, extension: bool = True, counters_as_branches: bool = False, strict: bool = False) -> Iprof:
        """Convert the profile to GraalVM's format, like `profbridge convert`.

        Parameters
        ----------
        extension : bool, optional
            Whether to keep LLVM's records in the profile, so that :meth:`Iprof.to_llvm` returns them exactly.
        counters_as_branches : bool, optional
            Whether to write the counters also as one branch list per function.
        strict : bool, optional
            Whether content that cannot be converted is a :class:`LossError`. Otherwise it is a warning.

        Returns
        -------
        Iprof
        """
    def to_bytes(
        self,
        *,
        target: Optional[str] = None,
        text: bool = False,
        sparse: bool = False,
        strict: bool = False,
        hashes: str = "keep",
        allow_empty: bool = False,
    ) -> bytes:
        """The profile as an indexed or text file.

        Parameters
        ----------
        target : str, optional
            The toolchain that reads the file, such as ``"llvm-16"`` [default: that of the merge].
        text : bool, optional
            Whether to write LLVM's text format.
        sparse : bool, optional
            Whether to drop functions that never ran.
        strict : bool, optional
            Whether data that the format cannot store is a :class:`LossError`. Otherwise it is a warning.
        hashes : {"keep", "reader"}, optional
            Whether hashes that releases compute differently stay unchanged or become those of the target, where they
            are known.
        allow_empty : bool, optional
            Whether a profile without functions is written. Otherwise it is a :class:`MergeError`.

        Returns
        -------
        bytes
        """
    def write(
        self,
        path: Path,
        *,
        target: Optional[str] = None,
        text: Optional[bool] = None,
        sparse: bool = False,
        strict: bool = False,
        hashes: str = "keep",
        allow_empty: bool = False,
        force: bool = False,
    ) -> None:
        """Write a file.

        The file extension selects the format: ``.profdata``, ``.proftext`` or ``.profraw``. Other names have an indexed
        profile. The file is compressed if its name ends in ``.gz`` or ``.zst``. It is replaced whole or not at all.

        Parameters
        ----------
        path : path
            The file.
        target, sparse, strict, hashes, allow_empty
            See :meth:`to_bytes`.
        text : bool, optional
            Whether a file with another extension has LLVM's text format.
        force : bool, optional
            Whether to replace a file that is not an earlier output.
        """

@final
class SampleProfile:
    """Samples by function and line, for compilers that optimize with samples.

    Two profiles are equal if they are written as the same bytes.
    """
    FAMILY: ClassVar[str]
    @property
    def target(self) -> str:
        """The release whose rules apply, such as `"llvm-22"`."""
    @property
    def report(self) -> MergeReport:
        """The inputs with their outcomes, and the number of functions of the result; see :class:`profbridge.MergeReport`."""
    @property
    def warnings(self) -> list[str]:
        """The warnings that were issued when the profile was created."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...
    def functions(self) -> Table[SampledFunctionRow]:
        """One row per function, or per function in a calling context.

        Returns
        -------
        Table
            The columns are:

            ``name`` : str
                The function name, or the hash of it.
            ``context`` : str
                The calls that lead to the function; missing for a profile without contexts.
            ``total_samples``, ``head_samples`` : uint64
                The samples in the function and in the functions inlined into it, and those at its entry.
            ``checksum`` : uint64
                The checksum of the function's control flow; 0 without pseudo probes.
            ``inlined_calls`` : uint32
                The number of functions inlined into it.
        """
    def lines(self) -> Table[LineRow]:
        """One row per line of a function, including the lines of inlined functions.

        Returns
        -------
        Table
            The columns are:

            ``function`` : str
                The function, or its context.
            ``inlined`` : str
                The inlined calls that lead to the line; missing for lines of the function itself.
            ``line_offset``, ``discriminator`` : uint32
                The line relative to the start of the function, and the discriminator.
            ``samples`` : uint64
                The samples of the line.
        """
    def summary(self) -> SampleSummary:
        """The profile summary for compilers.

        Returns
        -------
        SampleSummary
            ``num_functions``, ``num_counts``, ``total_count``, ``max_count`` and ``max_head_count``. ``cutoffs`` is a
            list of tuples: a share of all samples (0.99), the smallest of the largest counts that make up this share,
            and the number of these counts.
        """
    def to_bytes(
        self,
        *,
        target: Optional[str] = None,
        encoding: Optional[str] = None,
        use_md5: bool = False,
        compress: bool = False,
        strict: bool = False,
        allow_empty: bool = False,
    ) -> bytes:
        """The profile as a file.

        Parameters
        ----------
        target : str, optional
            The toolchain that reads the file [default: that of the merge].
        encoding : {"extbinary", "binary", "text", "gcc"}, optional
            The encoding [default: that of the target's llvm-profdata; without a target, GCC's format if all inputs have
            it].
        use_md5 : bool, optional
            Whether to write hashes instead of names.
        compress : bool, optional
            Whether to compress the sections of an extensible binary.
        strict : bool, optional
            Whether data that the format cannot store is a :class:`LossError`. Otherwise it is a warning.
        allow_empty : bool, optional
            Whether a profile without functions is written. Otherwise it is a :class:`MergeError`.

        Returns
        -------
        bytes
        """
    def write(
        self,
        path: Path,
        *,
        target: Optional[str] = None,
        encoding: Optional[str] = None,
        use_md5: bool = False,
        compress: bool = False,
        strict: bool = False,
        allow_empty: bool = False,
        force: bool = False,
    ) -> None:
        """Write a file.

        The file extension ``.proftext`` selects text; other names have the given encoding. The file is compressed if
        its name ends in ``.gz`` or ``.zst``. It is replaced whole or not at all.

        Parameters
        ----------
        path : path
            The file.
        target, encoding, use_md5, compress, strict, allow_empty
            See :meth:`to_bytes`.
        force : bool, optional
            Whether to replace a file that is not an earlier output.
        """

@final
class MemoryProfile:
    """Allocations of a program by call stack.

    Two profiles are equal if they are written as the same bytes.
    """
    FAMILY: ClassVar[str]
    @property
    def target(self) -> str:
        """The toolchain that the inputs were merged for."""
    @property
    def report(self) -> MergeReport:
        """The inputs with their outcomes, and the number of functions of the result; see :class:`profbridge.MergeReport`."""
    @property
    def warnings(self) -> list[str]:
        """The warnings that were issued when the profile was created."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...
    def functions(self) -> Table[AllocatorRow]:
        """One row per function that allocates memory.

        Returns
        -------
        Table
            The columns are:

            ``name`` : str
                The function, or the hash of its name if the name is unknown.
            ``bytes``, ``allocations`` : uint64
                The sums over the call stacks that end in the function.
        """
    def allocations(self) -> Table[AllocationRow]:
        """One row per call stack with its allocations.

        Returns
        -------
        Table
            The columns are:

            ``function`` : str
                The innermost function.
            ``bytes``, ``allocations`` : uint64
                The allocated bytes, and the number of allocations.
            ``average_lifetime_ms`` : float64
                The average lifetime in milliseconds.
            ``hotness`` : str
                ``"hot"``, ``"cold"`` or ``"not cold"``, as LLVM classifies the allocations.
            ``stack`` : list of str
                The frames as ``function:line:column``, innermost first. Lines count from the start of the function.
        """
    def summary(self, topn: int = 10) -> dict[str, Any]:
        """The totals, and the call stacks with the most allocated bytes.

        Parameters
        ----------
        topn : int, optional
            The number of call stacks.

        Returns
        -------
        dict
            The members of `profbridge show --json`.
        """
    def to_bytes(
        self, *, target: Optional[str] = None, yaml: bool = False, strict: bool = False, allow_empty: bool = False
    ) -> bytes:
        """The profile as a file.

        Parameters
        ----------
        target : str, optional
            The toolchain that reads the file, LLVM 15 or later [default: that of the merge].
        yaml : bool, optional
            Whether to write the text form, which LLVM 20 and later read, instead of an indexed profile.
        strict : bool, optional
            Whether data that the format cannot store is a :class:`LossError`. Otherwise it is a warning.
        allow_empty : bool, optional
            Whether a profile without functions is written. Otherwise it is a :class:`MergeError`.

        Returns
        -------
        bytes
        """
    def write(
        self,
        path: Path,
        *,
        target: Optional[str] = None,
        strict: bool = False,
        allow_empty: bool = False,
        force: bool = False,
    ) -> None:
        """Write a file.

        The file extension selects the format: ``.memprofyaml``, ``.yaml`` or ``.yml`` has YAML, other names have an
        indexed profile. The file is compressed if its name ends in ``.gz`` or ``.zst``. It is replaced whole or not at
        all.

        Parameters
        ----------
        path : path
            The file.
        target, strict, allow_empty
            See :meth:`to_bytes`.
        force : bool, optional
            Whether to replace a file that is not an earlier output.
        """

@final
class Iprof:
    """A profile for GraalVM's native-image.

    Two profiles are equal if they are written as the same bytes.
    """
    FAMILY: ClassVar[str]
    @property
    def version(self) -> str:
        """The version of the format in which the profile is written: profiles of before 1.0 become 1.0.0."""
    @property
    def report(self) -> MergeReport:
        """The inputs with their outcomes, and the number of functions of the result; see :class:`profbridge.MergeReport`."""
    @property
    def warnings(self) -> list[str]:
        """The warnings that were issued when the profile was created."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...
    def functions(self) -> Table[MethodRow]:
        """One row per method.

        Returns
        -------
        Table
            The columns are:

            ``name`` : str
                Class, method and types.
            ``id`` : uint32
                The number of the method in the file.
            ``calls`` : uint64
                The number of calls by all callers.
            ``samples`` : uint64
                The samples in which the method was running.
        """
    def entries(self) -> Table[EntryRow]:
        """One row per entry of a section.

        Returns
        -------
        Table
            The columns are:

            ``section`` : str
                The section, such as ``"callCountProfiles"``.
            ``method``, ``bci`` : str, int32
                The innermost method of the context, and the bytecode index in it. ``"monitorProfiles"`` has no
                context: an empty name, and 0.
            ``context`` : str
                The frames, innermost first, joined with `` < ``.
            ``depth`` : uint32
                The number of frames.
            ``events`` : uint64
                The sum of the counts of the entry.
        """
    def summary(self, topn: int = 10) -> dict[str, Any]:
        """The statistics that `profbridge show --json` prints.

        They describe the profile as it is written: ``version`` is :attr:`Iprof.version`.

        Parameters
        ----------
        topn : int, optional
            The length of each list.

        Returns
        -------
        dict
        """
    def to_llvm(self, *, target: Optional[str] = None, strict: bool = False) -> Profile:
        """Convert the profile to an LLVM profile, like `profbridge convert`.

        Parameters
        ----------
        target : str, optional
            The toolchain that reads the profile, which determines the kinds of values.
        strict : bool, optional
            Whether content that cannot be converted is a :class:`LossError`. Otherwise it is a warning.

        Returns
        -------
        Profile
        """
    def to_bytes(self, *, allow_empty: bool = False) -> bytes:
        """The profile as a file.

        Parameters
        ----------
        allow_empty : bool, optional
            Whether a profile without entries is written. Otherwise it is a :class:`MergeError`.

        Returns
        -------
        bytes
        """
    def write(self, path: Path, *, allow_empty: bool = False, force: bool = False) -> None:
        """Write a file: ``.iprof``, ``.json`` or without a known extension.

        The file is compressed if its name ends in ``.gz`` or ``.zst``. It is replaced whole or not at all.

        Parameters
        ----------
        path : path
            The file.
        allow_empty : bool, optional
            Whether a profile without entries is written. Otherwise it is a :class:`MergeError`.
        force : bool, optional
            Whether to replace a file that is not an earlier output.
        """

@final
class Stacks:
    """Samples by call stack.

    Two profiles are equal if they have the same samples in the same order.
    """
    FAMILY: ClassVar[str]
    @property
    def report(self) -> MergeReport:
        """The inputs with their outcomes, and the number of functions of the result; see :class:`profbridge.MergeReport`."""
    @property
    def warnings(self) -> list[str]:
        """The warnings that were issued when the profile was created."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...
    def functions(self) -> Table[SampledMethodRow]:
        """One row per method. Event types of recordings measure different things, so only the samples of the first one count,
        as in `profbridge show`; :meth:`samples` has all.

        Returns
        -------
        Table
            The columns are:

            ``name`` : str
                The method or function.
            ``self_hits`` : uint64
                The samples in which it was running.
            ``total_hits`` : uint64
                The samples with the method anywhere in the stack.
        """
    def samples(self) -> Table[StackRow]:
        """One row per sample.

        Returns
        -------
        Table
            The columns are:

            ``stack`` : list of str
                The methods, innermost first.
            ``thread`` : str
                The thread; missing if it is unknown.
            ``source`` : str
                The event type, such as ``"execution"`` or ``"allocation"``.
            ``hits`` : uint64
                The number of samples, or their bytes or time.
        """
    def summary(self) -> dict[str, Any]:
        """The statistics that `profbridge show --json` prints.

        Returns
        -------
        dict
        """
    def to_iprof(self, *, any_value: bool = False) -> Iprof:
        """Convert the samples to GraalVM's format.

        Parameters
        ----------
        any_value : bool, optional
            Whether values that do not measure time, such as allocated bytes, are taken as sample counts. Otherwise they
            are a :class:`UsageError`, because the samples of an iprof measure time.

        Returns
        -------
        Iprof
        """
    def to_bytes(self, *, format: str = "collapsed", allow_empty: bool = False) -> bytes:
        """The profile as a file.

        Parameters
        ----------
        format : {"collapsed", "pprof", "iprof"}, optional
            The format. pprof is compressed.
        allow_empty : bool, optional
            Whether a profile without stacks is written. Otherwise it is a :class:`MergeError`.

        Returns
        -------
        bytes
        """
    def write(
        self, path: Path, *, format: Optional[str] = None, allow_empty: bool = False, force: bool = False
    ) -> None:
        """Write a file.

        The file extension or `format` selects the format: ``.collapsed``, ``.folded``, ``.pprof``, ``.pgo``, ``.pb``
        (pprof that is not compressed) or ``.iprof``. Text is compressed if the name ends in ``.gz`` or ``.zst``. The
        file is replaced whole or not at all.

        Parameters
        ----------
        path : path
            The file.
        format : {"collapsed", "pprof", "iprof"}, optional
            The format of a file with another extension [default: collapsed].
        allow_empty : bool, optional
            Whether a profile without stacks is written. Otherwise it is a :class:`MergeError`.
        force : bool, optional
            Whether to replace a file that is not an earlier output.
        """

def read(source: Source, name: Optional[str], settings: Mapping[str, Any]) -> AnyProfile:
    """Read one file."""
def merge(
    sources: _Sources,
    weights: Optional[Iterable[int]],
    settings: Mapping[str, Any],
    progress: Optional[Callable[[int, int], object]],
) -> AnyProfile:
    """Merge files in order."""
def stacks_of(iprof: bytes) -> Stacks:
    """Read the samples of an iprof as stacks."""
def form_of(path: Path) -> Optional[str]:
    """Return what a file extension selects: an LLVM profile, an iprof or stacks."""
def files_of(path: Path) -> list[PathLike[str]]:
    """The files of a directory that are profiles, or the path itself."""
def content(source: Source) -> Optional[tuple[str, bytes]]:
    """Return the content of a source that is not a path, with its name; `None` for a path."""
def check(source: Source, name: Optional[str], limits: Mapping[str, int]) -> Check:
    """Check a file. Returns a dictionary."""
def describe(source: Source, name: Optional[str], limits: Mapping[str, int]) -> Description:
    """Describe a file and its sections. Returns a dictionary."""
def diff(first: Source, second: Source, topn: int, exact_names: bool, limits: Mapping[str, int]) -> Diff:
    """Compare two files. Returns a dictionary."""
def overlap(base: Source, test: Source, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Measure how similar the counts of two files are. Returns a dictionary."""
def fit(
    profile: Source,
    against: Path,
    target: Optional[str],
    topn: int,
    fail_below: Optional[str],
    limits: Mapping[str, int],
) -> Fit:
    """Report how much of a profile a new build can still use. Returns a dictionary."""
def order(source: Source, test_traces: int, limits: Mapping[str, int]) -> Order:
    """Order the functions of temporal traces. Returns a dictionary."""
def repair(source: Source, settings: Mapping[str, Any]) -> Iprof:
    """Repair a damaged iprof."""
def generate(
    format: str, settings: Mapping[str, Any]
) -> tuple[bytes, dict[str, int], Optional[dict[str, Any]]]:
    """Generate a file. Returns its bytes, the totals of its content, and the damage."""
def flamegraph(
    sources: _Sources, baseline: Optional[_Sources], settings: Mapping[str, Any], flame: Mapping[str, Any]
) -> str:
    """Draw a flame graph. Returns SVG or HTML."""
def report(
    sources: _Sources, baseline: Optional[_Sources], settings: Mapping[str, Any], topn: Optional[int]
) -> str:
    """Write an HTML report."""
def family_of(source: Source, name: Optional[str]) -> Optional[Family]:
    """Return the profile family of a file; `None` if it is not a profile."""
def run_program(arguments: Sequence[str]) -> int:
    """Runs the program with arguments, of which the first is the program's name, and returns its exit code. Call it once
    per process, because the program assumes that it owns the process.
    """
def restore(family: str, state: bytes) -> AnyProfile:
    """Restore a pickled profile."""
def restore_table(names: Sequence[str], batches: Sequence[Sequence[Any]]) -> Table[Any]:
    """Restore a pickled table."""

@final
class Part:
    """A merge that can be continued. Inputs are added completely or not at all, also after a cancellation."""
    def __new__(cls, settings: Mapping[str, Any]) -> Part: ...
    def __len__(self) -> int: ...
    def add(self, source: Source, weight: int, name: Optional[str]) -> None:
        """Adds an input."""
    def append(self, later: Part) -> None:
        """Adds the inputs of another part after the inputs of this one."""
    def restore(self, part: bytes, is_input: bool) -> dict[str, Any]:
        """Adds the inputs of a partial merge, which is an input itself or the state of a pickled merger. Returns the
        settings that it names.
        """
    def to_bytes(self) -> bytes:
        """Returns the partial merge."""
    def inputs(self) -> list[InputReport]:
        """Returns the inputs and their outcomes."""
    def finish(self) -> AnyProfile:
        """Returns the merged profile."""
