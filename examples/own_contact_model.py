"""A contact model of your own: a rubber wheel whose grip fades with slip speed, in ten lines."""

import math
from pathlib import Path

import numpy as np

import grouser as gr

out = Path("out/own_contact_model")
out.mkdir(parents=True, exist_ok=True)


@gr.contact.law
def fading_grip(
    v, r_omega, dz, *, stiffness=gr.param(2.0e4, "N/m", low=0.0), damping=gr.param(1.0e3, "N s/m", low=0.0),
    grip=gr.param(0.9, "1", low=0.0), least=gr.param(0.5, "1", low=0.0), fade=gr.param(0.3, "m/s", low=0.01),
):  # fmt: skip
    """Spring and damper; friction falls from grip to least over slip speeds of about fade."""
    f_z = max(-stiffness * dz - damping * min(1.0, -dz / 0.002) * v[2], 0.0)
    speed = math.sqrt(v[0] ** 2 + v[1] ** 2 + 1e-4)  # 1 cm/s keeps it smooth at rest
    mu = least + (grip - least) * math.exp(-speed / fade)
    return -mu * f_z * v[0] / speed, -mu * f_z * v[1] / speed, f_z


slip = np.linspace(0.0, 1.0, 5)
v = np.stack((-slip, np.zeros(5), np.zeros(5)), axis=-1)  # the rim runs backwards over the ground: driving
force = fading_grip.force(v, r_omega=1.0 + slip, dz=-0.02)  # compiled; arrays of states at once
for s, (f_x, _, f_z) in zip(slip, force, strict=True):
    print(f"slip {s:4.2f} m/s: {f_x:6.1f} N ahead under {f_z:.0f} N")
print("∂f_x/∂v_x at rest:", round(fading_grip.jacobian(np.zeros(3), 0.0, -0.02)[0, 0]), "N·s/m")

icy = fading_grip.replace(grip=0.2, least=0.1)  # nothing is compiled again
fading_grip.plot(out / "grip.png", dz=-0.02)
icy.plot(out / "ice.png", dz=-0.02)
