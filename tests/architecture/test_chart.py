"""Compose and chart by the schemas of those who read them: Helm itself renders, Kubernetes and Compose say what fits.

`make chart` installs what looks: Helm's own library, Kubernetes' schemas, a parser of Compose.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
import yaml

from tests.architecture.test_alerts import rules
from tests.architecture.test_deploy import CHART, COMPOSE, read, understood
from tests.streams.telemetry.test_metrics import misuses

TOOLS = ("helm_python", "kubernetes_validate", "compose_spec")
needs_tools = pytest.mark.skipif(
    any(find_spec(name) is None for name in TOOLS) and not os.environ.get("CI"),
    reason="no tools for charts here: make chart",
)
pytestmark = [pytest.mark.slow]
"""Not on every Python: what looks is installed for one."""
OLDEST, NEWEST = "1.27", "1.37"
EVERYTHING: dict[str, Any] = {
    "log": "kafka://one:9092,two:9092/team",
    "dashboard": {"enabled": True, "allowedHosts": ["pages.example"]},
    "door": {
        "enabled": True,
        "tokens": {"secret": "guests"},
        "policies": ["mc2", "cot"],
        "allowedHosts": ["answers.example"],
        "allowedOrigins": ["https://pages.example"],
    },
    "topics": {"replicas": 3, "minIsr": 2},
    "worker": {"storage": ""},
    "keda": {"enabled": True, "prometheus": "http://prometheus:9090", "selector": 'job="team"'},
    "secrets": ["openai"],
    "environment": {"METALOGUE_RETRY_S": "3"},
}
LEAST: dict[str, Any] = {"projector": {"enabled": False}, "createTopics": False}


def rendered(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that Helm makes of the chart."""
    helm: Any = import_module("helm_python")
    with helm.Chart.load(str(CHART)) as chart:
        made = chart.render(values, name="release", namespace="default")
    return [each for text in made.values() for each in yaml.safe_load_all(text) if each]


def of(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = (o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name))
    return found


def wrong(manifest: dict[str, Any], version: str) -> str | None:
    """What Kubernetes' schema of a version says against an object; unknown fields too."""
    kubernetes: Any = import_module("kubernetes_validate")
    try:
        kubernetes.validate(manifest, version, strict=True)
    except kubernetes.ValidationError as error:
        return f"{manifest['kind']}: {error.message}"
    return None


@needs_tools
def test_helm_finds_no_fault_in_the_chart() -> None:
    helm: Any = import_module("helm_python")
    found = helm.lint(str(CHART))
    assert found["errors"] == []
    assert [each for each in found["messages"] if "icon" not in each["error"]] == []


@needs_tools
@pytest.mark.parametrize("values", [{}, EVERYTHING, LEAST], ids=["as it is", "everything", "least"])
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_kubernetes_takes_what_the_chart_makes(values: dict[str, Any], version: str) -> None:
    objects = [each for each in rendered(values) if not each["apiVersion"].startswith("keda.sh/")]
    assert len(objects) >= 3
    assert [said for each in objects if (said := wrong(each, version))] == []
    misspelt = of(objects, "StatefulSet", "release-worker")
    misspelt["spec"]["podManagmentPolicy"] = "Parallel"
    assert "podManagmentPolicy" in (wrong(misspelt, version) or "")


@needs_tools
def test_the_chart_runs_commands_of_ours() -> None:
    objects = rendered(EVERYTHING)
    commands = {each["metadata"]["name"]: args for each in objects for args in arguments(each)}
    names = {"topics", "worker", "projector", "dashboard", "door"}
    assert set(commands) == {f"release-{name}" for name in names}
    assert [words for words in commands.values() if not understood(words)] == []
    assert commands["release-topics"][-4:] == ["--replicas", "3", "--min-isr", "2"]


def arguments(made: dict[str, Any]) -> Iterator[list[str]]:
    """The arguments of the containers of a Kubernetes object."""
    template = made.get("spec", {}).get("template", {})
    for container in template.get("spec", {}).get("containers", ()):
        yield container["args"]


