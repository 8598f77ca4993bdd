"""What Triton's compiler makes of a kernel for a named GPU architecture, without a GPU.

`build(options)` compiles the kernel that a launch would compile, and reads shared memory, registers, stack
frame and instruction mix off the result. The arguments are specialised by Triton's own launcher code (which
integers are multiples of 16, which are 1), on the shapes of `compile_launch`: without that the loop would not be
pipelined and the shared-memory figure would be of another kernel. For one Triton version the figures equal those
of a launched kernel (`tests/gpu/test_compile_report.py` checks it on a GPU).

Importing this file needs neither Triton nor torch; building needs Triton alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, fields

from . import compile_sass
from .compile_launch import launch_of
from .compile_options import Options
from .compile_source import kernel_hash
from .launch import LaunchSpec

_LOCK = threading.Lock()


class CannotCompile(Exception):
    """There is no report, and the message is the sentence that says why."""


class TritonMissing(CannotCompile):
    """Triton is not installed here, or is in interpreter mode."""


@dataclass(frozen=True)
class Report:
    """One compiled kernel. Bytes and registers are per block or thread as said.

    options: what was asked. shared_bytes: shared memory of a block. tensor_columns: tensor memory of a block, in
    columns (sm_100; 0 elsewhere). registers: of a thread. stack_bytes: of a thread, its frame in local
    memory, which is where spilled registers live. instructions: {SASS name: count}, see `compile_sass.MEANINGS`.
    instruction_total: all of them. triton: version. kernel_hash: of the kernel's source. program_hash: of the
    program that the front end made of it, see `program_hash`. seconds: what compiling took (0 where it was not
    measured).
    """

    options: Options
    shared_bytes: int
    tensor_columns: int
    registers: int
    stack_bytes: int
    instructions: dict[str, int]
    instruction_total: int
    triton: str
    kernel_hash: str
    program_hash: str
    seconds: float = 0.0

    @property
    def kernel(self) -> str:
        """Which of our kernels."""
        return self.options.kernel

    @property
    def spill_instructions(self) -> int:
        """Loads and stores of local memory in the program text (LDL + STL)."""
        return sum(self.instructions.get(name, 0) for name in compile_sass.SPILLS)

    @property
    def tensor_core_instructions(self) -> int:
        """Matrix instructions of any generation in the program text."""
        return sum(self.instructions.get(name, 0) for name in compile_sass.TENSOR_CORE)

    def record(self) -> dict:
        """Plain data, the inverse of `Report.from_record`."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict) -> Report:
        """A report from plain data. Raises ValueError or TypeError for data of another shape."""
        if not isinstance(record, dict) or set(record) != {field.name for field in fields(cls)}:
            raise ValueError("expected the fields of a compile report, got something else")
        for name in ("shared_bytes", "tensor_columns", "registers", "stack_bytes", "instruction_total"):
            if not isinstance(record[name], int):
                raise ValueError(f"{name}: expected a whole number, got {record[name]!r}")
        return cls(**(record | {"options": Options(**record["options"])}))


def triton_version() -> str | None:
    """The installed Triton's version, or None. Does not import it."""
    from importlib import metadata

    try:
        return metadata.version("triton")
    except metadata.PackageNotFoundError:
        return None


def build(options: Options) -> Report:
    """Compiles and reads one kernel; 0.5 s to some seconds, more for huge tiles.

    Raises TritonMissing where Triton is not installed or interprets, CannotCompile when it refuses the
    kernel; both carry a sentence.
    """
    started = time.perf_counter()
    # One build at a time in a process: the compiler's cache folder is a setting of the whole process.
    with _LOCK:
        program = _Program(options)
        try:
            program_hash, compiled = program.hash(), program.compile()
        except Exception as error:  # a compiler can fail in any way; the reader gets a sentence
            raise CannotCompile(refusal(options, program.triton.__version__, error)) from error
        tool = program.triton.knobs.nvidia.cuobjdump.path
        code = compile_sass.read(compiled.asm["cubin"], compiled.metadata.name, tool)
    return Report(
        options=options,
        shared_bytes=compiled.metadata.shared,
        tensor_columns=getattr(compiled.metadata, "tmem_size", 0) or 0,
        registers=code.registers,
        stack_bytes=code.stack_bytes,
        instructions=code.instructions,
        instruction_total=code.total,
        triton=program.triton.__version__,
        kernel_hash=kernel_hash(options.kernel),
        program_hash=program_hash,
        seconds=round(time.perf_counter() - started, 3),
    )


