"""The README tells the truth."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_prints_what_the_readme_says(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(code, {})  # noqa: S102 - our own README
    promised = re.findall(r"^# (.*)$", code, flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised


def test_both_commands_are_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\npip install . && sfumato compare\n" in text
    assert "\npip install '.[test]' && pytest\n" in text


def test_the_study_of_the_readme_runs(tmp_path):
    import sfumato as sf

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (study,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    result = sf.Study.read(tmp_path / "study.toml").run()
    assert [len(comparison.measured) for comparison in result.comparisons] == [40]


def test_the_readme_shows_what_the_bundled_comparison_prints(tmp_path):
    from click.testing import CliRunner

    from sfumato.commands import cli

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    runner = CliRunner(env={"COLUMNS": "100", "SFUMATO_CACHE": str(tmp_path)})
    printed = runner.invoke(cli, ["compare"]).output
    assert shown.splitlines()
    assert set(shown.splitlines()) <= {line.rstrip() for line in printed.splitlines()}
