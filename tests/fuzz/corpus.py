#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes the kept inputs of a target apart, and puts them together again.

    corpus.py unpack corpus/TARGET.json FOLDER
    corpus.py pack FOLDER corpus/TARGET.json

An archive is a JSON object of names and inputs, sorted, one in a line. Each character of an input is one of its bytes.
"""
import json
import pathlib
import sys


def unpack(archive, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    for name, text in json.loads(pathlib.Path(archive).read_text()).items():
        (folder / name).write_bytes(text.encode("latin-1"))


def pack(folder, archive):
    inputs = {file.name: file.read_bytes().decode("latin-1") for file in sorted(pathlib.Path(folder).iterdir())}
    pathlib.Path(archive).write_text(json.dumps(inputs, indent=0) + "\n")


if __name__ == "__main__":
    {"unpack": unpack, "pack": pack}[sys.argv[1]](*sys.argv[2:])
