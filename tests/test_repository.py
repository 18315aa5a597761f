"""What a stranger relies on before reading any code: the recipe, the lock, the licences, the layers."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
import zstandard
from importlinter.cli import lint_imports

import artifact
from artifact import paths
from artifact.log.records import SCHEMA

ROOT = paths.ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = ROOT / "run_all.sh"

# Applications: they are started, not imported.
STARTED_NOT_IMPORTED = {"editables", "hatchling", "ipykernel", "jupyterlab", "mypy", "nbval", "ruff", "vllm"}
IMPORTED_AS = {"import-linter": "importlinter", "pyyaml": "yaml"}


def _name(requirement: str) -> str:
    return re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0].lower()


def _ours() -> list[Path]:
    """Files under version control or about to be."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT,
                            capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git checkout, so which files belong to it can't be told")
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in files if path.is_file()]


def _text(path: Path) -> str:
    """The content as text: unpacked where it is packed, empty where it is a picture."""
    if path.suffix in {".pdf", ".png"}:
        return ""
    if path.suffix == ".zst":
        with path.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as plain:
            return plain.read().decode()
    return path.read_text(encoding="utf-8")


def test_a_room_imports_only_from_the_rooms_before_it() -> None:
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True) == 0


def test_readme_is_short_and_its_first_two_commands_are_the_recipes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 120
    first_block = readme.split("```")[1].strip().splitlines()
    assert [line.split("#")[0].strip() for line in first_block] == ["./run_all.sh", "./run_all.sh test"]


def test_every_file_that_readme_and_artifact_name_exists() -> None:
    for page in ("README.md", "ARTIFACT.md", "data/README.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        named = {name for name in re.findall(r"`([\w./-]*/[\w./-]*)`", text) if not name.startswith("runs/")}
        assert named
        missing = sorted(name for name in named if not (ROOT / name).exists())
        assert not missing, f"{page} names {', '.join(missing)}"


@pytest.mark.parametrize("script", ["run_all.sh", ".ci/run"])
def test_scripts_can_be_run_and_parse(script: str) -> None:
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", str(path)], check=False).returncode == 0


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["everything"], "there is no mode 'everything'"),
    (["test", "--fast"], "'test' takes no options"),
    (["full"], "set ARTIFACT_MODEL"),
])
def test_a_bad_request_to_the_recipe_is_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ARTIFACT_MODEL", raising=False)
    done = subprocess.run(["bash", str(RECIPE), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


def test_ci_runs_the_readmes_test_command() -> None:
    commands = [line for line in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines() if "run_all" in line]
    assert commands == ["exec ./run_all.sh test"]


def test_every_pin_of_the_lock_has_a_hash_and_no_address() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^ \n]+)((?:[^\n]*\\\n)+[^\n]*)", lock, flags=re.MULTILINE)
    wanted = [line for line in lock.splitlines() if line and not line.startswith(("#", " "))]
    assert len(pins) == len(wanted)
    for name, _, rest in pins:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", rest), f"{name} has no hash"
    assert "://" not in lock
    assert "--index" not in lock


def test_the_lock_holds_what_the_package_its_notebooks_and_its_tests_ask_for() -> None:
    pinned = {_name(line) for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
              if line and not line.startswith(("#", " "))}
    extras = PROJECT["project"]["optional-dependencies"]
    asked = {_name(r) for r in (*PROJECT["project"]["dependencies"], *extras["notebooks"], *extras["dev"],
                                *PROJECT["build-system"]["requires"])}
    assert asked <= pinned


@pytest.mark.parametrize(("group", "folders"), [
    ("dependencies", ["src"]), ("notebooks", ["src", "notebooks", "tests"]), ("dev", ["tests"]),
])
def test_every_dependency_is_used(group: str, folders: list[str]) -> None:
    project = PROJECT["project"]
    requirements = project["dependencies"] if group == "dependencies" else project["optional-dependencies"][group]
    code = "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py"))
    for name in {_name(r) for r in requirements} - STARTED_NOT_IMPORTED:
        module = IMPORTED_AS.get(name, name.replace("-", "_"))
        assert re.search(rf"^\s*(?:import|from) {module}\b", code, flags=re.MULTILINE), f"nothing imports {name}"


def test_the_researchers_environment_installs_the_package_with_every_extra() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["channels"] == ["conda-forge"]
    conda = [d for d in environment["dependencies"] if isinstance(d, str)]
    (by_pip,) = [d["pip"] for d in environment["dependencies"] if isinstance(d, dict)]
    assert {"pip", "tectonic"} <= {_name(d) for d in conda}
    (python,) = [d for d in conda if d.startswith("python=")]
    assert tuple(map(int, python.removeprefix("python=").split("."))) >= (3, 11)
    (package,) = re.findall(r"^--editable \.\[(.*)\]$", "\n".join(by_pip), flags=re.MULTILINE)
    assert set(package.split(",")) == set(PROJECT["project"]["optional-dependencies"])


def test_no_file_holds_a_path_of_somebodys_machine_or_the_address_of_a_registry() -> None:
    a_path = re.compile(r"(?<![\w./~-])/(?:root|home|Users|work|tmp)/[\w.-]+")
    registries = ["pypi" + ".org", "files.python" + "hosted.org", "registry.npm" + "js.org", "deb.deb" + "ian.org",
                  "conda.ana" + "conda.org"]
    for path in _ours():
        text = _text(path)
        found = [m.group() for m in a_path.finditer(text)] + [host for host in registries if host in text]
        assert not found, f"{path.relative_to(ROOT)} holds {found[0]}"


def test_version_and_schema_are_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, date = re.findall(r"^## ([\d.]+) \(([\d-]+)\)", changes, flags=re.MULTILINE)[0]
    assert (version, date) == (artifact.__version__, str(citation["date-released"]))
    assert str(citation["version"]) == artifact.__version__
    assert f"Log schema {SCHEMA}." in changes


def test_both_licences_are_there_in_full() -> None:
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License\n")
    creative_commons = (ROOT / "LICENSE-CC-BY-4.0").read_text(encoding="utf-8")
    assert creative_commons.startswith("Attribution 4.0 International")
    assert "Section 8 -- Interpretation." in creative_commons
