"""Merge patches (RFC 7396) that leave the patched document as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["diff", "merge_patch"]


def merge_patch(target: Any, patch: Any) -> Any:
    """Returns `target` with `patch` applied, as RFC 7396 defines it.

    `target` does not change. Branches that the patch does not touch are the same objects as before, so
    `before["stats"] is after["stats"]` says in constant time that the patch did not touch them.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = merge_patch(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def diff(before: Any, after: Any) -> Any:
    """Returns the smallest merge patch that leads from `before` to `after`; `{}` if they are equal.

    A merge patch cannot express a `null` within an object; documents contain none. Branches that are the same
    object cost nothing.
    """
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    patch: dict[str, Any] = {}
    for key in before:
        if key not in after:
            patch[key] = None
    for key, value in after.items():
        if key not in before:
            patch[key] = value
            continue
        old = before[key]
        if old is value:
            continue
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            inner = diff(old, value)
            if inner:
                patch[key] = inner
        elif old != value or type(old) is not type(value):
            patch[key] = value
    return patch
