"""The wheel holds what it should, under the names it should."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_only_our_names_reach_site_packages(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name.split("/")[0] for name in archive.namelist()}
    tops = {name for name in names if not name.endswith(".dist-info")}
    assert "sfumato" in tops
    assert all(top == "sfumato" or top.startswith("sfumato_") for top in tops)


def test_the_wheel_has_types_studies_and_entry_points(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (points,) = (name for name in names if name.endswith("entry_points.txt"))
        text = archive.read(points).decode()
    assert "sfumato/py.typed" in names
    assert "sfumato/comparison/default.toml" in names
    for file in ("page.html", "page.css", "figures.mplstyle"):
        assert f"sfumato/report/{file}" in names
    shipped = {path.name for path in (ROOT / "plugins").iterdir() if path.is_dir()}
    for package in shipped - {"__pycache__"}:
        assert f"= {package}" in text
        assert f"{package}/__init__.py" in names
