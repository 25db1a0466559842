"""MCAP files for Foxglove: they open, every message fits its schema, transforms and times are those of the run."""

from __future__ import annotations

import builtins
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.kinematics import frame_poses
from grouser.simulation import ContactRecord
from grouser.view import foxglove
from grouser.view.foxglove import towards
from grouser.view.mcap import CHANNELS

reader = pytest.importorskip("mcap.reader", reason="mcap is not installed; it is in the extra [mcap]")
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed; it is in the extra [test]")

START = 1_700_000_000.25


@pytest.fixture(autouse=True)
def _a_coarse_patch_of_ground(monkeypatch):
    """Ten thousand corners take jsonschema seconds; they are all alike."""
    monkeypatch.setattr("grouser.view.mcap.NODES", 400)


@pytest.fixture(scope="module")
def run():
    model = gr.Kinematics(gr.vehicle("rocky7"), slip=gr.slip.BodySlip([-0.1, 0.0, -0.1, 0.0, 0.0, -0.1]))
    ground = gr.terrain.rough(0.03, 0.5, 4, size=8.0)
    return gr.simulate(model, ground, gr.drive.arc(0.3, 0.4), duration=1.2, start=(0.2, -0.1, 2.9))


@pytest.fixture(scope="module")
def forced():
    model = gr.Dynamics(gr.vehicle("husky"))
    return gr.simulate(model, gr.terrain.slope(10.0), gr.drive.arc(0.5, 0.2), duration=0.4)


def read(path):
    """Schemas by name, and (topic, log time [ns], schema name, message) in the order of the file."""
    with path.open("rb") as stream:
        opened = reader.make_reader(stream)
        schemas = {s.name: s for s in opened.get_summary().schemas.values()}
        messages = [(c.topic, m.log_time, s.name, json.loads(m.data)) for s, c, m in opened.iter_messages()]
    return schemas, messages


def strict(schema):
    """The schema, refusing fields it does not name: Foxglove's own let any through."""
    if isinstance(schema, dict):
        out = {key: strict(value) for key, value in schema.items()}
        return {**out, "additionalProperties": False} if schema.get("type") == "object" else out
    return [strict(value) for value in schema] if isinstance(schema, list) else schema


