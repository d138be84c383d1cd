"""The cluster files: they agree with each other, and the same topology works as processes.

No container is started here. The commands of docker/compose.yaml run as plain processes on
loopback, with a temporary directory in the place of the shared volume; what Docker adds is the
image and the network.
"""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

BIN = Path(sys.executable).parent


def filled(text: str) -> str:
    """The text with each ${NAME:-default} replaced by its default, as compose does it."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


@pytest.fixture
def services(root: Path) -> dict[str, Any]:
    compose = yaml.safe_load(filled((root / "docker/compose.yaml").read_text()))
    return compose["services"]


@pytest.fixture
def dockerfile(root: Path) -> str:
    return (root / "docker/Dockerfile").read_text()


@pytest.fixture
def manifests(root: Path) -> dict[str, Any]:
    documents = yaml.safe_load_all((root / "docker/daskcluster.yaml").read_text())
    return {document["kind"]: document for document in documents}


@pytest.fixture
def pods(manifests: dict[str, Any]) -> dict[str, Any]:
    spec = manifests["DaskCluster"]["spec"]
    return {role: spec[role]["spec"] for role in ("scheduler", "worker")}


def options(command: str) -> dict[str, str]:
    """The `--name value` pairs of a command line."""
    return dict(re.findall(r"(--[\w-]+)\s+([^-\s]\S*)", command))


# -- the image -----------------------------------------------------------------------------------


def test_image_is_built_in_stages_and_runs_as_an_ordinary_user(dockerfile: str) -> None:
    stages = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    final = dockerfile[dockerfile.rindex("\nFROM ") :]
    assert stages == ["python:3.11-slim", "python:3.11-slim"]
    assert re.findall(r"^USER (\S+)", final, re.MULTILINE) == ["10001:10001"]
    assert "COPY --from=build" in final
    assert "HEALTHCHECK" in final
    assert "pip install" not in final


def test_image_gets_what_the_build_needs_and_no_data(root: Path, dockerfile: str) -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE)
    paths = [path.removeprefix("./") for line in copied for path in line.split()]
    ignore = (root / "docker/Dockerfile.dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in ignore if line.startswith("!")}
    assert "*" in ignore
    assert set(paths) == allowed
    assert all((root / path).exists() for path in paths)


# -- compose -------------------------------------------------------------------------------------


def test_every_service_has_the_same_image_user_and_volume(services: dict[str, Any]) -> None:
    assert set(services) == {"scheduler", "worker", "cli"}
    for key in ("image", "user", "volumes", "working_dir"):
        assert len({str(service[key]) for service in services.values()}) == 1, key
    assert services["cli"]["volumes"] == ["data:/data"]
    assert services["cli"]["working_dir"] == "/data"


def test_image_has_the_version_of_the_package(
    root: Path, services: dict[str, Any], pods: dict[str, Any]
) -> None:
    version = re.search(r'^version = "(.+)"', (root / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    images = {service["image"] for service in services.values()}
    images |= {pod["containers"][0]["image"] for pod in pods.values()}
    assert images == {f"dask-anon:{version[1]}"}


def test_workers_call_the_scheduler_where_it_listens(services: dict[str, Any]) -> None:
    address = re.search(r"tcp://(\w+):(\d+)", services["worker"]["command"])
    assert address
    assert address[1] in services
    assert options(services["scheduler"]["command"])["--port"] == address[2]


def test_health_is_asked_where_the_dashboards_listen(
    services: dict[str, Any], dockerfile: str
) -> None:
    asked = re.search(r"http://127\.0\.0\.1(:\d+)/health", dockerfile)
    assert asked
    for name in ("scheduler", "worker"):
        assert options(services[name]["command"])["--dashboard-address"] == asked[1]
    assert services["cli"]["healthcheck"] == {"disable": True}
    assert services["worker"]["depends_on"]["scheduler"]["condition"] == "service_healthy"


def test_no_port_is_open_to_other_machines(services: dict[str, Any]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_number_of_workers_is_a_setting(root: Path, services: dict[str, Any]) -> None:
    assert "replicas: ${WORKERS:-2}" in (root / "docker/compose.yaml").read_text()
    assert services["worker"]["deploy"]["replicas"] == 2
    assert services["cli"]["profiles"] == ["cli"]


# -- Kubernetes ----------------------------------------------------------------------------------


def test_daskcluster_mounts_the_shared_claim_everywhere(
    manifests: dict[str, Any], pods: dict[str, Any]
) -> None:
    claim = manifests["PersistentVolumeClaim"]
    assert manifests["DaskCluster"]["apiVersion"] == "kubernetes.dask.org/v1"
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for pod in pods.values():
        (volume,) = pod["volumes"]
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert pod["containers"][0]["volumeMounts"] == [
            {"name": volume["name"], "mountPath": "/data"}
        ]
        assert pod["securityContext"]["runAsUser"] == 10001


def test_daskcluster_probes_and_service_name_ports_that_exist(
    manifests: dict[str, Any], pods: dict[str, Any]
) -> None:
    for pod in pods.values():
        container = pod["containers"][0]
        ports = {port["name"] for port in container["ports"]}
        probes = [container[key] for key in ("livenessProbe", "readinessProbe") if key in container]
        assert probes
        assert {probe["httpGet"]["port"] for probe in probes} <= ports
    cluster = manifests["DaskCluster"]
    service = cluster["spec"]["scheduler"]["service"]
    assert service["selector"]["dask.org/cluster-name"] == cluster["metadata"]["name"]
    assert {port["targetPort"] for port in service["ports"]} == {
        port["name"] for port in pods["scheduler"]["containers"][0]["ports"]
    }


# -- the same topology as processes --------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def on_loopback(command: str, port: int, data: Path) -> list[str]:
    """A service's command with the network of the containers replaced by loopback."""
    command = command.replace("tcp://scheduler:8786", f"tcp://127.0.0.1:{port}")
    command = command.replace("--port 8786", f"--host 127.0.0.1 --port {port}")
    command = command.replace("--dashboard-address :8787", "--dashboard-address 127.0.0.1:0")
    command = command.replace("--local-directory /tmp", f"--local-directory {data / 'spill'}")
    program, *arguments = shlex.split(command)
    return [str(BIN / program), *arguments]


