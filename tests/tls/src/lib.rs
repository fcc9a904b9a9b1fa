// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients over TLS, whose hosts fail: the tests are in `tests/tls`.
