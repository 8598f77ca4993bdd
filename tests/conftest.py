"""For all tests: how long an example takes never fails one; tests of a file run in one process."""

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items) -> None:
    """Keep the tests of a file together, unless it says otherwise: they share what is slow to make."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
