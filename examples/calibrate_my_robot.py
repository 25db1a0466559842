"""Calibrate a robot from a driving log with wheel rates and poses; print the parameters with their sigmas."""

from pathlib import Path

import numpy as np

import grouser as gr
from grouser.calibration.calibrate import calibrate
from grouser.calibration.evaluate import evaluate

out = Path("out")
out.mkdir(exist_ok=True)

# Bring your own CSV; this one is a simulated skid-steered drive that turns 0.6 times as fast as its wheel rates say.
t = np.arange(0.0, 120.0, 0.05)
speed, turn = 0.9 + 0.4 * np.sin(0.5 * t), 0.8 * np.sin(0.3 * t) + 0.4 * np.sin(0.9 * t)
left, right = (speed - 0.54 * turn) / 0.3, (speed + 0.54 * turn) / 0.3
yaw = 0.05 * np.cumsum(0.6 * turn)
x, y = (np.cumsum(0.05 * 0.95 * speed * f(yaw)) for f in (np.cos, np.sin))
noise = 0.01 * np.random.default_rng(1).standard_normal((3, len(t)))
table = np.stack([t, left, right, x + noise[0], y + noise[1], yaw + 0.3 * noise[2]], axis=1)
np.savetxt(out / "drive.csv", table, delimiter=",", header="t,left,right,x,y,yaw", comments="")

log = gr.read_log(
    out / "drive.csv",
    manifest={
        "vehicle": "warthog",
        "time": {"column": "t"},
        "rates": {"FL": "left", "BL": "left", "FR": "right", "BR": "right"},
        "pose": {"x": "x", "y": "y", "yaw": "yaw"},
    },
)
train, test = log.split(0.7)
fit = calibrate(gr.Kinematics(gr.vehicle("warthog")), train, ["slip.p2", "slip.p6", "sensor.x", "noise"], online=True)
fit.save(out / "fit.toml")
fit.plot(out / "history.png")
judged = evaluate(fit, test).summary()
print(f"{fit}\nheld out: {judged['position_rms']:.3f} m; plain odometry: {judged['baseline']['position_rms']:.3f} m")
