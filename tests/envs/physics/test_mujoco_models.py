# pyright: reportMissingImports=false
"""What factors change in a model, beside tables computed by hand and models that MuJoCo compiles itself."""

import contextlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.envs.physics import mujoco_models
from robustirl.envs.physics.mujoco_models import (
    _scale,
    action_bounds,
    arrays_of_model,
    as_integrator,
    as_iterations,
    change_model,
    load_model,
    quiet,
    require_mjx,
    require_mujoco,
)
from robustirl.errors import InvalidInputError
from tests.envs.physics.bodies import needs_mujoco, rod

# What needs no engine, on the tables of a model: a torso (1) with an arm (2), and a floor that is the world's (0).


def _tables():
    return SimpleNamespace(
        nbody=3,
        body_parentid=np.array([0, 0, 1]),
        geom_bodyid=np.array([0, 1, 2]),
        geom_type=np.array([0, 3, 3]),
        dof_bodyid=np.array([1, 2]),
        jnt_bodyid=np.array([1, 2]),
        site_bodyid=np.array([2]),
        pair_geom1=np.array([0, 0]),
        pair_geom2=np.array([1, 2]),
        body_mass=np.array([0.0, 2.0, 3.0]),
        body_inertia=np.full((3, 3), 4.0),
        body_pos=np.ones((3, 3)),
        body_ipos=np.ones((3, 3)),
        geom_friction=np.ones((3, 3)),
        geom_pos=np.ones((3, 3)),
        geom_size=np.ones((3, 3)),
        geom_rbound=np.full(3, 2.0),
        geom_aabb=np.tile([0.0, 0, 0, 1, 1, 2], (3, 1)),
        jnt_pos=np.ones((2, 3)),
        site_pos=np.ones((1, 3)),
        pair_friction=np.ones((2, 5)),
        dof_damping=np.array([1.0, 5.0]),
        opt=SimpleNamespace(gravity=np.array([0.0, 0.0, -9.81]), disableflags=1),
    )


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("mass", {"body_mass": [0, 2, 6], "body_inertia": [[4] * 3, [4] * 3, [8] * 3]}),
        (
            "friction",
            {
                "geom_friction": [[1, 1, 1], [1, 1, 1], [2, 1, 1]],
                "pair_friction": [[1] * 5, [2, 2, 1, 1, 1]],
            },
        ),
        ("damping", {"dof_damping": [1, 10]}),
        (
            "length",
            {
                "body_ipos": [[1] * 3, [1] * 3, [2] * 3],
                "geom_pos": [[1] * 3, [1] * 3, [2] * 3],
                "geom_size": [[1, 1, 1], [1, 1, 1], [1, 2, 1]],
                "geom_rbound": [2, 2, 3],
                "geom_aabb": [[0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 3]],
                "jnt_pos": [[1] * 3, [2] * 3],
                "site_pos": [[2] * 3],
                "body_inertia": [[4] * 3, [4] * 3, [16] * 3],
            },
        ),
    ],
)
def test_a_factor_of_one_body_changes_what_is_its_own(kind, changed):
    model, before = _tables(), _tables()
    _scale(model, kind, np.array([2]), 2.0)
    for name, array in vars(before).items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(getattr(model, name), changed.get(name, array), err_msg=name)
    # Trees of boxes are left out where they would be wrong, beside the flag that was set before.
    assert model.opt.disableflags == (1 | 1 << 14 if kind == "length" else 1)


def test_factors_of_all_bodies_leave_the_world_as_it_is():
    model = _tables()
    for kind in ("length", "gravity"):
        _scale(model, kind, np.arange(3), 3.0)
    moved = [[1] * 3, [3] * 3, [3] * 3]  # The floor stays.
    np.testing.assert_array_equal(model.geom_pos, moved)
    np.testing.assert_array_equal(model.body_ipos, moved)
    np.testing.assert_array_equal(model.geom_size, [[1, 1, 1], [1, 3, 1], [1, 3, 1]])
    np.testing.assert_array_equal(model.body_pos, [[1] * 3, [1] * 3, [3] * 3])  # The torso hangs from the world itself.
    np.testing.assert_array_equal(model.body_inertia, [[4] * 3, [36] * 3, [36] * 3])
    np.testing.assert_allclose(model.opt.gravity, [0, 0, -29.43])


