from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams.interfaces.cli.config import load, masked
from streams.interfaces.cli.config_sources import environment, place_of
from tests.streams.cli.calling import call


def shown() -> dict[str, Any]:
    called = call("config", "show", "--json")
    assert called.code == 0, called.err
    values: dict[str, Any] = called.json
    return values


def test_defaults(folder: Path) -> None:
    config = load()
    assert (config.log, config.policy, config.backbone) == ("sqlite:metalogue.db", "cot", None)
    assert shown()["policy"] == {"value": "cot", "source": "default"}


def test_environment_beats_dotenv_beats_yaml_beats_default(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "metalogue.yaml").write_text(
        "log: a.db\npolicy: mc2\nkafka:\n  session_ms: 1\nmax_concurrency: 3\n"
    )
    (folder / ".env").write_text("# mine\nMETALOGUE_LOG=b.db\n\nMETALOGUE_POLICY='greedy'\n")
    monkeypatch.setenv("METALOGUE_LOG", "c.db")
    config = load()
    assert (config.log, config.policy, config.kafka.session_ms) == ("c.db", "greedy", 1)
    rows = shown()
    assert rows["log"] == {"value": "c.db", "source": "METALOGUE_LOG"}
    assert rows["policy"] == {"value": "greedy", "source": ".env:4"}
    assert rows["kafka.session_ms"] == {"value": 1, "source": "metalogue.yaml:4"}
    assert rows["max_concurrency"]["source"] == "metalogue.yaml:5"
    assert rows["max_connections"]["source"] == "default"


def test_the_command_line_beats_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALOGUE_LOG", "c.db")
    called = call("config", "show", "--json", "--log", "d.db")
    assert called.json["log"] == {"value": "d.db", "source": "--log"}


def test_a_file_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "other.yaml").write_text("policy: mc2\n")
    monkeypatch.setenv("METALOGUE_CONFIG", "other.yaml")
    assert load().policy == "mc2"
    monkeypatch.setenv("METALOGUE_CONFIG", "absent.yaml")
    called = call("config", "show")
    assert called.code == 5
    assert called.err.startswith(
        "METALOGUE_CONFIG: no such file: absent.yaml [config.missing, exit 5]"
    )


def test_settings_that_are_there_and_no_file_are_not_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "metalogue.yaml").mkdir()
    called = call("config", "show")
    assert (called.code, called.out) == (5, "")
    assert called.err.startswith("metalogue.yaml is no file [config.missing, exit 5]")
    (folder / "metalogue.yaml").rmdir()
    (folder / "metalogue.yaml").symlink_to("absent.yaml")
    assert call("config", "show").code == 5
    monkeypatch.setenv("METALOGUE_CONFIG", str(folder))
    assert call("config", "show").err.startswith(f"METALOGUE_CONFIG: {folder} is no file [config")


def test_nested_variables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALOGUE_KAFKA__SESSION_MS", "1234")
    assert load().kafka.session_ms == 1234
    assert shown()["kafka.session_ms"]["source"] == "METALOGUE_KAFKA__SESSION_MS"


UNKNOWN = [
    ("METALOGUE_POLCY", "METALOGUE_POLICY"),
    ("METALOGUE_KAFKA__SESSION", "METALOGUE_KAFKA__SESSION_MS"),
    ("METALOGUE_MAX_CONCURENCY", "METALOGUE_MAX_CONCURRENCY"),
]


@pytest.mark.parametrize(("name", "meant"), UNKNOWN)
def test_unknown_variables(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "1")
    called = call("config", "show")
    assert called.code == 5
    assert called.err == (
        f"{name}: no setting is called {name} [config.unknown, exit 5]\n  Did you mean {meant}?\n"
    )


def test_unknown_in_dotenv_and_yaml(folder: Path) -> None:
    (folder / ".env").write_text("\nMETALOGUE_LGO=a.db\n")
    assert call("config", "show").err.startswith(".env:2: METALOGUE_LGO: no setting is called")
    (folder / ".env").write_text("HARMLESS=1\n")
    (folder / "metalogue.yaml").write_text("policy: cot\nkafka:\n  sesion_ms: 3\n")
    called = call("config", "show")
    assert called.code == 5
    assert called.err == (
        "metalogue.yaml:3: kafka.sesion_ms: no setting is called kafka.sesion_ms"
        " [config.unknown, exit 5]\n  Did you mean kafka.session_ms?\n"
    )


def test_unknown_with_nothing_near_lists_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALOGUE_ZZZZZZ", "1")
    assert "There are METALOGUE_BACKBONE, " in call("config", "show").err


