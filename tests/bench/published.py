"""Prints a table of benchmarks, and writes its files in docs/benchmarks."""
import json

import layout

WIDTHS = (47, 27, 27, 22, 7)


DIGITS = {"ms": 0, "s": 1, "GB": 2}
JUDGED_SEEDS = 3  # the mean loss of fewer seeds says little


def spread(values, unit):
    median, least, most = (f"{value:.{DIGITS[unit]}f}" for value in values)
    return f"{median} {unit} ({least}–{most})"


def loss_words(row):
    """The loss of a recipe and of its peer, with a note if ours is too high or not judged."""
    losses, seeds = row["validation_loss"], row["seeds"]
    words = [f"loss {losses['ours']:.4f}, peer's {losses['peer']:.4f}"]
    if seeds < JUDGED_SEEDS:
        words.append(f"{seeds} seed{'s' * (seeds > 1)}, not judged")
    elif losses["ours"] > losses["peer"] + 0.01:
        words.append("loss too high")
    return words


def verdict(row):
    """'met', or by how much the target is missed; a recipe is also judged by its loss."""
    if not row["peer_name"]:
        peak = row["ours"][2]
        return "met" if peak <= row["target"] else f"over by {100 * (peak / row['target'] - 1):.0f} %"
    words = []
    if row["ratio"] < row["target"]:
        words.append(f"short by {100 * (1 - row['ratio'] / row['target']):.0f} %")
    if "validation_loss" in row:
        words += loss_words(row)
    missed = any(word.startswith("short") or word == "loss too high" or word.endswith("not judged") for word in words)
    return "; ".join(words if missed else ["met", *words])


def target_words(row):
    return f"≥ {row['target']:.1f}×" if row["peer_name"] else f"≤ {row['target']:.1f} GB"


def cells(row):
    work = f"{row['work']} / {row['peer_name']}" if row["peer_name"] else row["work"]
    target = target_words(row)
    for reason in ("missing", "failed"):
        if reason in row:
            return [work, "–", "–", "–", target, f"not measured: {row[reason]}"]
    if not row["peer_name"]:
        return [work, spread(row["ours"], row["unit"]), "–", "–", target, verdict(row)]
    ratio = f"{row['ratio']:.2f}× ({row['spread'][0]:.2f}–{row['spread'][1]:.2f})"
    return [work, spread(row["ours"], row["unit"]), spread(row["peer"], row["unit"]), ratio, target, verdict(row)]


def heading(description, options):
    kind = "quick look, nothing to publish" if options.quick else "medians (quartiles; recipe and memory: extremes)"
    titles = ["work / peer", "ours", "peer", "ratio (spread)", "target", ""]
    return f"{description}\ntext {options.text.name}; {kind}\n\n" + columns(titles)


def columns(row):
    return "  ".join(cell.ljust(width) for cell, width in zip(row, WIDTHS)) + "  " + row[-1]


def line(row):
    return columns(cells(row))


def markdown(document):
    dates = sorted({row["date"] for row in document["rows"].values()})
    lines = [f"# {document['machine']}", "",
             f"Measured {' to '.join(sorted({dates[0], dates[-1]}))} by `make bench`: ours and the peer in turn in one run, both on the "
             "same cores. Medians and quartiles (the recipe and memory: extremes); ratio of medians and its spread over the blocks. A "
             "ratio above 1: ours is faster. What was tried where a target is missed, and what the profiles show: [notes](notes.md).", "",
             "| work / peer | ours | peer | ratio (spread) | target | |", "|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in document["rows"].values()]
    peers = sorted({row["peer_is"] for row in document["rows"].values() if "peer_is" in row})
    lines += ["", f"Peers: {'; '.join(peers) or 'none'}. Text: {document['text']}."]
    return "\n".join(lines) + "\n"


def merged(rows, earlier, keys):
    """The published rows of `earlier` (None: nothing), replaced by the rows that were measured now, in the order of `keys`. A
    row that could not be measured now does not replace a published measurement."""
    together = dict(earlier["rows"]) if earlier else {}
    for key, row in rows.items():
        if "ours" in row or "ours" not in together.get(key, {}):
            together[key] = row
    return {key: together[key] for key in keys if key in together}


def write(slug, document):
    """Replaces both files of this machine; returns their paths relative to the root."""
    paths = []
    for suffix, text in ((".json", json.dumps(document, indent=2) + "\n"), (".md", markdown(document))):
        path = layout.PUBLISHED / (slug + suffix)
        path.write_text(text, encoding="utf-8")
        paths.append(str(path.relative_to(layout.ROOT)))
    return paths


def read(slug):
    """The published document of a machine, or None."""
    path = layout.PUBLISHED / (slug + ".json")
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
