"""``score`` and ``show``: what logs say."""

import argparse
import json
from pathlib import Path

from artifact.errors import RequestError


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    score = commands.add_parser("score", help="verdicts from logs alone")
    score.add_argument("logs", nargs="+", type=Path, metavar="LOG", help="log files, packed logs or folders")
    score.add_argument("--decline-aware", action="store_true", help="take bookings inside a refusal as citations")
    score.add_argument("--json", action="store_true", help="one JSON object an episode, or a reply of a probe")
    score.set_defaults(run=_score)

    show = commands.add_parser("show", help="one episode as a person reads it")
    show.add_argument("log", type=Path)
    show.add_argument("--seed", type=int, help="which episode of a packed log")
    show.add_argument("--item", help="which task or week of a harness log")
    show.add_argument("--turn", type=int, help="this turn only")
    show.add_argument("--html", type=Path, metavar="F", help="write a page instead")
    show.set_defaults(run=_show)


def _score(options: argparse.Namespace) -> int:
    from artifact.cli import harnesses
    from artifact.cli.probing import print_probes
    from artifact.log import ArmIdentity, iter_logs
    from artifact.log.probe_reader import probe_files
    from artifact.log.reader import holds_episode_logs, is_episode_log
    from artifact.report.statistics import proportion
    from artifact.scorer import episode_frame
    from artifact.taskstate import Channel

    probes = probe_files(options.logs)
    print_probes(probes, as_json=options.json)
    has_harness_logs = harnesses.holds_logs(options.logs)
    if has_harness_logs:
        harnesses.score(options.logs, as_json=options.json)
    if probes or has_harness_logs:
        others = [path for path in options.logs
                  if (holds_episode_logs(path) if path.is_dir() else is_episode_log(path))]
        if not others:
            return 0
    else:
        others = options.logs
    episodes = episode_frame(iter_logs(others))
    if options.json:
        print(episodes.to_json(orient="records", lines=True), end="")
        return 0
    success, prefix = ("decline_aware", "da_") if options.decline_aware else ("strict", "")
    print(f"{'cell and arm':72} {'success':>9}  rate  interval     " + " ".join(f"{c:>12}" for c in Channel))
    for (cell, name, options_text), group in episodes.groupby(["cell", "arm", "options"], sort=True):
        arm = ArmIdentity(name, json.loads(options_text)).text
        done = group[group["completed"]]
        rate = proportion(int(done[success].sum()), len(done))
        shown = f"{rate.estimate:.2f}  {rate.low:.2f} to {rate.high:.2f}" if rate.n else "not run"
        excluded = f"; {len(group) - len(done)} excluded" if len(group) > len(done) else ""
        counts = " ".join(f"{done[prefix + channel].sum():>12}" for channel in Channel)
        print(f"{f'{cell} {arm}':72} {f'{rate.k}/{rate.n}':>9}  {shown} {counts}{excluded}")
    return 0


def _show(options: argparse.Namespace) -> int:
    from artifact.cli import harnesses
    from artifact.cli.render import log_text
    from artifact.log import iter_logs
    from artifact.log.probe_reader import probe_files
    from artifact.log.reader import holds_episode_logs

    if harnesses.holds_logs([options.log]) and not (options.log.is_dir() and holds_episode_logs(options.log)):
        return _show_harness(options)
    if options.item is not None:
        raise RequestError("--item is of harness logs; name an episode by --seed")
    if probe_files([options.log]) and not (options.log.is_dir() and holds_episode_logs(options.log)):
        raise RequestError(f"{options.log} holds the answers of a probe, which has no conversation to show; artifact "
                           "score sums them up")
    logs = (log for log in iter_logs([options.log]) if options.seed in (None, log.header.seed))
    log = next(logs, None)
    if log is None:
        raise RequestError(f"{options.log} holds no episode of seed {options.seed}; leave --seed out to see the first")
    if options.turn is not None and not 0 <= options.turn < len(log.turns):
        raise RequestError(f"turn {options.turn} isn't in this log; its turns are 0 to {len(log.turns) - 1}")
    if options.html is not None:
        from artifact.cli.page import log_page
        options.html.write_text(log_page(log, options.turn), "utf-8")
        print(f"wrote {options.html}")
        return 0
    for part in log_text(log, options.turn):
        print(part)
    return 0


def _show_harness(options: argparse.Namespace) -> int:
    from artifact.cli.harnesses import chosen_log
    from artifact.cli.render_harness import harness_log_text

    if options.turn is not None or options.html is not None:
        raise RequestError("the log of a harness is shown whole, and on the terminal; leave out --turn and --html")
    for part in harness_log_text(chosen_log(options.log, options.item, options.seed)):
        print(part)
    return 0
