"""Studies: many variants of a vehicle, its ground, soil and drive, run in chunks that are never lost or run twice."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.study.results import Results
    from grouser.study.run import run_study, study
    from grouser.study.sensitivity import Indices, sobol_indices
    from grouser.study.spec import Spec

__all__ = ["Indices", "Results", "Spec", "run_study", "sobol_indices", "study"]

lazy(__name__)
