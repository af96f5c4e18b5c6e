"""The arithmetic of the simulator: python3 -m unittest, in this folder."""
import random
import unittest
from dataclasses import replace

from simulator import cases
from simulator.network import HUNDRED_GIGABIT, NEIGHBOURS, Network, Noise, efficiency_of_steps, fitted_noise, harmonic
from simulator.replay import Setting, longest, pays, replay
from simulator.trace import Malformed, Trace, median, parse

TEXT = """a line of the program
ravel-ranks 1
ranks 1
threads 2
library
seconds 0.01
site 0 p.sac:3:4 in main
whole 0 3000000 10 80000 1000 500000 500000 0 0
broadcast 0 0 0 8 2000 0 0 0 0
end 3000 0
"""

# Round numbers: 1 microsecond per message, 1 GB/s.
PLAIN = Network("plain", latency=0.5e-6, overhead=0.25e-6, gap=1e-9)


class Messages(unittest.TestCase):
    def test_a_message_takes_latency_overheads_and_bytes(self):
        self.assertAlmostEqual(PLAIN.message(1000), 2e-6)
        self.assertAlmostEqual(HUNDRED_GIGABIT.message(), 2e-6)

    def test_small_results_are_gathered_by_doubling_large_ones_in_a_ring(self):
        self.assertAlmostEqual(PLAIN.allgather(8000, 8), 3e-6 + 7e-6)
        self.assertAlmostEqual(PLAIN.allgather(8000, 5), 3e-6 + 6.4e-6)
        self.assertAlmostEqual(PLAIN.allgather(1 << 20, 8), 7e-6 + (1 << 20) * 7 / 8 * 1e-9)
        self.assertEqual(PLAIN.allgather(8000, 1), 0)

    def test_broadcasts_go_down_a_tree_and_large_ones_are_scattered(self):
        self.assertAlmostEqual(PLAIN.broadcast(1000, 8), 3 * 2e-6)
        large = PLAIN.broadcast(1 << 20, 64)
        self.assertLess(large, 6 * PLAIN.message(1 << 20))
        self.assertGreater(large, PLAIN.allgather(1 << 20, 64))

    def test_one_rank_moves_nothing(self):
        found = [PLAIN.broadcast(9, 1), PLAIN.reduction(9, 1), PLAIN.neighbours(9, 1), PLAIN.all_to_all(9, 1)]
        self.assertEqual(found, [0, 0, 0, 0])


class Delays(unittest.TestCase):
    def test_the_last_of_many_is_late_by_a_harmonic_number(self):
        self.assertAlmostEqual(harmonic(2), 1.5)
        self.assertAlmostEqual(harmonic(64), sum(1 / k for k in range(1, 65)), places=4)
        self.assertEqual(Noise(1.0).last(1), 0)

    def test_delays_of_neighbours_travel(self):
        chance, width, steps = random.Random(1), 256, 400
        times = [0.0] * width
        for _ in range(steps):
            times = [
                max(times[at - 1], times[at], times[(at + 1) % width]) + chance.expovariate(1) for at in range(width)
            ]
        self.assertAlmostEqual(sum(times) / width / steps, NEIGHBOURS, delta=0.1)

    def test_the_fitted_noise_leaves_half_of_the_time_for_tasks_of_100_microseconds(self):
        noise = fitted_noise()
        self.assertAlmostEqual(efficiency_of_steps(100e-6, HUNDRED_GIGABIT, noise, 256), 0.5)
        self.assertGreater(efficiency_of_steps(1e-3, HUNDRED_GIGABIT, noise, 256), 0.9)


class Traces(unittest.TestCase):
    def test_a_trace_is_read(self):
        trace = parse(TEXT)
        self.assertEqual((trace.ranks, trace.threads, trace.sites[0]), (1, 2, "p.sac:3:4 in main"))
        loop, broadcast = trace.events
        self.assertEqual((loop.kind, loop.chunks, loop.bytes, loop.is_loop), ("whole", 10, 80000, True))
        self.assertAlmostEqual(loop.computing, 5e-4)
        self.assertEqual((broadcast.kind, broadcast.is_loop), ("broadcast", False))
        self.assertAlmostEqual(trace.rest, 3e-6)

    def test_what_is_no_trace_is_told_by_line(self):
        wrong = {
            "": "no line says",
            TEXT.replace("end 3000 0\n", ""): "it has no end",
            TEXT.replace("whole 0", "hole 0"): "line 8: no such entry",
            TEXT.replace(" 500000 0 0", " 500000"): "line 8: nine numbers",
            TEXT.replace(" 10 ", " -10 "): "line 8: no number is negative",
            TEXT.replace("threads 2", "threads two"): "line 4",
            TEXT.replace("seconds 0.01", "seconds nan"): "line 6: no time",
            TEXT.replace("library", "network 1e-6 0"): "line 5: no network",
        }
        for text, message in wrong.items():
            with self.assertRaisesRegex(Malformed, message):
                parse(text)

    def test_medians_of_runs_are_taken_event_by_event(self):
        traces = [parse(TEXT.replace("1000 500000", f"1000 {time}")) for time in (700000, 400000, 500000)]
        self.assertAlmostEqual(median(traces).events[0].computing, 5e-4)
        with self.assertRaisesRegex(Malformed, "differ"):
            median([parse(TEXT), parse(TEXT.replace(" 80000 ", " 8 "))])


