# SPDX-License-Identifier: MIT OR Apache-2.0
"""moto's store of objects on this port. Waitress serves it, as moto's own server ends each connection after one answer."""

import sys

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from waitress import serve

store = DomainDispatcherApplication(create_backend_app)
serve(store, listen="127.0.0.1:" + sys.argv[1], threads=16)
