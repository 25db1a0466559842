"""Reports of closed loops: compared with the path they were to follow, never with rates they chose themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

import grouser as gr
from grouser.traction import Path, PurePursuit
from grouser.view.account import following
from grouser.view.report import NOT_ASKED, Fact, Picture, answer
from grouser.view.report_run import report_run

HUSKY = gr.vehicle("husky")
CORNERS = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0]])


def pursue(points, aside=0.0):
    """A drive along a path, and the pursuit it uses; aside: the vehicle thinks that it is so far to the left [m]."""
    pursuit = PurePursuit(Path(points), speed=1.0)

    def steer(time, state):
        w, x, y, z = state[:4]
        yaw = math.atan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))
        away = aside * np.array([-math.sin(yaw), math.cos(yaw)])
        speed, _, turn = pursuit.desired(*(state[4:6] + away), yaw)
        left, right = speed - 0.5 * 0.55 * turn, speed + 0.5 * 0.55 * turn
        return np.array([left, right, left, right]) / 0.165

    return steer


def driven(path, points=CORNERS, **options):
    drive = gr.drive.function(pursue(points, **options), path=path)
    return gr.simulate(gr.Kinematics(HUSKY), gr.terrain.plane(), drive, duration=9.0)


def test_a_run_is_compared_with_its_path():
    run = driven(CORNERS)
    found = following(run)
    assert found.path_length == pytest.approx(8.0)
    assert found.covered == pytest.approx(8.0, abs=0.05)
    assert found.end_distance < 0.1
    # The distance of each state from the two straight lines; it turns late and goes wide, to the right.
    x, y = run.position[:, :2].T
    off = np.where(4.0 - x < y, 4.0 - x, y)
    assert found.largest == pytest.approx(off[np.abs(off).argmax()], abs=1e-9)
    assert found.largest < -0.05
    report = report_run(run)
    assert f"at most {-found.largest:.2f} m right of its path" in report.answer[1]
    assert not any("commanded" in line for line in report.answer)
    assert report.numbers["path"]["rms"] == found.rms
    figure = next(part.figure for s in report.sections for part in s.parts if isinstance(part, Picture))
    (dotted,) = (line for line in figure.axes[0].lines if line.get_label() == "path to follow")
    np.testing.assert_array_equal(np.column_stack(dotted.get_data()), CORNERS)


@pytest.mark.parametrize("aside", [0.2, -0.2])
def test_the_side_of_a_cross_track_error_is_said(aside):
    """Who thinks to be on the left of where it is drives on the right of the path."""
    found = following(driven(CORNERS[:2], CORNERS[:2], aside=aside))
    assert found.largest == pytest.approx(-aside, abs=0.03)
    assert ("right" if aside > 0.0 else "left") in found.sentence()


def test_without_a_path_a_closed_loop_is_compared_with_nothing():
    run = driven(None)
    assert run.drive == "function steer"
    assert len(report_run(run).answer) == 1
    compiled = gr.simulate(
        gr.Kinematics(HUSKY), gr.terrain.plane(), gr.drive.law(lambda t, q, v: (1.0, 1.0, 1.0, 1.0)), duration=1.0
    )
    assert len(report_run(compiled).answer) == 1


def test_a_path_is_kept_in_the_file_and_may_come_with_the_function(tmp_path):
    body = pursue(CORNERS)
    body.path = Path(CORNERS)
    run = gr.simulate(gr.Kinematics(HUSKY), gr.terrain.plane(), body, duration=1.0)
    run.save(tmp_path / "run.npz")
    back = gr.Run.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(back.path, CORNERS)
    assert back.drive == run.drive
    with pytest.raises(gr.GrouserError, match="path: has shape"):
        gr.drive.function(body, path=[[0.0, 0.0]])


def test_a_closed_path_is_followed_round():
    t = np.linspace(0.0, 2.0 * math.pi, 60)
    ring = np.column_stack([2.0 * np.sin(t), 2.0 - 2.0 * np.cos(t)])
    drive = gr.drive.function(pursue(ring), path=ring)
    run = gr.simulate(gr.Kinematics(HUSKY), gr.terrain.plane(), drive, duration=6.0)
    assert following(run).covered == pytest.approx(run.distance, rel=0.1)  # not the whole ring at once


ASKED = {
    "Does it tip over?": "It did not roll over",
    "How much energy does it take?": "Its energy is not known",
    "Do the wheels lose grip?": "Its wheels slipped by at most",
    "How far does it stray from the path?": "It was at most",
    "Where does it end?": "It drove",
    "Does it reach its goal, and why not?": "It reached its full duration",
    "How far off its path was it?": "It was at most",
    "What was its top speed?": "It drove at 0.",
    "How steep is it?": "Its body leaned by at most",
}


@pytest.mark.parametrize(("question", "begins"), ASKED.items(), ids=ASKED)
def test_the_box_answers_what_was_asked(question, begins):
    report = report_run(driven(CORNERS), question=question)
    assert report.question == question
    assert report.answer[0].startswith(begins)


def test_a_question_that_the_page_cannot_answer_is_told_so():
    facts = [Fact("It drove.", ("far",)), Fact("It is blue.", ("colour",), False)]
    assert answer("Is it pretty?", facts) == (NOT_ASKED, "It drove.")
    assert answer("What colour, and how far?", facts) == ("It drove.", "It is blue.")
    assert answer("Which colour?", facts) == ("It is blue.", "It drove.")
    assert answer("", facts) == ("It drove.",)
