"""The messages of the coordinator's API. Written by scripts/make_python_stubs from proto/gp/v1."""
