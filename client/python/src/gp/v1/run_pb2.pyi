import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATE_UNSPECIFIED: _ClassVar[RunState]
    RUN_STATE_SUBMITTED: _ClassVar[RunState]
    RUN_STATE_QUEUED: _ClassVar[RunState]
    RUN_STATE_STARTING: _ClassVar[RunState]
    RUN_STATE_RUNNING: _ClassVar[RunState]
    RUN_STATE_PAUSED: _ClassVar[RunState]
    RUN_STATE_BACKOFF: _ClassVar[RunState]
    RUN_STATE_FINISHING: _ClassVar[RunState]
    RUN_STATE_SUCCEEDED: _ClassVar[RunState]
    RUN_STATE_FAILED: _ClassVar[RunState]
    RUN_STATE_CANCELLING: _ClassVar[RunState]
    RUN_STATE_CANCELLED: _ClassVar[RunState]

class RunKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_KIND_UNSPECIFIED: _ClassVar[RunKind]
    RUN_KIND_TRAIN: _ClassVar[RunKind]
    RUN_KIND_EVAL: _ClassVar[RunKind]
    RUN_KIND_SAMPLE: _ClassVar[RunKind]
    RUN_KIND_EXPORT: _ClassVar[RunKind]
    RUN_KIND_PREPARE: _ClassVar[RunKind]
RUN_STATE_UNSPECIFIED: RunState
RUN_STATE_SUBMITTED: RunState
RUN_STATE_QUEUED: RunState
RUN_STATE_STARTING: RunState
RUN_STATE_RUNNING: RunState
RUN_STATE_PAUSED: RunState
RUN_STATE_BACKOFF: RunState
RUN_STATE_FINISHING: RunState
RUN_STATE_SUCCEEDED: RunState
RUN_STATE_FAILED: RunState
RUN_STATE_CANCELLING: RunState
RUN_STATE_CANCELLED: RunState
RUN_KIND_UNSPECIFIED: RunKind
RUN_KIND_TRAIN: RunKind
RUN_KIND_EVAL: RunKind
RUN_KIND_SAMPLE: RunKind
RUN_KIND_EXPORT: RunKind
RUN_KIND_PREPARE: RunKind

