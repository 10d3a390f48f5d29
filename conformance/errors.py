"""The faults that the engine can meet, one class per fault, under one base.

A message says what was being done, where, what was found, what was wanted, and what to do next.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class FileFault:
    """One thing that is wrong in a file, and where: line and column count from 1, `path` is a JSON path."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.path}: {self.message}"


class ConformanceError(Exception):
    """Base of every fault that is told to the user in words instead of a traceback."""

    exit_code = 2


class UsageError(ConformanceError):
    """The command was called in a way that cannot be carried out."""


class InputFault(ConformanceError):
    """A file is not what its format demands; the text has one line per fault."""

    def __init__(self, *faults: FileFault | str) -> None:
        """The faults of one or more files, in the order in which they are told."""
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(fault for fault in faults if isinstance(fault, FileFault))


class UnknownProblem(InputFault):
    """A file names a problem that its root does not have."""


class LoadError(ConformanceError):
    """A module that the user named cannot be loaded."""


class NotProven(ConformanceError):
    """The question could not be answered; never the implementation's fault."""

    exit_code = 3


class ResultsLost(NotProven):
    """Results could not be written, so that what was done is not kept."""


class SideUnavailable(NotProven):
    """A side's framework is missing, or cannot be started as asked."""


class DeviceUnavailable(NotProven):
    """The platform or device that was asked for is not there."""


class OracleRefusal(NotProven):
    """The oracle met something that it has no rule for, and says its name."""


class OracleFault(NotProven):
    """The oracle itself is wrong: a missing gradient, a forgotten batch dimension, a sigma that is not finite."""


class CaseRejected(NotProven):
    """A case that no implementation can meet, since its true outputs leave the range of their type."""

    exit_code = 2


class ImplementationFault(ConformanceError):
    """The implementation raised, or cannot be called as the mode needs."""

    exit_code = 1