@pytest.mark.parametrize("level", ["debug", "INFO", "trace"])
def test_log_is_no_level(folder: Path, monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    monkeypatch.setenv("METALOGUE_LOG", level)
    called = call("consume")
    assert called.code == 5
    assert called.err.startswith(f"METALOGUE_LOG: {level!r}: this is a level")
    assert "sqlite:PATH" in called.err
    assert "--log-level" in called.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "metalogue.yaml:2:1: not YAML"),
        ("3", "metalogue.yaml:1: expected NAME: VALUE lines [config.syntax, exit 5]"),
        ("max_concurrency: 0", "metalogue.yaml:1: max_concurrency: '0': Input should be greater"),
        ("max_concurrency: many", "metalogue.yaml:1: max_concurrency: 'many': Input should be"),
        ("prices: {check: 1}", "metalogue.yaml:1: prices.check: '1': Input should be a valid"),
        ("prices: {a-5.1.x: 1}", "metalogue.yaml:1: prices.a-5.1.x: '1': Input should be a valid"),
    ],
)
def test_bad_files(folder: Path, text: str, message: str) -> None:
    (folder / "metalogue.yaml").write_text(text + "\n")
    called = call("config", "show")
    assert called.code == 5
    assert called.err.startswith(message)


def test_a_group_in_one_variable_is_a_json_object(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALOGUE_KAFKA", "foo")
    called = call("config", "show")
    assert called.code == 5
    assert called.err.startswith("METALOGUE_KAFKA: expected a JSON object [config.value, exit 5]\n")


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("policy: cot\n\npolicy: mc2\n", 3, "policy"),
        ("policy: cot\n'policy': cot\n", 2, "policy"),
        ("kafka:\n  group: a\n  group: b\n", 3, "group"),
        ("prices:\n  m: 1,2\nprices:\n  n: 1,2\n", 3, "prices"),
        ("prices: {m: '1,2', n: '1,2', m: '3,4'}\n", 1, "m"),
        ("prices: &all\n  m: 1,2\n  m: 2,3\nkafka: *all\n", 3, "m"),
        ("dashboard: [{a: 1, a: 2}]\n", 1, "a"),
    ],
)
def test_what_a_file_says_twice_is_refused_by_line_and_name(
    folder: Path, text: str, line: int, name: str
) -> None:
    """YAML's readers take the last in silence: which one is meant, nobody can say."""
    (folder / "metalogue.yaml").write_text(text)
    called = call("config", "show")
    assert called.code == 5
    place = f"metalogue.yaml:{line}: {name}: stands twice"
    assert called.err.startswith(f"{place} [config.twice, exit 5]\n"), called.err


def test_what_a_variable_says_twice_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALOGUE_PRICES", '{"m": "1,2", "m": "3,4"}')
    said = "METALOGUE_PRICES: m: stands twice [config.twice, exit 5]\n"
    assert call("config", "show").err.startswith(said)
    monkeypatch.delenv("METALOGUE_PRICES")
    (folder / ".env").write_text('# prices\nMETALOGUE_PRICES=\'{"m": "1,2", "m": "3,4"}\'\n')
    assert call("config", "show").err.startswith(".env:2: m: stands twice [config.twice, exit 5]\n")


def test_secrets_are_never_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("# keys\n\nOPENAI_API_KEY=sk-very-secret\n")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://ada:hidden@127.0.0.1:1/v1")
    monkeypatch.setenv("METALOGUE_BACKBONE", "openai:m?api_key=hidden2&seed=7")
    offers = {
        "one": "openai:m?api_key=hidden3",
        "two": "openai:m?base_url=http://u:hidden4@h/v1&token=hidden5",
    }
    monkeypatch.setenv("METALOGUE_OFFERS", json.dumps(offers))
    for called in (call("config", "show"), call("config", "show", "--json"), call("doctor")):
        assert "secret" not in called.out + called.err
        assert "hidden" not in called.out + called.err
    rows = shown()
    assert rows["OPENAI_API_KEY"] == {"value": "set", "source": ".env:3"}
    assert rows["OPENAI_BASE_URL"]["value"] == "http://***@127.0.0.1:1/v1"
    assert rows["OPENAI_MODEL"] == {"value": None, "source": "unset"}
    assert rows["backbone"]["value"] == "openai:m?api_key=***&seed=7"
    assert rows["offers"]["value"] == {
        "one": "openai:m?api_key=***",
        "two": "openai:m?base_url=http://***@h/v1&token=***",
    }


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("mcp:npx srv --api-key S3CRET", "mcp:npx ***"),
        ("mcp:npx", "mcp:npx"),
        ("mcp:https://ada:S3@h/mcp?sig=S3", "mcp:https://***@h/mcp?***"),
        ("https://h/v1?sig=S3&x=1", "https://h/v1?***"),
        ("https://u:S3/w@h/x", "https://***@h/x"),
        ("https://u:S3@S3?S3@h/x", "https://***@h/x"),
        ("kafka://h:9092", "kafka://h:9092"),
        ("corpus:papers?mode=text", "corpus:papers?mode=text"),
    ],
)
def test_no_argument_query_or_user_part_is_shown(value: str, told: str) -> None:
    """Any of them may be a key, whatever it is called."""
    assert masked("tools", value) == told


