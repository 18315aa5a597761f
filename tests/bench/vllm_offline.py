"""vLLM's offline throughput on recorded calls; run by the Python of vLLM's own environment, calls on standard input.

Prints a line `seconds N`; vLLM says more beside it. All calls are handed over at once, in the order in which they were
answered, so that each finds its conversation's earlier turns in the prefix cache; replies have the recorded lengths.
"""

import json
import sys
import time

from vllm import LLM, SamplingParams


def main() -> None:
    """Load, warm up on one call, measure."""
    asked = json.load(sys.stdin)
    engine = LLM(asked["checkpoint"], dtype="bfloat16", block_size=32, enable_prefix_caching=True, seed=0,
                 max_model_len=asked["context"], max_num_seqs=asked["sequences"], disable_log_stats=True)
    engine.chat([[{"role": "user", "content": "Good morning."}]], SamplingParams(max_tokens=8), use_tqdm=False)
    messages = [call["messages"] for call in asked["calls"]]
    lengths = [SamplingParams(temperature=0.0, max_tokens=call["tokens"], ignore_eos=True) for call in asked["calls"]]
    started = time.perf_counter()
    engine.chat(messages, lengths, use_tqdm=False)
    print(f"seconds {time.perf_counter() - started}", flush=True)


if __name__ == "__main__":
    main()
