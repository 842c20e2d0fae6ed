"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Machines differ in speed, and drift: a slow draw is no failure of what is tested.
settings.register_profile("anywhere", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("anywhere")
