"""The model of a study without its varied numbers: vehicle, contact or slip law of each soil, actuator, options."""

from __future__ import annotations

import inspect
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
        where = f"soils.{name}" if name else ""
        if not isinstance(soil, Mapping):
            raise StudyError(f"{where}: {shown(soil)} is not a table of numbers of a contact law")
        try:
            made[name] = _motion(spec, soil, where)
        except StudyError:
            raise
        except (GrouserError, TypeError) as error:
            raise StudyError(f"{where}: {error}" if where else str(error)) from None
    return made


def _motion(spec: Spec, soil: Mapping[str, Any], where: str) -> MotionModel:
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
        from grouser.slip.body import BodySlip, slip_of

        _unused(fields, ("contact", "actuator"), "the dynamic model")
        law = {**fields["slip"], **soil}
        if law:
            _known(BodySlip, {n: v for n, v in law.items() if n != "law"}, where or "slip")
        slip = slip_of(Recipe({"law": "BodySlip", **law}, "slip")) if law else None
        _known(Kinematics, options, "options")
        model = Kinematics(own, slip=slip, **options)
    else:
        from grouser.dynamics import Dynamics

        _unused(fields, ("slip",), "the kinematic model")
        _known(Dynamics, options, "options")
        model = Dynamics(
            own,
            contact=_contact({**fields["contact"], **soil}, where or "contact"),
            actuator=_actuator(fields),
            **options,
        )
    return MotionModel(model=model, ground=plane())


def _unused(fields: Mapping[str, Any], names: tuple[str, ...], owner: str) -> None:
    for name in names:
        if fields[name]:
            raise StudyError(f"{name}: is of {owner}, and model is {fields['model']}; leave it out")


def _contact(values: Mapping[str, Any], where: str) -> Any:
    from grouser import contact
    from grouser.contact import library

    law = values.get("law", "piecewise-linear")
    given = {name: value for name, value in values.items() if name != "law"}
    if law in library.names():
        recipe = {**library.entry(law).recipe()}
    elif CONTACTS.get(law, law) in library.STORED:
        recipe = {"law": CONTACTS.get(law, law)}
    else:
        names = [*CONTACTS, *library.names()]
        raise StudyError(f"{where}, law: there is no {shown(law)}; {nearest(str(law), names)}there are {listed(names)}")
    _known(getattr(contact, recipe["law"]), given, where)
    return library.contact_of(Recipe({**recipe, **given}, "contact"))


def _actuator(fields: Mapping[str, Any]) -> Any:
    from grouser import actuation

    values = dict(fields["actuator"])
    if not values:
        return None
    law = values.pop("law", "PI")
    if law not in ACTUATORS:
        raise StudyError(f"actuator, law: {shown(law)} is not one of {', '.join(ACTUATORS)}")
    _known(getattr(actuation, law), values, "actuator")
    return getattr(actuation, law)(**values)


def _known(kind: Any, given: Mapping[str, Any], where: str) -> None:
    """Refuse a name that a law or model does not take."""
    own = ("vehicle", "slip", "contact", "actuator")
    names = [name for name in inspect.signature(kind).parameters if name not in own]
    for name in given:
        if name not in names:
            hint = nearest(name, names)
            raise StudyError(f"{where}: has no '{name:.40}'; {hint}{kind.__name__} has {', '.join(names)}")


def refuse_name(name: str, names: list[str]) -> StudyError:
    """No parameter has this name."""
    hint = nearest(name, names, 0.5)
    return StudyError(f"parameters: none is called '{name:.60}'; {hint}there are {listed(names, 24)}")
