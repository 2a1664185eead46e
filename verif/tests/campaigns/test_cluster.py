"""Campaigns on a Dask scheduler: each gives its whole result although one of two workers is killed under it."""

import gc
import os
import signal
import socket
import ssl
import time
from contextlib import contextmanager
from threading import Event, Thread

import psutil
import pytest
from rich.console import Console

from bitpath.golden.arrays.parallel import THREADS
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.agreement import REFERENCE, agreements
from bitpath.sim.campaigns.coverage import load_all, measure
from bitpath.sim.campaigns.formal import prove
from bitpath.sim.campaigns.mutation.sweep import chosen, sweep
from bitpath.sim.campaigns.mutation.verdicts import journal_file
from bitpath.sim.campaigns.volume import TASKS, run_task
from bitpath.sim.engine import cache, cluster
from bitpath.sim.engine.cluster import Cluster, Piece, finished, tell
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.study.bench_simulation import MEASURED, scaling_records
from bitpath.sim.study.explore import error_of, explore
from bitpath.sim.study.explore import sweep as points_of
from bitpath.sim.study.synth import Design, Flow, YardstickConfig, synth_records
from bitpath.verif.properties import PROPERTIES


def agree(place):
    found = dict(agreements(["ups", "element_map"], engines=("verilator",), steps=5, seed=0, cluster=place))
    assert {unit: each.engines for unit, each in found.items()} == dict.fromkeys(
        ("ups", "element_map"), (REFERENCE, "verilator")
    )


def bench(place):
    records = list(scaling_records([(4, 4), (8, 8)], place))
    assert len({record["name"] for record in records}) == len(records) == 2 * len(MEASURED)
    assert all(record["value"] > 0 for record in records)


def coverage(place):
    pieces = [Piece(unit, unit, measure, (unit, UNITS[unit].covered, load_all())) for unit in ("element_map", "ups")]
    records = [each.result().record for each in finished(pieces, place)]
    assert {record["unit"]: record["functional_percent"] for record in records} == {"element_map": 100, "ups": 100}


def deep(place):
    task = TASKS["sweep-e2m1-dots"]
    record = run_task(task, vectors=1, seed=0, blocks=4, cluster=place)
    assert (record["vectors"], record["mismatches"]) == (4 * task.block_vectors, 0)


def exploration(place):
    points = points_of("trainium3")[:4]
    records = explore(points, ["layer"], shape="4x128x4", cluster=place)
    assert [record["error"] for record in records] == [error_of(point, "layer", "4x128x4") for point in points]


def formal(place):
    proofs, failures = prove([PROPERTIES[name] for name in ("align_4_to_7_sticky", "delay_2")], 100, place)
    assert ([proof.good for proof in proofs], failures) == ([True, True], [])


def mutation(place):
    failures = []
    names = ["golden/tensix/exact/fma", "golden/tensix/operands/registers"]
    tasks = chosen(names, everything=False, golden=False)
    records = list(sweep(tasks, 1, 1, Console(quiet=True), failures, place))
    assert failures == []
    assert {record["target"]: record["mutants"] for record in records} == {f"{name}.py": 1 for name in names}
    # The verdicts come back from the workers' folders.
    assert {line["target"] for line in cache.read(journal_file()) if line.get("verdict")} == {
        f"{name}.py" for name in names
    }


