"""Plan: what a run will do and need, from footers, schemas and the length of a few texts.

Every stage has a price in bytes a row of the partition (or region) that its task holds:

    values   the sensitive columns that a privacy model counts
    encode   the quasi-identifiers as Arrow and as codes
    tree     the codes, and the summaries of the open regions
    regroup  the codes twice
    finish   two code tables, and what describes the classes
    write    the other columns twice (read, permuted), the labels, the writer

The plan chooses the rows of partitions and regions so that these fit, and refuses what cannot.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from dask.utils import format_bytes

from dask_anon.config import Settings, settings
from dask_anon.engine.checks import check_keys, check_size, check_types, reaching
from dask_anon.engine.domains import needs_pass
from dask_anon.engine.resources import Resources, resources
from dask_anon.engine.sources import Source, column_names, open_source
from dask_anon.engine.tree import Limits
from dask_anon.errors import AnonError, DataError, PlanError, PolicyError, counted
from dask_anon.hierarchy import domain_of
from dask_anon.kernels.common import n_lanes
from dask_anon.models import columns_of
from dask_anon.policy import Bound, Policy

# What a worker holds before it has seen a row: the interpreter, pandas, Arrow, compiled kernels.
# Resident after a run of a thousand rows: 280 MiB, of which 100 are shared libraries.
PROCESS_BYTES = 300 * 2**20
_MAX_PARTITION_ROWS, _MAX_REGION_ROWS = 4_000_000, 4_000_000
_MIN_PARTITION_ROWS, _MIN_REGION_ROWS = 100_000, 100_000
_TEXT_BYTES = 32
_WRITER_BYTES = 40
# Some 30,000 rows: with less, tasks are all overhead.
_MIN_ROOM = 2**22
# The count reads released columns in chunks of this many rows, whatever the partitions are.
_COUNT_ROWS, _COUNT_BYTES, _COUNT_TABLES = 2_000_000, 64, 2**25
_CSV_BYTES = 48 * 2**20


@dataclass(frozen=True)
class Stage:
    """One stage of a run."""

    name: str
    tasks: int
    bytes_moved: int
    task_memory: int


@dataclass(frozen=True)
class Plan:
    """What a run will do and need. Counts and sizes are estimates where the data decides.

    Attributes
    ----------
    n_records : int or None
        None for a Dask DataFrame: counting would compute it.
    code_bytes : int
        Bytes of one code.
    region_rows : int
        Regions with at most this many records are finished by one task.
    passes : int
        Times that the codes are read.
    task_memory : int
        What one task may use, its process included.
    """

    n_records: int | None
    n_partitions: int
    partition_rows: int | None
    region_rows: int
    quasi_identifiers: tuple[str, ...]
    columns_used: tuple[str, ...]
    columns_dropped: tuple[str, ...]
    code_bytes: int
    passes: int
    stages: tuple[Stage, ...]
    n_slots: int
    task_memory: int

    @property
    def peak_memory(self) -> int:
        """The most that one task needs, its process included."""
        return max((stage.task_memory for stage in self.stages), default=0)

    @property
    def n_tasks(self) -> int:
        """Tasks in all."""
        return sum(stage.tasks for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self) | {"peak_memory": self.peak_memory, "n_tasks": self.n_tasks}

    def __str__(self) -> str:
        n_attributes = len(self.quasi_identifiers)
        rows = "unknown" if self.n_records is None else f"{self.n_records:,}"
        lines = [
            f"rows           {rows} in {counted(self.n_partitions, 'partition', 'partitions')}",
            f"columns        {counted(n_attributes, 'quasi-identifier', 'quasi-identifiers')}, "
            f"{len(self.columns_used)} read, {len(self.columns_dropped)} dropped",
            f"codes          {self.code_bytes * 8} bits each, read in {self.passes} passes",
            f"tasks          {self.n_tasks:,}, {self.n_slots} at a time",
            f"memory         {format_bytes(self.peak_memory)} a task, "
            f"of {format_bytes(self.task_memory)}",
            "",
            f"{'stage':<10}{'tasks':>8}{'moved':>13}{'memory a task':>16}",
        ]
        lines += [
            f"{s.name:<10}{s.tasks:>8,}{format_bytes(s.bytes_moved):>13}{format_bytes(s.task_memory):>16}"
            for s in self.stages
        ]
        return "\n".join(lines)


def plan(data: Any, policy: Policy | None = None) -> Plan:
    """Say what a run will do and need.

    Parameters
    ----------
    data : pandas or Dask DataFrame, or Policy
        A frame with its policy, or a policy that names its input.
    policy : Policy, optional
        For a frame.

    Returns
    -------
    Plan
        Prints as a table.

    Raises
    ------
    PlanError
        The work cannot fit the workers; says which knob helps.

    Notes
    -----
    O(files): Parquet footers and schemas are read. CSV files have no footer: they are scanned once
    for their rows and types. A Dask DataFrame is never computed.
    """
    if isinstance(data, Policy):
        if data.input is None:
            raise PolicyError("input.path is missing. Say where the data is.")
        source, bound = open_input(data)
        return plan_source(source, bound, data)[1]
    if policy is None:
        raise AnonError("plan needs a policy beside the data: anon.plan(data, policy).")
    bound = policy.bind([str(c) for c in data.columns], default_role="insensitive")
    n_records = None if hasattr(data, "npartitions") else len(data)
    # Types from no rows: what objects hold is looked at where it matters, and told without values.
    schema = pa.Schema.from_pandas(getattr(data, "_meta", data).iloc[:0], preserve_index=False)
    return plan_rows(
        n_records,
        getattr(data, "npartitions", 1),
        schema,
        bound,
        policy,
        settings(),
        reads_domains=True,
    )


def open_input(policy: Policy) -> tuple[Source, Bound]:
    """Open the input that a policy names, and give its columns their roles."""
    given = policy.input
    assert given is not None
    own = settings()
    # Workers that are too small for anything would die while they scan, and could not say why.
    _room(resources(own), own)
    options: dict[str, Any] = {
        "format": given.format,
        "delimiter": given.delimiter,
        "encoding": given.encoding,
    }
    # Roles first: a large CSV need not be scanned to find that a column's name is mistyped.
    with reaching(given.path, "input", DataError):
        names = column_names(given.path, **options)
    bound = policy.bind(names, default_role="error")
    check_keys(bound, policy)
    types = {name: column.type for name, column in policy.columns.items() if column.type}
    generalized = set(bound.quasi_identifiers)
    source = open_source(
        given.path,
        **options,
        null_values=given.null_values,
        types=types,
        # What is not generalized leaves as it came: 02134 stays 02134.
        text=[name for name in bound.columns if name not in generalized and name not in types],
    )
    check_types(source.schema, bound, policy)
    return source, bound


def plan_source(source: Source, bound: Bound, policy: Policy) -> tuple[Source, Plan]:
    """Plan a run over files: the source in parts that fit, and the plan."""
    own = settings()
    available = resources(own)
    prices = _Prices(source.schema, bound, policy, _code_bytes(source, bound), source)
    room = _room(available, own)
    n = source.n_rows
    check_size(n, policy)
    fair = max(_MIN_PARTITION_ROWS, math.ceil(n / (4 * available.n_slots)))
    fits = max(1, (room - prices.reading) // prices.partition)
    source = source.regroup(own.rows_partition or min(_MAX_PARTITION_ROWS, fair, fits))
    planned = plan_rows(
        n, source.n_parts, source.schema, bound, policy, own,
        reads_domains=reads_domains(source, bound),
        largest=max(source.rows_of_parts, default=0), prices=prices,
    )  # fmt: skip
    worst = max(planned.stages, key=lambda stage: stage.task_memory)
    if worst.task_memory > available.task_memory:
        what = "row groups" if source.kind == "parquet" else "blocks"
        raise PlanError(
            f"needs {format_bytes(worst.task_memory)} a task at {worst.name!r}, a task has "
            f"{format_bytes(available.task_memory)}: the largest partition has "
            f"{planned.partition_rows:,} rows. Use {what} of at most {fits:,} rows, fewer "
            "threads a worker, or a larger --memory-limit (or the setting anon.memory.limit)."
        )
    return source, planned


def reads_domains(source: Source, bound: Bound) -> bool:
    """Whether the domains cost a pass over the input."""
    types = {field.name: field.type for field in source.schema}
    return needs_pass(bound.quasi_identifiers, types=types, footer=source.footer_summary)


def plan_rows(
    n_records: int | None, n_partitions: int, schema: pa.Schema, bound: Bound, policy: Policy,
    own: Settings, *, reads_domains: bool,
    largest: int | None = None, prices: _Prices | None = None,
) -> Plan:  # fmt: skip
    """Plan for partitions that are given."""
    available = resources(own)
    prices = prices or _Prices(schema, bound, policy, 8, None)
    room = _room(available, own)
    per_partition = largest
    if largest is None and n_records is not None:
        per_partition = math.ceil(n_records / max(1, n_partitions))
    region_rows = own.rows_region or _region_rows(n_records, room, prices, available)
    levels = (
        0 if n_records is None else max(0, math.ceil(math.log2(max(1, n_records / region_rows))))
    )
    n = n_records or 0
    regions = max(1, 2**levels) if n_records is not None else 1
    d, s = len(bound.quasi_identifiers), len(columns_of(policy))
    code_row = prices.code * (d + s)
    # With models that count sensitive values, every cut is judged in a pass of its own.
    reads = levels * (2 if s else 1)
    p, held = n_partitions, per_partition or 0

    def task(price: int, rows: int = held, fixed: int = 0) -> int:
        return PROCESS_BYTES + price * rows + fixed

    region = min(region_rows, n) if n_records is not None else region_rows
    in_chunk = _COUNT_ROWS if n_records is None else min(n, _COUNT_ROWS)
    written_in = task(prices.write, fixed=prices.reading)
    count = _COUNT_TABLES + in_chunk * _COUNT_BYTES + prices.verify_text
    stages = [
        Stage("encode", p, n * code_row, task(prices.encode, fixed=prices.reading)),
        Stage("tree", p * reads, n * code_row * reads, task(prices.tree, fixed=own.tree_bytes)),
        Stage("regroup", p, 2 * n * code_row, task(prices.regroup)),
        Stage("finish", regions, n * (code_row + prices.answer), task(prices.finish, region)),
        Stage("write", p, n * (prices.answer + prices.payload), written_in),
        Stage("verify", 2 * p, n * (prices.answer + 16), task(prices.verify, fixed=count)),
    ]
    if reads_domains:
        stages.insert(0, Stage("domains", p, n * 8 * d, task(prices.encode, fixed=prices.reading)))
    if s:
        stages.insert(0, Stage("values", p, n * prices.counted, written_in))
    return Plan(
        n_records=n_records,
        n_partitions=p,
        partition_rows=per_partition,
        region_rows=region_rows,
        quasi_identifiers=bound.quasi_identifiers,
        columns_used=bound.released,
        columns_dropped=bound.identifiers_dropped,
        code_bytes=prices.code,
        passes=reads + 2,
        stages=tuple(stage for stage in stages if stage.tasks),
        n_slots=available.n_slots,
        task_memory=available.task_memory,
    )


def limits_of(planned: Plan) -> Limits:
    """What bounds the tasks of a run."""
    own = settings()
    bins = 1 << (own.tree_bins.bit_length() - 1)
    return Limits(planned.region_rows, bins, own.tree_bytes)


def _room(available: Resources, own: Settings) -> int:
    """Bytes that rows may take in one task."""
    room = int(available.task_memory * own.memory_fraction) - PROCESS_BYTES
    if room < _MIN_ROOM:
        least = math.ceil((PROCESS_BYTES + _MIN_ROOM) / own.memory_fraction / 2**26) * 2**26
        raise PlanError(
            f"a task has {format_bytes(available.task_memory)} of memory, which leaves too little "
            f"beside the {format_bytes(PROCESS_BYTES)} of the process itself. Give each worker at "
            f"least {least // 2**20} MiB a thread: a larger --memory-limit (or the setting "
            "anon.memory.limit), or fewer threads a worker."
        )
    return room


def _region_rows(n: int | None, room: int, prices: _Prices, available: Resources) -> int:
    fits = max(1_000, min(_MAX_REGION_ROWS, room // prices.finish))
    if n is None or available.n_slots == 1:
        return fits
    # A region a core at least, or cores are idle; more only make the last of them shorter.
    # A quarter over the even share, so that slightly uneven halves do not cost another pass.
    return min(fits, max(_MIN_REGION_ROWS, math.ceil(1.25 * n / (2 * available.n_slots))))


class _Prices:
    """Bytes a row, by stage."""

    def __init__(
        self, schema: pa.Schema, bound: Bound, policy: Policy, code: int, source: Source | None
    ) -> None:
        counted = columns_of(policy)
        d = len(bound.quasi_identifiers) + len(counted)
        widths = _widths(schema, bound, source)
        self.counted = sum(widths[name] for name in counted)
        known = self.counted + sum(widths[name] for name in bound.quasi_identifiers)
        self.code = code
        self.payload = sum(widths[name] for name in bound.payload)
        self.answer = 2 * code * len(bound.quasi_identifiers)
        lanes = n_lanes(d, np.dtype(f"u{code}"))
        # Arrow, the columns' codes one by one, the codes of the rows, what is looked up.
        self.encode = known + 2 * code * d + 32
        self.tree = code * d + 4
        self.regroup = 2 * code * d + 10
        sets = [q for q in bound.quasi_identifiers if not _is_fixed(schema.field(q).type)]
        others = set(bound.quasi_identifiers).difference(sets)
        n_intervals = sum(policy.format_of(q) in ("interval", "set") for q in others)
        self.finish = 2 * code * lanes + code * d + (104 if sets else 40)
        # Each label is there once, but in a large table hardly two records of a part share one.
        labels = 64 * len(sets) + 34 * n_intervals + 16 * (len(others) - n_intervals)
        self.write = 2 * self.payload + self.answer + labels + _WRITER_BYTES
        if policy.algorithm.ties == "divide":
            # Keys are made of the text of everything that is released, and travel with the codes.
            self.encode += self.payload + 260
            self.tree += 8
            self.regroup += 16
            self.finish += 24
        # A block of CSV lies there as bytes, as fields and as values.
        self.reading = _CSV_BYTES if source is not None and source.kind == "csv" else 0
        self.partition = max(self.encode, self.tree, self.regroup, self.write)
        # The count holds the labels of a file: one a class for intervals, long ones for sets.
        self.verify = 112 * len(sets) + 16 * n_intervals
        self.verify_text = (len(sets) + n_intervals) * 2**23


def _widths(schema: pa.Schema, bound: Bound, source: Source | None) -> dict[str, int]:
    """Bytes of a value in memory, by column."""
    widths = {field.name: _width(field.type) for field in schema}
    if source is not None:
        used = set(bound.quasi_identifiers) | set(bound.payload)
        wide = [f.name for f in schema if f.name in used and not _is_fixed(f.type)]
        for name, n_bytes in source.value_bytes(wide).items():
            widths[name] = max(widths[name], n_bytes)
    return widths


def _is_fixed(type_: pa.DataType) -> bool:
    try:
        return bool(type_.bit_width)
    except ValueError:  # text and nested types
        return False


def _width(type_: pa.DataType) -> int:
    return max(1, int(type_.bit_width) // 8) if _is_fixed(type_) else _TEXT_BYTES


def _code_bytes(source: Source, bound: Bound) -> int:
    """Bytes of a code, as far as footers tell; text is taken to have less than 65,536 labels."""
    sizes = []
    for name in bound.quasi_identifiers:
        type_ = source.schema.field(name).type
        summary = source.footer_summary(name)
        if pa.types.is_floating(type_):
            sizes.append(8)
        elif summary is not None:
            sizes.append(domain_of(name, summary).code_dtype.itemsize)
        else:
            sizes.append(2 if _width(type_) == _TEXT_BYTES else 4)
    return max(sizes)
