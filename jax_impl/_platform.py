"""JAX, started on the platform that was asked for and on no other."""

from __future__ import annotations

import os
import sys
from typing import Any

from conformance.errors import DeviceUnavailable, SideUnavailable, UsageError

_BACKENDS = {"cpu": ("cpu",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}
"""JAX's own names of a platform; asked for ``gpu``, it would try ROCm."""
_INSTALL = {
    "cpu": "pip install jax",
    "gpu": "on a machine with an NVIDIA GPU: pip install 'jax[cuda12]'",
    "tpu": "on a machine with a TPU: pip install 'jax[tpu]'",
}


def start_platform(platform: str) -> dict[str, Any]:
    """Versions and devices of JAX, running on `platform` with 64-bit types off; safe to call again.

    Raises:
        UsageError: there is no such platform.
        SideUnavailable: JAX is missing, or is already running on another platform.
        DeviceUnavailable: there is no device of that platform.
    """
    if platform not in _BACKENDS:
        raise UsageError(f"starting JAX: asked for the platform {platform!r}; wanted one of {', '.join(_BACKENDS)}")
    before = os.environ.get("JAX_PLATFORMS")
    backend = asked = _choose_backend(platform, before or "")
    fresh = "jax" not in sys.modules
    if fresh and backend != "cpu":
        asked = f"{backend},cpu"  # a diagnosis runs again on the CPU
    os.environ["JAX_PLATFORMS"] = asked  # JAX reads it while it is imported
    try:
        import jax
        import jaxlib.version
    except ImportError as error:
        raise SideUnavailable(
            f"starting JAX on {platform}: importing jax failed ({error}); wanted jax 0.10 or later. "
            f"Install it: {_INSTALL[platform]}"
        ) from error
    devices = _find_devices(jax, platform, backend, asked, fresh=fresh)
    jax.config.update("jax_enable_x64", False)  # noqa: FBT003 - JAX takes it so
    from ._versions import find_unknown

    return {
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "platform": platform,
        "contracts": find_unknown() or "judged",
        "devices": [describe_device(device) for device in devices],
    }


def describe_device(device: Any) -> dict[str, Any]:
    """What evidence says of a device: `platform`, `id` and `kind`."""
    return {"platform": str(device.platform), "id": int(device.id), "kind": str(device.device_kind)}


def _choose_backend(platform: str, users: str) -> str:
    named = [name.strip().lower() for name in users.split(",")]
    return next((name for name in _BACKENDS[platform] if name in named), _BACKENDS[platform][0])


def _find_devices(jax: Any, platform: str, backend: str, asked: str, *, fresh: bool) -> list[Any]:
    """The devices of `platform`, which is JAX's default.

    A backend that is missing makes JAX raise an error of any type, even an AssertionError without text; a `fresh` JAX
    that was asked for the CPU beside it may take that instead without a word.
    """
    before = jax.config.jax_platforms
    jax.config.update("jax_platforms", asked)  # for a JAX that was imported, but not used, before
    try:
        running = jax.devices()
        if fresh:
            jax.devices(backend)
    except Exception as error:
        jax.config.update("jax_platforms", before)
        raise DeviceUnavailable(
            f"starting JAX on {platform}: asked for {backend} devices, found none ({_first_line(error)}); "
            f"wanted at least one. Install what is missing, {_INSTALL[platform]}, or ask for another platform."
        ) from error
    found = sorted({str(device.platform) for device in running})
    if found != [platform]:
        jax.config.update("jax_platforms", before)
        raise SideUnavailable(
            f"starting JAX on {platform}: JAX is already running on {', '.join(found)} in this process, and cannot "
            f"change over; wanted {platform}. Start JAX through this side before anything else uses it."
        )
    return list(jax.devices(platform))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else f"{type(error).__name__} without a text"