@needs_mujoco
@pytest.mark.parametrize("geometry", ["capsule", "cylinder", "box", "ellipsoid"])
def test_a_longer_body_is_that_of_a_file_with_longer_parts(geometry):
    import mujoco

    read = mujoco.MjModel.from_xml_string
    usual, longer = read(rod(1.0, geometry)), read(rod(1.5, geometry))
    found = change_model(usual, {"length": 1.5})
    names = ("body_pos", "body_mass", "geom_pos", "geom_size", "geom_rbound", "geom_aabb", "jnt_pos", "site_pos")
    for name in names:
        np.testing.assert_allclose(getattr(found, name), getattr(longer, name), atol=1e-12, err_msg=name)
    assert not np.allclose(usual.geom_rbound, longer.geom_rbound)
    np.testing.assert_allclose(found.body_inertia[1:], usual.body_inertia[1:] * 2.25)


@needs_mujoco
def test_factors_of_mass_renew_what_mujoco_derives():
    import mujoco

    usual = mujoco.MjModel.from_xml_string(rod())
    heavy = mujoco.MjModel.from_xml_string(rod().replace('mass="1"', 'mass="2"').replace('mass="0.3"', 'mass="0.6"'))
    found = change_model(usual, {"mass": 2.0})
    for name in ("body_mass", "body_inertia", "body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0"):
        np.testing.assert_allclose(getattr(found, name), getattr(heavy, name), rtol=1e-9, err_msg=name)
    one = change_model(usual, {"mass:arm": 2.0, "friction:arm": 3.0, "gravity": 0.5})
    np.testing.assert_allclose(one.body_mass, [0, 1, 0.6])
    np.testing.assert_allclose(
        arrays_of_model(one)["pair_friction"][:, :3], [[0.8, 0.8, 0.005]]
    )  # The rod's, not the arm's.
    np.testing.assert_allclose(change_model(usual, {"friction": 2.0}).pair_friction[:, :3], [[1.6, 1.6, 0.005]])
    np.testing.assert_allclose(arrays_of_model(one)["gravity"], [0, 0, -4.905])
    np.testing.assert_allclose(usual.opt.gravity, [0, 0, -9.81])  # The model itself stays.


@needs_mujoco
def test_a_mesh_has_no_length_to_change():
    import mujoco

    corners = "0 0 0  1 0 0  0 1 0  0 0 1"
    mesh = f"<asset><mesh name='stone' vertex='{corners}'/></asset>"
    body = "<worldbody><body name='rock'><freejoint/><geom name='stone' type='mesh' mesh='stone'/></body></worldbody>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{mesh}{body}</mujoco>")
    with pytest.raises(InvalidInputError, match="the length of the geometry stone cannot be changed; only capsules"):
        change_model(model, {"length": 2.0})
    change_model(model, {"length": 1.0, "mass": 2.0})


