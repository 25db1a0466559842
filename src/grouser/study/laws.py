"""The model of a study without its varied numbers: vehicle, contact or slip law of each soil, actuator, options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grouser.checks import listed, nearest, shown
from grouser.errors import GrouserError, StudyError
from grouser.law import Recipe
from grouser.model import Model
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.terrain import plane
from grouser.vehicles import vehicle

if TYPE_CHECKING:
    from grouser.study.spec import Spec

CONTACTS = {"piecewise-linear": "PiecewiseLinear", "pacejka": "Pacejka", "terramechanics": "Ishigami"}
"""Names of contact laws as `grouser simulate --contact` has them, besides soils and tyres; none is tabulated here."""
ACTUATORS = ("PI", "DCMotor", "SharedDrive")
KINDS = ("kinematic", "dynamic")


def base_models(spec: Spec) -> dict[str, MotionModel]:
    """The motion model of each soil by its name; of "" where the study has none."""
    fields = spec.fields
    soils: Mapping[str, Any] = fields["soils"] or {"": {}}
    made = {}
    for name, soil in soils.items():
        where = f"soils.{name}" if name else "contact"
        if not isinstance(soil, Mapping):
            raise StudyError(f"{where}: {shown(soil)} is not a table of numbers of a contact law")
        try:
            made[name] = _motion(spec, soil)
        except StudyError:
            raise
        except (GrouserError, TypeError) as error:
            raise StudyError(f"{where}: {error}") from None
    return made


def _motion(spec: Spec, soil: Mapping[str, Any]) -> MotionModel:
    fields = spec.fields
    kind = fields["model"]
    options = dict(fields["options"])
    if kind not in KINDS:
        if not str(kind).endswith(".toml"):
            raise StudyError(f"model: {shown(kind)} is not {', '.join(KINDS)} or the file of a fit (.toml)")
        fitted = Fit.load_for(spec.path(kind), plane()).model
        if not isinstance(fitted.model, Model):
            if options:
                raise StudyError("options: are of kinematic and dynamic models, not of that fit; leave them out")
            return fitted
        return fitted.replace(model=fitted.model.replace(**options), ground=plane())
    own = vehicle(spec.path(fields["vehicle"]) if fields["vehicle"] in spec.files else fields["vehicle"])
    model: Any
    if kind == "kinematic":
        from grouser.kinematics import Kinematics
        from grouser.slip.stored import slip_of

        _unused(fields, ("contact", "actuator"), "the dynamic model")
        law = {**fields["slip"], **soil}
        slip = slip_of(Recipe({"law": "BodySlip", **law}, "slip")) if law else None
        model = Kinematics(own, slip=slip, **options)
    else:
        from grouser.dynamics import Dynamics

        _unused(fields, ("slip",), "the kinematic model")
        model = Dynamics(own, contact=_contact({**fields["contact"], **soil}), actuator=_actuator(fields), **options)
    return MotionModel(model=model, ground=plane())


def _unused(fields: Mapping[str, Any], names: tuple[str, ...], owner: str) -> None:
    for name in names:
        if fields[name]:
            raise StudyError(f"{name}: is of {owner}, and model is {fields['model']}; leave it out")


def _contact(values: Mapping[str, Any]) -> Any:
    from grouser.contact import library
    from grouser.contact.stored import contact_of

    law = values.get("law", "piecewise-linear")
    given = {name: value for name, value in values.items() if name != "law"}
    if law in library.names():
        return contact_of(Recipe({**library.entry(law).recipe(), **given}, "contact"))
    return contact_of(Recipe({**given, "law": CONTACTS.get(law, law)}, "contact"))


def _actuator(fields: Mapping[str, Any]) -> Any:
    from grouser import actuation

    values = dict(fields["actuator"])
    if not values:
        return None
    law = values.pop("law", "PI")
    if law not in ACTUATORS:
        raise StudyError(f"actuator, law: {shown(law)} is not one of {', '.join(ACTUATORS)}")
    return getattr(actuation, law)(**values)


def refuse_name(name: str, names: list[str]) -> StudyError:
    """No parameter has this name."""
    hint = nearest(name, names, 0.5)
    return StudyError(f"parameters: none is called '{name:.60}'; {hint}there are {listed(names, 24)}")
