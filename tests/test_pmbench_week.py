"""PM-Bench's weeks: generated ones have the published counts, files of another shape are one sentence."""

import json
from collections import Counter

import pytest

from artifact.errors import RequestError
from artifact.harness.pmbench.compile import can_change_the_record
from artifact.harness.pmbench.environment import World
from artifact.harness.pmbench.generate import generate_week
from artifact.harness.pmbench.truth import check_ground_truth, intentions
from artifact.harness.pmbench.week import Week, load_week

SEEDS = range(25)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_generated_week_has_the_published_counts(seed):
    week = generate_week(seed)
    known = intentions(week)
    first_day = {task.id: day for day, task in week.tasks()}
    step_day = {step.id: day for day, step in week.steps()}
    updates = Counter(str(update.type) for _, step in week.steps() for update in step.updates)
    assert [len(day.steps) for day in week.days] == [13, 13, 10, 11, 12, 10, 11]
    assert Counter(one.versions[0].kind for one in known) == {"event": 42, "channel": 15, "time": 26}
    assert sum(task.announced_at is not None and step_day[task.announced_at] < first_day[task.id]
               for _, task in week.tasks()) == 7
    assert updates == {"reschedule": 6, "override": 3, "cancel": 2} and sum(one.is_scored for one in known) == 81
    assert len(week.all_channels()) == 11


@pytest.mark.parametrize("seed", SEEDS)
def test_every_scored_intention_of_a_generated_week_comes_due_once_after_it_is_known(seed):
    for one in intentions(generate_week(seed)):
        due = [step for step in range(80) if one.is_due(step)]
        assert len(due) == (1 if one.is_scored else 0)
        assert all(step > one.versions[-1].since or step == 0 for step in due)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_wording_of_32_scenes_says_that_they_can_change_the_record(seed):
    week = generate_week(seed)
    telling = {step.id for _, step in week.steps() if can_change_the_record(step.text)}
    noted = {task.announced_at for _, task in week.tasks() if task.announced_at is not None}
    noted |= {step.id for _, step in week.steps() if step.updates}
    assert telling == noted and len(telling) == 32


def test_the_same_seed_gives_the_same_week():
    assert [generate_week(seed).sha256[:16] for seed in range(3)] == GOLDEN
    assert generate_week(4) == generate_week(4) != generate_week(5)


GOLDEN = ["bdc7e728b938e09c", "cdc2bb0941d052f9", "6f972071d2397b73"]


def test_a_week_file_reads_as_the_week_that_was_written(tmp_path):
    path = tmp_path / "week.json"
    week = generate_week(3)
    path.write_text(week.model_dump_json())
    assert load_week(path) == week and load_week(path).sha256 == week.sha256


def released_shape():
    """A day as the released file has it: cues, updates and events where there are any, and what is due."""
    step = {"id": "m1", "time": "09:00", "text": "The postman comes.", "options": {"A": "a", "B": "b", "C": "c"},
            "cues": ["c1"], "updates": [], "state_events": [], "groundtruth": ["t1"]}
    task = {"id": "t1", "label": "parcel", "type": "event", "cue_id": "c1", "regular": False, "encoding": "start",
            "action_text": "Hand over the parcel"}
    return {"days": [{"start_instructions": "When the postman comes, hand over the parcel.", "tasks": [task],
                      "lures": [{"id": "l1", "label": "Dust"}], "steps": [step]}]}


def test_the_released_shape_needs_no_field_that_is_not_published(tmp_path):
    path = tmp_path / "week.json"
    path.write_text(json.dumps(released_shape()))
    week = load_week(path)
    assert week.day_name(0) == "Monday" and World(week).due(0) == ("t1",)


def changed(**of_first_task):
    data = released_shape()
    data["days"][0]["tasks"][0] |= of_first_task
    return data


def updated(update):
    data = released_shape()
    data["days"][0]["steps"][0]["updates"] = [update]
    return data


def told(groundtruth):
    data = released_shape()
    data["days"][0]["steps"][0]["groundtruth"] = groundtruth
    return Week.model_validate(data)


def test_a_ground_truth_that_differs_from_what_the_triggers_say_is_one_sentence():
    for right in (["t1"], {"due": ["t1"]}, "t1 is due", None):
        check_ground_truth(told(right))
    for wrong in ([], ["t2"], {"due": []}):
        with pytest.raises(RequestError, match=r"ground truth of step 'm1'.*t1 is due there"):
            check_ground_truth(told(wrong))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_trigger_of_a_generated_week_comes(seed):
    assert Week.model_validate(generate_week(seed).model_dump()) == generate_week(seed)


