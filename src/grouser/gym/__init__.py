"""A Gymnasium environment: drive a vehicle over rough ground to a goal.

>>> import gymnasium, grouser.gym
>>> env = gymnasium.make("grouser/RoughTerrain-v0", vehicle="husky", model="dynamic")
"""

from grouser.errors import GrouserError

try:
    import gymnasium
except ImportError:
    raise GrouserError("grouser.gym needs gymnasium; run: pip install grouser[gym]") from None

from grouser.gym.environment import RoughTerrainEnv

__all__ = ["ID", "RoughTerrainEnv"]

ID = "grouser/RoughTerrain-v0"
"""What `gymnasium.make` takes."""

if ID not in gymnasium.registry:
    gymnasium.register(id=ID, entry_point="grouser.gym.environment:RoughTerrainEnv")
