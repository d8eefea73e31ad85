"""Calls that Ctrl-C interrupts at a chosen moment."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import skgoss

PACKAGE = str(Path(skgoss.__file__).parent)

# Python handles signals where a function begins or is resumed, after calls, and where a
# loop begins again. What a handler raises is an error of this instruction.
_HANDLES = "RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"


@cache
def _handles_after(code: CodeType) -> dict[int, tuple[int, ...]]:
    """The instructions that end by handling signals, and where their errors go."""
    return {
        instruction.offset: _targets(code, instruction.offset)
        for instruction in dis.get_instructions(code)
        if instruction.opname in _HANDLES
    }


@cache
def _targets(code: CodeType, offset: int) -> tuple[int, ...]:
    entries = dis.Bytecode(code).exception_entries
    return tuple(e.target for e in entries if e.start <= offset < e.end)


def moments(call: Callable[[], Any], number: int = 0, *, within: str = PACKAGE) -> int:
    """Call a function, and raise KeyboardInterrupt at the moment of this number.

    That is one of those at which Python may handle Ctrl-C in functions of files
    ``within`` a folder, counted from 1. Returns how many there were, if the call is not
    interrupted; 0 if it is.
    """
    n = 0

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(within):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        handles, last = _handles_after(frame.f_code), frame.f_lasti

        def step(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal n, last
            if event != "opcode":
                return step
            before, last = last, frame.f_lasti
            if before in handles and handles[before] == _targets(frame.f_code, last):
                n += 1
                if n == number:
                    raise KeyboardInterrupt
            return step

        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    except KeyboardInterrupt:
        return 0
    finally:
        sys.settrace(before)
    return n
