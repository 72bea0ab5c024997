"""The example on clusters: Spark with two executors and Ray with two actors, behind their markers; the picture of it always."""

import json
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    "engine", [pytest.param("Spark", marks=pytest.mark.spark), pytest.param("Ray", marks=pytest.mark.ray)]
)
def test_the_example_runs(engine, tmp_path):
    figures = tmp_path / "figures.json"
    # It checks what each way has found, and that Spark has two executors.
    command = [sys.executable, str(EXAMPLES / "cluster.py"), engine.lower(), "3000", "--figures", str(figures)]
    subprocess.run(command, check=True, timeout=600)
    ways = json.loads(figures.read_text())[f"{engine}, 3,000 customers"]
    assert len(ways) == 3 and all(list(times) == ["tokenise", "join", "open"] for times in ways.values())


def test_the_picture_has_every_time(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import picture

    drawn = picture.drawn({"Ray & more": {"millstream": {"tokenise": 1.5, "open": 0.5}, "a loop": {"tokenise": 7.0, "open": 1.0}}})
    assert drawn.count("<rect") == 1 + 4 + 2
    assert all(words in drawn for words in ["Ray &amp; more: seconds", ">2.0<", ">8.0<", ">tokenise<"])
