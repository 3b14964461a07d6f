# SPDX-License-Identifier: Apache-2.0
"""One tree of errors: each says what happened, where, and what to do.

Every class derives from `NGraphRewriteError` and from the builtin a caller expects, so that
``except ValueError`` keeps working in code that does not know this library.
"""

from __future__ import annotations


class NGraphRewriteError(Exception):
    """The root of every error this library raises on purpose.

    Args:
        what: What happened, in one sentence.
        where: The place that caused it (``file:line``), if known.
        do: What the reader can do about it, if anything.

    >>> print(NGraphRewriteError("axis H has length 2 and 3", where="model.py:7", do="rename one of them"))
    axis H has length 2 and 3
      at model.py:7
      rename one of them
    """

    def __init__(self, what: str, *, where: str | None = None, do: str | None = None) -> None:
        self.what, self.where, self.do = what, where, do
        place = f"\n  at {where}" if where else ""
        advice = f"\n  {do}" if do else ""
        super().__init__(f"{what}{place}{advice}")


class AxesError(NGraphRewriteError, ValueError):
    """Axes that cannot be what an op needs: wrong lengths, names or order."""


class DuplicateAxisNames(AxesError):
    """One name stands twice in a set of axes."""


class IncompatibleAxesError(AxesError):
    """The same name with two lengths, or axes that cannot be combined."""


class UnmatchedAxesError(AxesError):
    """Axes that should match, contain or cover others do not."""


class LengthError(NGraphRewriteError, ValueError):
    """A length that is not known yet was needed."""


class DTypeError(NGraphRewriteError, TypeError):
    """A dtype an op cannot take, or a value that does not fit one."""


class ArgumentError(NGraphRewriteError, TypeError):
    """A wrong number of arguments, an unknown keyword, or a value of the wrong kind."""


class AttributeValueError(NGraphRewriteError, ValueError):
    """An attribute of an op outside what it allows."""


class OutOfRangeError(NGraphRewriteError, IndexError):
    """A static index beyond the length of its axis."""


class MissingMethodError(NGraphRewriteError, AttributeError):
    """A method that arrays have and terms do not: here it is a function. Or a name that is NumPy's, and not here."""


class ImmutableError(NGraphRewriteError, AttributeError):
    """Something of a term, a type or an axis was to be set or deleted: they are shared, and stay as they are."""


class FamilyError(NGraphRewriteError, TypeError):
    """Terms of two op families in one call, where no coercion is unambiguous."""


class UnknownOpError(NGraphRewriteError, KeyError):
    """No op of that name is in the catalogue."""

    __str__ = Exception.__str__


class RuleFileError(NGraphRewriteError, ValueError):
    """A rule file that does not say what it must; shows file, line, column and a caret."""


class RewriteError(NGraphRewriteError, RuntimeError):
    """Rewriting went wrong: a step budget was exceeded, or a cycle was found."""


class UnloweredOpError(NGraphRewriteError, NotImplementedError):
    """An op outside the target's base set was left after lowering."""


class InvalidHandleError(NGraphRewriteError, LookupError):
    """A handle has no value in this computation; the message says why."""


class DerivativeError(NGraphRewriteError, ValueError):
    """A derivative that cannot be built."""


class SequencingError(NGraphRewriteError, ValueError):
    """Effects that cannot be ordered, or assigned to something that is not storage."""


class ComputationError(NGraphRewriteError, ValueError):
    """A computation called, or built, with the wrong arguments."""


class ClosedError(NGraphRewriteError, RuntimeError):
    """A transformer was used after it was closed."""


class SaveFileError(NGraphRewriteError, ValueError):
    """A save file that is damaged, truncated or of another model."""


class UnwritableFileError(SaveFileError, OSError):
    """A save file cannot be written where it is wanted; `errno` and `filename` are those of an OSError."""

    __str__ = Exception.__str__


class UnreadableFileError(SaveFileError, OSError):
    """A save file cannot be read; `errno` and `filename` are those of an OSError."""

    __str__ = Exception.__str__


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """There is no save file where it is looked for."""

    __str__ = Exception.__str__


class KernelError(NGraphRewriteError, RuntimeError):
    """A kernel template or a rendered kernel that cannot be used."""


class DeviceError(NGraphRewriteError, RuntimeError):
    """A GPU that is not there, that its driver or a package keeps from being used, or that failed."""


class DeviceMemoryError(DeviceError, MemoryError):
    """More memory was asked for than a GPU has left."""


class ExtensionError(NGraphRewriteError, ImportError):
    """A package of a third party whose entry points do not load, or do not say what they must."""


class CacheWarning(NGraphRewriteError, UserWarning):
    """The cache folder cannot be written; a temporary one is used instead."""
