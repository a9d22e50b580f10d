"""A program's digest depends on its code only."""
import unittest

import sanitizer_case
import content

SOURCE = """#include <string>
#include "base/greeting.h"
// Says hello.
std::string Hello() { return "see https://example.org"; }  /* done */
"""
HEADER = "#pragma once\nstd::string Hello();\n"


class Digest(sanitizer_case.InFolder):
    def setUp(self):
        super().setUp()
        self.write("base/greeting.h", HEADER)
        self.source = self.write("base/greeting.cc", SOURCE)
        self.before = self.digest(self.source)

    def digest(self, *inputs):
        return content.Contents(self.folder, [self.folder]).digest(inputs)

    def after(self, old, new, file="base/greeting.cc"):
        text = (self.folder / file).read_text(encoding="utf-8")
        self.assertIn(old, text)
        self.write(file, text.replace(old, new))
        return self.digest(self.source)

    def test_code_counts(self):
        self.assertNotEqual(self.after("Hello()", "Goodbye()"), self.before)

    def test_code_of_a_header_counts(self):
        self.assertNotEqual(self.after("Hello()", "Hello(int times)", "base/greeting.h"), self.before)

    def test_a_header_of_another_include_folder_counts(self):
        self.write("fakes/clock.h", "int now;")
        source = self.write("a.cc", '#include <clock.h>\n')
        contents = [content.Contents(self.folder, folders).digest([source]) for folders in ([], [self.folder / "fakes"])]
        self.assertNotEqual(*contents)

    def test_text_in_a_string_counts_though_it_looks_like_a_comment(self):
        self.assertNotEqual(self.after("https://example.org", "https://example.com"), self.before)

    def test_comments_do_not_count(self):
        self.assertEqual(self.after("// Says hello.", "// Says\n/* more\n than */ // hello."), self.before)

    def test_blank_space_does_not_count(self):
        self.assertEqual(self.after("{ return", "{\n\n  return"), self.before)

    def test_includes_do_not_count(self):
        self.assertEqual(self.after("#include <string>", "#include <string>\n  #  include <vector>  // sort"), self.before)

    def test_names_and_folders_do_not_count(self):
        (self.folder / "base").rename(self.folder / "basis")
        moved = self.folder / "basis/welcome.cc"
        (self.folder / "basis/greeting.cc").rename(moved)
        self.write("basis/welcome.cc", SOURCE.replace("base/", "basis/"))
        self.assertEqual(self.digest(moved), self.before)

    def test_what_others_wrote_does_not_count(self):
        self.assertEqual(self.digest(self.source, self.write(".deps/zlib.cc", "int z;")), self.before)

    def test_a_generated_file_counts_by_what_it_includes(self):
        united = self.write("build/asan/unity/base_0.cc", '#include "base/greeting.cc"\nint generated;\n')
        self.assertEqual(self.digest(united), self.before)

    def test_a_file_that_is_not_generated_yet_does_not_count(self):
        self.assertEqual(self.digest(self.source, self.folder / "build/asan/run.pb.cc"), self.before)

    def test_other_files_count_byte_for_byte(self):
        page = self.write("page.html", "<p>a // b</p>")
        before = self.digest(page)
        self.assertNotEqual(self.digest(self.write("page.html", "<p>a // c</p>")), before)


class WithoutComments(unittest.TestCase):
    def expect(self, source, code):
        self.assertEqual(content.without_comments(source), code)

    def test_literals_stay_as_they_are(self):
        self.expect(r'a = "x \" // y"; // z', r'a="x \" // y";')
        self.expect("a = '\"'; // b\nc = '\"';", "a='\"';c='\"';")
        self.expect('a = R"gp(// " */ )" kept )gp"; /* b */', 'a=R"gp(// " */ )" kept )gp";')

    def test_an_apostrophe_within_a_number_opens_no_literal(self):
        self.expect("a = 1'000; // it's\nb = 0xFF'FF; c = u8'x';", "a=1'000;b=0xFF'FF;c=u8'x';")

    def test_a_comment_that_goes_on_after_a_backslash(self):
        self.expect("a; // b \\\n c\nd;", "a;d;")


if __name__ == "__main__":
    unittest.main()
