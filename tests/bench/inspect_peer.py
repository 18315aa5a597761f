"""inspect_ai as it is used: a task whose solver asks for the next turn, samples side by side, a log written."""

import os
from pathlib import Path

from bench.script import MAX_TOKENS, Script


async def evaluate(url: str, script: Script, logs: Path, episodes: int, concurrency: int) -> int:
    """Run so many samples, so many at a time, and return the turns answered."""
    os.environ |= {"INSPECT_DISPLAY": "none"}
    from inspect_ai import Task, eval_async
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    turns = 0

    @solver
    def converse() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            nonlocal turns
            state.messages = [ChatMessageSystem(content=script.brief)]
            for request in script:
                state.messages.append(ChatMessageUser(content=request["content"]))
                state = await generate(state)
                turns += 1
            return state
        return solve

    config = GenerateConfig(max_connections=concurrency, max_tokens=MAX_TOKENS, temperature=0.0)
    model = get_model("openai-api/bench/mock", base_url=url, api_key="none", config=config)
    task = Task(dataset=[Sample(input="start", id=number + 1) for number in range(episodes)], solver=converse())
    await eval_async(task, model=model, log_dir=str(logs), max_samples=concurrency, log_level="error")
    return turns
