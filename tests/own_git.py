"""git as tests use it: no repository, no settings and no name of whoever runs them."""

import os


def use_own_git():
    """Also from a hook of git, whose variables have every command work on the repository of the hook."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]
    os.environ.update(
        GIT_AUTHOR_NAME="test",
        GIT_AUTHOR_EMAIL="test@localhost",
        GIT_COMMITTER_NAME="test",
        GIT_COMMITTER_EMAIL="test@localhost",
        GIT_CONFIG_GLOBAL=os.devnull,  # it may have each commit signed
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_COUNT="1",  # a container's checkout may be another user's
        GIT_CONFIG_KEY_0="safe.directory",
        GIT_CONFIG_VALUE_0="*",
    )
