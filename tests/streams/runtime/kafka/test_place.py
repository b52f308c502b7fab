"""Where a log lies, and how its clients connect."""

from __future__ import annotations

import pytest

from streams.runtime.kafka.group import settings_of
from streams.runtime.kafka.place import BadPlace, KafkaAddress, clients_of


def test_a_url_names_brokers_and_a_prefix() -> None:
    place = KafkaAddress.of("kafka://one:9092,[::1]:9093/team.a")
    assert place.servers == "one:9092,[::1]:9093"
    assert place.topic("events") == "team.a.metalogue.events.v1"
    assert place.dead("problems") == "team.a.dlq.metalogue.problems.v1"
    assert KafkaAddress.of(place.url) == place
    assert KafkaAddress.of("kafka://one:9092").topic("events") == "metalogue.events.v1"


@pytest.mark.parametrize(
    "url", ["kafka://", "kafka://one", "kafka://one:x", "kafka://one:1/a b", "kafka://one:1/a/b"]
)
def test_what_is_no_place_is_said(url: str) -> None:
    with pytest.raises(BadPlace):
        KafkaAddress.of(url)


def test_credentials_in_a_url_are_refused_without_being_repeated() -> None:
    with pytest.raises(BadPlace) as refused:
        KafkaAddress.of("kafka://ann:sesame@one:9092/team")
    assert "sesame" not in str(refused.value)


def test_a_password_reaches_the_clients_and_no_name_of_the_place() -> None:
    clients = clients_of(protocol="SASL_PLAINTEXT", username="ann", password="sesame")
    place = KafkaAddress.of("kafka://one:9092", clients)
    assert place.connection()["sasl_plain_password"] == "sesame"
    assert "sesame" not in place.url
    settings = settings_of(place, 20.0)
    assert settings["broker_credentials"].password == "sesame"
    assert "sesame" not in settings["broker"]
