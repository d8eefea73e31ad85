"""How good is skgoss in TabArena? Needs TabArena, and downloads its tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from hpo import gen_skgoss
from tabarena.benchmark.experiment import ExperimentBatchRunner
from tabarena.nips2025_utils.end_to_end import EndToEnd
from tabarena.nips2025_utils.tabarena_context import TabArenaContext


def main() -> None:
    """Read the command line, fit all configurations, print the leaderboard."""
    line = argparse.ArgumentParser(description=__doc__)
    line.add_argument(
        "--datasets", nargs="+", default=["anneal", "credit-g", "diabetes"]
    )
    line.add_argument("--folds", nargs="+", type=int, default=[0])
    line.add_argument("--configs", type=int, default=0, help="random configurations")
    line.add_argument("--folder", type=Path, default=Path("tabarena-runs"))
    asked = line.parse_args()
    context = TabArenaContext()
    tasks = context.task_metadata.copy()
    datasets = list(tasks["name"]) if asked.datasets == ["all"] else asked.datasets
    runner = ExperimentBatchRunner(expname=str(asked.folder), task_metadata=tasks)
    results = runner.run(
        datasets=datasets,
        folds=asked.folds,
        methods=gen_skgoss.generate_all_bag_experiments(
            num_random_configs=asked.configs, fold_fitting_strategy="sequential_local"
        ),
    )
    compared = EndToEnd.from_raw(
        results_lst=results, task_metadata=tasks, cache=False, cache_raw=False
    )
    leaderboard = compared.to_results().compare_on_tabarena(
        output_dir=asked.folder / "leaderboard", only_valid_tasks=True
    )
    shown = context.leaderboard_to_website_format(leaderboard=leaderboard)
    print(shown.to_markdown(index=False))


if __name__ == "__main__":
    main()