@pytest.mark.parametrize(("data", "words"), [
    ("nonsense", "JSON"),
    ([], "object"),
    ({}, "days"),
    ({"days": []}, "days"),
    (changed(type="habit"), r"tasks\.0\.type"),
    (changed(target_time="10:00"), "none has both"),
    (changed(type="time", cue_id=None, target_time="25:00"), "25:00"),
    (changed(encoding="step:nowhere"), "encoding of task 't1'"),
    (changed(cue_id="c9"), r"trigger of task 't1' \(c9 in the narrative\) comes in no step"),
    (changed(cue_channel="mail"), r"c1 in mail"),
    (changed(type="time", cue_id=None, target_time="10:00"), r"trigger of task 't1' \(10:00\)"),
    (changed(id="l1"), "two tasks and lures"),
    (updated({"kind": "cancel", "target": "t1"}), r"days\.0\.steps\.0\.updates\.0\.type.*it has kind, target"),
    (changed(cue_id=None), "cue_id"),
])
def test_a_file_of_another_shape_is_one_sentence(tmp_path, data, words):
    path = tmp_path / "week.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    with pytest.raises(RequestError, match=words) as caught:
        load_week(path)
    assert "\n" not in str(caught.value) and "week.json" in str(caught.value)


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(RequestError, match=r"nowhere\.json"):
        load_week(tmp_path / "nowhere.json")


def small_week(*, updates=(), times=("09:00", "10:00", "10:30", "11:30", "12:00")):
    """Five steps; one time task at 10:00, one narrative task at the second step, one in each kind of channel."""
    tasks = [{"id": "time", "label": "time", "type": "time", "target_time": "10:00"},
             {"id": "cue", "label": "cue", "type": "event", "cue_id": "c"},
             {"id": "news", "label": "news", "type": "event", "cue_id": "n", "cue_channel": "mail"}]
    steps = [{"id": f"s{number}", "time": time, "text": "", "options": {"A": "", "B": "", "C": ""}}
             for number, time in enumerate(times)]
    steps[1] |= {"cues": ["c"], "state_events": [{"id": "n", "channel": "mail", "text": "a letter"},
                                                 {"id": "w", "channel": "sky", "text": "rain"}]}
    steps[2] |= {"updates": list(updates)}
    return Week.model_validate({
        "days": [{"start_instructions": "", "tasks": tasks, "steps": steps,
                  "lures": [{"id": f"l{number}", "label": "lure"} for number in range(5)]}],
        "channels": [{"id": "mail", "kind": "delta", "default": "none"},
                     {"id": "sky", "kind": "snapshot", "default": "blue"}]})


def test_an_event_is_late_for_one_step_and_a_time_for_sixty_minutes():
    late = {one.id: one.versions[0].late for one in intentions(small_week())}
    assert late == {"time": (2,), "cue": (2,), "news": (2,)}
    late = {one.id: one.versions[0].late for one in intentions(small_week(times=("09:00", "10:00", "10:30", "11:00",
                                                                                 "11:01")))}
    assert late["time"] == (2, 3)


def test_a_delta_channel_tells_what_is_new_and_a_snapshot_what_was_seen_last():
    world = World(small_week())
    assert (world.query("mail", 0), world.query("sky", 0)) == ("none", "blue")
    assert (world.query("mail", 2), world.query("mail", 3)) == ("a letter", "none")
    assert (world.query("sky", 1), world.query("sky", 4)) == ("rain", "rain")
    assert World(small_week()).query("sky", 2) == "blue"  # it was never seen
    assert world.query("nowhere", 0) is None and world.clock(2) == "10:30, stopwatch 90 min"


def test_a_task_leaves_the_menu_only_when_done_in_its_time_and_a_cancelled_one_stays():
    world = World(small_week(updates=[{"type": "cancel", "task_id": "news"}]))

    def listed(step):
        return {entry.target for entry in world.moment(step).menu} & {"time", "cue", "news"}

    world.execute(["time", "cue"], 0)
    assert listed(1) == {"time", "cue", "news"}
    world.execute(["time", "l1"], 1)
    world.execute(["cue", "news"], 2)  # late; and called off at this very step
    assert listed(3) == {"news"}


def test_handles_stay_the_same_within_a_day_and_three_lures_are_shown():
    world = World(generate_week(1))
    seen = {}
    for step in range(13):
        menu = world.moment(step).menu
        assert sum(entry.target.startswith("lure") for entry in menu) == 3
        for entry in menu:
            assert seen.setdefault(entry.handle, entry.target) == entry.target
