"""Colours of pictures and pages that the colour-blind can distinguish."""

from grouser.simulation.status import Status

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
PALETTE = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, YELLOW, "#666666")
"""Okabe and Ito (2008), ordered so that the first few differ most."""
SOILS = (YELLOW, SKY, GREEN, PURPLE, ORANGE, "#666666")
"""Tints of soils."""
INK = "#222222"
FAINT = "#8A8A8A"
SLATE = "#5A6B7B"
"""Many points: coloured lines stand out from it."""
STATUS = {
    Status.OK: BLUE,
    Status.OFF_TERRAIN: ORANGE,
    Status.ROLLED_OVER: VERMILLION,
    Status.DIVERGED: PURPLE,
    Status.UNSOLVED: "#666666",
    Status.GAINED_ENERGY: GREEN,
    Status.BURIED: SKY,
    Status.INTERRUPTED: FAINT,
    Status.STOPPED: FAINT,
}
"""How a rollout ended."""
