from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
START = """
import sys
{before}
from conformance.errors import ConformanceError
from conformance.sides import load_implementation_side
side = load_implementation_side()
assert "jax" not in sys.modules or {imported}
try:
    print(dict(side.start({platform!r})))
except ConformanceError as error:
    print(f"{{type(error).__name__}}: {{error}}")
{after}
"""


def start(platform: str, before: str = "", after: str = "", **environment: str) -> str:
    """What a new process prints that starts the side on a platform."""
    code = START.format(platform=platform, before=before, after=after, imported="jax" in before)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_versions_and_devices_are_told(side):
    import jax
    import jaxlib.version

    told = side.start("cpu")
    assert (jax.__version__, jaxlib.version.__version__, "cpu") == (told["jax"], told["jaxlib"], told["platform"])
    assert {"platform": "cpu", "id": 0, "kind": "cpu"} == told["devices"][0]


def test_an_unknown_platform_is_refused_with_those_that_there_are(side):
    with pytest.raises(UsageError, match="asked for the platform 'CUDA'; wanted one of cpu, gpu, tpu"):
        side.start("CUDA")


@pytest.mark.parametrize(("platform", "asked", "extra"), [("gpu", "cuda", "cuda12"), ("tpu", "tpu", "tpu")])
def test_a_missing_device_is_one_sentence_with_what_to_install(platform, asked, extra):
    told = start(platform)
    if told.startswith("{"):
        pytest.skip(f"this machine has a {platform}")
    assert told.startswith(f"DeviceUnavailable: starting JAX on {platform}: asked for {asked} devices, found none (")
    assert "wanted at least one. Install what is missing, on a machine with a" in told
    assert f"pip install 'jax[{extra}]', or ask for another platform." in told
    assert 1 == len(told.splitlines())


def test_a_gpu_that_is_missing_is_not_made_up_for_by_a_list_of_platforms():
    told = start("gpu", JAX_PLATFORMS="cuda,cpu")
    assert told.startswith("DeviceUnavailable: starting JAX on gpu: asked for cuda") or "'platform': 'gpu'" in told


def test_the_platform_asked_for_beats_the_users_variable_and_other_settings_stay():
    after = "import jax; print(jax.config.jax_log_compiles, jax.config.jax_enable_x64, jax.device_count())"
    variables = {"JAX_PLATFORMS": "tpu", "JAX_LOG_COMPILES": "1", "JAX_ENABLE_X64": "1"}
    flags = "--xla_force_host_platform_device_count=2"
    told = start("cpu", after=after, XLA_FLAGS=flags, **variables).splitlines()
    assert "'platform': 'cpu'" in told[0]
    assert "True False 2" == told[-1]


def test_a_jax_that_was_imported_but_not_used_is_started_as_asked():
    assert "'platform': 'cpu'" in start("cpu", before="import jax", JAX_PLATFORMS="tpu")


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
def test_a_jax_that_already_runs_elsewhere_is_reported_and_left_alone(platform):
    told = start(platform, before="import jax; jax.devices('cpu')", after="print(jax.devices())", JAX_PLATFORMS="cpu")
    assert (
        f"SideUnavailable: starting JAX on {platform}: JAX is already running on cpu in this process, and cannot "
        f"change over; wanted {platform}. Start JAX through this side before anything else uses it."
    ) == told.splitlines()[0]
    assert "[CpuDevice(id=0)]" == told.splitlines()[1]


def test_a_missing_jax_is_reported_with_how_to_install_it():
    told = start("cpu", before="sys.modules['jaxlib'] = None")
    assert told.startswith("SideUnavailable: starting JAX on cpu: importing jax failed (")
    assert told.endswith("wanted jax 0.10 or later. Install it: pip install jax")
