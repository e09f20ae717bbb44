"""A plugin file with measures that sleep, die, draw and attack, and small studies of them."""

from __future__ import annotations

import pytest

from sfumato.plugin_registry import Registry, use_registry

PLUGIN = '''
"""Measures that misbehave in known ways."""
import os
import time
from pathlib import Path

import numpy as np
import sfumato as sf
from sfumato.parameters import PLUGIN, SEED, Label, NONNEGATIVE, declare, parameter


class Misbehaving(sf.LossMeasure):
    reads = ((object, object, object),)

    @property
    def quantity(self):
        return sf.Quantity(type(self).name)


@declare
class Sleepy(Misbehaving):
    """Takes its time."""
    name = "sleepy"
    seconds: float = parameter(NONNEGATIVE, default=0.0)

    def evaluate(self, belief, question, channel):
        time.sleep(self.seconds)
        return sf.Reading(value=self.seconds, bound="exact")


@declare
class Deadly(Misbehaving):
    """Kills its process unless the file exists; makes the file if `once`."""
    name = "deadly"
    file: str = parameter(Label())
    once: str = parameter(Label(), default="")

    def evaluate(self, belief, question, channel):
        if not Path(self.file).exists():
            if self.once:
                Path(self.file).touch()
            os._exit(7)
        return sf.Reading(value=1.0, bound="exact")


@declare
class Dicey(Misbehaving):
    """Draws a number."""
    name = "dicey"
    seed: int | None = parameter(SEED, default=None)

    def evaluate(self, belief, question, channel):
        print("chatter that must not reach anyone's protocol")
        value = np.random.default_rng(self.seed).normal()
        return sf.Reading(value=value, bound="estimate", interval=(value, np.inf))


@declare
class Attack(Misbehaving):
    """Takes an adversary."""
    name = "attack"
    adversary: object = parameter(PLUGIN("adversary"))

    def evaluate(self, belief, question, channel):
        guess = (np.float64(1.5), sf.SUPPRESSED)
        return sf.Reading(value=1.0, bound="exact", witness={"guess": guess})


@sf.hookimpl
def sfumato_measures():
    return [Sleepy, Deadly, Dicey, Attack]
'''


@pytest.fixture
def misbehaving(tmp_path, fresh_registry):
    """Load the plugin file into the default registry and return its path."""
    file = tmp_path / "misbehaving.py"
    file.write_text(PLUGIN)
    use_registry(Registry.load([file]))
    return file


@pytest.fixture
def small_table():
    """Make the table of a small study: two priors, two mechanisms, two measures."""

    def make(**changes):
        return {
            "title": "A small study",
            "priors": [{"name": "rbf", "length_scale": {"sweep": [1.0, 3.0]}, "times": 9}],
            "secrets": [{"name": "basic", "index": 4}],
            "mechanisms": [{"name": "gaussian_uniform", "mse": {"sweep": [0.1, 1.0]}}],
            "measures": ["renyi", "posterior_interval"],
            **changes,
        }

    return make
