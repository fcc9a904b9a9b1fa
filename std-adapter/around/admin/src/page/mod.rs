// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page itself: markup, style, script.
//!
//! Style and script are requested with a query alone, at the path of the page itself: so it works with and without a
//! trailing slash, and behind proxies that strip a prefix.

use axum::http::StatusCode;
use axum::response::Response;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const ICON: &str = include_str!("icon.svg");
const SCRIPT: &str = concat!(
    "'use strict';\n(() => {\n",
    include_str!("script/text.js"),
    include_str!("script/parts.js"),
    include_str!("script/server.js"),
    include_str!("script/list.js"),
    include_str!("script/address.js"),
    include_str!("script/history.js"),
    include_str!("script/effects.js"),
    include_str!("script/dialog.js"),
    include_str!("script/rules.js"),
    include_str!("script/bulk.js"),
    include_str!("script/jobs.js"),
    include_str!("script/job.js"),
    include_str!("script/tabs.js"),
    include_str!("script/live.js"),
    "})();\n"
);

pub(super) fn response(query: Option<&str>) -> Response {
    let (kind, body) = match query {
        Some("style") => ("text/css; charset=utf-8", STYLE),
        Some("script") => ("text/javascript; charset=utf-8", SCRIPT),
        Some("icon") => ("image/svg+xml", ICON),
        _ => ("text/html; charset=utf-8", PAGE),
    };
    super::response::response(StatusCode::OK, kind, body)
}
