# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `pip wheel` does beside packing: the version, and the library, which needs Rust."""

import pathlib
import platform
import re
import subprocess
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = "libatomic_breaker.so"


class Version(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        # That of the library within.
        manifest = (HERE.parent / "c/Cargo.toml").read_text()
        metadata["version"] = re.search(r'^version = "(.*)"', manifest, re.MULTILINE)[1]


class Library(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            raise RuntimeError("an editable install would be without the library: leave out -e, or --editable")
        self.folder = tempfile.TemporaryDirectory()
        subprocess.run([HERE.parent / "c/install", self.folder.name], check=True)
        library = pathlib.Path(self.folder.name, "lib", LIBRARY).resolve()
        build_data["force_include"][str(library)] = f"atomic_breaker/{LIBRARY}"
        # For any Python 3, as ctypes loads the library; for machines with this C library, or a later one.
        version = "_".join(newest_of_glibc(library).split("."))
        build_data["tag"] = f"py3-none-manylinux_{version}_{platform.machine()}"
        build_data["pure_python"] = False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()


def newest_of_glibc(library: pathlib.Path) -> str:
    """The newest version of glibc that a symbol of the library asks for."""
    found = re.findall(rb"GLIBC_(\d+\.\d+)", library.read_bytes())
    if not found:
        raise RuntimeError("the library uses no glibc, and wheels are made for that alone: with musl, use the library for C")
    return max((it.decode() for it in found), key=lambda it: [int(part) for part in it.split(".")])


def get_metadata_hook() -> type[MetadataHookInterface]:
    return Version


def get_build_hook() -> type[BuildHookInterface]:
    return Library