class Replay(unittest.TestCase):
    setting = Setting(PLAIN, share="always")

    def trace(self, **changes):
        trace = parse(TEXT)
        trace.threads = 1
        trace.events[0] = replace(trace.events[0], **changes)
        return trace

    def test_one_rank_takes_what_was_traced(self):
        times = replay(self.trace(), 1, self.setting)
        self.assertAlmostEqual(times.work, 5e-4)
        self.assertAlmostEqual(times.replicated, 1e-6 + 2e-6 + 3e-6)
        self.assertEqual((times.moving, times.waiting), (0, 0))

    def test_ranks_share_work_and_wait_for_the_one_with_most_chunks(self):
        times = replay(self.trace(), 4, self.setting)
        self.assertAlmostEqual(times.work, 1.25e-4)
        # Three of ten chunks.
        self.assertAlmostEqual(times.work + times.waiting, 1.5e-4)
        meeting, rows = PLAIN.allgather(32, 4), PLAIN.allgather(80000, 4)
        self.assertAlmostEqual(times.moving, meeting + rows + PLAIN.broadcast(8, 4))

    def test_small_results_go_with_the_words(self):
        times = replay(self.trace(bytes=800), 4, self.setting)
        self.assertAlmostEqual(times.moving, PLAIN.allgather(832, 4) + PLAIN.broadcast(8, 4))

    def test_threads_of_the_trace_and_of_the_ranks_count(self):
        trace = parse(TEXT)
        self.assertAlmostEqual(replay(trace, 1, self.setting).work, 1e-3)
        self.assertAlmostEqual(replay(trace, 1, replace(self.setting, threads=2)).work, 5e-4)

    def test_more_ranks_than_cores_are_slower(self):
        alone, crowded = (replay(self.trace(), 4, replace(self.setting, cores=cores)) for cores in (4, 2))
        self.assertAlmostEqual(crowded.work, 2 * alone.work)
        self.assertAlmostEqual(crowded.total, 2 * alone.total)

    def test_what_does_not_pay_is_done_by_every_rank(self):
        costs = (1e-5, 1e9)
        self.assertFalse(pays(3e4, 8, 2, 1, costs))
        self.assertTrue(pays(3e6, 8, 2, 1, costs))
        self.assertFalse(pays(3e6, 2e6, 2, 1, costs))
        times = replay(self.trace(bytes=2_000_000), 2, Setting(PLAIN))
        self.assertAlmostEqual(times.replicated, 5e-4 + 6e-6)
        self.assertEqual(times.work, 0)

    def test_chunks_are_dealt_to_ranks_then_to_threads(self):
        self.assertEqual([longest(10, 3, 1), longest(10, 3, 2), longest(10, 20, 1)], [4, 2, 1])

    def test_weak_scaling_gives_every_rank_the_traced_work(self):
        times = replay(self.trace(bytes=800), 4, replace(self.setting, weak=True))
        self.assertAlmostEqual(times.work, 5e-4)
        self.assertAlmostEqual(times.waiting, 0)

    def test_noise_is_waited_for(self):
        times = replay(self.trace(), 2, replace(self.setting, noise=Noise(1e-6)))
        # A loop and a broadcast.
        self.assertAlmostEqual(times.waiting, 2 * 1.5e-6)

    def test_an_empty_trace_takes_no_time(self):
        self.assertEqual(replay(Trace(), 3, self.setting).total, 0)


class Cases(unittest.TestCase):
    def efficiency(self, case, ranks):
        setting = case.setting(HUNDRED_GIGABIT, Noise())
        alone, together = (replay(case.trace, count, setting).total for count in (1, ranks))
        return alone / together / (1 if case.weak else ranks)

    def test_gradients_in_a_tree_scale_and_gathered_ones_do_not(self):
        gathered, tree = cases.ALL[:2]
        self.assertGreater(self.efficiency(tree, 10000), 0.9)
        self.assertLess(self.efficiency(gathered, 1024), 0.1)

    def test_rows_that_stay_scale_to_hundreds_of_ranks(self):
        gathered, rows = cases.ALL[2:4]
        self.assertGreater(self.efficiency(rows, 64), 0.9)
        self.assertLess(self.efficiency(gathered, 2), 0.6)


if __name__ == "__main__":
    unittest.main()
