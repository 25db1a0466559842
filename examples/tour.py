"""The public API on one screen. Writes into out/tour."""

from pathlib import Path

import numpy as np

import grouser as gr

out = Path("out/tour")
out.mkdir(parents=True, exist_ok=True)

rover = gr.vehicle("zoe")  # a name, a .toml or a .urdf path
ground = gr.terrain.rough(rms=0.15, length=0.8, seed=1)  # plane, slope, ramp, grid, mesh, spline, rough, stack
drive = gr.drive.arc(speed=1.0, curvature=0.0)  # or an (T, n_act) array, or a callable

kinematic = gr.Kinematics(rover)  # T §2.2; slip=gr.slip.BodySlip([...]) adds §2.3
dynamic = gr.Dynamics(rover, contact=gr.contact.Pacejka())  # T §2.4; actuator=..., fixed_inertia=..., newton="single"

run = gr.simulate(dynamic, ground, drive, duration=10.0, dt=0.04)
print(run.position[-1], run.quaternion[-1], run.yaw[-1], run.contact.force.shape)  # first axis is time
run.plot(out / "run.png")
run.view(out / "run.html")  # one page of 3D, opens from disk
run.save(out / "run.npz")
run.to_tum(out / "run.tum")

commands = np.full((100, 250, 4), 3.0) * np.linspace(0.5, 1.0, 100)[:, None, None]  # (N, T, n_act) [rad/s]
many = gr.rollout(kinematic, ground, commands, start=run.state[0], dt=0.04)  # all cores
print(many, many.status[:3])  # per rollout: ok, off_terrain, rolled_over, diverged

motion = gr.MotionModel(model=gr.Kinematics(gr.vehicle("husky"), slip=gr.slip.BodySlip([0, -0.05, 0, 0, 0, -0.4])))
t = np.arange(0.0, 60.0, 0.05)
left, right = 4.0 + np.sin(0.5 * t), 4.0 + np.sin(0.7 * t)  # [rad/s]
rates = {name: left if name.endswith("L") else right for name in motion.vehicle.wheels}
log = gr.calibration.log_of_motion(motion, t, rates)  # or gr.read_log("drive.csv", manifest="log.toml")
fit = gr.calibrate(gr.Kinematics(motion.vehicle), log, ["slip.p2", "slip.p6", "noise"], interval=2.0, online=True)
print(fit.values, fit.covariance.shape, fit.history.values.shape)
fit.plot(out / "fit.png")
fit.save(out / "fit.toml")
print(fit.model.predict(log).covariance.shape)  # poses with covariance
odo = gr.Odometry(fit.model)  # streaming: odo.update(t, rates, angles, attitude)
print(odo.update(0.0, dict.fromkeys(rates, 4.0), attitude=(0.0, 0.0)).twist, odo.faults)
