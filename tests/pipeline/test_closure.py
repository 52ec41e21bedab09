"""The import closure on a package made by hand."""

from perlayer.closure import ImportClosure


def test_the_closure_follows_every_import(tmp_path):
    package = tmp_path / "perlayer"
    files = {
        "__init__.py": "",
        "a.py": "import os\n\ndef f():\n    from perlayer.room import b\n",
        "room/__init__.py": "",
        "room/b.py": "import perlayer.c\n",
        "c.py": "from perlayer.room.d import name\n",
        "room/d.py": "name = 1\n",
        "idle.py": "import perlayer.a\n",
        "other/__init__.py": "from perlayer.idle import x\n",
    }
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    script = tmp_path / "script.py"
    script.write_text("from perlayer import a\n")
    found = {path.relative_to(package).as_posix() for path in ImportClosure(package).of([script])}
    assert found == {"__init__.py", "a.py", "room/__init__.py", "room/b.py", "c.py", "room/d.py"}
