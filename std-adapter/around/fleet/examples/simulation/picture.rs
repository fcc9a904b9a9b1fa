// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sum of the wasted calls.

use std::path::Path;
use std::time::Duration;

use plotters::prelude::*;

use crate::world::{BACK_MS, FAILS_MS, Told};
use test_support::paint::{
    Area, Drawn, FAILED, GOOD, INK, Kind, LATE, LEFT, Shade, heading, legend, text,
};

const WIDTH: u32 = 1100;
const HEADING: u32 = 40;
const LEGEND: u32 = 30;
const PANEL: u32 = 270;

/// In the order of the runs.
const KINDS: [Kind; 3] = [
    ("no fleet", FAILED),
    ("a fleet, k = 1", GOOD),
    ("a fleet, k = 3", LATE),
];

/// The most and the last that a panel shows.
const MOST: f64 = 300_000.0;
const LAST_MS: u64 = BACK_MS + 10_000;

pub(crate) struct Panel {
    pub(crate) name: &'static str,
    pub(crate) runs: Vec<Told>,
}

pub(crate) fn draw(path: &Path, panels: &[Panel]) -> Drawn {
    let height = HEADING + LEGEND + PANEL * panels.len() as u32 + 10;
    let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let (area, rest) = root.split_vertically(HEADING);
    heading(
        &area,
        "Calls wasted on a server that is down, by 10,000 instances with 10,000 calls/s in all",
    )?;
    let (area, mut rest) = rest.split_vertically(LEGEND);
    legend(&area, "", &KINDS)?;
    for panel in panels {
        let (area, below) = rest.split_vertically(PANEL);
        draw_panel(&area, panel)?;
        rest = below;
    }
    root.present()?;
    Ok(())
}

fn seconds(ms: u64) -> f64 {
    Duration::from_millis(ms).as_secs_f64()
}

fn draw_panel(area: &Area<'_>, panel: &Panel) -> Drawn {
    let title = if panel.name == "even" {
        "All instances call alike"
    } else {
        "The n-th instance calls 1/n as often as the first (Zipf)"
    };
    let mut chart = ChartBuilder::on(area)
        .caption(title, text(16))
        .margin_left(10)
        .margin_right(24)
        .x_label_area_size(28)
        .y_label_area_size(LEFT + 6)
        .build_cartesian_2d(0.0..seconds(LAST_MS), (1.0..MOST).log_scale())?;
    let shades: [Shade; 3] = [
        shade(0, FAILS_MS, ""),
        shade(FAILS_MS, BACK_MS, "server down"),
        shade(BACK_MS, LAST_MS, "server back"),
    ];
    for (from, until, color, name) in shades {
        let (from, until) = (from.as_secs_f64(), until.as_secs_f64());
        chart.draw_series([Rectangle::new([(from, 1.0), (until, MOST)], color.filled())])?;
        chart.draw_series([Text::new(name, (from + 0.6, MOST * 0.72), text(14))])?;
    }
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK.mix(0.6))
        .x_labels(12)
        .y_labels(6)
        .x_label_formatter(&|second| format!("{second:.0} s"))
        .y_label_formatter(&|calls| format!("{calls:.0}"))
        .y_desc("calls wasted so far")
        .label_style(text(13))
        .draw()?;
    for (run, (_, color)) in panel.runs.iter().zip(KINDS) {
        let points = run
            .so_far
            .iter()
            .filter(|(at, _)| *at <= LAST_MS)
            .map(|(at, wasted)| (seconds(*at), f64::from(*wasted)));
        let line = PathElement::new(points.collect::<Vec<_>>(), color.stroke_width(2));
        chart.draw_series([line])?;
    }
    Ok(())
}

fn shade(from: u64, until: u64, name: &'static str) -> Shade {
    let color = if name == "server down" {
        RGBColor(255, 235, 238)
    } else {
        RGBColor(241, 248, 233)
    };
    (
        Duration::from_millis(from),
        Duration::from_millis(until),
        color,
        name,
    )
}
