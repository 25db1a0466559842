"""How machine code is made: inner kernels stay LLVM IR, entries and laws take in what they call and are compiled whole.

Numba would turn every function into machine code, most of which nothing calls: all its callers have it inlined or
linked in. Here only what Python or a law's address calls is optimised and compiled. This leans on Numba's internals;
the tests say so when a new Numba changes them.
"""

import gc
from contextlib import contextmanager

import llvmlite.binding as llvm
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, lookup_environment
from numba.core.compiler_lock import require_global_compiler_lock
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import AnnotateTypes
from numba.core.types.functions import BaseFunction

from grouser._compile import watch

_ENVIRONMENT = "_ZN08NumbaEnv"
# Passes for what no kernel has: with blocks, closures, comprehensions, literal_unroll, inline="always", parfors.
_UNUSED = {
    "DumpParforDiagnostics", "FindLiterallyCalls", "InlineClosureLikes", "InlineInlinables", "InlineOverloads",
    "LiteralPropagationSubPipelinePass", "LiteralUnroll", "MakeFunctionToJitFunction", "RewriteDynamicRaises",
    "WithLifting",
}  # fmt: skip
# What Numba finds out about calls on numbers and arrays, remembered while kernels compile. Type inference asks what
# float64 + float64 is at every such line and tries dozens of candidates each time, a third of all compiling. The answer
# depends on the function, the types and the compiler's flags only.
_PLAIN = (types.Number, types.Boolean, types.Array, types.RawPointer, types.CPointer, types.UniTuple, types.SliceType)
_known = {}
_tokens = {}
_stack = []
_resolve = BaseFunction.get_call_type


def _remembered(self, context, args, kws):
    if kws or not all(isinstance(one, _PLAIN) for one in args):
        return _resolve(self, context, args, kws)
    key = self, context, args, _stack[-1]
    if key not in _known:
        found = _resolve(self, context, args, kws)
        _known[key] = found, self._impl_keys.get(found.args) if found else None
    found, implementation = _known[key]
    if implementation is not None:  # Numba keeps that of the flags it resolved last, whose code may not be linked here
        self._impl_keys[found.args] = implementation
    return found


@contextmanager
def remembered_typing(flags):
    """Around the compiling of one kernel, under Numba's compiler lock; kernels that it calls compile inside."""
    values = repr(sorted(flags.values().items(), key=repr))
    outermost, collects = not _stack, gc.isenabled()
    _stack.append(_tokens.setdefault(values, len(_tokens)))
    BaseFunction.get_call_type = _remembered
    gc.disable()  # the many objects of a compilation live until its end: looking for garbage finds none
    try:
        yield
    finally:
        _stack.pop()
        if outermost:
            BaseFunction.get_call_type = _resolve
            if collects:
                gc.enable()


class _WithoutEngine:
    """The code generator as an inner library sees it: it has no machine code, so no environment can be set there."""

    def __init__(self, codegen):
        self._codegen = codegen

    def __getattr__(self, name):
        return getattr(self._codegen, name)

    def set_env(self, name, env):
        pass


class InnerLibrary(JITCodeLibrary):
    """LLVM IR of one function and the libraries it calls."""

    @property
    def codegen(self):
        return _WithoutEngine(self._codegen)

    def finalize(self):
        require_global_compiler_lock()
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        return 0


class OuterLibrary(JITCodeLibrary):
    """Machine code of an entry or a law with all it calls."""

    def add_linking_library(self, library):
        library._ensure_finalized()
        if library in self._linking_libraries:
            return
        self._linking_libraries.append(library)
        if isinstance(library, InnerLibrary):
            for one in library._linking_libraries:
                self.add_linking_library(one)

    def finalize(self):
        # LLVM's linker drops a function that nothing refers to yet: what calls it must have been linked before.
        self._linking_libraries[:] = _callers_first(self._linking_libraries)
        super().finalize()

    def _optimize_final_module(self):
        watch.optimising()
        # Numba optimises twice, to prune reference counts in between; where nothing is counted once is enough.
        if any(fn.name in ("NRT_incref", "NRT_decref") for fn in self._final_module.functions):
            super()._optimize_final_module()
            return
        manager, builder = self._codegen._module_pass_manager()
        with self._recorded_timings.record("Module passes", builder):
            manager.run(self._final_module, builder)

    def _finalize_final_module(self):
        super()._finalize_final_module()
        for value in self._final_module.global_variables:
            if value.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(value.name)
                if environment is not None:
                    self._codegen.set_env(value.name, environment)

    def serialize_using_object_code(self):
        # Numba would add the IR, for callers to inline: nothing calls an entry. Its names are needed, its code is not.
        self._ensure_finalized()
        module = self._final_module
        names = [f'define void @"{one.name}"() {{ unreachable }}' for one in module.functions if not one.is_declaration]
        names += [f'@"{one.name}" = global i8 0' for one in module.global_variables if not one.is_declaration]
        stub = llvm.parse_assembly("\n".join(names))
        return self.name, "object", (self._get_compiled_object(), stub.as_bitcode())


def _callers_first(libraries):
    """The libraries in an order in which each stands before those it calls."""
    done, seen = [], set()

    def visit(library):
        if library not in seen:
            seen.add(library)
            if isinstance(library, InnerLibrary):
                for one in library._linking_libraries:
                    visit(one)
            done.append(library)

    for library in reversed(libraries):
        visit(library)
    return done[::-1]


def _compiler(kind):
    """A Numba compiler that puts its code into a library of this kind."""

    @register_pass(mutates_CFG=False, analysis_only=False)
    class ChooseLibrary(LoweringPass):
        _name = f"choose_{kind.__name__}"

        def __init__(self):
            LoweringPass.__init__(self)

        def run_pass(self, state):
            if state.library is None:
                state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
                state.library.enable_object_caching()
            elif type(state.library) is JITCodeLibrary:  # that of a C function comes ready made
                state.library.__class__ = kind
            return False

    class Compiler(CompilerBase):
        def compile_extra(self, func):
            with remembered_typing(self.state.flags):
                return super().compile_extra(func)

        def define_pipelines(self):
            manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
            manager.passes = [one for one in manager.passes if one[0].__name__ not in _UNUSED]
            manager._finalized = False
            manager.add_pass_after(ChooseLibrary, AnnotateTypes)
            manager.finalize()
            return [manager]

    return Compiler


InnerCompiler = _compiler(InnerLibrary)
OuterCompiler = _compiler(OuterLibrary)
