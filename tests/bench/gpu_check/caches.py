"""What is tuned and compiled while gpu_check runs, in one folder beside OUT, so that later calls find it: products chosen by timing,
llm.c's program, what torch.compile made. A copy travels in OUT/cache.tar.gz to another machine."""
import os
import pathlib
import shutil
import tarfile

ARCHIVE = "cache.tar.gz"
# Variables that say where a program keeps its cache, and the folders that they get.
FOLDERS = {"XDG_CACHE_HOME": "", "TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}


def folder(out):
    out = pathlib.Path(out).absolute()
    return out.with_name(out.name + "-cache")


def unpack(out):
    """Points this process and all that it starts to the folder; fills it from the archive where there is none yet."""
    place, archive = folder(out), pathlib.Path(out) / ARCHIVE
    if archive.exists() and not place.exists():
        shutil.unpack_archive(archive, place)
    for variable, name in FOLDERS.items():
        (place / name).mkdir(parents=True, exist_ok=True)
        os.environ[variable] = str(place / name)


def pack(out):
    """Replaces the archive as a whole."""
    archive = pathlib.Path(out) / ARCHIVE
    archive.parent.mkdir(parents=True, exist_ok=True)
    scratch = archive.with_suffix(".partial")
    with tarfile.open(scratch, "w:gz", compresslevel=1) as tar:
        tar.add(folder(out), arcname=".")
    scratch.rename(archive)
