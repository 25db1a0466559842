"""A planner in a Gymnasium loop: MPPI drives a Husky round a keep-out over rough ground; the world has forces."""

from pathlib import Path

import gymnasium

import grouser as gr
import grouser.gym

out = Path("out/plan_in_a_loop")
out.mkdir(parents=True, exist_ok=True)

husky = gr.vehicle("husky")
ground = gr.terrain.rough(rms=0.06, length=1.0, seed=4, size=16.0)
goal, fastest = (4.0, 2.0), 1.5  # m, m/s
world = gymnasium.make(
    grouser.gym.ID, model=gr.Dynamics(husky), terrain=ground, start=(-4.0, -2.0, 0.0), goal=goal, action="joints",
    max_speed=fastest, dt=0.04, hold=2,
)  # fmt: skip

cost = gr.plan.Cost(gr.plan.Goal(*goal), gr.plan.TipMargin(), gr.plan.Clearance(), gr.plan.CommandRate())
controller = gr.plan.MPPI(
    gr.Kinematics(husky),  # what the planner knows: no forces
    ground,
    cost,
    dt=0.08,  # = dt · hold of the world
    samples=200,
    keep_out=gr.plan.KeepOut.circles([(0.0, 0.0, 1.0)], ground.bounds),
)

world.reset(seed=1)
over = False
while not over:
    order = controller.command(world.unwrapped.state)
    action = order.rates * husky.arrays.radius / fastest  # −1 to 1 of each wheel
    _, _, terminated, truncated, info = world.step(action)
    over = terminated or truncated
run = world.unwrapped.run()
print(f"reached: {info['is_success']} after {run.distance:.1f} m in {info['time']:.1f} s, plan's risk {order.risk:.2g}")
run.view(out / "drive.html")