def program_hash(options: Options) -> str:
    """16 hex digits of the simplified intermediate code (TTIR, without source locations) of a kernel.

    Costs a twentieth of a build. Two kernels with one hash give the same machine code under the same options and
    the same Triton, however their sources differ. Raises as `build`.
    """
    with _LOCK:
        program = _Program(options)
        try:
            return program.hash()
        except Exception as error:
            raise CannotCompile(refusal(options, program.triton.__version__, error)) from error


class _Program:
    """A kernel in front of Triton's compiler, specialised for a target."""

    def __init__(self, options: Options):
        if os.environ.get("TRITON_INTERPRET") == "1":
            raise TritonMissing(
                "Triton is in interpreter mode (TRITON_INTERPRET=1), where nothing is compiled."
            )
        try:
            import triton
            from triton.backends.compiler import GPUTarget
            from triton.compiler import ASTSource, make_backend
        except ImportError as error:
            raise TritonMissing(
                "Triton is not installed, so nothing can be compiled here; pip install -r requirements.txt brings it "
                "(Linux only)."
            ) from error
        self.triton = triton
        self.target = GPUTarget("cuda", options.arch, 32)
        self.backend = make_backend(self.target)
        spec = launch_of(options)
        self.options, *source = specialise(spec, self.backend)
        self.source = ASTSource(spec.function, *source)

    def hash(self) -> str:
        from triton._C.libtriton import ir

        context, stages = ir.context(), {}
        ir.load_dialects(context)
        self.backend.load_dialects(context)
        generators = self.backend.get_codegen_implementation(self.options)
        modules = self.backend.get_module_map()
        module = self.source.make_ir(self.target, self.options, generators, modules, context)
        self.backend.add_stages(stages, self.options, self.source.language)
        text = stages["ttir"](module, {}).str_nodebug()
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def compile(self):
        knobs = self.triton.knobs
        # A private, short-lived folder: nothing is shared with other processes that compile, nothing piles up.
        with tempfile.TemporaryDirectory(prefix="workshop-compile-") as folder, knobs.cache.scope():
            knobs.cache.dir = folder
            return self.triton.compile(self.source, target=self.target, options=self.options.__dict__)


def specialise(spec: LaunchSpec, backend):
    """Options, signature, constants and attributes as Triton's launcher derives them from a call."""
    from triton import knobs
    from triton.runtime.jit import create_function_from_signature

    function, settings = spec.function, dict(spec.options)
    settings["debug"] = settings.get("debug", function.debug) or knobs.runtime.debug
    settings["instrumentation_mode"] = knobs.compilation.instrumentation_mode
    binder = create_function_from_signature(function.signature, function.params, backend)
    bound, specialisation, rest = binder(**spec.arguments, **settings)
    return function._pack_args(backend, settings, bound, specialisation, rest)


def refusal(options: Options, version: str, error: BaseException) -> str:
    """A sentence for a kernel that the compiler does not build."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    # The front end starts with where in the kernel and ends with what is wrong; other stages start with that.
    said = lines[-1] if re.fullmatch(r"at \d+:\d+:", lines[0]) else lines[0]
    return (
        f"Triton {version} does not build the {options.kernel} kernel for {options.Br} x {options.Bc}, "
        f"d = {options.d}, {options.dtype}, {options.warps} warps, {options.target}: {said[:200]}"
    )
