"""Executes the fine-tuning tutorial command by command, with a small random model instead of GPT-2. transformers computes the
same loss that the run reported."""

import json
import os
import pathlib
import re
import sys
import tempfile

import exchange
import page_commands  # exchange imports serving, which adds the folder to sys.path
import serving

TOLERANCE = 1e-3


def run_tutorial(home):
    text = (serving.SOURCE / "docs/tutorials/finetune.md").read_text(encoding="utf-8")
    steps = page_commands.executed_steps(text)
    results = page_commands.outputs_of(steps, home)
    problems = page_commands.problems_of(steps, results)
    if problems:
        sys.exit("\n\n".join(problems))
    return {command: output for (command, _), (_, output) in zip(steps, results)}


def changed_parts(home):
    """The tensors of the partially trained model that differ from the initial model."""
    before, after = exchange.state_of(home / "gpt2"), exchange.state_of(home / "parts")
    names = [name for name in before if not before[name].equal(after[name])]
    return {re.match(r"transformer\.(h\.\d+|\w+)", name).group(1) for name in names}


def main():
    with tempfile.TemporaryDirectory(prefix="gp-tune-") as home:
        exchange.random_model(vocab_size=50257, n_positions=128, n_layer=4).save_pretrained(pathlib.Path(home, "gpt2"))
        serving.training_text(home)
        os.environ["PATH"] = f"{serving.CLIENTS.parent}:{os.environ['PATH']}"
        outputs = run_tutorial(home)
        changed = changed_parts(pathlib.Path(home))
    print("\n".join(f"$ {command}\n{output}" for command, output in outputs.items()))
    here = json.loads(next(output for command, output in outputs.items() if "metrics" in command))["val_loss"]
    there = float(re.search(r"loss ([\d.]+)", outputs["python3 loss.py"]).group(1))
    walk = list(outputs).index("python3 loss.py") + 1
    print(f"{walk} commands; the run reported {here:.4f}, transformers computes {there:.4f}")
    print(f"trained parts changed: {sorted(changed)}")
    return 0 if walk <= 10 and abs(here - there) < TOLERANCE and changed == {"h.2", "h.3", "ln_f"} else 1


if __name__ == "__main__":
    sys.exit(main())
