"""The docstrings of the stub: those of the extension module, so that editors show them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any, Union

import profbridge._profbridge as extension

Definition = Union[ast.ClassDef, ast.FunctionDef]


def with_docstrings(stub: str) -> str:
    """Return a stub with the docstrings of the extension module."""
    lines = stub.splitlines()
    changes: list[tuple[ast.stmt, str, Definition]] = []
    for node in ast.parse(stub).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            thing = getattr(extension, node.name)
            changes.append((node.body[0], _docstring(thing), node))
            if isinstance(node, ast.ClassDef):
                for member in node.body:
                    if isinstance(member, ast.FunctionDef) and not member.name.startswith("__"):
                        changes.append((member.body[0], _docstring(vars(thing)[member.name]), member))
    # From the last line to the first, so that the numbers of the other lines stay the same.
    for first, text, node in sorted(changes, key=lambda change: -_start(change[0])):
        indent = " " * (node.col_offset + 4)
        doc = [line.rstrip() for line in textwrap.indent(f'"""{text}"""', indent).splitlines()]
        start, end = _start(first), first.end_lineno or first.lineno
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and first.value.value is not ...:
            lines[start:end] = doc
        elif isinstance(node, ast.ClassDef):
            lines[start:start] = doc
        else:
            lines[start:end] = [lines[start][: first.col_offset].rstrip(), *doc]
    return "\n".join(lines) + "\n"


def _start(node: ast.stmt) -> int:
    """Return the index of the first line, which is that of a decorator if there is one."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def _docstring(thing: Any) -> str:
    text = inspect.cleandoc(thing.__doc__ or "").replace("\\", "\\\\")
    return text + "\n" if "\n" in text else text