@contextmanager
def process(command: list[str], directory: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as sink:
        running = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        )
        try:
            yield running
        finally:
            running.terminate()
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


@pytest.fixture
def cluster(services: dict[str, Any], tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Address and directory of a scheduler and two workers, started as compose starts them."""
    from distributed import Client

    data = tmp_path / "data"
    data.mkdir()
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    names = ["scheduler"] + ["worker"] * services["worker"]["deploy"]["replicas"]
    with ExitStack() as stack:
        for number, name in enumerate(names):
            command = on_loopback(services[name]["command"], port, tmp_path)
            stack.enter_context(process(command, data, tmp_path / f"{number}-{name}.log"))
        with Client(address, timeout=60) as client:
            client.wait_for_workers(len(names) - 1, timeout=60)
        yield address, data


def dask_anon(*arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / "dask-anon"), *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_health_answers_where_the_image_asks(tmp_path: Path) -> None:
    import urllib.request

    port, dashboard = free_port(), free_port()
    command = f"dask scheduler --host 127.0.0.1 --port {port} --dashboard-address :{dashboard}"
    program, *arguments = shlex.split(command)
    log = tmp_path / "scheduler.log"
    with process([str(BIN / program), *arguments], tmp_path, log) as running:
        deadline = time.monotonic() + 60
        while True:
            try:
                url = f"http://127.0.0.1:{dashboard}/health"
                with urllib.request.urlopen(url, timeout=4) as answer:
                    assert answer.status == 200
                    break
            except OSError:
                assert running.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)


def test_compose_topology_makes_a_verified_release(cluster: tuple[str, Path]) -> None:
    address, data = cluster
    pieces = data / "people"
    pieces.mkdir()
    table = pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(1000)],
            "age": [20 + (i * 37) % 60 for i in range(1000)],
            "zip": [f"{(i * 7919) % 300:05d}" for i in range(1000)],
            "diagnosis": [["flu", "asthma", "angina"][i % 3] for i in range(1000)],
        }
    )
    for i in range(4):
        table[i::4].to_parquet(pieces / f"part-{i}.parquet", index=False)
    (data / "policy.yaml").write_text(
        "version: 1\n"
        "columns:\n"
        "  name: {role: identifier}\n"
        "  age: {role: quasi-identifier}\n"
        "  zip: {role: quasi-identifier}\n"
        "  diagnosis: {role: sensitive}\n"
        "privacy:\n"
        "  - {model: k-anonymity, k: 10}\n"
        f"input: {{path: {pieces}/*.parquet}}\n"
        f"output: {{path: {data}/release/}}\n"
    )

    run = dask_anon("run", "policy.yaml", "--scheduler", address, directory=data)
    assert run.returncode == 0, run.stderr
    verify = dask_anon("verify", "release", directory=data)
    assert verify.returncode == 0, verify.stderr

    released = pd.read_parquet(data / "release" / "data")
    assert list(released.columns) == ["age", "zip", "diagnosis"]
    assert len(released) == len(table)
    assert released.groupby(["age", "zip"], dropna=False).size().min() >= 10
    assert {path.name for path in data.iterdir()} == {
        "people",
        "policy.yaml",
        "release",
        "release.recoding",
    }
