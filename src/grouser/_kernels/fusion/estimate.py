"""The estimate of the fusion filter at the body's origin, with covariances in body axes."""

from grouser._compile.jit import kernel
from grouser._kernels.arrays import fill, inner
from grouser._kernels.fusion.memory import GYRO_BIAS, MOTION, PARAMETERS, POSITION, ROTATION, SLIP, VELOCITY
from grouser._kernels.fusion.update import sparse_product
from grouser._kernels.rotation import add, column, cross, matrix, put, put_quaternion, rotate, rotate_back, skew


@kernel
def write_estimate(m, out):
    """The present estimate as a record; its rate is the gyro's without the bias."""
    x, P, lever = m.state, m.covariance, m.settings.lever_body
    rate = add(m.imu.now, -1.0, x.gyro_bias)
    out.time = m.clock.now
    out.distrusted = m.counts.distrusted
    put_quaternion(x.quaternion, out.quaternion)
    put(add(x.position, 1.0, rotate(x.quaternion, lever)), out.position, 0)
    put(add(x.velocity, 1.0, rotate(x.quaternion, cross(rate, lever))), out.velocity, 0)
    put(rate, out.twist, 0)
    put(rotate_back(x.quaternion, out.velocity), out.twist, 3)
    put(x.gyro_bias, out.gyro_bias, 0)
    put(x.acceleration_bias, out.acceleration_bias, 0)
    body_jacobian(m, out)
    carry(m, MOTION, P, out.covariance)
    twist_jacobian(m, out.twist)
    carry(m, 6, out.covariance, out.twist_covariance)
    for i in range(3):
        out.twist_covariance[i, i] += m.settings.gyro_noise * m.settings.rate
    write_slip(m, out)
    put(add(out.position, 1.0, m.settings.origin), out.position, 0)


@kernel
def write_slip(m, out):
    """Slip and its covariance: with the lasting part, unless the parameters are those of the odometry."""
    P = m.covariance
    lasting = 0 if m.settings.given else 3
    for i in range(3):
        out.slip[i] = m.state.slip[i] + (m.parameters[i] if lasting else 0.0)
        for j in range(3):
            out.slip_covariance[i, j] = P[SLIP + i, SLIP + j]
            if lasting:
                a, b = PARAMETERS + i, PARAMETERS + j
                out.slip_covariance[i, j] += P[SLIP + i, b] + P[SLIP + j, a] + P[a, b]


@kernel
def body_jacobian(m, body):
    """m.J (15, 15) ← ∂(error of the origin in body axes)/∂(error ξ of the IMU in world axes).

    Every point of the body has the same ξ but for ω × lever, so δ = Ad(χ⁻¹) ξ with χ = (R, v, p) of the origin: rows
    Rᵀ θ, Rᵀ (ξ_v − v × θ) + lever × δb_g, Rᵀ (ξ_p − p × θ).
    """
    J, R = m.J, m.R
    matrix(body.quaternion, R)
    fill(J, 0.0)
    for i in range(GYRO_BIAS, MOTION):
        J[i, i] = 1.0
    for i in range(3):
        axis = column(R, i)
        put(axis, J[ROTATION + i], ROTATION)
        put(axis, J[VELOCITY + i], VELOCITY)
        put(axis, J[POSITION + i], POSITION)
        put(cross(body.velocity, axis), J[VELOCITY + i], ROTATION)  # row i of −Rᵀ [v]×
        put(cross(body.position, axis), J[POSITION + i], ROTATION)
    skew(m.settings.lever_body, J[VELOCITY : VELOCITY + 3, GYRO_BIAS : GYRO_BIAS + 3])


@kernel
def twist_jacobian(m, twist):
    """m.J (6, 15) ← ∂(ω, v in body axes)/∂(error of the origin): δω = −δb_g; v = Rᵀ v_world, so δv = ν + v × θ."""
    J = m.J
    fill(J[:6], 0.0)
    for i in range(3):
        J[i, GYRO_BIAS + i] = -1.0
        J[3 + i, VELOCITY + i] = 1.0
    skew((twist[3], twist[4], twist[5]), J[3:6, ROTATION : ROTATION + 3])


@kernel
def carry(m, rows, P, out):
    """out (rows, rows) ← J P Jᵀ with m.J (rows, 15), symmetric."""
    J = m.J
    for i in range(rows):
        row = m.product[i]
        sparse_product(J[i], P, MOTION, row)
        for j in range(i + 1):
            out[i, j] = inner(row, J[j])
            out[j, i] = out[i, j]