def test_endpoints_are_found_by_dotenv_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("OPENAI_MODEL=one\nOPENAI_API_KEY=k\n")
    monkeypatch.setenv("OPENAI_MODEL", "two")
    assert environment()["OPENAI_MODEL"] == "two"
    assert (place_of("OPENAI_MODEL"), place_of("OPENAI_API_KEY")) == ("environment", ".env:2")
    assert place_of("OPENAI_BASE_URL") is None


def test_errors_for_scripts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALOGUE_POLCY", "1")
    called = call("config", "show", "--json")
    error = json.loads(called.err)
    assert (error["error"], error["where"], error["exit"]) == (
        "config.unknown",
        "METALOGUE_POLCY",
        5,
    )


def test_it_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load()
    assert load() is first
    monkeypatch.setenv("METALOGUE_POLICY", "mc2")
    assert load().policy == "mc2"


def test_progress_is_shown_as_configured_unless_the_command_line_says_how(folder: Path) -> None:
    """The setting was checked and listed, and never read."""
    (folder / "metalogue.yaml").write_text("display: none\n")
    words = ("worker", "--backbone", "rehearsal", "--until-idle", "--no-tables", "--log", "a.db")
    call("produce", "game24:901", "--log", "a.db")
    assert "closed" not in call(*words).err
    call("produce", "game24:902", "--log", "a.db")
    assert "closed 2/2" in call(*words, "--display", "plain").err


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("policy: nobody", "policy.unknown"),
        ("prompts: none.yaml", "prompt.file"),
        ("price_list: none.yaml", "path"),
        ("tools: bogus", "usage"),
        ("backbone: bogus", "usage"),
    ],
)
def test_a_wrong_setting_is_told_at_its_place_and_not_as_an_option_that_nobody_gave(
    folder: Path, said: str, code: str
) -> None:
    (folder / "metalogue.yaml").write_text(f"{said}\n")
    name, _, value = said.partition(": ")
    chosen = () if name == "backbone" else ("--backbone", "rehearsal")
    words = ["worker", "--until-idle", "--log", "a.db", *chosen]
    called = call(*words)
    assert called.code == 5
    assert called.err.startswith(f"metalogue.yaml:1: {name}: ")
    assert f"[{code}, exit 5]" in called.err
    option = "prices" if name == "price_list" else name
    given = call(*words, f"--{option}", value)
    assert (given.code, given.err.startswith(f"--{option}: ")) == (2, True)


WRONG = "no backbone 'bogus'"


@pytest.mark.parametrize(
    ("yaml", "variables", "words", "code", "begins"),
    [
        ("offers:\n  mini: bogus\n", {}, (), 5, f"metalogue.yaml:2: offers.mini: {WRONG}"),
        (None, {"OFFERS": '{"mini": "bogus"}'}, (), 5, f"METALOGUE_OFFERS: offers.mini: {WRONG}"),
        (None, {"OFFERS__MINI": "bogus"}, (), 5, f"METALOGUE_OFFERS__MINI: {WRONG}"),
        (
            "offers:\n  mini: llamacpp:none\n",
            *({}, (), 5, "metalogue.yaml:2: offers.mini: none: no such file"),
        ),
        # Said on the command line it is told so, but only of the very name.
        ("offers: {mini: rehearsal}", {}, ("--offer", "mini=bogus"), 2, f"--offer mini: {WRONG}"),
        ("offers: {mini: rehearsal}", {}, ("--offer=mini=bogus",), 2, f"--offer mini: {WRONG}"),
        (
            "offers: {mini: bogus}",
            *({}, ("--offer", "big=rehearsal"), 5, f"metalogue.yaml:1: offers.mini: {WRONG}"),
        ),
    ],
)
def test_a_wrong_backbone_that_is_offered_is_told_where_it_was_said(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    yaml: str | None,
    variables: dict[str, str],
    words: tuple[str, ...],
    code: int,
    begins: str,
) -> None:
    if yaml is not None:
        (folder / "metalogue.yaml").write_text(yaml)
    for name, value in variables.items():
        monkeypatch.setenv(f"METALOGUE_{name}", value)
    asked = ("--backbone", "rehearsal", "--set", "backbone=mini", "--log", "a.db")
    done = call("solve", "1 + 2", *asked, *words)
    assert (done.code, done.err.startswith(begins)) == (code, True), done.err