def synthesis(place):
    designs = [Design(f"{bits}", "yardstick", YardstickConfig(count=1, a_bits=bits, b_bits=2)) for bits in (2, 3, 4)]
    areas = {index: record["ge_area"] for index, record in synth_records(designs, Flow.of(None), place)}
    assert 0 < areas[0] < areas[1] < areas[2]


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Two workers with a folder of their own, as on another machine."""
    from distributed import LocalCluster

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("workers"))
        patch.setenv(THREADS, "1")
        with LocalCluster(n_workers=2, **cluster.LOCAL) as own:
            yield own


@contextmanager
def one_worker_killed(local):
    """Kill the first worker that has a piece, and check that it happened during the block."""
    ended, killed = Event(), []

    def kill():
        while not ended.wait(0.002):
            # The scheduler's thread changes its tables.
            for name, own in list(local.workers.items()):
                state = local.scheduler.workers.get(own.worker_address)
                if state is not None and state.processing:
                    os.kill(local.workers[name].pid, signal.SIGKILL)
                    killed.append(name)
                    return

    killer = Thread(target=kill)
    killer.start()
    try:
        yield
        assert killed
    finally:
        ended.set()
        killer.join()


DEEP = (agree, bench, coverage, formal, mutation, synthesis)
"""Campaigns that build designs, or need solvers; the cluster's part is the same in all."""


@pytest.mark.simulator
@pytest.mark.parametrize(
    "campaign",
    [*(pytest.param(each, marks=pytest.mark.deep) for each in (*DEEP, deep)), exploration],
    ids=lambda each: each.__name__,
)
def test_a_campaign_is_whole_although_a_worker_is_killed(campaign, local, elsewhere):
    with one_worker_killed(local):
        campaign(Cluster(local.scheduler_address))


def test_pieces_tell_what_they_do(in_process, elsewhere):
    told = []
    found = [each.result() for each in finished([Piece(0, "a", tell, ("half done",))], told=told.append)]
    deadline = time.monotonic() + 30
    while not told and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (found, told) == ([None], ["half done"])


STAY = """
import os, time
(folder / f"worker {os.getpid()}").touch()
while not (folder / "done").exists():
    time.sleep(0.05)
"""
"""A piece that stays until the strangers have been there; workers cannot import this file."""


def listening(process):
    """Return the addresses where a process and its descendants listen."""
    return {
        (each.laddr.ip, each.laddr.port)
        for one in (process, *process.children(recursive=True))
        for each in one.net_connections("inet")
        if each.status == "LISTEN"
    }


def answer(address, context, request):
    """Return a server's answer to a request, in TLS if a context is given; nothing if the server ends the
    connection."""
    with socket.create_connection(address, timeout=10) as plain:
        try:
            with context.wrap_socket(plain) if context else plain as connection:
                connection.sendall(request)
                return connection.recv(1 << 10)
        except (ConnectionError, ssl.SSLError):
            return b""


PAGES = ("/", "/info/main/workers.html", "/json/counts.json", "/metrics", "/health", "/proxy/80/127.0.0.1/", "/status")


def test_strangers_run_nothing_on_the_workers_of_this_machine(elsewhere, tmp_path):
    """They reach the ports, as every user of the machine does: without TLS, without a certificate, and with another one."""
    from distributed import Client
    from distributed.security import Security

    stranger = Security.temporary()
    unknown = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unknown.check_hostname, unknown.verify_mode = False, ssl.CERT_NONE
    known = stranger.get_connection_args("client")["ssl_context"]
    known.check_hostname, known.verify_mode = False, ssl.CERT_NONE
    before = listening(psutil.Process())
    pieces = finished([Piece(0, "a", exec, (STAY, {"folder": tmp_path}))])
    campaign = Thread(target=list, args=(pieces,))
    campaign.start()
    try:
        while not (workers := list(tmp_path.glob("worker *"))) and campaign.is_alive():
            time.sleep(0.05)
        assert [each.name for each in workers] != [f"worker {os.getpid()}"]
        addresses = listening(psutil.Process()) - before
        # The workers' and the scheduler's port, the nannies' and two HTTP servers.
        assert len(addresses) >= 4
        assert {host for host, _ in addresses} == {"127.0.0.1"}
        pages = {
            each: [answer(each, None, f"GET {page} HTTP/1.0\r\n\r\n".encode()) for page in PAGES] for each in addresses
        }
        closed = {each for each, answers in pages.items() if not any(answers)}
        assert {each[:12] for answers in pages.values() for each in answers} == {b"", b"HTTP/1.1 404"}
        assert len(addresses - closed) == 2
        for each in closed:
            assert [answer(each, context, bytes(64)) for context in (None, unknown, known)] == [b""] * 3
        for address in closed:
            for scheme, security in (("tcp", None), ("tls", stranger)):
                with pytest.raises((OSError, ValueError)):
                    Client(f"{scheme}://{address[0]}:{address[1]}", security=security, timeout=0.5)
    finally:
        (tmp_path / "done").touch()
        campaign.join()
    gc.collect()


