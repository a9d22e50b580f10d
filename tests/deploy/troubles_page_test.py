#!/usr/bin/env python3
"""docs/operations/troubles.md quotes messages, metrics and events of the programs: each quote must occur in their sources."""

import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
PAGE = SOURCE / "docs/operations/troubles.md"
FOLDERS = ("lib", "coordinator", "worker", "client")
PIECE_LENGTH_MIN = 6  # shorter pieces between two blanks occur in almost any source


def sources():
    """All string literals of the sources as one text; literals that are split over several lines are joined."""
    texts = [path.read_text(encoding="utf-8") for folder in FOLDERS for path in sorted((SOURCE / folder).rglob("*.cc"))]
    return re.sub(r'"\s*\n\s*"', "", "\n".join(texts)).replace('\\"', '"')


def rows(text):
    """(symptom, where it is seen) for every row of the tables."""
    cells = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and not line.startswith("| what")]
    return [(row[0], row[1]) for row in cells]


def is_command(quoted):
    return quoted.startswith(("gpctl ", "gp-"))


class TroublesPage(unittest.TestCase):
    def test_what_it_quotes_is_what_the_programs_print(self):
        text = sources()
        absent, checked = [], 0
        for row in rows(PAGE.read_text(encoding="utf-8")):
            for quoted in re.findall(r"`([^`]+)`", " ".join(row)):
                if is_command(quoted):
                    continue
                name = re.sub(r"\{.*", "", quoted)
                for piece in (part.strip(" ;,.()") for part in name.split("…")):
                    if len(piece) < PIECE_LENGTH_MIN:
                        continue
                    checked += 1
                    if piece not in text:
                        absent.append(f"'{piece}' of '{quoted}'")
        self.assertEqual(absent, [])
        self.assertGreater(checked, 40)

    def test_a_message_that_nobody_prints_is_missed(self):
        self.assertNotIn("the flux capacitor is empty", sources())


if __name__ == "__main__":
    unittest.main()
