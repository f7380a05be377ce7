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
    for first, text, node in sorted(changes, key=lambda change: -change[0].lineno):
        indent = " " * (node.col_offset + 4)
        doc = textwrap.indent(f'"""{text}"""', indent).splitlines()
        doc = [line.rstrip() for line in doc]
        is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and first.value.value is not ...
        start, end = first.lineno - 1, first.end_lineno or first.lineno
        if is_doc:
            lines[start:end] = doc
        elif isinstance(node, ast.ClassDef):
            # A decorator stands before its function.
            decorators = getattr(first, "decorator_list", [])
            start = min([start, *(decorator.lineno - 1 for decorator in decorators)])
            lines[start:start] = doc
        else:
            head = lines[start][: first.col_offset].rstrip()
            lines[start:end] = [head, *doc]
    return "\n".join(lines) + "\n"


def _docstring(thing: Any) -> str:
    text = inspect.cleandoc(thing.__doc__ or "").replace("\\", "\\\\")
    return text + "\n" if "\n" in text else text
