"""The API is as it describes itself: what its description makes up is answered as it says, and never by a 5xx."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from serving import Served


def test_whatever_the_description_makes_up_is_answered_as_it_says(many: Served) -> None:
    import schemathesis  # takes long, and most of those who run tests at a time need none of it
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    many.client.post("/tenants", json={"name": "fuzz"})
    headers = {"Authorization": many.client.headers["Authorization"], "X-Memorybook-Tenant": "fuzz"}
    schema = schemathesis.openapi.from_url(f"{many.client.base_url}openapi.json", headers=headers)
    wanted = [
        not_a_server_error,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.status_code_conformance,
    ]
    operations = [(path, method) for path, methods in schema.raw_schema["paths"].items() for method in methods]
    assert len(operations) > 60
    thorough = settings().max_examples > 100
    few = settings(
        max_examples=100 if thorough else 2,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    for path, method in operations if thorough else random.sample(operations, 3):  # others in each run

        @few
        @given(case=schema[path][method].as_strategy())
        def answers(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(headers=headers, checks=wanted, timeout=20)

        answers()
