"""vLLM: the command that serves a model, what a server tells of itself, and what is refused before it starts."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from artifact.arms import ArmSpec
from artifact.cli.main import main
from artifact.errors import InfrastructureError, RequestError
from artifact.models import open_model
from artifact.models.registry import find_model
from artifact.models.server_process import serving
from artifact.models.vllm_environment import vllm_python
from artifact.models.vllm_server import VllmSettings, cpu_cache_gib, vllm_command, vllm_variables
from artifact.models.vllm_settings import read_metrics, read_server_info
from artifact.runner import StudyPlan
from artifact.runner.batch import run_study_async
from artifact.runner.context import least_context
from chat_server import ChatServer, Says

# Recorded from vLLM 0.32.0 on a CPU, shortened.
METRICS = b"""# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="32",cache_dtype="auto",enable_prefix_caching="True",num_gpu_blocks="1456"} 1.0
"""
SERVER_INFO = orjson.dumps({
    "vllm_config": {
        "model_config": {"dtype": "torch.bfloat16", "seed": 0, "enforce_eager": True, "quantization": None},
        "scheduler_config": {"max_num_seqs": 8, "max_num_batched_tokens": 2048},
        "parallel_config": {"tensor_parallel_size": 1},
        "structured_outputs_config": {"reasoning_parser": ""}},
    "vllm_env": {"VLLM_BATCH_INVARIANT": False}})
SHA256 = "ab" * 32


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(name: str, **settings: object) -> str:
    return " ".join(vllm_command(find_model(name), VllmSettings(**settings), Path("python"), "CHECKPOINT"))  # type: ignore[arg-type]


def test_every_server_caches_prefixes_counts_them_and_is_seeded():
    for name in ("qwen3-235b-a22b-instruct-2507-fp8", "qwen2.5-coder-0.5b"):
        assert all(flag in command(name) for flag in ("--enable-prefix-caching", "--enable-prompt-tokens-details",
                                                      "--seed 0", "--max-num-seqs", "--max-model-len"))


def test_a_thinking_checkpoint_is_served_with_its_parser_and_in_parallel():
    assert "--reasoning-parser deepseek_r1" in command("qwen3-235b-a22b-thinking-2507-fp8")
    assert "--tensor-parallel-size 4" in command("qwen3-235b-a22b-thinking-2507-fp8")
    assert "--reasoning-parser" not in command("qwen3-235b-a22b-instruct-2507-fp8")


def test_tool_calls_are_parsed_where_the_registry_names_a_parser() -> None:
    assert "--enable-auto-tool-choice --tool-call-parser plain_json" in command("qwen2.5-coder-1.5b", device="cpu")
    assert "--tool-call-parser qwen3_coder" in command("qwen3.6-35b-a3b-fp8")
    assert "--enable-auto-tool-choice" not in command("smollm2-135m", device="cpu")


def test_the_batch_invariant_mode_is_for_gpus():
    assert vllm_variables(VllmSettings(batch_invariant=True))["VLLM_BATCH_INVARIANT"] == "1"
    with pytest.raises(RequestError, match="needs a GPU"):
        vllm_variables(VllmSettings(device="cpu", batch_invariant=True))


def test_without_a_gpu_the_cache_takes_the_memory_that_its_conversations_need_and_no_more_than_a_laptop_has(tmp_path):
    (tmp_path / "config.json").write_bytes(orjson.dumps({
        "hidden_size": 896, "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2}))
    gibs = [cpu_cache_gib(tmp_path, tokens) for tokens in (1, 2**30 // 12288, 2**30 // 12288 + 1, 32 * 16384)]
    assert gibs == [1, 1, 2, 4]


def test_only_a_server_for_this_machine_alone_tells_all_of_its_settings():
    assert "VLLM_SERVER_DEV_MODE" in vllm_variables(VllmSettings())
    assert "VLLM_SERVER_DEV_MODE" not in vllm_variables(VllmSettings(host="0.0.0.0"))


def test_what_a_server_tells_of_its_settings_is_read():
    assert read_metrics(METRICS) == {"prefix_caching": True, "block_size": 32, "cache_dtype": "auto"}
    assert read_server_info(SERVER_INFO) == {
        "dtype": "bfloat16", "seed": 0, "compiled": False, "max_num_seqs": 8, "max_num_batched_tokens": 2048,
        "tensor_parallel": 1, "batch_invariant": False}


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"\xff\xfe", b'{"vllm_config": 3}',
                                  b"vllm:cache_config_info{} 1.0"])
def test_a_server_that_tells_nothing_has_no_settings(body):
    assert read_metrics(body) == {} and read_server_info(body) == {}


def identity_of(**how: object) -> dict[str, object]:
    async def ask() -> dict[str, object]:
        async with ChatServer(**how) as server:  # type: ignore[arg-type]
            model = await open_model(server.url)
            try:
                return model.identity()
            finally:
                await model.close()
    return asyncio.run(ask())


def test_the_identity_of_a_server_holds_its_settings_and_the_hash_of_its_weights_and_no_folder():
    identity = identity_of(root=f"/srv/someone/weights/{SHA256}.bf16",
                           pages={"/metrics": Says(METRICS), "/server_info": Says(SERVER_INFO)})
    assert identity["weights_sha256"] == SHA256 and identity["prefix_caching"] is True and identity["seed"] == 0
    assert "someone" not in str(identity)
    assert identity_of(root="Qwen/Qwen3-8B")["checkpoint"] == "Qwen/Qwen3-8B"


def test_a_study_that_no_context_can_hold_is_refused_before_it_starts(tmp_path):
    async def run(context: int) -> None:
        async with ChatServer(max_model_len=context) as server:
            plan = StudyPlan("t", server.url, sizes=(10,), seeds=(100,), arms=(ArmSpec("raw"),))
            await run_study_async(plan, runs=tmp_path)
            assert server.calls
    with pytest.raises(RequestError, match="44 turns with 10 steps takes at least"):
        asyncio.run(run(least_context(10) - 1))
    assert not list(tmp_path.rglob("*.jsonl"))
    asyncio.run(run(least_context(10)))


def test_a_context_that_no_study_fits_into_is_not_served(capsys):
    assert main(["serve", "--model", "smollm2-135m", "--context", "512"]) == 2
    assert "can't hold a study's conversation" in capsys.readouterr().err
    assert main(["serve", "--model", "smollm2-135m", "--context", "9000"]) == 2
    assert "takes 1 to 8192" in capsys.readouterr().err


def test_a_model_that_no_cpu_serves_is_said_so(capsys):
    for engine, model in (("vllm", "qwen3.6-35b-a3b-fp8"), ("llamacpp", "qwen3.6-35b-a3b-fp8"),
                          ("vllm", "deepseek-v4-pro")):
        assert main(["serve", "--engine", engine, "--device", "cpu", "--model", model]) == 2
        assert model in capsys.readouterr().err


def test_where_vllm_is_missing_the_sentence_says_how_to_have_it(monkeypatch, tmp_path):
    monkeypatch.setattr("artifact.paths.VLLM", tmp_path / "none")
    with pytest.raises(InfrastructureError, match="artifact models prepare-vllm"):
        vllm_python("cpu")


SERVER = """
import http.server, os, subprocess, sys
print("starting", flush=True)
if sys.argv[2] == "dies":
    sys.exit("no such model")