@needs_tools
def test_workers_keep_their_index_and_go_one_by_one() -> None:
    objects = rendered({})
    worker, budget = (
        of(objects, kind, "release-worker") for kind in ("StatefulSet", "PodDisruptionBudget")
    )
    (claim,) = worker["spec"]["volumeClaimTemplates"]
    (home,) = (
        each["name"]
        for each in worker["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
        if each["mountPath"] == "/var/lib/metalogue"
    )
    assert claim["metadata"]["name"] == home
    assert budget["spec"]["maxUnavailable"] == 1
    chosen = budget["spec"]["selector"]["matchLabels"]
    assert chosen.items() <= worker["spec"]["template"]["metadata"]["labels"].items()
    assert of(objects, "Service", worker["spec"]["serviceName"])["spec"]["clusterIP"] == "None"
    without = of(rendered({"worker": {"storage": ""}}), "StatefulSet", "release-worker")
    assert "volumeClaimTemplates" not in without["spec"]
    assert {"name": "home", "emptyDir": {}} in without["spec"]["template"]["spec"]["volumes"]


@needs_tools
def test_doors_let_in_whom_a_secret_names_and_are_probed_beside_their_service() -> None:
    door, service = (of(rendered(EVERYTHING), k, "release-door") for k in ("Deployment", "Service"))
    pod = door["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert service["spec"]["ports"][0]["targetPort"] == "http"
    probes = {container[f"{each}Probe"]["httpGet"]["port"] for each in ("liveness", "readiness")}
    assert probes == {"web"}
    args = container["args"]
    assert args[args.index("--metrics") + 1] == f"0.0.0.0:{ports['web']}"
    assert args[args.index("--listen") + 1] == f"0.0.0.0:{ports['http']}"
    (mounted,) = (each for each in container["volumeMounts"] if each["name"] == "tokens")
    assert args[args.index("--tokens") + 1].startswith(mounted["mountPath"])
    assert {"name": "tokens", "secret": {"secretName": "guests"}} in pod["volumes"]
    with pytest.raises(Exception, match=r"door\.tokens\.secret"):
        rendered({"door": {"enabled": True}})


@needs_tools
def test_keda_scales_on_what_waits_and_on_what_is_under_way() -> None:
    objects = rendered(EVERYTHING)
    spec = of(objects, "ScaledObject", "release-worker")["spec"]
    assert (spec["scaleTargetRef"]["kind"], spec["maxReplicaCount"]) == ("StatefulSet", 16)
    work, lag = spec["triggers"]
    assert misuses(work["metadata"]["query"]) == []
    assert work["metadata"]["query"].count('job="team"') == 3
    assert work["metadata"]["threshold"] == "256"
    assert lag["metadata"]["topic"] == "team.metalogue.problems.v1"
    assert lag["metadata"]["consumerGroup"] == "team.metalogue"
    worker = of(objects, "StatefulSet", "release-worker")["spec"]["template"]["spec"]
    held = {each["name"]: each["value"] for each in worker["containers"][0]["env"]}
    assert held["METALOGUE_KAFKA__MAX_READY"] == lag["metadata"]["lagThreshold"] == "200"
    (alone,) = of(rendered({"keda": {"enabled": True}}), "ScaledObject", "release-worker")["spec"][
        "triggers"
    ]
    assert alone["type"] == "kafka"
    assert "authenticationRef" not in alone


@needs_tools
def test_keda_asks_brokers_that_want_a_login_with_one() -> None:
    """By parameters of its Kafka trigger, which takes a name and a password from nowhere else."""
    login: dict[str, Any] = {
        "secret": "brokers",
        "keys": ["sasl", "username", "password", "tls", "ca"],
    }
    objects = rendered({"keda": {"enabled": True, "login": login}})
    (lag,) = of(objects, "ScaledObject", "release-worker")["spec"]["triggers"]
    given = of(objects, "TriggerAuthentication", lag["authenticationRef"]["name"])
    held = {each["parameter"]: each for each in given["spec"]["secretTargetRef"]}
    assert set(held) == set(login["keys"])
    assert held["username"] == {"parameter": "username", "name": "brokers", "key": "username"}
    with pytest.raises(Exception, match=r"keda/login/keys/0.*password"):
        rendered({"keda": {"enabled": True, "login": {"secret": "s", "keys": ["pasword"]}}})


@needs_tools
def test_compose_takes_the_file() -> None:
    compose: Any = import_module("compose_spec")
    # As Compose fills it in where nothing is set.
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", COMPOSE.read_text(encoding="utf-8"))
    said: dict[str, Any] = yaml.safe_load(text)
    found = compose.PyCompose.from_json(json.dumps(said))
    assert set(found.service_names()) == {
        *("kafka", "topics", "worker", "projector", "dashboard", "door")
    }
    said["services"]["worker"]["restrat"] = "always"
    with pytest.raises(ValueError, match="restrat"):
        compose.PyCompose.from_json(json.dumps(said))


def test_compose_names_services_and_volumes_that_are_there() -> None:
    said = read(COMPOSE)
    for name, service in said["services"].items():
        assert set(service.get("depends_on", ())) <= set(said["services"]), name
        volumes = {each.partition(":")[0] for each in service.get("volumes", ())}
        named = {each for each in volumes if not each.startswith("${")}  # a file of the host
        assert named <= set(said["volumes"]), name
    assert {"workers", "tables", "pages", "doors", "kafka"} == set(said["volumes"])


def test_the_lag_that_is_scaled_on_is_the_one_that_alerts_look_at() -> None:
    query = (CHART / "templates" / "keda.yaml").read_text(encoding="utf-8")
    assert 'metalogue_partition_lag{topic="problems"' in query
    assert any('metalogue_partition_lag{topic="problems"}' in rule["expr"] for rule in rules())