class RankPlacement(_message.Message):
    __slots__ = ("rank", "node_id", "node_name", "slot_id")
    RANK_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    SLOT_ID_FIELD_NUMBER: _ClassVar[int]
    rank: int
    node_id: str
    node_name: str
    slot_id: str
    def __init__(self, rank: _Optional[int] = ..., node_id: _Optional[str] = ..., node_name: _Optional[str] = ..., slot_id: _Optional[str] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("step", "target_steps", "tokens", "target_tokens", "loss", "validation_loss", "validation_step", "tokens_per_second", "mfu", "step_seconds", "learning_rate", "gradient_norm", "phases", "peak_flops", "peak_source", "warning", "skipped_steps", "scores", "pace_seconds", "best_validation_loss", "best_validation_step", "best_validation_checkpoint", "best_validation_superseded", "processor_wait", "skipped_spikes")
    STEP_FIELD_NUMBER: _ClassVar[int]
    TARGET_STEPS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TARGET_TOKENS_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_LOSS_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_STEP_FIELD_NUMBER: _ClassVar[int]
    TOKENS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    MFU_FIELD_NUMBER: _ClassVar[int]
    STEP_SECONDS_FIELD_NUMBER: _ClassVar[int]
    LEARNING_RATE_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_NORM_FIELD_NUMBER: _ClassVar[int]
    PHASES_FIELD_NUMBER: _ClassVar[int]
    PEAK_FLOPS_FIELD_NUMBER: _ClassVar[int]
    PEAK_SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_STEPS_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    PACE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    BEST_VALIDATION_LOSS_FIELD_NUMBER: _ClassVar[int]
    BEST_VALIDATION_STEP_FIELD_NUMBER: _ClassVar[int]
    BEST_VALIDATION_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    BEST_VALIDATION_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    PROCESSOR_WAIT_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_SPIKES_FIELD_NUMBER: _ClassVar[int]
    step: int
    target_steps: int
    tokens: int
    target_tokens: int
    loss: float
    validation_loss: float
    validation_step: int
    tokens_per_second: float
    mfu: float
    step_seconds: float
    learning_rate: float
    gradient_norm: float
    phases: PhaseSeconds
    peak_flops: float
    peak_source: str
    warning: str
    skipped_steps: int
    scores: _containers.RepeatedCompositeFieldContainer[NewestScore]
    pace_seconds: float
    best_validation_loss: float
    best_validation_step: int
    best_validation_checkpoint: str
    best_validation_superseded: bool
    processor_wait: float
    skipped_spikes: int
    def __init__(self, step: _Optional[int] = ..., target_steps: _Optional[int] = ..., tokens: _Optional[int] = ..., target_tokens: _Optional[int] = ..., loss: _Optional[float] = ..., validation_loss: _Optional[float] = ..., validation_step: _Optional[int] = ..., tokens_per_second: _Optional[float] = ..., mfu: _Optional[float] = ..., step_seconds: _Optional[float] = ..., learning_rate: _Optional[float] = ..., gradient_norm: _Optional[float] = ..., phases: _Optional[_Union[PhaseSeconds, _Mapping]] = ..., peak_flops: _Optional[float] = ..., peak_source: _Optional[str] = ..., warning: _Optional[str] = ..., skipped_steps: _Optional[int] = ..., scores: _Optional[_Iterable[_Union[NewestScore, _Mapping]]] = ..., pace_seconds: _Optional[float] = ..., best_validation_loss: _Optional[float] = ..., best_validation_step: _Optional[int] = ..., best_validation_checkpoint: _Optional[str] = ..., best_validation_superseded: bool = ..., processor_wait: _Optional[float] = ..., skipped_spikes: _Optional[int] = ...) -> None: ...

class Score(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class NewestScore(_message.Message):
    __slots__ = ("name", "value", "step")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    step: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., step: _Optional[int] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("run_id", "name", "kind", "namespace", "priority", "labels", "state", "reason", "epoch", "failures", "submitted_at", "started_at", "finished_at", "placement", "progress", "latest_checkpoint_step", "best_checkpoint_step", "run_directory", "source", "resolved", "request_id", "workers", "choices", "gradients_encrypted", "queue_position", "submitted_by", "device", "initial_model", "parent", "leg", "legs", "leaving_for", "note", "use")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    LATEST_CHECKPOINT_STEP_FIELD_NUMBER: _ClassVar[int]
    BEST_CHECKPOINT_STEP_FIELD_NUMBER: _ClassVar[int]
    RUN_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    GRADIENTS_ENCRYPTED_FIELD_NUMBER: _ClassVar[int]
    QUEUE_POSITION_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_BY_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    INITIAL_MODEL_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    LEG_FIELD_NUMBER: _ClassVar[int]
    LEGS_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FOR_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    name: str
    kind: RunKind
    namespace: str
    priority: int
    labels: _containers.ScalarMap[str, str]
    state: RunState
    reason: str
    epoch: int
    failures: int
    submitted_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    placement: _containers.RepeatedCompositeFieldContainer[RankPlacement]
    progress: Progress
    latest_checkpoint_step: int
    best_checkpoint_step: int
    run_directory: str
    source: str
    resolved: str
    request_id: str
    workers: int
    choices: EngineChoices
    gradients_encrypted: bool
    queue_position: int
    submitted_by: str
    device: str
    initial_model: str
    parent: CheckpointOfRun
    leg: int
    legs: _containers.RepeatedCompositeFieldContainer[Leg]
    leaving_for: str
    note: str
    use: ResourceUse
    def __init__(self, run_id: _Optional[str] = ..., name: _Optional[str] = ..., kind: _Optional[_Union[RunKind, str]] = ..., namespace: _Optional[str] = ..., priority: _Optional[int] = ..., labels: _Optional[_Mapping[str, str]] = ..., state: _Optional[_Union[RunState, str]] = ..., reason: _Optional[str] = ..., epoch: _Optional[int] = ..., failures: _Optional[int] = ..., submitted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., placement: _Optional[_Iterable[_Union[RankPlacement, _Mapping]]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., latest_checkpoint_step: _Optional[int] = ..., best_checkpoint_step: _Optional[int] = ..., run_directory: _Optional[str] = ..., source: _Optional[str] = ..., resolved: _Optional[str] = ..., request_id: _Optional[str] = ..., workers: _Optional[int] = ..., choices: _Optional[_Union[EngineChoices, _Mapping]] = ..., gradients_encrypted: bool = ..., queue_position: _Optional[int] = ..., submitted_by: _Optional[str] = ..., device: _Optional[str] = ..., initial_model: _Optional[str] = ..., parent: _Optional[_Union[CheckpointOfRun, _Mapping]] = ..., leg: _Optional[int] = ..., legs: _Optional[_Iterable[_Union[Leg, _Mapping]]] = ..., leaving_for: _Optional[str] = ..., note: _Optional[str] = ..., use: _Optional[_Union[ResourceUse, _Mapping]] = ...) -> None: ...

class ResourceUse(_message.Message):
    __slots__ = ("cores", "memory_bytes")
    CORES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    cores: float
    memory_bytes: int
    def __init__(self, cores: _Optional[float] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

class CheckpointOfRun(_message.Message):
    __slots__ = ("run_id", "run_name", "leg", "step", "tokens", "deleted")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_NAME_FIELD_NUMBER: _ClassVar[int]
    LEG_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    run_name: str
    leg: int
    step: int
    tokens: int
    deleted: bool
    def __init__(self, run_id: _Optional[str] = ..., run_name: _Optional[str] = ..., leg: _Optional[int] = ..., step: _Optional[int] = ..., tokens: _Optional[int] = ..., deleted: bool = ...) -> None: ...

class Leg(_message.Message):
    __slots__ = ("number", "first_step", "why_begun", "begun_at", "why_ended", "ended_at", "resolved", "target_steps")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    WHY_BEGUN_FIELD_NUMBER: _ClassVar[int]
    BEGUN_AT_FIELD_NUMBER: _ClassVar[int]
    WHY_ENDED_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_FIELD_NUMBER: _ClassVar[int]
    TARGET_STEPS_FIELD_NUMBER: _ClassVar[int]
    number: int
    first_step: int
    why_begun: str
    begun_at: _timestamp_pb2.Timestamp
    why_ended: str
    ended_at: _timestamp_pb2.Timestamp
    resolved: str
    target_steps: int
    def __init__(self, number: _Optional[int] = ..., first_step: _Optional[int] = ..., why_begun: _Optional[str] = ..., begun_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., why_ended: _Optional[str] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., resolved: _Optional[str] = ..., target_steps: _Optional[int] = ...) -> None: ...

class EngineChoices(_message.Message):
    __slots__ = ("threads_per_rank", "logical_shards", "isa", "kernels")
    class KernelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    THREADS_PER_RANK_FIELD_NUMBER: _ClassVar[int]
    LOGICAL_SHARDS_FIELD_NUMBER: _ClassVar[int]
    ISA_FIELD_NUMBER: _ClassVar[int]
    KERNELS_FIELD_NUMBER: _ClassVar[int]
    threads_per_rank: int
    logical_shards: int
    isa: str
    kernels: _containers.ScalarMap[str, str]
    def __init__(self, threads_per_rank: _Optional[int] = ..., logical_shards: _Optional[int] = ..., isa: _Optional[str] = ..., kernels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class MetricPoint(_message.Message):
    __slots__ = ("step", "epoch", "tokens", "loss", "learning_rate", "gradient_norm", "tokens_per_second", "mfu", "step_seconds", "validation_loss", "at", "phases", "skipped", "target_steps", "peak_flops", "peak_source", "warning", "scores", "processor_wait", "spike")
    STEP_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    LEARNING_RATE_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_NORM_FIELD_NUMBER: _ClassVar[int]
    TOKENS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    MFU_FIELD_NUMBER: _ClassVar[int]
    STEP_SECONDS_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_LOSS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    PHASES_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    TARGET_STEPS_FIELD_NUMBER: _ClassVar[int]
    PEAK_FLOPS_FIELD_NUMBER: _ClassVar[int]
    PEAK_SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    PROCESSOR_WAIT_FIELD_NUMBER: _ClassVar[int]
    SPIKE_FIELD_NUMBER: _ClassVar[int]
    step: int
    epoch: int
    tokens: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens_per_second: float
    mfu: float
    step_seconds: float
    validation_loss: float
    at: _timestamp_pb2.Timestamp
    phases: PhaseSeconds
    skipped: bool
    target_steps: int
    peak_flops: float
    peak_source: str
    warning: str
    scores: _containers.RepeatedCompositeFieldContainer[Score]
    processor_wait: float
    spike: bool
    def __init__(self, step: _Optional[int] = ..., epoch: _Optional[int] = ..., tokens: _Optional[int] = ..., loss: _Optional[float] = ..., learning_rate: _Optional[float] = ..., gradient_norm: _Optional[float] = ..., tokens_per_second: _Optional[float] = ..., mfu: _Optional[float] = ..., step_seconds: _Optional[float] = ..., validation_loss: _Optional[float] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., phases: _Optional[_Union[PhaseSeconds, _Mapping]] = ..., skipped: bool = ..., target_steps: _Optional[int] = ..., peak_flops: _Optional[float] = ..., peak_source: _Optional[str] = ..., warning: _Optional[str] = ..., scores: _Optional[_Iterable[_Union[Score, _Mapping]]] = ..., processor_wait: _Optional[float] = ..., spike: bool = ...) -> None: ...

class PhaseSeconds(_message.Message):
    __slots__ = ("data_wait", "forward", "backward", "allreduce_exposed", "optimizer", "other")
    DATA_WAIT_FIELD_NUMBER: _ClassVar[int]
    FORWARD_FIELD_NUMBER: _ClassVar[int]
    BACKWARD_FIELD_NUMBER: _ClassVar[int]
    ALLREDUCE_EXPOSED_FIELD_NUMBER: _ClassVar[int]
    OPTIMIZER_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    data_wait: float
    forward: float
    backward: float
    allreduce_exposed: float
    optimizer: float
    other: float
    def __init__(self, data_wait: _Optional[float] = ..., forward: _Optional[float] = ..., backward: _Optional[float] = ..., allreduce_exposed: _Optional[float] = ..., optimizer: _Optional[float] = ..., other: _Optional[float] = ...) -> None: ...

class Checkpoint(_message.Message):
    __slots__ = ("run_id", "step", "epoch", "directory", "manifest_digest", "size_bytes", "validation_loss", "sealed_at", "latest", "best", "quarantine_reason", "quarantined_at", "leg", "superseded", "pinned")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_LOSS_FIELD_NUMBER: _ClassVar[int]
    SEALED_AT_FIELD_NUMBER: _ClassVar[int]
    LATEST_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    QUARANTINE_REASON_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_AT_FIELD_NUMBER: _ClassVar[int]
    LEG_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    step: int
    epoch: int
    directory: str
    manifest_digest: str
    size_bytes: int
    validation_loss: float
    sealed_at: _timestamp_pb2.Timestamp
    latest: bool
    best: bool
    quarantine_reason: str
    quarantined_at: _timestamp_pb2.Timestamp
    leg: int
    superseded: bool
    pinned: bool
    def __init__(self, run_id: _Optional[str] = ..., step: _Optional[int] = ..., epoch: _Optional[int] = ..., directory: _Optional[str] = ..., manifest_digest: _Optional[str] = ..., size_bytes: _Optional[int] = ..., validation_loss: _Optional[float] = ..., sealed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., latest: bool = ..., best: bool = ..., quarantine_reason: _Optional[str] = ..., quarantined_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., leg: _Optional[int] = ..., superseded: bool = ..., pinned: bool = ...) -> None: ...

class RunEvent(_message.Message):
    __slots__ = ("sequence", "at", "state", "kind", "actor", "reason", "epoch", "request_id")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    at: _timestamp_pb2.Timestamp
    state: RunState
    kind: str
    actor: str
    reason: str
    epoch: int
    request_id: str
    def __init__(self, sequence: _Optional[int] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., state: _Optional[_Union[RunState, str]] = ..., kind: _Optional[str] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., epoch: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ("sequence", "at", "rank", "epoch", "text")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    at: _timestamp_pb2.Timestamp
    rank: int
    epoch: int
    text: str
    def __init__(self, sequence: _Optional[int] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., rank: _Optional[int] = ..., epoch: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class Slot(_message.Message):
    __slots__ = ("slot_id", "device", "cores", "memory_bytes", "run_id", "device_name", "compute_capability", "problem", "use")
    SLOT_ID_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    CORES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    DEVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    COMPUTE_CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    slot_id: str
    device: str
    cores: _containers.RepeatedScalarFieldContainer[int]
    memory_bytes: int
    run_id: str
    device_name: str
    compute_capability: str
    problem: str
    use: ResourceUse
    def __init__(self, slot_id: _Optional[str] = ..., device: _Optional[str] = ..., cores: _Optional[_Iterable[int]] = ..., memory_bytes: _Optional[int] = ..., run_id: _Optional[str] = ..., device_name: _Optional[str] = ..., compute_capability: _Optional[str] = ..., problem: _Optional[str] = ..., use: _Optional[_Union[ResourceUse, _Mapping]] = ...) -> None: ...

class Cordon(_message.Message):
    __slots__ = ("drain", "reason", "actor", "since")
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    drain: bool
    reason: str
    actor: str
    since: _timestamp_pb2.Timestamp
    def __init__(self, drain: bool = ..., reason: _Optional[str] = ..., actor: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MachineLoad(_message.Message):
    __slots__ = ("runnable_threads", "cores", "swap_bytes_per_second", "busy_cores", "memory_bytes", "available_memory_bytes", "storage_bytes", "free_storage_bytes")
    RUNNABLE_THREADS_FIELD_NUMBER: _ClassVar[int]
    CORES_FIELD_NUMBER: _ClassVar[int]
    SWAP_BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    BUSY_CORES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    STORAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREE_STORAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    runnable_threads: float
    cores: int
    swap_bytes_per_second: float
    busy_cores: float
    memory_bytes: int
    available_memory_bytes: int
    storage_bytes: int
    free_storage_bytes: int
    def __init__(self, runnable_threads: _Optional[float] = ..., cores: _Optional[int] = ..., swap_bytes_per_second: _Optional[float] = ..., busy_cores: _Optional[float] = ..., memory_bytes: _Optional[int] = ..., available_memory_bytes: _Optional[int] = ..., storage_bytes: _Optional[int] = ..., free_storage_bytes: _Optional[int] = ...) -> None: ...

class DataProblem(_message.Message):
    __slots__ = ("run_id", "run_name", "reason")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    run_name: str
    reason: str
    def __init__(self, run_id: _Optional[str] = ..., run_name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("node_id", "name", "connected", "slots", "version", "last_heard_at", "gpu_driver", "gpu_problem", "storage_problem", "cordon", "busy_slots", "lost", "data_problems", "load")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARD_AT_FIELD_NUMBER: _ClassVar[int]
    GPU_DRIVER_FIELD_NUMBER: _ClassVar[int]
    GPU_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    STORAGE_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    CORDON_FIELD_NUMBER: _ClassVar[int]
    BUSY_SLOTS_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    DATA_PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    name: str
    connected: bool
    slots: _containers.RepeatedCompositeFieldContainer[Slot]
    version: str
    last_heard_at: _timestamp_pb2.Timestamp
    gpu_driver: str
    gpu_problem: str
    storage_problem: str
    cordon: Cordon
    busy_slots: int
    lost: bool
    data_problems: _containers.RepeatedCompositeFieldContainer[DataProblem]
    load: MachineLoad
    def __init__(self, node_id: _Optional[str] = ..., name: _Optional[str] = ..., connected: bool = ..., slots: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., version: _Optional[str] = ..., last_heard_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., gpu_driver: _Optional[str] = ..., gpu_problem: _Optional[str] = ..., storage_problem: _Optional[str] = ..., cordon: _Optional[_Union[Cordon, _Mapping]] = ..., busy_slots: _Optional[int] = ..., lost: bool = ..., data_problems: _Optional[_Iterable[_Union[DataProblem, _Mapping]]] = ..., load: _Optional[_Union[MachineLoad, _Mapping]] = ...) -> None: ...