@needs_mujoco
def test_models_are_read_without_a_word(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.xml").write_text(rod().replace("<mujoco>", '<mujoco><compiler settotalmass="14"/>'))
    model = load_model(tmp_path / "old.xml")  # MuJoCo warns of this attribute.
    assert model.body_mass.sum() == pytest.approx(14)
    assert load_model(model) is not model  # Options are set in the copy.
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["old.xml"]  # MuJoCo writes a file of warnings by itself.
    with pytest.raises(InvalidInputError, match=r"none\.xml is no model that MuJoCo reads"):
        load_model(tmp_path / "none.xml")


@needs_mujoco
def test_a_handler_of_warnings_is_put_back_after_an_error():
    mujoco = require_mujoco()
    model, before, heard = mujoco.MjModel.from_xml_string(rod()), mujoco.get_mju_user_warning(), []

    def blow_up():
        data = mujoco.MjData(model)
        data.qvel[:] = np.nan
        mujoco.mj_step(model, data)

    try:
        mujoco.set_mju_user_warning(heard.append)
        with contextlib.suppress(KeyError), quiet():
            blow_up()
            raise KeyError
        assert heard == []
        blow_up()
    finally:
        mujoco.set_mju_user_warning(before)
    assert len(heard) == 1


def test_without_mujoco_the_command_that_installs_it_is_told(monkeypatch):
    for name in ("mujoco", "mujoco.mjx"):
        monkeypatch.setitem(sys.modules, name, None)  # As if they could not be found.
    with pytest.raises(
        InvalidInputError, match=r"^this needs mujoco \(.*\); run `pip install 'robustirl\[mujoco\]'`\.$"
    ):
        require_mujoco()
    with pytest.raises(InvalidInputError, match=r"the engine mjx needs mujoco-mjx .*or choose engine='mujoco'\.$"):
        require_mjx()


def test_options_of_the_engine():
    assert as_iterations([1, 2]) == (1, 2)
    for given in ((1,), (1, 2, 3), "12"):
        with pytest.raises(InvalidInputError, match="two counts are needed"):
            as_iterations(given)
    for given in ((0, 1), (1, 0)):
        with pytest.raises(InvalidInputError, match=rf"iterations\[{given.index(0)}\] is 0"):
            as_iterations(given)
    engine = SimpleNamespace(mjtIntegrator=SimpleNamespace(mjINT_EULER=0, mjINT_RK4=1, mjINT_IMPLICITFAST=3))
    assert [as_integrator(engine, name) for name in ("euler", "rk4", "implicitfast")] == [0, 1, 3]
    with pytest.raises(InvalidInputError, match="integrator is 'heun', but one of euler, rk4, implicitfast is needed"):
        as_integrator(engine, "heun")
    model = SimpleNamespace(nu=2, actuator_ctrllimited=[1, 0], actuator_ctrlrange=[[-0.4, 0.6], [0.0, 0.0]])
    np.testing.assert_array_equal(action_bounds(model), [[-0.4, -1], [0.6, 1]])
    with pytest.raises(InvalidInputError, match="the model has no actuators"):
        action_bounds(SimpleNamespace(nu=0))


@needs_mujoco
def test_numbers_of_kinds_and_flags_are_mujocos():
    mujoco, kinds = require_mujoco(), ("SPHERE", "CAPSULE", "ELLIPSOID", "CYLINDER", "BOX")
    for kind in kinds:
        assert getattr(mujoco_models, kind) == int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind}"))
    assert int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE) == mujoco_models.NO_TREES


@needs_mujoco
@pytest.mark.parametrize(
    ("found", "given", "says"),
    [
        ('timestep="0.005"', 'timestep="0"', "has a timestep of 0 s, but a finite one above 0 is needed"),
        ('timestep="0.005"', 'timestep="nan"', "has a timestep of nan s"),
        ('ctrlrange="-1 1"', 'ctrlrange="-inf inf"', "has numbers in actuator_ctrlrange that are not finite"),
        ('pos="0 0 2.0"', 'pos="0 inf 2.0"', "has numbers in body_pos that are not finite"),
        ("<option ", '<option gravity="0 nan 0" ', "has numbers in gravity that are not finite"),
    ],
)
def test_a_model_without_numbers_is_refused(tmp_path, refused, found, given, says):
    assert found in rod()
    (tmp_path / "rod.xml").write_text(rod().replace(found, given))
    with refused(f"{tmp_path / 'rod.xml'} {says}"):
        load_model(tmp_path / "rod.xml")
    model = require_mujoco().MjModel.from_xml_string(rod().replace(found, given))
    with refused(f"the model {says}"):
        load_model(model)
