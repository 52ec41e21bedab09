"""What a script uses of a package made by hand."""

from perlayer.closure import ImportClosure


def used(folder, files, text, **options):
    """What a script of a text uses of the package `perlayer` of these files."""
    package = folder / "perlayer"
    for name, content in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    script = folder / "script.py"
    script.write_text(text)
    return {path.relative_to(package).as_posix() for path in ImportClosure(package, **options).of([script])}


def test_the_closure_follows_every_import(tmp_path):
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
    found = used(tmp_path, files, "from perlayer import a\n")
    assert found == {"__init__.py", "a.py", "room/__init__.py", "room/b.py", "c.py", "room/d.py"}


def test_the_closure_may_be_of_what_an_import_alone_runs(tmp_path):
    files = {
        "__init__.py": "",
        "a.py": "if TYPE_CHECKING:\n    from perlayer import typed\n\ndef f():\n    from perlayer import later\n",
        "b.py": "class Here:\n    from perlayer import now\n\n    async def f(self):\n        import perlayer.later\n",
        **dict.fromkeys(("typed.py", "later.py", "now.py"), ""),
    }
    found = used(tmp_path, files, "import perlayer.a, perlayer.b\n", inside_functions=False)
    assert found == {"__init__.py", "a.py", "b.py", "now.py"}


def test_the_closure_holds_the_data_of_a_package_that_is_asked_for(tmp_path):
    files = {
        "__init__.py": "",
        "a.py": "from importlib import resources\n\ndef f(name):\n    return resources.files('perlayer.room') / name\n",
        "loader.py": "from jinja2 import PackageLoader\nloader = PackageLoader('perlayer.page', '.')\n",
        "idle.py": "from importlib.resources import files\nfiles('perlayer.other')\n",
        **dict.fromkeys(("room/__init__.py", "room/b.py", "room/b.sql", "room/below/c.csv", "room/.d.sql.swp"), ""),
        **dict.fromkeys(("room/__pycache__/b.pyc", "other/d.sql", "page/page.html", "beside.sql"), ""),
    }
    assert used(tmp_path, files, "import perlayer.a\n") == {"__init__.py", "a.py", "room/b.sql", "room/below/c.csv"}
    assert used(tmp_path, files, "import perlayer.loader\n") == {"__init__.py", "loader.py", "page/page.html"}
