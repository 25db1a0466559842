"""Copies of a filter's memory: to go back to, when a late signal is replayed."""

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from grouser._compile.jit import entry, kernel
from grouser._kernels.arrays import copy
from grouser._kernels.fusion.memory import CLONE
from grouser._kernels.fusion.update import core


@intrinsic
def _copy_record(context, source, target):
    """Copy all fields of a record to another of its type."""

    def codegen(target_context, builder, signature, arguments):
        start, end = (builder.bitcast(one, cgutils.voidptr_t) for one in arguments)
        cgutils.raw_memcpy(builder, end, start, cgutils.intp_t(signature.args[0].size), 1)
        return target_context.get_dummy_value()

    if not isinstance(source, types.Record) or source != target:
        return None
    return types.void(source, target), codegen


def _interpreted_copy(source, target):
    for name in source.dtype.names:
        target[name] = source[name]


copy_record = _interpreted_copy if config.DISABLE_JIT else _copy_record


@kernel
def copy_records(source, target, count):
    """The first of an array of records."""
    for i in range(count):
        target[i] = source[i]


@kernel
def copy_memory(source, target):
    """Copy all that a filter remembers into another memory of the same sizes; scratch is left out."""
    copy_record(source.settings, target.settings)
    copy_record(source.state, target.state)
    copy_record(source.correction, target.correction)
    copy_record(source.clock, target.clock)
    copy_record(source.imu, target.imu)
    copy_record(source.window, target.window)
    copy_record(source.counts, target.counts)
    copy_record(source.faults, target.faults)
    copy_record(source.wheels, target.wheels)
    copy_record(source.poses, target.poses)
    copy_record(source.standstill, target.standstill)
    copy_record(source.gps, target.gps)
    copy_record(source.headings, target.headings)
    copy_records(source.pose_spans, target.pose_spans, source.pose_spans.size)
    copy_records(source.gps_spans, target.gps_spans, source.gps_spans.size)
    copy_records(source.fixes, target.fixes, source.counts.held)
    copy_records(source.clones, target.clones, source.counts.clones)
    copy_records(source.past, target.past, source.past.size)
    copy_records(source.waiting, target.waiting, source.counts.waiting)
    copy(source.parameters, target.parameters)
    n = core(source) + CLONE * source.counts.clones
    for i in range(n):
        for j in range(n):
            target.covariance[i, j] = source.covariance[i, j]
    for i in range(source.parameters.size):
        copy(source.prior[i], target.prior[i])
    for k in range(source.counts.waiting):
        for i in range(6):
            copy(source.waiting_slopes[k, i], target.waiting_slopes[k, i])


@entry
def copy_filter(source, target):
    """`copy_memory`, called from Python."""
    copy_memory(source, target)