def demanding(schema):
    """The schema, with every field required that it names."""
    if isinstance(schema, dict):
        out = {key: demanding(value) for key, value in schema.items()}
        return {**out, "required": list(schema["properties"])} if schema.get("type") == "object" else out
    return [demanding(value) for value in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("which", ["run", "forced"])
def test_every_message_fits_the_schema_it_is_stored_with(which, request, tmp_path):
    written = request.getfixturevalue(which)
    written.to_mcap(tmp_path / "run.mcap", start=START)
    schemas, messages = read(tmp_path / "run.mcap")
    assert set(schemas) == {
        *("foxglove.FrameTransforms", "foxglove.SceneUpdate", "foxglove.PoseInFrame"),
        *("grouser.Wheels", "grouser.Joints"),
    }
    judges = {}
    for name, schema in schemas.items():
        assert schema.encoding == "jsonschema"
        rules = json.loads(schema.data)
        jsonschema.Draft202012Validator.check_schema(rules)
        hard = strict(rules) if name.startswith("grouser") else demanding(strict(rules))
        judges[name] = jsonschema.Draft202012Validator(hard)
    for _, _, name, message in messages:
        judges[name].validate(message)
    for topic in CHANNELS:
        said = 1 if topic == "/scene" else len(written.time)
        assert sum(one[0] == topic for one in messages) == said, topic


def test_a_message_with_a_wrong_field_would_not_pass(run, tmp_path):
    run.to_mcap(tmp_path / "run.mcap")
    schemas, messages = read(tmp_path / "run.mcap")
    judge = jsonschema.Draft202012Validator(strict(json.loads(schemas["foxglove.SceneUpdate"].data)))
    scene = next(message for topic, _, _, message in messages if topic == "/scene")
    scene["entities"][0]["cubes"][0]["colour"] = scene["entities"][0]["cubes"][0].pop("color")
    assert not judge.is_valid(scene)


def test_the_schemas_have_the_fields_of_foxgloves_own():
    """Against the protobuf definitions Foxglove publishes: names, nesting and what is a list."""
    pytest.importorskip("foxglove_schemas_protobuf", reason="it is in the extra [test]")
    from foxglove_schemas_protobuf.FrameTransforms_pb2 import FrameTransforms
    from foxglove_schemas_protobuf.PoseInFrame_pb2 import PoseInFrame
    from foxglove_schemas_protobuf.SceneUpdate_pb2 import SceneUpdate

    well_known = {"google.protobuf.Timestamp": "time", "google.protobuf.Duration": "duration"}
    plain = {"double": "number", "string": "string", "bool": "boolean", "bytes": "string", "fixed32": "integer"}
    kinds = {1: "double", 9: "string", 8: "bool", 12: "bytes", 7: "fixed32"}
    seen = set()

    def compare(schema, theirs):
        assert schema["title"] == theirs.full_name
        assert list(schema["properties"]) == [field.name for field in theirs.fields]
        seen.add(theirs.full_name)
        for field in theirs.fields:
            ours = schema["properties"][field.name]
            repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
            assert (ours.get("type") == "array") == bool(repeated)
            ours = ours.get("items", ours)
            if field.enum_type is not None:
                wanted = {value.name: value.number for value in field.enum_type.values}
                assert {one["title"]: one["const"] for one in ours["oneOf"]} == wanted
            elif field.message_type is None:
                assert ours["type"] == plain[kinds[field.type]], field.name
            elif field.message_type.full_name in well_known:
                assert ours["title"] == well_known[field.message_type.full_name]
                assert list(ours["properties"]) == ["sec", "nsec"]
            else:
                compare(ours, field.message_type)

    compare(foxglove.schema("foxglove.FrameTransforms"), FrameTransforms.DESCRIPTOR)
    compare(foxglove.schema("foxglove.PoseInFrame"), PoseInFrame.DESCRIPTOR)
    compare(foxglove.schema("foxglove.SceneUpdate"), SceneUpdate.DESCRIPTOR)
    assert len(seen) == 20


def matrix(translation, quaternion):
    T = np.eye(4)
    T[:3, :3] = rotation.from_quaternion([quaternion[k] for k in "wxyz"])
    T[:3, 3] = [translation[k] for k in "xyz"]
    return T


def composed(message, fixed="world"):
    """T_world_frame of every frame, parents first."""
    found = {fixed: np.eye(4)}
    for one in message["transforms"]:
        found[one["child_frame_id"]] = found[one["parent_frame_id"]] @ matrix(one["translation"], one["rotation"])
    return found


def check_poses(run, messages):
    transforms = [message for topic, _, _, message in messages if topic == "/tf"]
    for state, message in zip(run.state, transforms, strict=True):
        R, p = frame_poses(run.vehicle, state)
        found = composed(message)
        assert len(found) == 1 + len(run.vehicle.frames)
        for i, frame in enumerate(run.vehicle.frames):
            np.testing.assert_allclose(found[frame.name][:3, :3], R[i], rtol=0.0, atol=1e-9)
            np.testing.assert_allclose(found[frame.name][:3, 3], p[i], rtol=0.0, atol=1e-9)


def test_transforms_compose_to_the_poses_of_all_frames_wheels_with_their_spin(run, tmp_path):
    run.to_mcap(tmp_path / "run.mcap")
    _, messages = read(tmp_path / "run.mcap")
    check_poses(run, messages)
    # The spin is in them: a wheel's own x axis turns although the vehicle hardly does.
    name = run.vehicle.wheels[0]
    first, last = (composed([m for t, _, _, m in messages if t == "/tf"][k])[name] for k in (0, -1))
    assert np.linalg.norm(first[:3, 0] - last[:3, 0]) > 0.5


def test_turned_and_sliding_joints_are_placed_as_the_engine_places_them(tmp_path):
    vehicle = gr.Vehicle(
        name="sled",
        frames=(
            gr.vehicles.Frame(name="body", mass=10.0, inertia=(1.0, 1.0, 1.0)),
            *(
                frame
                for i, (joint, rpy) in enumerate(
                    itertools.product(("PX", "PZ", "RX", "RZ"), ((0.3, -0.4, 0.9), (-1.2, 0.2, -2.0)))
                )
                for frame in (
                    gr.vehicles.Frame(name=f"arm{i}", parent="body", joint=joint, xyz=(0.1 * i, -0.2, 0.3), rpy=rpy),
                    gr.vehicles.Frame(
                        name=f"wheel{i}", parent=f"arm{i}", joint="RY", xyz=(0, 0.1, -0.2), radius=0.1, mass=1.0
                    ),
                )
            ),
        ),
    )
    rng = np.random.default_rng(3)
    rows, nw = 4, vehicle.n_wheels
    state = rng.normal(size=(rows, 7 + vehicle.n_joints))
    state[:, :4] /= np.linalg.norm(state[:, :4], axis=1, keepdims=True)
    zeros = np.zeros((rows, nw, 3))
    run = gr.Run(
        vehicle=vehicle,
        time=0.1 * np.arange(rows),
        state=state,
        velocity=np.zeros((rows, 6 + vehicle.n_joints)),
        command=np.zeros((rows, 0)),
        contact=ContactRecord(zeros, zeros + np.array([0, 0, 1]), zeros, zeros[..., 0], zeros[..., 0]),
        status=gr.Status.OK,
        steps=rows - 1,
        dt=0.1,
    )
    run.to_mcap(tmp_path / "sled.mcap")
    check_poses(run, read(tmp_path / "sled.mcap")[1])


def test_times_are_those_of_the_run(run, tmp_path):
    run.to_mcap(tmp_path / "run.mcap", start=START)
    _, messages = read(tmp_path / "run.mcap")
    for topic in set(CHANNELS) - {"/scene"}:
        stamps = np.array([time for t, time, _, _ in messages if t == topic]) * 1e-9
        np.testing.assert_allclose(
            stamps - START, run.time, rtol=0.0, atol=5e-7
        )  # float64 seconds since 1970 hold 2e-7 s
    poses = [(time, m) for t, time, _, m in messages if t == "/pose"]
    exact = [START * 1e9 + round(t * 1e9) for t in run.time]
    assert [time for time, _ in poses] == exact
    assert all(m["timestamp"]["sec"] * 10**9 + m["timestamp"]["nsec"] == time for time, m in poses)


def test_pose_wheels_and_joints_carry_the_numbers_of_the_run(forced, tmp_path):
    forced.to_mcap(tmp_path / "run.mcap")
    _, messages = read(tmp_path / "run.mcap")
    of = {topic: [m for t, _, _, m in messages if t == topic] for topic in CHANNELS}
    for t in range(len(forced.time)):
        pose = of["/pose"][t]["pose"]
        assert [pose["position"][k] for k in "xyz"] == forced.position[t].tolist()
        np.testing.assert_allclose([pose["orientation"][k] for k in "wxyz"], forced.quaternion[t], rtol=0.0, atol=1e-12)
        for w, wheel in enumerate(of["/wheels"][t]["wheels"]):
            assert wheel["name"] == forced.vehicle.wheels[w]
            assert [wheel["slip"][k] for k in ("ahead", "left", "up")] == forced.contact.velocity[t, w].tolist()
            assert [wheel["force"][k] for k in ("ahead", "left", "up")] == forced.contact.force[t, w].tolist()
            a = forced.vehicle.actuated.index(wheel["name"])
            assert (wheel["command"], wheel["torque"]) == (forced.command[t, a], forced.torque[t, a])
        for j, joint in enumerate(of["/joints"][t]["joints"]):
            assert (joint["position"], joint["rate"]) == (forced.joints[t, j], forced.velocity[t, 6 + j])


def test_arrows_of_force_point_up_the_normal_and_add_up_to_the_weight(forced, tmp_path):
    """On a slope at an even speed: tails at the contacts, lengths by the scale that is written beside them."""
    forced.to_mcap(tmp_path / "run.mcap")
    scenes = [m for t, _, _, m in read(tmp_path / "run.mcap")[1] if t == "/contacts"]
    forces = next(one for one in scenes[-1]["entities"] if one["id"] == "force")
    assert forces["frame_id"] == "world"
    scale = float(forces["metadata"][0]["value"].split()[0])
    total = np.zeros(3)
    for arrow, point in zip(forces["arrows"], forced.contact.point[-1], strict=True):
        np.testing.assert_allclose([arrow["pose"]["position"][k] for k in "xyz"], point, rtol=0.0, atol=1e-12)
        R = rotation.from_quaternion([arrow["pose"]["orientation"][k] for k in "wxyz"])
        total += (arrow["shaft_length"] + arrow["head_length"]) / scale * R[:, 0]
    wanted = forced.contact.force[-1].sum(axis=0)  # on a plane and unsteered, the contact frames agree
    assert np.linalg.norm(total) == pytest.approx(np.linalg.norm(wanted), rel=1e-5)
    assert total[2] == pytest.approx(forced.vehicle.mass * 9.81, rel=0.02)


def test_arrows_of_force_are_scaled_by_the_weight_under_the_gravity_of_the_run(tmp_path):
    """The share of a wheel in the weight is drawn as high as the wheel, on the Moon too."""
    moon = gr.Dynamics(gr.vehicle("husky"), gravity=1.62)
    run = gr.simulate(moon, gr.terrain.plane(), gr.drive.arc(0.5, 0.0), duration=0.04)
    run.to_mcap(tmp_path / "run.mcap")
    scene = next(m for t, _, _, m in read(tmp_path / "run.mcap")[1] if t == "/contacts")
    forces = next(one for one in scene["entities"] if one["id"] == "force")
    height, share = 2.0 * run.vehicle.arrays.radius.mean(), run.vehicle.mass * 1.62 / run.vehicle.n_wheels
    assert float(forces["metadata"][0]["value"].split()[0]) == pytest.approx(height / share, rel=1e-5)


def test_shapes_ride_on_their_frames_and_the_ground_lies_under_the_wheels(run, tmp_path):
    run.to_mcap(tmp_path / "run.mcap")
    entities = next(m for t, _, _, m in read(tmp_path / "run.mcap")[1] if t == "/scene")["entities"]
    by_name = {one["id"]: one for one in entities}
    for name in run.vehicle.wheels:
        one = by_name[f"frame {name}"]
        assert one["frame_locked"]
        assert one["frame_id"] == name
        wheel = one["cylinders"][0]
        radius = run.vehicle.frames[run.vehicle.frame_index(name)].radius
        assert wheel["size"]["x"] == wheel["size"]["y"] == 2 * radius
        axle = rotation.from_quaternion([wheel["pose"]["orientation"][k] for k in "wxyz"])[:, 2]
        np.testing.assert_allclose(
            np.abs(axle), (0, 1, 0), rtol=0.0, atol=1e-12
        )  # a cylinder stands along z, an axle is y
    mesh = by_name["ground"]["triangles"][0]
    corners = np.array([[p[k] for k in "xyz"] for p in mesh["points"]])
    np.testing.assert_allclose(corners[:, 2], run.ground.height(corners[:, 0], corners[:, 1]), rtol=0.0, atol=1e-12)
    a, b, c = corners[np.array(mesh["indices"]).reshape(-1, 3)].transpose(1, 0, 2)
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()  # they face up
    low, high = corners.min(axis=0), corners.max(axis=0)
    contacts = run.contact.point.reshape(-1, 3)
    assert ((contacts[:, :2] > low[:2]) & (contacts[:, :2] < high[:2])).all()


@pytest.fixture(scope="module")
def holed():
    """On a map with a hole beside the path, with a frame that has the name of the fixed one."""
    x = np.linspace(-3, 6, 91)
    heights = np.zeros((91, 91))
    heights[50:60, 70:80] = np.nan
    husky = gr.vehicle("husky")
    frames = tuple(replace(frame, name="world") if frame.name == "FL" else frame for frame in husky.frames)
    vehicle = gr.Vehicle(name="husky", frames=frames)
    ground = gr.terrain.grid(heights, x, x)
    return gr.simulate(gr.Kinematics(vehicle), ground, gr.drive.arc(0.5, 0.3), duration=1.2)


def parts(message, key=""):
    """Every dictionary inside a message, with the key it stands under."""
    if isinstance(message, dict):
        yield key, message
        for name, value in message.items():
            yield from parts(value, name)
    elif isinstance(message, list):
        for value in message:
            yield from parts(value, key)


@pytest.mark.parametrize("which", ["run", "forced", "holed"])
def test_frames_are_one_tree_and_everything_stands_in_it(which, request, tmp_path):
    """What Foxglove draws nothing for, without a word: a frame that hangs nowhere, or two that hang from each other."""
    written = request.getfixturevalue(which)
    written.to_mcap(tmp_path / "run.mcap", start=START)
    _, messages = read(tmp_path / "run.mcap")
    trees = [
        [(one["parent_frame_id"], one["child_frame_id"]) for one in message["transforms"]]
        for topic, _, _, message in messages
        if topic == "/tf"
    ]
    assert all(tree == trees[0] for tree in trees)
    children = [child for _, child in trees[0]]
    assert len(set(children)) == len(children) == len(written.vehicle.frames)
    root = {parent for parent, _ in trees[0]} - set(children)
    assert len(root) == 1
    above = {child: parent for parent, child in trees[0]}
    for name in children:
        way = [name]
        while way[-1] in above:
            way.append(above[way[-1]])
            assert len(way) <= len(children) + 1, "a circle"
        assert way[-1] in root
    for _, _, _, message in messages:
        for _, one in parts(message):
            if "frame_id" in one:
                assert one["frame_id"] in {*children, *root}


@pytest.mark.parametrize("which", ["run", "forced", "holed"])
def test_stamps_quaternions_colours_sizes_and_names_are_in_order(which, request, tmp_path):
    written = request.getfixturevalue(which)
    written.to_mcap(tmp_path / "run.mcap", start=START)
    with (tmp_path / "run.mcap").open("rb") as stream:
        records = [(c.topic, m, json.loads(m.data)) for _, c, m in reader.make_reader(stream).iter_messages()]
    last = START * 1e9 + 1e9 * written.time[-1]
    order = [record.log_time for _, record, _ in records]
    assert order == sorted(order)
    assert order[0] == START * 1e9
    assert abs(order[-1] - last) < 1000.0  # ns: float64 at 1.7e18 holds 256
    drawn = {}
    for topic, record, message in records:
        assert record.publish_time == record.log_time
        for key, one in parts(message):
            if key == "timestamp":
                assert one["sec"] * 10**9 + one["nsec"] == record.log_time
            if key in ("rotation", "orientation"):
                assert sum(one[k] ** 2 for k in "xyzw") == pytest.approx(1.0, abs=1e-12)
            if key == "color":
                assert all(0.0 <= one[k] <= 1.0 for k in "rgba")
                assert one["a"] == 1.0
            if key == "size":
                assert min(one.values()) > 0.0
            if key == "triangles":
                assert len(one["indices"]) % 3 == 0
                assert 0 <= min(one["indices"]) <= max(one["indices"]) < len(one["points"])
        if "entities" in message:
            names = [one["id"] for one in message["entities"]]
            assert len(set(names)) == len(names)
            drawn.setdefault(topic, []).append(names)
    assert all(names == drawn["/contacts"][0] for names in drawn["/contacts"])
    assert not set(drawn["/scene"][0]) & set(drawn["/contacts"][0])


@pytest.mark.parametrize(
    "direction",
    [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (-1, 1e-5, -2e-5), (0.3, -0.4, -1.2)],
)
def test_an_arrow_points_where_it_should(direction):
    """Foxglove draws arrows along their own x axis."""
    found = towards(3.0 * np.array(direction, dtype=float))
    x = rotation.from_quaternion([found[k] for k in "wxyz"])[:, 0]
    np.testing.assert_allclose(x, np.array(direction) / np.linalg.norm(direction), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_jump_to_any_time_still_finds_vehicle_ground_and_arrows(forced, tmp_path, share):
    """Foxglove shows, after a jump, the last message of each topic up to that time."""
    forced.to_mcap(tmp_path / "run.mcap")
    at = round(1e9 * share * forced.time[-1])
    found = {}
    with (tmp_path / "run.mcap").open("rb") as stream:
        opened = reader.make_reader(stream)
        assert opened.get_summary().chunk_indexes  # or it would have to read all of the file to jump
        for _, channel, message in opened.iter_messages(reverse=True):
            if message.log_time <= at:
                found.setdefault(channel.topic, json.loads(message.data))
    assert set(found) == set(CHANNELS)
    shown = {one["id"] for topic in ("/scene", "/contacts") for one in found[topic]["entities"]}
    assert shown >= {"ground", "force", "slip", *(f"frame {name}" for name in forced.vehicle.wheels)}


def test_an_exported_run_reads_back_as_a_log(forced, tmp_path):
    """The writer and the reader of bags agree on topics, fields, units and times."""
    forced.to_mcap(tmp_path / "run.mcap", start=START)
    names = list(forced.vehicle.joints)
    log = gr.read_log(
        tmp_path / "run.mcap",
        manifest={
            "time": {"stamp": "record"},
            "rates": {
                name: {"topic": "/joints", "field": f"joints[{names.index(name)}].rate"}
                for name in forced.vehicle.wheels
            },
            "pose": {
                **{k: {"topic": "/pose", "field": f"pose.position.{k}"} for k in "xyz"},
                **{f"q{k}": {"topic": "/pose", "field": f"pose.orientation.{k}"} for k in "wxyz"},
            },
        },
    )
    np.testing.assert_allclose(log.elapsed, forced.time, rtol=0.0, atol=1e-6)
    for name in forced.vehicle.wheels:
        np.testing.assert_array_equal(log.rates[name], forced.velocity[:, 6 + names.index(name)])
    np.testing.assert_array_equal(log.poses.position, forced.position)
    np.testing.assert_allclose(log.poses.attitude[:, 2], forced.yaw, rtol=0.0, atol=1e-12)


def test_a_run_without_a_single_state_is_a_file_without_messages(tmp_path):
    x = np.linspace(-1, 1, 5)
    ground = gr.terrain.grid(np.zeros((5, 5)), x, x)
    state = gr.settle(gr.vehicle("husky"), ground).state
    state[4] = 0.9
    empty = gr.simulate(gr.Kinematics(gr.vehicle("husky")), ground, gr.drive.arc(1.0), duration=1.0, start=state)
    assert len(empty.time) == 0
    empty.to_mcap(tmp_path / "empty.mcap")
    schemas, messages = read(tmp_path / "empty.mcap")
    assert len(schemas) == 5
    assert messages == []


def test_without_the_library_one_sentence_says_what_to_install(run, tmp_path, monkeypatch):
    real = builtins.__import__

    def missing(name, *rest, **more):
        if name.startswith("mcap"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(gr.GrouserError, match=r"run\.mcap: writing MCAP needs mcap; run: pip install grouser\[mcap\]"):
        run.to_mcap(tmp_path / "run.mcap")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("start", [-1.0, float("nan"), 1e10, "now"])
def test_a_start_before_1970_or_beyond_the_clock_is_refused(run, tmp_path, start):
    with pytest.raises(gr.GrouserError, match="start"):
        run.to_mcap(tmp_path / "run.mcap", start=start)
