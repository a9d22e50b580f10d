import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from gp.v1 import run_pb2 as _run_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SweepState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SWEEP_STATE_UNSPECIFIED: _ClassVar[SweepState]
    SWEEP_STATE_RUNNING: _ClassVar[SweepState]
    SWEEP_STATE_CANCELLING: _ClassVar[SweepState]
    SWEEP_STATE_SUCCEEDED: _ClassVar[SweepState]
    SWEEP_STATE_FAILED: _ClassVar[SweepState]
    SWEEP_STATE_CANCELLED: _ClassVar[SweepState]

class TrialState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRIAL_STATE_UNSPECIFIED: _ClassVar[TrialState]
    TRIAL_STATE_WAITING: _ClassVar[TrialState]
    TRIAL_STATE_LIVE: _ClassVar[TrialState]
    TRIAL_STATE_DONE: _ClassVar[TrialState]
    TRIAL_STATE_STOPPED: _ClassVar[TrialState]
    TRIAL_STATE_FAILED: _ClassVar[TrialState]
    TRIAL_STATE_CANCELLED: _ClassVar[TrialState]
    TRIAL_STATE_DELETED: _ClassVar[TrialState]
SWEEP_STATE_UNSPECIFIED: SweepState
SWEEP_STATE_RUNNING: SweepState
SWEEP_STATE_CANCELLING: SweepState
SWEEP_STATE_SUCCEEDED: SweepState
SWEEP_STATE_FAILED: SweepState
SWEEP_STATE_CANCELLED: SweepState
TRIAL_STATE_UNSPECIFIED: TrialState
TRIAL_STATE_WAITING: TrialState
TRIAL_STATE_LIVE: TrialState
TRIAL_STATE_DONE: TrialState
TRIAL_STATE_STOPPED: TrialState
TRIAL_STATE_FAILED: TrialState
TRIAL_STATE_CANCELLED: TrialState
TRIAL_STATE_DELETED: TrialState

class SubmitSweepRequest(_message.Message):
    __slots__ = ("request_id", "source", "source_name", "run_source", "run_source_name", "base_directory", "name", "namespace", "overrides")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    RUN_SOURCE_FIELD_NUMBER: _ClassVar[int]
    RUN_SOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    BASE_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    source: str
    source_name: str
    run_source: str
    run_source_name: str
    base_directory: str
    name: str
    namespace: str
    overrides: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, request_id: _Optional[str] = ..., source: _Optional[str] = ..., source_name: _Optional[str] = ..., run_source: _Optional[str] = ..., run_source_name: _Optional[str] = ..., base_directory: _Optional[str] = ..., name: _Optional[str] = ..., namespace: _Optional[str] = ..., overrides: _Optional[_Iterable[str]] = ...) -> None: ...

class SubmitSweepResponse(_message.Message):
    __slots__ = ("sweep", "replayed", "warnings")
    SWEEP_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    sweep: Sweep
    replayed: bool
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, sweep: _Optional[_Union[Sweep, _Mapping]] = ..., replayed: bool = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class GetSweepRequest(_message.Message):
    __slots__ = ("sweep",)
    SWEEP_FIELD_NUMBER: _ClassVar[int]
    sweep: str
    def __init__(self, sweep: _Optional[str] = ...) -> None: ...

class ListSweepsRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class ListSweepsResponse(_message.Message):
    __slots__ = ("sweeps",)
    SWEEPS_FIELD_NUMBER: _ClassVar[int]
    sweeps: _containers.RepeatedCompositeFieldContainer[Sweep]
    def __init__(self, sweeps: _Optional[_Iterable[_Union[Sweep, _Mapping]]] = ...) -> None: ...

class CancelSweepRequest(_message.Message):
    __slots__ = ("request_id", "sweep")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SWEEP_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    sweep: str
    def __init__(self, request_id: _Optional[str] = ..., sweep: _Optional[str] = ...) -> None: ...

class Sweep(_message.Message):
    __slots__ = ("name", "namespace", "state", "reason", "submitted_by", "submitted_at", "ended_at", "max_parallel", "early_stop", "min_steps", "eta", "rungs", "trial_count", "ended_trials", "trials", "source")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_BY_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    MAX_PARALLEL_FIELD_NUMBER: _ClassVar[int]
    EARLY_STOP_FIELD_NUMBER: _ClassVar[int]
    MIN_STEPS_FIELD_NUMBER: _ClassVar[int]
    ETA_FIELD_NUMBER: _ClassVar[int]
    RUNGS_FIELD_NUMBER: _ClassVar[int]
    TRIAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    ENDED_TRIALS_FIELD_NUMBER: _ClassVar[int]
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    name: str
    namespace: str
    state: SweepState
    reason: str
    submitted_by: str
    submitted_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    max_parallel: int
    early_stop: str
    min_steps: int
    eta: int
    rungs: _containers.RepeatedScalarFieldContainer[int]
    trial_count: int
    ended_trials: int
    trials: _containers.RepeatedCompositeFieldContainer[SweepTrial]
    source: str
    def __init__(self, name: _Optional[str] = ..., namespace: _Optional[str] = ..., state: _Optional[_Union[SweepState, str]] = ..., reason: _Optional[str] = ..., submitted_by: _Optional[str] = ..., submitted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., max_parallel: _Optional[int] = ..., early_stop: _Optional[str] = ..., min_steps: _Optional[int] = ..., eta: _Optional[int] = ..., rungs: _Optional[_Iterable[int]] = ..., trial_count: _Optional[int] = ..., ended_trials: _Optional[int] = ..., trials: _Optional[_Iterable[_Union[SweepTrial, _Mapping]]] = ..., source: _Optional[str] = ...) -> None: ...

class SweepTrial(_message.Message):
    __slots__ = ("number", "keys", "state", "run_id", "run_name", "run_state", "reason", "validation_loss", "validation_step", "diverged", "step", "target_steps", "full_steps")
    class KeysEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_NAME_FIELD_NUMBER: _ClassVar[int]
    RUN_STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_LOSS_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_STEP_FIELD_NUMBER: _ClassVar[int]
    DIVERGED_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TARGET_STEPS_FIELD_NUMBER: _ClassVar[int]
    FULL_STEPS_FIELD_NUMBER: _ClassVar[int]
    number: int
    keys: _containers.ScalarMap[str, str]
    state: TrialState
    run_id: str
    run_name: str
    run_state: _run_pb2.RunState
    reason: str
    validation_loss: float
    validation_step: int
    diverged: bool
    step: int
    target_steps: int
    full_steps: int
    def __init__(self, number: _Optional[int] = ..., keys: _Optional[_Mapping[str, str]] = ..., state: _Optional[_Union[TrialState, str]] = ..., run_id: _Optional[str] = ..., run_name: _Optional[str] = ..., run_state: _Optional[_Union[_run_pb2.RunState, str]] = ..., reason: _Optional[str] = ..., validation_loss: _Optional[float] = ..., validation_step: _Optional[int] = ..., diverged: bool = ..., step: _Optional[int] = ..., target_steps: _Optional[int] = ..., full_steps: _Optional[int] = ...) -> None: ...
