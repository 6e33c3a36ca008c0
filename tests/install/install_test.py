"""What is installed: another project finds it, builds against it and runs, without our sources.

HONE_BUILD names the build's folder, CXX the compiler.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["HONE_BUILD"])
CXX = os.environ.get("CXX", "c++")
# The classes and functions of include/hone; what else a library shows may meet another copy of it.
PUBLIC = re.compile(r"hone::(version|devices|missing_for_gpu|evaluate|train_model)\b"
                    r"|hone::(Model|Explainer|Tokenizer|Pending<.*>)::(?!State\b)"
                    r"|(vtable|typeinfo|typeinfo name) for hone::Error$")


def run(*words, **settings):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300,
                          **settings)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.scratch.name)
        cls.prefix = cls.root / "opt/hone"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        shutil.copytree(HERE / "consumer", cls.root / "consumer")
        cls.hone = cls.prefix / "bin/hone"
        cls.version = run(cls.hone, "--version").split()[-1]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def find(self, name):
        found = sorted(self.prefix.rglob(name))
        self.assertEqual(len(found), 1, name)
        return found[0]

    def check_consumer(self, program, folder):
        out = run(program, folder)
        self.assertRegex(out, rf"^hone {re.escape(self.version)} on cpu: 4 steps, 16 scored, "
                              r"label of \d+ tokens and 3 words: (negative|positive)\nerror: .*/none")

    def test_a_project_finds_it_by_cmake(self):
        lists = self.root / "consumer/CMakeLists.txt"
        minor = ".".join(self.version.split(".")[:2])
        lists.write_text(lists.read_text().replace("@VERSION@", minor))
        build = self.root / "cmake"
        run("cmake", "-S", self.root / "consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={CXX}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra")
        run("cmake", "--build", build)
        self.check_consumer(build / "consumer", self.root / "by-cmake")

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_a_compiler_finds_it_by_pkg_config(self):
        settings = {**os.environ, "PKG_CONFIG_PATH": str(self.find("hone.pc").parent)}
        self.assertEqual(run("pkg-config", "--modversion", "hone", env=settings).strip(), self.version)
        flags = run("pkg-config", "--cflags", "--libs", "hone", env=settings).split()
        program = self.root / "by-pkg-config"
        run(CXX, "-std=c++20", self.root / "consumer/consumer.cpp", "-o", program, *flags,
            f"-Wl,-rpath,{self.find('libhone.so').parent}")
        self.check_consumer(program, self.root / "by-pkg-config-model")

    def test_the_library_shows_its_interface_alone(self):
        library = self.find("libhone.so")
        shown = [line[19:] for line in run("nm", "-DC", "--defined-only", library).splitlines()]
        self.assertEqual([name for name in shown if not PUBLIC.match(name)], [])
        self.assertTrue(any(name.startswith("hone::train_model(") for name in shown))
        soname = re.search(r"SONAME\s+(\S+)", run("objdump", "-p", library))[1]
        self.assertEqual(soname, "libhone.so." + ".".join(self.version.split(".")[:2]))
        self.assertEqual(library.resolve().name, f"libhone.so.{self.version}")

    def test_the_program_finds_its_server(self):
        plugin = self.find("libhone_http.so")
        self.assertEqual(plugin.parent.name, "hone")
        done = subprocess.run([self.hone, "serve", "--model", self.root / "none", "--port", "0"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("HTTP library", done.stderr)

    def test_plugins_are_found_where_they_lie(self):
        places = {name: self.find(name).parent for name in
                  (path.name for path in BUILD.glob("libhone_*.so"))
                  if name != "libhone_cuda_emulated.so"}
        self.assertEqual({place.name for place in places.values()}, {"hone"}, places)
        facts = json.loads(run(self.hone, "info", "--json"))
        if "libhone_mpi.so" in places:
            self.assertEqual(facts["ranks"]["mpi"]["plugin"], str(places["libhone_mpi.so"] / "libhone_mpi.so"))
            self.assertNotIn("missing", facts["ranks"]["mpi"])

    def test_a_system_gets_what_it_wants_to_know(self):
        self.assertIn("hone", self.find("hone.1").read_text()[:200])
        self.assertEqual(self.find("hone.1").parent.name, "man1")
        for shell, name in (("bash", "hone"), ("fish", "hone.fish"), ("zsh", "_hone")):
            installed = [path for path in self.prefix.rglob(name) if shell in str(path)]
            self.assertEqual(len(installed), 1, shell)
            self.assertEqual(installed[0].read_text(), run(self.hone, "completion", shell))
        self.assertIn("/bin/hone serve", self.find("hone-serve.service").read_text())
        self.assertIn("Apache License", self.find("copyright").read_text())


if __name__ == "__main__":
    unittest.main()
