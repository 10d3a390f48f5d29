"""Where and how an implementation runs."""

from __future__ import annotations

from dataclasses import dataclass

PLATFORMS = ("cpu", "gpu", "tpu")
MODES = ("eager", "jit", "vmap")
PRECISIONS = ("highest",)


@dataclass(frozen=True, slots=True)
class Placement:
    """A platform, a mode and a matmul precision; `str()` of it stands in a test id: ``cpu-jit``."""

    platform: str
    mode: str
    precision: str = "highest"

    def __str__(self) -> str:
        return f"{self.platform}-{self.mode}" + ("" if self.precision == "highest" else f"-{self.precision}")
