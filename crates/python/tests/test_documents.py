"""The examples of the documents run as they stand there."""

import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
PAGES = [FOLDER / "README.md", FOLDER.parents[1] / "docs" / "columns.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page):
    examples = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, str(page), "exec"), {})
