"""`whyloss read`, called as people call it."""

import json
import math
import threading

import pytest
from click.testing import CliRunner

from whyloss.cli.follow import follow, stamp
from whyloss.cli.main import main


def call(*arguments):
    return CliRunner().invoke(main, ["read", *map(str, arguments)])


def overfit(path, epochs=60):
    rows = ["epoch,loss,val_loss"]
    for at in range(epochs):
        train = 2.3 * math.exp(-at / 8) + 0.02 * math.sin(7.0 * at)
        rows.append(f"{at},{train},{train + 0.2 + 0.02 * max(0, at - 15) + 0.01 * math.sin(5.0 * at)}")
    path.write_text("\n".join(rows) + "\n")
    return path


def falling(path, level=1.0, name="loss"):
    rows = [f"step,{name}", *(f"{at},{level * math.exp(-at / 10) + 0.01 * math.sin(3.0 * at + level)}" for at in range(80))]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_names_the_label_the_turning_point_and_the_next_check(tmp_path):
    done = call(overfit(tmp_path / "log.csv"))

    assert done.exit_code == 0
    assert "overfitting" in done.output and "epoch" in done.output and "whyloss run train.py" in done.output


def test_strict_turns_a_broken_run_into_status_1_and_a_sound_one_into_0(tmp_path):
    assert call(overfit(tmp_path / "a.csv"), "--strict").exit_code == 1
    assert call(falling(tmp_path / "b.csv"), "--strict").exit_code == 0


def test_json_is_strict_and_holds_label_step_and_verdict(tmp_path):
    log = tmp_path / "nan.csv"
    log.write_text("step,loss\n" + "\n".join(f"{at},{'nan' if at > 30 else 2.0 - 0.02 * at}" for at in range(60)) + "\n")

    told = json.loads(call(log, "--json").output, parse_constant=pytest.fail)

    assert told["runs"][0]["label"] == "non-finite" and told["runs"][0]["first_bad_step"] == 31 and told["runs"][0]["verdict"] == "fault"
    assert told["shown"][0]["advice"]["stage"] == "numerics"


def test_reads_a_folder_as_a_table_with_broken_runs_first(tmp_path):
    for at in range(8):
        falling(tmp_path / f"sound{at}.csv", level=1 + 0.1 * at)
    overfit(tmp_path / "worse.csv")

    done = call(tmp_path, "--report", tmp_path / "all.json")

    assert done.exit_code == 0 and "9 runs" in done.output
    assert json.loads((tmp_path / "all.json").read_text())["runs"][0]["id"].endswith("worse.csv")


def test_reads_many_logs_in_several_processes_as_in_one(tmp_path):
    for at in range(30):
        falling(tmp_path / f"{at}.csv", level=1 + at)

    one, several = (json.loads(call(tmp_path, "--json", "--jobs", jobs).output)["runs"] for jobs in (1, 2))

    assert len(one) == 30 and one == several


def test_an_unknown_column_is_wrong_usage_and_names_the_nearest(tmp_path):
    done = call(falling(tmp_path / "a.csv", name="train_loss"), "--loss", "trainloss2")

    assert done.exit_code == 2 and "train_loss" in done.output


def test_a_named_file_that_cannot_be_read_gives_status_2_and_the_others_are_read(tmp_path):
    junk = tmp_path / "junk.csv"
    junk.write_bytes(bytes(range(256)) * 40)

    done = call(junk, falling(tmp_path / "good.csv"))

    said = done.output.replace("\n", "")  # long paths are folded
    assert done.exit_code == 2 and "junk.csv" in said.replace(" ", "") and "good.csv" in said.replace(" ", "") and "Traceback" not in said


def test_nothing_there_is_said_with_status_2(tmp_path):
    assert call(tmp_path / "absent.csv").exit_code == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert call(empty).exit_code == 2


def test_a_report_that_cannot_be_written_does_not_hide_the_reading(tmp_path):
    done = call(falling(tmp_path / "a.csv"), "--report", tmp_path / "no" / "such" / "folder.json")

    assert done.exit_code == 0 and "was not written" in done.output + done.stderr


def test_follows_a_log_that_is_still_written(tmp_path, capsys):
    log = tmp_path / "live.csv"
    log.write_text("step,loss\n" + "\n".join(f"{at},{2 * math.exp(-at / 30)}" for at in range(60)) + "\n")

    def write_on():
        with log.open("a") as stream:
            stream.write("".join(f"{at},nan\n" for at in range(60, 80)))

    timer = threading.Timer(0.3, write_on)
    timer.start()
    status = follow((str(log),), {}, pause=0.2, looks=8, strict=True)
    timer.join()

    assert status == 1 and "became non-finite" in capsys.readouterr().out


def test_waits_for_a_log_that_is_not_there_yet(tmp_path, capsys):
    assert follow((str(tmp_path / "later.csv"),), {}, pause=0.05, looks=2) == 2
    assert "waiting" in capsys.readouterr().out


def test_a_pattern_is_followed_file_by_file(tmp_path):
    pattern = (str(tmp_path / "*.csv"),)
    falling(tmp_path / "a.csv")
    before = stamp(pattern)
    falling(tmp_path / "b.csv")

    assert before and stamp(pattern) != before
