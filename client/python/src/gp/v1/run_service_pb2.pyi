import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from gp.v1 import run_pb2 as _run_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SubmitRequest(_message.Message):
    __slots__ = ("request_id", "source", "source_name", "base_directory", "overrides", "name", "dry_run", "namespace")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    BASE_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    source: str
    source_name: str
    base_directory: str
    overrides: _containers.RepeatedScalarFieldContainer[str]
    name: str
    dry_run: bool
    namespace: str
    def __init__(self, request_id: _Optional[str] = ..., source: _Optional[str] = ..., source_name: _Optional[str] = ..., base_directory: _Optional[str] = ..., overrides: _Optional[_Iterable[str]] = ..., name: _Optional[str] = ..., dry_run: bool = ..., namespace: _Optional[str] = ...) -> None: ...

class SubmitResponse(_message.Message):
    __slots__ = ("run", "replayed", "warnings")
    RUN_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    replayed: bool
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., replayed: bool = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("include_finished", "limit", "page_token", "namespace", "states", "submitted_by", "labels", "submitted_since", "search")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    INCLUDE_FINISHED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_BY_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_SINCE_FIELD_NUMBER: _ClassVar[int]
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    include_finished: bool
    limit: int
    page_token: str
    namespace: str
    states: _containers.RepeatedScalarFieldContainer[_run_pb2.RunState]
    submitted_by: str
    labels: _containers.ScalarMap[str, str]
    submitted_since: _timestamp_pb2.Timestamp
    search: str
    def __init__(self, include_finished: bool = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ..., namespace: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_run_pb2.RunState, str]]] = ..., submitted_by: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., submitted_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., search: _Optional[str] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("runs", "next_page_token", "total", "state_counts")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    STATE_COUNTS_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[_run_pb2.Run]
    next_page_token: str
    total: int
    state_counts: _containers.RepeatedCompositeFieldContainer[StateCount]
    def __init__(self, runs: _Optional[_Iterable[_Union[_run_pb2.Run, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total: _Optional[int] = ..., state_counts: _Optional[_Iterable[_Union[StateCount, _Mapping]]] = ...) -> None: ...

class StateCount(_message.Message):
    __slots__ = ("state", "runs")
    STATE_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    state: _run_pb2.RunState
    runs: int
    def __init__(self, state: _Optional[_Union[_run_pb2.RunState, str]] = ..., runs: _Optional[int] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("request_id", "run", "now")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run: str
    now: bool
    def __init__(self, request_id: _Optional[str] = ..., run: _Optional[str] = ..., now: bool = ...) -> None: ...

class PauseRequest(_message.Message):
    __slots__ = ("request_id", "run")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run: str
    def __init__(self, request_id: _Optional[str] = ..., run: _Optional[str] = ...) -> None: ...

class ResumeRequest(_message.Message):
    __slots__ = ("request_id", "run")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run: str
    def __init__(self, request_id: _Optional[str] = ..., run: _Optional[str] = ...) -> None: ...

class ResizeRequest(_message.Message):
    __slots__ = ("request_id", "run", "workers")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run: str
    workers: int
    def __init__(self, request_id: _Optional[str] = ..., run: _Optional[str] = ..., workers: _Optional[int] = ...) -> None: ...

class ContinueRequest(_message.Message):
    __slots__ = ("request_id", "run", "from_step", "steps", "more_steps", "tokens", "more_tokens", "overrides", "dry_run")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    FROM_STEP_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    MORE_STEPS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    MORE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run: str
    from_step: int
    steps: int
    more_steps: int
    tokens: int
    more_tokens: int
    overrides: _containers.RepeatedScalarFieldContainer[str]
    dry_run: bool
    def __init__(self, request_id: _Optional[str] = ..., run: _Optional[str] = ..., from_step: _Optional[int] = ..., steps: _Optional[int] = ..., more_steps: _Optional[int] = ..., tokens: _Optional[int] = ..., more_tokens: _Optional[int] = ..., overrides: _Optional[_Iterable[str]] = ..., dry_run: bool = ...) -> None: ...

class ContinueResponse(_message.Message):
    __slots__ = ("run", "replayed", "warnings")
    RUN_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    replayed: bool
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ..., replayed: bool = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ...) -> None: ...

class LogsRequest(_message.Message):
    __slots__ = ("run", "after_sequence", "tail", "follow", "rank")
    RUN_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    run: str
    after_sequence: int
    tail: int
    follow: bool
    rank: int
    def __init__(self, run: _Optional[str] = ..., after_sequence: _Optional[int] = ..., tail: _Optional[int] = ..., follow: bool = ..., rank: _Optional[int] = ...) -> None: ...

class EventsRequest(_message.Message):
    __slots__ = ("run", "after_sequence", "follow")
    RUN_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    run: str
    after_sequence: int
    follow: bool
    def __init__(self, run: _Optional[str] = ..., after_sequence: _Optional[int] = ..., follow: bool = ...) -> None: ...

class MetricsRequest(_message.Message):
    __slots__ = ("run", "after_step", "follow")
    RUN_FIELD_NUMBER: _ClassVar[int]
    AFTER_STEP_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    run: str
    after_step: int
    follow: bool
    def __init__(self, run: _Optional[str] = ..., after_step: _Optional[int] = ..., follow: bool = ...) -> None: ...

class CurvesRequest(_message.Message):
    __slots__ = ("run", "fields", "max_points")
    RUN_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    MAX_POINTS_FIELD_NUMBER: _ClassVar[int]
    run: str
    fields: _containers.RepeatedScalarFieldContainer[str]
    max_points: int
    def __init__(self, run: _Optional[str] = ..., fields: _Optional[_Iterable[str]] = ..., max_points: _Optional[int] = ...) -> None: ...

class CurvePoints(_message.Message):
    __slots__ = ("field", "steps", "tokens", "seconds", "values")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    field: str
    steps: _containers.RepeatedScalarFieldContainer[int]
    tokens: _containers.RepeatedScalarFieldContainer[int]
    seconds: _containers.RepeatedScalarFieldContainer[float]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, field: _Optional[str] = ..., steps: _Optional[_Iterable[int]] = ..., tokens: _Optional[_Iterable[int]] = ..., seconds: _Optional[_Iterable[float]] = ..., values: _Optional[_Iterable[float]] = ...) -> None: ...

class LineageRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class LineageResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _run_pb2.Run
    def __init__(self, run: _Optional[_Union[_run_pb2.Run, _Mapping]] = ...) -> None: ...

class AnnotateRequest(_message.Message):
    __slots__ = ("request_id", "run", "labels", "removed_labels", "note")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    REMOVED_LABELS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run: str
    labels: _containers.ScalarMap[str, str]
    removed_labels: _containers.RepeatedScalarFieldContainer[str]
    note: str
    def __init__(self, request_id: _Optional[str] = ..., run: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., removed_labels: _Optional[_Iterable[str]] = ..., note: _Optional[str] = ...) -> None: ...

class CheckpointsRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class CheckpointsResponse(_message.Message):
    __slots__ = ("checkpoints", "quarantined", "superseded")
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    checkpoints: _containers.RepeatedCompositeFieldContainer[_run_pb2.Checkpoint]
    quarantined: _containers.RepeatedCompositeFieldContainer[_run_pb2.Checkpoint]
    superseded: _containers.RepeatedCompositeFieldContainer[_run_pb2.Checkpoint]
    def __init__(self, checkpoints: _Optional[_Iterable[_Union[_run_pb2.Checkpoint, _Mapping]]] = ..., quarantined: _Optional[_Iterable[_Union[_run_pb2.Checkpoint, _Mapping]]] = ..., superseded: _Optional[_Iterable[_Union[_run_pb2.Checkpoint, _Mapping]]] = ...) -> None: ...

class RestoreCheckpointRequest(_message.Message):
    __slots__ = ("run", "step", "request_id")
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    run: str
    step: int
    request_id: str
    def __init__(self, run: _Optional[str] = ..., step: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class NodesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NodesResponse(_message.Message):
    __slots__ = ("nodes", "lease")
    NODES_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[_run_pb2.Node]
    lease: _duration_pb2.Duration
    def __init__(self, nodes: _Optional[_Iterable[_Union[_run_pb2.Node, _Mapping]]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class VersionRequest(_message.Message):
    __slots__ = ("protocol",)
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    def __init__(self, protocol: _Optional[int] = ...) -> None: ...

class VersionResponse(_message.Message):
    __slots__ = ("version", "protocol", "coordinator_generation", "storage_root", "insecure", "gradients_encrypted")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_GENERATION_FIELD_NUMBER: _ClassVar[int]
    STORAGE_ROOT_FIELD_NUMBER: _ClassVar[int]
    INSECURE_FIELD_NUMBER: _ClassVar[int]
    GRADIENTS_ENCRYPTED_FIELD_NUMBER: _ClassVar[int]
    version: str
    protocol: int
    coordinator_generation: int
    storage_root: str
    insecure: bool
    gradients_encrypted: bool
    def __init__(self, version: _Optional[str] = ..., protocol: _Optional[int] = ..., coordinator_generation: _Optional[int] = ..., storage_root: _Optional[str] = ..., insecure: bool = ..., gradients_encrypted: bool = ...) -> None: ...
