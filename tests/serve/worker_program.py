"""A service of a fake model with two workers: this program is the supervisor, and the workers run it again."""

from __future__ import annotations

import sys

from fake import FakeExtractor

from spanwise.serve import server, workers
from spanwise.serve.api import create_app
from spanwise.serve.logs import configure
from spanwise.serve.settings import Settings

configure()
settings = Settings(port=0, workers=2)
inherited = workers.inherited_socket()
if inherited is None:
    workers.SHORTEST_LIFE = 0.0  # the test ends a young worker
    workers.supervise(settings, server.bind(settings), [sys.executable, __file__])
else:
    server.run(create_app(FakeExtractor(), settings), settings, inherited)  # type: ignore[arg-type]
