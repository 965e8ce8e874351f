"""Makes a wheel for one platform if contrib/bindings/python/build has put the C library into the package, otherwise for all platforms."""

from __future__ import annotations

from pathlib import Path
from typing import Tuple

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Package(Distribution):
    def has_ext_modules(self) -> bool:
        return (Path(__file__).parent / "src/libnetwatch/libnetwatch.so.1").exists()


class Wheel(bdist_wheel):
    def get_tag(self) -> Tuple[str, str, str]:
        # The C library works with every version of Python.
        return "py3", "none", super().get_tag()[2]


setup(distclass=Package, cmdclass={"bdist_wheel": Wheel})