child = subprocess.Popen(["sleep", "600"])
print("child", child.pid, flush=True)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


def serve_here(tmp_path: Path, port: int, how: str) -> object:
    return serving([sys.executable, "-c", SERVER, str(port), how], name="the server", log=tmp_path / "log",
                   health=f"http://127.0.0.1:{port}/health", wait_s=30, environment={})


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_server_is_waited_for_and_leaves_no_process_behind(tmp_path, free_port):
    with serve_here(tmp_path, free_port, "runs") as process:
        child = int((tmp_path / "log").read_text().partition("child ")[2].split()[0])
        assert is_alive(process.pid) and is_alive(child)
    give_up = time.monotonic() + 10
    while is_alive(child) and time.monotonic() < give_up:
        time.sleep(0.01)
    assert process.poll() is not None and not is_alive(child)


def test_a_server_ends_with_the_process_that_started_it_even_if_that_is_killed(tmp_path, free_port):
    script = f"""
import sys, time
sys.path[:0] = {sys.path!r}
from pathlib import Path
from test_models_vllm import serve_here
with serve_here(Path({str(tmp_path)!r}), {free_port}, "runs") as process:
    print(process.pid, flush=True)
    time.sleep(600)
"""
    starter = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    server = int(starter.stdout.readline())
    assert is_alive(server)
    starter.kill()
    starter.wait()
    give_up = time.monotonic() + 10
    while is_alive(server) and time.monotonic() < give_up:
        time.sleep(0.01)
    assert not is_alive(server)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server, signal.SIGKILL)  # the child that this server, unlike vLLM, leaves


def test_a_server_that_ends_by_itself_is_told_with_its_last_words(tmp_path, free_port):
    with pytest.raises(InfrastructureError, match=r"ended with 1 before it answered.*no such model"), \
            serve_here(tmp_path, free_port, "dies"):
        pass


def test_serve_ends_in_order_on_a_signal(tmp_path, free_port):
    """The embedded engine: started by the command, asked over HTTP, ended by SIGTERM."""
    process = subprocess.Popen([sys.executable, "-m", "artifact.cli", "serve", "--model", "smollm2-135m", "--port",
                                str(free_port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    if "models fetch" in first:
        pytest.skip(first.strip())
    assert f"answers at http://127.0.0.1:{free_port}/v1 until Ctrl-C" in first

    async def ask() -> dict[str, object]:
        model = await open_model(f"http://127.0.0.1:{free_port}/v1")
        try:
            return model.identity()
        finally:
            await model.close()
    assert asyncio.run(ask())["engine"] == "llama.cpp"
    process.terminate()
    assert process.communicate(timeout=60)[0].strip() == "stopped" and process.returncode == 0
