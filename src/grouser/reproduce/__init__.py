"""Published experiments, run again with Grouser and set beside the papers' numbers."""

from dataclasses import replace

from grouser.reproduce.drive_windows import DRIVE_WINDOWS
from grouser.reproduce.experiment import Experiment, Result
from grouser.reproduce.figure_3_8 import FIGURE_3_8
from grouser.reproduce.figure_8 import FIGURE_8
from grouser.reproduce.fusion import FUSION
from grouser.reproduce.lru_slip import LRU_SLIP
from grouser.reproduce.lru_traction import LRU_TRACTION
from grouser.reproduce.pvc import PVC_PLATEAU, PVC_RANDOM
from grouser.reproduce.rollover import ROLLOVER
from grouser.reproduce.single_wheel import SINGLE_WHEEL
from grouser.reproduce.slip_surface import SLIP_SURFACE
from grouser.reproduce.table_2_4 import TABLE_2_4
from grouser.reproduce.table_2_5 import TABLE_2_5
from grouser.reproduce.table_2_6 import TABLE_2_6
from grouser.reproduce.table_2_7 import TABLE_2_7
from grouser.reproduce.table_3_3 import TABLE_3_3
from grouser.reproduce.table_3_4 import TABLE_3_4
from grouser.reproduce.table_3_7 import TABLE_3_7
from grouser.reproduce.traction_loss import TRACTION_LOSS
from grouser.reproduce.zoe_odometry import ZOE_ODOMETRY

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
        LRU_TRACTION,
        FUSION,
        DRIVE_WINDOWS,
        PVC_PLATEAU,
        PVC_RANDOM,
    )
}
"""By the name they have on the command line."""

__all__ = ["EXPERIMENTS", "Experiment", "Result"]
