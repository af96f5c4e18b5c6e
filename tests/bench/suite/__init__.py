"""The benchmark suite: see tests/bench/run."""
