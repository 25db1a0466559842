"""Where each number stands in the flat arrays of the streaming odometry."""

# settings
PLANAR = 0  # 1: motion in the plane, L §4.3.2
LINEAR = 1  # 1: velocity is linear in the rates, with the slip surface of P
ON_GROUND = 2  # 1: contacts are found on a known ground
CONTACT_KNOWN = 3  # 1: contact angles are known, 0: assumed
GAP = 4  # longest step that is no gap [s]
ACCELERATION = 5  # of motion in a gap [m/s² and rad/s²]
WHITE = 6  # share of the rate noise that is independent from sample to sample
SLIP_SCALE = 7  # k of f(s) = (1 + k s)²
GYRO_VARIANCE = 8  # of a turn rate [rad²/s²]
ATTITUDE_SIGMA = 9  # of roll and of pitch [rad]
ATTITUDE_TIME = 10  # correlation time of their errors [s]
ATTITUDE_DRIFT = 11  # how fast they may change unseen, one sigma [rad/s]
CONTACT_SIGMA = 12  # of contact angles [rad]
PERIOD = 13  # of samples, where a step is not known yet [s]
WHEELS_WANTED = 14  # number of wheels whose rates are measured
SURFACE = 15  # 13 parameters of the slip surface
PITCHING = 28  # 1: the turn rate about y, which adds to yaw where the vehicle leans, is that of the measured pitch
NOISE = 29  # 36 of the density Q′ of the process noise, then 1 if it grows with distance
SETTINGS = NOISE + 37

# joints, columns
RATE_VARIANCE = 0  # [rad²/s²]
BELOW = 1  # stops [rad or m]
ABOVE = 2
RATE_WANTED = 3  # 1: a rate that is missing is a fault
ANGLE_WANTED = 4  # 1: an angle that is missing is a fault
LAST_ANGLE = 5  # [rad or m]
ANGLE_SEEN = 6  # when [s]; NaN: never
HELD = 7  # 1: at rest in the plane; then its displacement there
ANGLE_SIGMA = 9  # of the measurement; then what a fault adds [rad or m]
COLUMNS = 11

# memory
M_TIME = 0
M_STARTED = 1
M_POSITION = 2  # 3 and yaw
M_TWIST = 6
M_ATTITUDE = 12
M_ATTITUDE_SEEN = 14  # −inf: never
M_ATTITUDE_SIGMA = 15
M_SPEED = 16  # intensity of the process noise
LATE = 17  # samples in a row that came too late
M_LOST = 18  # 1: samples were lost since the last one taken
M_GYRO = 19  # 1: turn rates of the last sample are the gyro's
M_COVARIANCE = 20  # 36
M_POSE = 56  # 16: covariance of x, y, z, yaw
M_LEAN = 72  # 12: ∂twist/∂roll, ∂twist/∂pitch, by slip
M_CROSS = 84  # 8: covariance of the errors of roll, of pitch with x, y, z, yaw
MEMORY = 92

LATEST = 1e12
"""Time stamps are below this [s]."""
LATE_MOST = 10
"""Late samples in a row after which the clock itself is taken to have been set back."""

# out
O_TIME = 0
O_POSITION = 1
O_QUATERNION = 4
O_YAW = 8
O_TWIST = 9
O_ODOMETRY = 15
O_COVARIANCE = 21  # 36 of the twist
O_POSE = 57  # 36 of the pose
O_OBSERVED = 93
O_FAULTS = 99
O_RATE_JOINT = 100
O_ANGLE_JOINT = 101
O_MEASURED = 102
O_ATTITUDE = 103
OUT = 105

FAULT_TIME = 1
FAULT_CLOCK = 2
FAULT_GAP = 4
FAULT_RATE = 8
FAULT_ANGLE = 16
FAULT_ANGLE_MISSING = 32
FAULT_ATTITUDE = 64
FAULT_GYRO = 128
FAULT_GROUND = 256
FAULT_UNOBSERVED = 512
