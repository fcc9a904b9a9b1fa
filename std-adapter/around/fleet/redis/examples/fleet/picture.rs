// SPDX-License-Identifier: MIT OR Apache-2.0
//! A row for each instance: when it was open, and which of its calls were wasted.

use std::path::Path;
use std::time::Duration;

use plotters::prelude::*;

use crate::log::{Entry, What};
use crate::scene::{END, INSTANCES, Run};
use test_support::paint::{
    Area, Drawn, FAILED, GOOD, INK, Kind, LATE, LEFT, Shade, backdrop, heading, legend, text,
};

const WIDTH: u32 = 1100;
const HEADING: u32 = 40;
const LEGEND: u32 = 30;
const PANEL: u32 = 330;

const OPEN: RGBColor = RGBColor(207, 216, 220);

const KINDS: [Kind; 4] = [
    ("open", OPEN),
    ("a call that failed", FAILED),
    ("a probe that failed", LATE),
    ("a probe that was answered", GOOD),
];

pub(crate) fn draw(path: &Path, runs: &[Run; 2]) -> Drawn {
    let height = HEADING + LEGEND + 2 * PANEL + 10;
    let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let (area, rest) = root.split_vertically(HEADING);
    heading(
        &area,
        "Fifty processes and a server that dies: a row for each, the busiest at the bottom",
    )?;
    let (area, rest) = rest.split_vertically(LEGEND);
    legend(&area, "", &KINDS)?;
    let (area, rest) = rest.split_vertically(PANEL);
    panel(&area, &runs[0], "Each on its own")?;
    panel(&rest, &runs[1], "As a fleet through Redis, k = 3")?;
    root.present()?;
    Ok(())
}

fn panel(area: &Area<'_>, run: &Run, title: &str) -> Drawn {
    let rows = f64::from(INSTANCES);
    let top = rows * 1.1;
    let mut chart = ChartBuilder::on(area)
        .caption(title, text(16))
        .margin_left(10)
        .margin_right(24)
        .x_label_area_size(28)
        .y_label_area_size(LEFT - 10)
        .build_cartesian_2d(0.0..END.as_secs_f64(), 0.0..top)?;
    let shades: [Shade; 3] = [
        (
            Duration::ZERO,
            run.died,
            RGBColor(241, 248, 233),
            "server healthy",
        ),
        (
            run.died,
            run.returned,
            RGBColor(255, 235, 238),
            "server killed",
        ),
        (
            run.returned,
            END,
            RGBColor(241, 248, 233),
            "server started again",
        ),
    ];
    backdrop(&mut chart, top, 14, shades.into_iter())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(INK.mix(0.6))
        .x_labels(10)
        .y_labels(6)
        .x_label_formatter(&|second| format!("{second:.0} s"))
        .y_label_formatter(&|row| format!("{row:.0}"))
        .y_desc("processes")
        .label_style(text(13))
        .draw()?;
    for (row, log) in (0_u32..).zip(&run.logs) {
        let bottom = f64::from(row);
        for (from, until) in open(log) {
            let block = [
                (from.as_secs_f64(), bottom + 0.1),
                (until.min(END).as_secs_f64(), bottom + 0.9),
            ];
            chart.draw_series([Rectangle::new(block, OPEN.filled())])?;
        }
        let dots = log.iter().filter_map(|entry| Some((entry, color(entry)?)));
        chart.draw_series(dots.map(|(entry, color)| {
            Circle::new((entry.at.as_secs_f64(), bottom + 0.5), 2, color.filled())
        }))?;
    }
    Ok(())
}

/// The periods in which calls were rejected, or would have been.
fn open(log: &[Entry]) -> Vec<(Duration, Duration)> {
    let mut spans = Vec::new();
    let mut since = None;
    for entry in log {
        match entry.what {
            What::Opened => since = since.or(Some(entry.at)),
            What::Closed => spans.extend(since.take().map(|since| (since, entry.at))),
            _ => {}
        }
    }
    spans.extend(since.map(|since| (since, END)));
    spans
}

fn color(entry: &Entry) -> Option<RGBColor> {
    match entry.what {
        What::Failed => Some(FAILED),
        What::ProbeFailed => Some(LATE),
        What::ProbeAnswered => Some(GOOD),
        _ => None,
    }
}
