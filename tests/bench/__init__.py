"""Benchmarks: they measure, and nothing here asserts a time.

- `artifact bench` prints what a client costs a turn, beside its peers (`table`, `clients`, `measure`).
- `PYTHONPATH=tests python -m bench.engine_throughput MODEL` prints episodes an hour on a real engine.
- `PYTHONPATH=tests python tests/bench/encode.py` prints what it takes to encode the exchanges of an episode.
- `PYTHONPATH=tests python tests/bench/fuzz_scorer.py` puts a million mutated replies before the scorer.
- `PYTHONPATH=tests python tests/bench/kill_instants.py` kills client, server or both at a hundred random instants.
"""
