"""scripts/inline_page: the blocks of a page, the errors, and that both pages of the gateway are complete."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
PAGES = ROOT / "client" / "gateway" / "pages"


class InlinePage(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.html"

    def write(self, **files):
        for name, text in files.items():
            (self.folder / name.replace("_", ".")).write_text(text, encoding="utf-8")

    def inline(self, *arguments, page=None):
        return subprocess.run([sys.executable, ROOT / "scripts" / "inline_page", page or self.folder / "page.html", self.output,
                               *map(str, arguments)], capture_output=True, text=True)

    def refusal(self, **files):
        self.write(**files)
        result = self.inline()
        self.assertEqual(result.returncode, 1, result.stdout)
        return result.stderr

    def test_marks_become_blocks(self):
        self.write(page_html="<p>one</p>\n<!-- gp:inline a.css -->\n  <!-- gp:inline a.js b.js -->\n<!-- gp:inline top.html -->\n",
                   a_css="p { color: red }\n/*# sourceMappingURL=a.css.map */\n",
                   a_js="let a = 1;\n//# sourceMappingURL=a.js.map", b_js="a += 1;\n",
                   top_html="<b>ä</b>")
        self.assertEqual(self.inline("--depfile", self.folder / "d").stderr, "")
        self.assertEqual(self.output.read_text(encoding="utf-8"),
                         "<p>one</p>\n<style>\np { color: red }\n</style>\n<script>\nlet a = 1;\na += 1;\n</script>\n<b>ä</b>\n")
        for name in ("page.html", "a.css", "a.js", "b.js", "top.html"):
            self.assertIn(str(self.folder / name), (self.folder / "d").read_text())

    def test_looks_in_every_folder(self):
        self.write(page_html="<!-- gp:inline here.js -->\n<!-- gp:inline dygraph.min.css -->\n", here_js="1;")
        other = self.folder / "other"
        other.mkdir()
        (other / "dygraph.min.css").write_text("a{}")
        self.assertEqual(self.inline("--path", other).returncode, 0)
        self.assertIn("a{}", self.output.read_text())

    def test_refuses_what_the_policy_would_block(self):
        self.assertIn("page.html:1: a style attribute", self.refusal(page_html='<p style="color: red">'))
        self.assertIn("page.html:2: an inline handler", self.refusal(page_html='\n<p onclick="x()">'))
        self.assertIn("a file from elsewhere", self.refusal(page_html='<script src="https://example.org/x.js"></script>'))
        self.assertIn("a.js: contains </script", self.refusal(page_html="<!-- gp:inline a.js -->", a_js='"</script>"'))

    def test_refuses_a_mark_that_means_nothing(self):
        self.assertIn("none.js: not in any of", self.refusal(page_html="<!-- gp:inline none.js -->"))
        self.assertIn("files of one kind", self.refusal(page_html="<!-- gp:inline a.js a.css -->", a_js="", a_css=""))
        self.assertIn("a mark that is not alone", self.refusal(page_html="<p><!-- gp:inline a.js --></p>", a_js=""))

    def test_pages_of_the_gateway_name_nothing_elsewhere(self):
        (self.folder / "dygraph.min.js").write_text("")
        (self.folder / "dygraph.min.css").write_text("")
        for name in ("playground", "runs"):
            result = self.inline("--path", PAGES / "shared", "--path", self.folder, page=PAGES / name / "page.html")
            self.assertEqual(result.stderr, "")
            text = self.output.read_text(encoding="utf-8")
            addresses = set(re.findall(r"https?://[^\s\"'`<)]+", text)) - {"http://www.w3.org/2000/svg"}
            self.assertEqual(addresses, set(), name)
            self.assertNotRegex(text, r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(")


if __name__ == "__main__":
    unittest.main(verbosity=2)
