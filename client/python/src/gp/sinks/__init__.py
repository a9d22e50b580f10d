"""Runs in other tools: W&B offline directories and MLflow. `gpctl sink` runs this; see docs/sinks.md."""
