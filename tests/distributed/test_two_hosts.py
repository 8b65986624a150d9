"""Two hosts, made of network namespaces with a cable between them: torchrun meets across both, the ledgers are merged afterwards."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from whyloss import checks
from whyloss.diagnosis.examine import examine
from whyloss.sources.merging import merge

SCRIPTS = Path(__file__).parent / "scripts"
FREE = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")} | {"OMP_NUM_THREADS": "1"}
ADDRESSES = {"a": "10.213.7.1", "b": "10.213.7.2"}


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, timeout=20)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """host -> the words before a command that runs it there. Each has a name and an address of its own, and no way to the outside."""
    if not shutil.which("ip") or not shutil.which("unshare"):
        pytest.skip("two hosts are made with the programs ip and unshare, which are not here")
    spaces = {host: f"whyloss-{os.getpid()}-{host}" for host in ADDRESSES}
    try:
        for space in spaces.values():
            made = ip("netns", "add", space)
            if made.returncode:
                pytest.skip(f"network namespaces are not permitted here: {made.stderr.strip()}")
        ends = {host: f"wl-{os.getpid()}{host}" for host in ADDRESSES}
        cable = ip("link", "add", ends["a"], "netns", spaces["a"], "type", "veth", "peer", "name", ends["b"], "netns", spaces["b"])
        if cable.returncode:
            pytest.skip(f"no cable between two namespaces is permitted here: {cable.stderr.strip()}")
        for host, space in spaces.items():
            for words in (("addr", "add", f"{ADDRESSES[host]}/24", "dev", ends[host]), ("link", "set", ends[host], "up"),
                          ("link", "set", "lo", "up")):
                assert ip("-n", space, *words).returncode == 0
        names = tmp_path_factory.mktemp("etc") / "hosts"
        names.write_text("127.0.0.1 localhost\n" + "".join(f"{address} host-{host}\n" for host, address in ADDRESSES.items()))
        become = 'mount --bind "$1" /etc/hosts && hostname "$2" && shift 2 && exec "$@"'
        before = {host: ["ip", "netns", "exec", space, "unshare", "--uts", "--mount", "sh", "-c", become, "sh", str(names), f"host-{host}"]
                  for host, space in spaces.items()}
        tried = subprocess.run([*before["a"], "true"], capture_output=True, text=True)
        if tried.returncode:
            pytest.skip(f"a host name of its own is not permitted here: {tried.stderr.strip()}")
        yield before
    finally:
        for space in spaces.values():
            ip("netns", "del", space)


def on_both(hosts, folders, port, *command, **environment):
    """torchrun on each host, two ranks a host. -> what each printed on standard error"""
    running = {}
    for host, before in hosts.items():
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
                    "--rdzv-endpoint", f"{ADDRESSES['a']}:{port}", "--rdzv-id", "two-hosts", "--local-addr", ADDRESSES[host]]
        words = [str(word).replace("FOLDER", str(folders[host])) for word in command]
        environment |= {**FREE, "GLOO_SOCKET_IFNAME": f"wl-{os.getpid()}{host}"}
        with open(folders[host] / "stderr.txt", "w") as said:
            running[host] = subprocess.Popen([*before, *torchrun, *words], cwd=folders[host], stderr=said, stdout=subprocess.DEVNULL, env=environment)
    try:
        for process in running.values():
            process.wait(timeout=120)
    finally:
        for process in running.values():
            process.kill()
        said = {host: (folders[host] / "stderr.txt").read_text() for host in hosts}
    assert not any(process.returncode for process in running.values()), said
    return said


def findings(evidence):
    return [f for check in checks.ALL if check.stage == "ranks" for f in examine(check(), evidence).findings]


def test_ledgers_that_each_host_kept_for_itself_are_merged_afterwards(hosts, tmp_path):
    folders = {host: tmp_path / host for host in hosts}
    for folder in folders.values():
        for name in ("sharded-exact", "bypass"):
            (folder / name).mkdir(parents=True)
    on_both(hosts, folders, 29471, SCRIPTS / "monitored.py", "FOLDER", "sharded-exact", "bypass")
    for name in ("sharded-exact", "bypass"):
        assert [len(list((folders[host] / name).glob("*.db"))) for host in hosts] == [2, 2]
        (tmp_path / name).mkdir()
        for host in hosts:  # brought together, from wherever they lay
            shutil.copytree(folders[host] / name, tmp_path / name, dirs_exist_ok=True)

    merged, exact = merge(tmp_path / "sharded-exact"), json.loads((tmp_path / "sharded-exact" / "exact.json").read_text())
    assert merged.fact("ranks_merged")["ranks"] == 4 and findings(merged) == []
    for at, row in enumerate(exact["norms"]):
        assert merged.series("grad_norm").values[at] == pytest.approx(sum(numbers[0] ** 2 for numbers in row.values()) ** 0.5, rel=1e-5)
    assert [f.cause for f in findings(merge(tmp_path / "bypass"))] == ["gradients-not-reduced"]


def test_a_shared_folder_gives_the_first_host_the_report_on_both(hosts, tmp_path):
    folders = {host: tmp_path / host for host in hosts}
    for folder in folders.values():
        folder.mkdir()
    script = tmp_path / "train.py"
    text = (SCRIPTS / "replicas.py").read_text().split("if __name__")[0]
    text = text.replace('init_method=f"file://{folder}/meeting", rank=rank, world_size=2', "")
    script.write_text(text + 'train(int(os.environ["RANK"]), ".", "bypass")\n')
    said = on_both(hosts, folders, 29472, "-m", "whyloss", "run", "--no-experiments", "--report", "FOLDER/report.json", script,
                   WHYLOSS_RANKS=str(tmp_path / "shared"))

    report = json.loads(next(folder / "report.json" for folder in folders.values() if (folder / "report.json").exists()).read_text())
    assert report["findings"][0]["cause"] == "gradients-not-reduced" and "4 ranks train 4 models" in report["findings"][0]["message"]
    assert sum(text.count("whyloss found") for text in said.values()) == 1
    assert len(list((tmp_path / "shared").glob("rank-*.done"))) == 4
