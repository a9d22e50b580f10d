"""Keeps the results of tuning and compiling in one folder beside OUT, so that later calls of gpu_check find them: choices of
matrix products, llm.c's program, the output of torch.compile. OUT/cache.tar.gz holds a copy for another machine."""
import os
import pathlib
import shutil
import tarfile

ARCHIVE = "cache.tar.gz"
# Environment variables that set a program's cache folder, and the subfolders of ours that they get.
FOLDERS = {"XDG_CACHE_HOME": "", "TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}


def folder(out):
    out = pathlib.Path(out).absolute()
    return out.with_name(out.name + "-cache")


def unpack(out):
    """Makes this process and its children use the folder. If the folder does not exist yet, fills it from the archive."""
    place, archive = folder(out), pathlib.Path(out) / ARCHIVE
    if archive.exists() and not place.exists():
        shutil.unpack_archive(archive, place)
    for variable, name in FOLDERS.items():
        (place / name).mkdir(parents=True, exist_ok=True)
        os.environ[variable] = str(place / name)


def pack(out):
    """Writes the archive anew and replaces the old one atomically."""
    archive = pathlib.Path(out) / ARCHIVE
    archive.parent.mkdir(parents=True, exist_ok=True)
    scratch = archive.with_suffix(".partial")
    with tarfile.open(scratch, "w:gz", compresslevel=1) as tar:
        tar.add(folder(out), arcname=".")
    scratch.rename(archive)
