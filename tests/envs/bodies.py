"""Models for tests of MuJoCo's worlds, as text."""

import importlib.util

import pytest

installed = importlib.util.find_spec("mujoco") is not None
needs_mujoco = pytest.mark.skipif(not installed, reason="mujoco is not installed")


def rod(length: float = 1.0, geometry: str = "capsule", height: float = 2.0) -> str:
    """A rod that stands on the floor and can only move up and down, with an arm, a named contact and a slow motor.

    All places along the rod and its half length are multiples of `length`.
    """
    half = 0.4 * length
    size = {
        "capsule": f"0.1 {half}",
        "cylinder": f"0.1 {half}",
        "box": f"0.1 0.1 {half}",
        "ellipsoid": f"0.1 0.1 {half}",
    }
    return f"""
    <mujoco>
      <option timestep="0.005" integrator="Euler"/>
      <worldbody>
        <geom name="floor" type="plane" size="5 5 0.1"/>
        <body name="rod" pos="0 0 {height}">
          <joint name="lift" type="slide" axis="0 0 1" pos="0 0 {-0.3 * length}" damping="0.1"/>
          <geom name="rod" type="{geometry}" size="{size[geometry]}" mass="1"/>
          <site name="top" pos="0 0 {half}"/>
          <body name="arm" pos="{0.2 * length} 0 {0.1 * length}">
            <joint name="swing" type="hinge" axis="0 1 0" pos="0 0 {0.15 * length}" damping="0.2"/>
            <geom name="arm" type="capsule" size="0.05 {0.15 * length}" pos="0 0 {0.05 * length}" mass="0.3"/>
          </body>
        </body>
      </worldbody>
      <contact><pair name="foot" geom1="floor" geom2="rod" friction="0.8 0.8"/></contact>
      <actuator>
        <motor joint="lift" ctrlrange="-1 1" ctrllimited="true"/>
        <general joint="swing" dyntype="filter" dynprm="0.05" gainprm="2" ctrlrange="-1 1" ctrllimited="true"/>
      </actuator>
    </mujoco>"""
