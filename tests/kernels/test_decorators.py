"""What kernels may be called from, and that they run without the compiler."""

from __future__ import annotations

import pytest
from numba.core.errors import TypingError
from tiny_package import VALUE, Tiny, compiled_only

from grouser._compile.jit import entry, inlined, kernel


@kernel
def inner(x):
    return 2.0 * x


@inlined
def within(x):
    return 3.0 * x


@entry
def outer(x):
    return inner(x) + within(x)


@entry
def wrong(x):
    return outer(x)


def test_an_entry_calls_its_kernels() -> None:
    assert outer(2.0) == 10.0


@compiled_only
@pytest.mark.parametrize("function", [inner, within])
def test_an_inner_kernel_refuses_calls_from_python(function) -> None:
    name = f"{__name__}.{function.py_func.__name__}"
    with pytest.raises(TypeError, match=f"^{name} is an inner kernel .* call it from an @entry$"):
        function(1.0)


@compiled_only
def test_an_entry_refuses_calls_from_kernels() -> None:
    with pytest.raises(
        TypingError, match="outer is an entry, which kernels cannot call; make the shared part a kernel"
    ):
        wrong(1.0)


def test_structs_kernels_and_laws_run_without_the_compiler(tiny: Tiny) -> None:
    said = tiny.use(NUMBA_DISABLE_JIT="1")
    assert (said["value"], said["compiled"], said["loaded"]) == (VALUE, 0, 0)
    assert not (tiny.cache / "kernels").exists()
