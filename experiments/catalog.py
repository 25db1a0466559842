"""Published experiments, run with Grouser and compared with the papers' numbers."""

from dataclasses import replace

from experiments.crashes import CRASHES
from experiments.drive_windows import DRIVE_WINDOWS
from experiments.experiment import Experiment, Result
from experiments.figure_3_8 import FIGURE_3_8
from experiments.figure_8 import FIGURE_8
from experiments.fusion import FUSION
from experiments.ground_change import GROUND_CHANGE
from experiments.lru_oscillations import LRU_OSCILLATIONS
from experiments.lru_slip import LRU_SLIP
from experiments.lru_traction import LRU_TRACTION
from experiments.on_board import ON_BOARD
from experiments.planning import PLANNING
from experiments.planning_fidelity import PLANNING_FIDELITY
from experiments.planning_reach import PLANNING_REACH
from experiments.planning_soil_change import PLANNING_SOIL_CHANGE
from experiments.pvc import PVC_PLATEAU, PVC_RANDOM
from experiments.rollover import ROLLOVER
from experiments.single_wheel import SINGLE_WHEEL
from experiments.slip_surface import SLIP_SURFACE
from experiments.surface_change import SURFACE_CHANGE
from experiments.table_2_4 import TABLE_2_4
from experiments.table_2_5 import TABLE_2_5
from experiments.table_2_6 import TABLE_2_6
from experiments.table_2_7 import TABLE_2_7
from experiments.table_3_3 import TABLE_3_3
from experiments.table_3_4 import TABLE_3_4
from experiments.table_3_7 import TABLE_3_7
from experiments.traction_loss import TRACTION_LOSS
from experiments.warthog_memory import WARTHOG_MEMORY
from experiments.warthog_ridge import WARTHOG_RIDGE
from experiments.zoe_odometry import ZOE_ODOMETRY

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        TABLE_2_4,
        TABLE_2_5,
        TABLE_2_6,
        TABLE_2_7,
        TRACTION_LOSS,
        ROLLOVER,
        FIGURE_8,
        SINGLE_WHEEL,
        TABLE_3_3,
        TABLE_3_4,
        replace(TABLE_3_4, name="table-3.5", description="The reductions of table-3.4, which prints them too"),
        replace(TABLE_3_4, name="table-3.6", description="The differential drives of table-3.4, which prints them too"),
        TABLE_3_7,
        replace(TABLE_3_7, name="table-3.8", description="The reductions of table-3.7, which prints them too"),
        FIGURE_3_8,
        SLIP_SURFACE,
        ZOE_ODOMETRY,
        LRU_SLIP,
        LRU_OSCILLATIONS,
        LRU_TRACTION,
        FUSION,
        DRIVE_WINDOWS,
        WARTHOG_RIDGE,
        WARTHOG_MEMORY,
        GROUND_CHANGE,
        SURFACE_CHANGE,
        PVC_PLATEAU,
        PVC_RANDOM,
        CRASHES,
        ON_BOARD,
        PLANNING_REACH,
        PLANNING,
        PLANNING_SOIL_CHANGE,
        PLANNING_FIDELITY,
    )
}
"""By the name they have on the command line."""

__all__ = ["EXPERIMENTS", "Experiment", "Result"]
