"""``torch.distributed.pipelining``, which is not supported: names that say so when they are used."""

from __future__ import annotations

from . import refusing as _refusing

__all__: list[str] = []

_REMEDY = (
    "Layers are split over ranks by tensor.parallel.parallelize_module, parameters by fsdp.fully_shard; stages of "
    "one's own send and receive."
)
for _name in """Pipe PipelineStage Schedule1F1B ScheduleDualPipeV ScheduleGPipe ScheduleInterleaved1F1B
        ScheduleInterleavedZeroBubble ScheduleLoopedBFS ScheduleZBVZeroBubble SplitPoint build_stage pipe_split
        pipeline""".split():
    globals()[_name] = _refusing.refused_class("torch.distributed.pipelining", _name, _REMEDY)
