"""Side files drafted for a URDF, and the vehicle of both."""

import tomllib

import pytest

import grouser as gr
from grouser.vehicles.urdf_draft import draft
from grouser.vehicles.urdf_model import read_robot
from grouser.vehicles.urdf_side import side_path


@pytest.fixture
def drafted(tmp_path):
    def drafted(urdf, name="robot.urdf"):
        path = tmp_path / name
        path.write_text(urdf)
        made = draft(read_robot(path), path)
        return made, tomllib.loads(made.text)

    return drafted


@pytest.fixture
def load(tmp_path, drafted):
    """The vehicle of a URDF with a side file: its draft with lines replaced, or another text."""

    def load(urdf, *changes, side=None):
        path = tmp_path / "robot.urdf"
        path.write_text(urdf)
        text = drafted(urdf)[0].text if side is None else f'schema = "grouser/urdf@1"\n{side}'
        for old, new in changes:
            assert text.count(old) == 1, text
            text = text.replace(old, new)
        side_path(path).write_text(text)
        return gr.vehicle(path)

    return load