def test_no_pieces_need_no_workers(monkeypatch):
    monkeypatch.setattr(cluster, "_client", None)
    assert list(finished([])) == []


def test_a_worker_of_another_version_is_refused(in_process, elsewhere, monkeypatch):
    digests = iter(["of the client", "of the worker"])
    monkeypatch.setattr(cluster, "sources", lambda: next(digests))
    (found,) = finished([Piece(0, "a", print, ())])
    with pytest.raises(
        SimulationError, match="the sources have changed, or this worker has another version of bitpath"
    ):
        found.result()


@pytest.mark.parametrize(
    ("address", "status", "says"),
    [
        ("tcp://127.0.0.1:9", 1, "--scheduler: tcp://127.0.0.1:9 does not answer, or has no worker"),
        ("nonsense", 2, "missing port number in address 'nonsense'"),
    ],
)
def test_a_scheduler_that_is_not_there_is_one_sentence(bitpath, monkeypatch, address, status, says):
    monkeypatch.setattr(cluster, "WORKER_SECONDS", 1)
    got, _, err = bitpath("explore", "--no-area", "--slice", "4x128x4", "--scheduler", address)
    assert (got, err.splitlines()[-1]) == (status, f"bitpath: {says}")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense"])
def test_a_client_that_fails_is_gone(monkeypatch, address):
    """One that the garbage collector closes while another one starts waits for it without end."""
    from distributed import Client

    monkeypatch.setattr(cluster, "WORKER_SECONDS", 1)
    before = {id(each) for each in gc.get_objects() if issubclass(type(each), Client)}
    with pytest.raises((SimulationError, ValueError)):
        next(finished([Piece(0, "a", print, ())], Cluster(address)))
    assert not [each for each in gc.get_objects() if issubclass(type(each), Client) and id(each) not in before]


def test_a_scheduler_without_a_worker_is_the_same_sentence(elsewhere, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(cluster, "WORKER_SECONDS", 1)
    with (
        LocalCluster(n_workers=0, **cluster.LOCAL) as own,
        pytest.raises(SimulationError, match="does not answer, or has no worker"),
    ):
        next(finished([Piece(0, "a", print, ())], Cluster(own.scheduler_address)))


def test_local_workers_are_not_asked_for_beside_a_scheduler(bitpath):
    status, _, err = bitpath("explore", "--scheduler", "tcp://127.0.0.1:9", "--workers", "2")
    assert (status, err) == (2, "bitpath: --scheduler and --workers go one at a time\n")


def test_a_scheduler_that_ends_is_one_sentence(elsewhere):
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, **cluster.LOCAL) as own:
        for each in finished(
            [Piece(n, f"piece {n}", time.sleep, (1000 * n,)) for n in (0, 1)], Cluster(own.scheduler_address)
        ):
            if each.piece.key == 0:
                Thread(target=own.close).start()
        with pytest.raises(
            SimulationError, match=r"^piece 1: the scheduler has ended; what is complete is kept, run it again"
        ):
            each.result()


@pytest.mark.deep
def test_a_worker_that_dies_is_one_sentence(elsewhere):
    (found,) = finished([Piece(0, "work", os.abort, ())])
    with pytest.raises(SimulationError, match=r"^work: a worker died twice, perhaps for want of memory"):
        found.result()
