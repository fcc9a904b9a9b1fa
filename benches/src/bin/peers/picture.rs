// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars of the closed call, by one thread and by two.

use std::error::Error;
use std::path::Path;

use benches::picture::{Group, bars};

use super::columns::{Column, Measured, Row};

/// Draws the picture.
pub(crate) fn draw(path: &Path, run: &Measured) -> Result<(), Box<dyn Error>> {
    let group = |row: &Row, is_ours| Group {
        name: row.name.into(),
        values: [Column::Closed, Column::ClosedByTwo]
            .iter()
            .filter_map(|column| row.median(*column))
            .collect(),
        is_ours,
    };
    let mut peers: Vec<Group> = run.peers.iter().map(|peer| group(peer, false)).collect();
    peers.sort_by(|a, b| a.values[1].total_cmp(&b.values[1]));
    let mut groups = vec![group(&run.bare, true), group(&run.ours, true)];
    groups[0].is_ours = false;
    groups.append(&mut peers);
    bars(
        path,
        "A closed call that succeeds",
        "nanoseconds per call, by one thread and by each of two that share the breaker",
        &["alone".into(), "shared by two".into()],
        &groups,
    )
}
