"""A launch made again on other tensors of the same shapes, strides and alignment, without asking what they are.

Triton's own way to a compiled kernel asks each argument anew what it is and encodes each descriptor anew; for a short
kernel that costs several times what the kernel does. What its launcher finally hands to the CUDA driver differs from
one such call to the next only in addresses, in the descriptors made of them and in the stream. So it is recorded once,
and the next launch fills in those. Where this Triton's launcher has another shape than those known, or somebody
listens to launches (a profiler), the launch goes Triton's way.
"""

from __future__ import annotations

import copy
import types
from dataclasses import dataclass, field

from .launch import LaunchSpec, on

#: Descriptors kept for one argument: allocators hand out the same few addresses again and again.
MOST_DESCRIPTORS = 256
#: Position of the stream in what Triton's launchers take.
STREAM = 3


class Repeat:
    """A launch that was made, to be made again. No tensor is kept."""

    def __init__(self, spec: LaunchSpec, compiled, tensors: tuple[str, ...], device):
        """compiled: what the launch of `spec` on `device` returned. tensors: names of the parameters that `run` is
        given."""
        from triton import knobs
        from triton.runtime import driver

        names = spec.function.arg_names
        self.device, self.index = device, device.index
        self.compiled, self.grid = compiled, (*spec.grid, 1, 1)[:3]
        self.places = tuple(names.index(name) for name in tensors)
        self.arguments = [spec.arguments[name] for name in names]
        for place in self.places:
            self.arguments[place] = _rebased(self.arguments[place], None)
        # Looked up once: each import in `run` would be a tenth of a launch.
        self.driver, self.knobs = driver.active, knobs.runtime
        self.handed: Handed | None = UNSEEN

    def run(self, *tensors) -> None:
        """Launch with these tensors, in the order in which they were named."""
        handed = self.handed
        if handed is not None and self.index == self.driver.get_current_device() and not _heard(self.knobs):
            stream = self.driver.get_current_stream(self.index)
            if handed is UNSEEN:
                handed = self.handed = Handed.recorded(self, stream, tensors)
            if handed is not None:
                return handed.launch(self, stream, tensors)
        with on(self.device):
            self.compiled[self.grid](*self.filled(tensors))

    def filled(self, tensors) -> list:
        """The arguments of Triton's launch with these tensors."""
        arguments = self.arguments.copy()
        for place, tensor in zip(self.places, tensors, strict=True):
            arguments[place] = _rebased(arguments[place], tensor)
        return arguments


@dataclass
class Handed:
    """What Triton's launcher handed to the CUDA driver's.

    launcher: the function that took it. nested: whether it takes the kernel's arguments as one list at the end.
    fixed: what it takes before that list, nothing where not nested. arguments: that list, or all that it takes.
    addresses: (place in arguments, number of the tensor) of plain addresses. descriptors: the same of descriptors,
    with those made so far by address.
    """

    launcher: object
    fixed: list
    arguments: list
    nested: bool
    addresses: list[tuple[int, int]] = field(default_factory=list)
    descriptors: list[tuple[int, int, dict]] = field(default_factory=list)

    @classmethod
    def recorded(cls, repeat: Repeat, stream: int, tensors) -> Handed | None:
        """What is handed over with these tensors; None where this Triton's launcher is not one that is known."""
        launcher, got = _record(repeat, stream, tensors)
        if launcher is None:
            return None
        nested = isinstance(got[-1], list | tuple)
        found = cls(launcher, got[:-1], list(got[-1]), True) if nested else cls(launcher, [], got, False)
        if any(hasattr(x, "data_ptr") for x in found.fixed):
            return None  # scratch memory, which each launch wants for itself
        # Both keep the order of the parameters, whatever an argument is taken apart into. Not by identity: Q and K may
        # be one tensor this time.
        described = [hasattr(repeat.arguments[place], "block_shape") for place in repeat.places]
        in_order = sorted(range(len(tensors)), key=lambda n: repeat.places[n])
        addresses = [place for place, x in enumerate(found.arguments) if hasattr(x, "data_ptr")]
        descriptors = [place for place, x in enumerate(found.arguments) if _is_descriptor(x)]
        if len(descriptors) != sum(described) or len(addresses) != len(tensors) - sum(described):
            return None
        found.addresses = list(zip(addresses, (n for n in in_order if not described[n]), strict=True))
        found.descriptors = [
            (place, n, {})
            for place, n in zip(descriptors, (n for n in in_order if described[n]), strict=True)
        ]
        for place in addresses + descriptors:
            found.arguments[place] = None
        return found

    def launch(self, repeat: Repeat, stream: int, tensors) -> None:
        """Launch on these tensors."""
        arguments = self.arguments.copy()
        for place, n in self.addresses:
            arguments[place] = tensors[n].data_ptr()
        for place, n, kept in self.descriptors:
            address = tensors[n].data_ptr()
            descriptor = kept.get(address)
            if descriptor is None:
                descriptor = self._encode(repeat, stream, tensors, place)
                if len(kept) >= MOST_DESCRIPTORS:
                    kept.clear()
                kept[address] = descriptor
            arguments[place] = descriptor
        if self.nested:
            fixed = self.fixed.copy()
            fixed[STREAM] = stream
            self.launcher(*fixed, arguments)
        else:
            arguments[STREAM] = stream
            self.launcher(*arguments)

    def _encode(self, repeat, stream, tensors, place):
        _launcher, got = _record(repeat, stream, tensors)
        return (got[-1] if self.nested else got)[place]


#: A launch that has not been looked at yet; None is one whose launcher is not known.
UNSEEN = Handed(None, [], [], False)


def _record(repeat: Repeat, stream: int, tensors) -> tuple:
    """(the driver's launcher, what Triton's launcher hands to it), nothing being launched; (None, []) if unknown."""
    compiled = repeat.compiled
    twin = copy.copy(compiled.run)
    wrapper = getattr(twin, "launch", None)
    got: list = []

    def record(*arguments):
        got.extend(arguments)

    if isinstance(wrapper, types.FunctionType):
        # The function that encodes descriptors; the driver's launcher is one of the names it closes over.
        cells = dict(zip(wrapper.__code__.co_freevars, wrapper.__closure__ or (), strict=True))
        if "launcher" not in cells:
            return None, []
        launcher = cells["launcher"].cell_contents
        cells["launcher"] = types.CellType(record)
        twin.launch = types.FunctionType(
            wrapper.__code__,
            wrapper.__globals__,
            wrapper.__name__,
            wrapper.__defaults__,
            tuple(cells.values()),
        )
    elif callable(wrapper):
        launcher, twin.launch = wrapper, record
    else:
        return None, []
    metadata = compiled.packed_metadata
    twin(*repeat.grid, stream, compiled.function, metadata, None, None, None, *repeat.filled(tensors))
    if len(got) <= STREAM or got[STREAM] != stream:
        return None, []
    return launcher, got


def _is_descriptor(x) -> bool:
    return type(x).__name__ == "PyCUtensorMap"


def _heard(runtime) -> bool:
    """Whether anybody is told of launches."""
    hooks = (runtime.launch_enter_hook, runtime.launch_exit_hook)
    return any(hook is not None and getattr(hook, "calls", True) for hook in hooks)


def _rebased(argument, tensor):
    """A descriptor like `argument` on another tensor, or the tensor itself where a tensor was passed."""
    if not hasattr(argument, "block_shape"):
        return tensor
    # Not `dataclasses.replace`, nor even `copy`: some microseconds each, to check what cannot have changed.
    other = object.__new__(type(argument))
    other.__dict__ = argument.__dict__ | {"base": tensor}
    return other
