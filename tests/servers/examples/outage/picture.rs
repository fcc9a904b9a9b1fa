// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timelines of the TCP scenes as a picture.

use std::path::Path;
use std::time::Duration;

use plotters::prelude::*;

use super::load::{Call, Outcome, Run};
use super::scenario::{Mode, SLOW};
use test_support::paint::{
    Area, Band, Counts, Drawn, FAILED, GOOD, Kind, LATE, LEFT, REJECTED, STATES, Shade, axes,
    backdrop, heading, legend, text,
};

const TENTH: Duration = Duration::from_millis(100);

const WIDTH: u32 = 1100;
const HEADING: u32 = 40;
const LEGEND: u32 = 30;
const PANEL: u32 = 250;
/// A panel with the state of its breaker below.
const GUARDED: u32 = 284;
const MARGIN: i32 = 10;

/// The kinds of calls, from the bottom of a bar to its top.
const KINDS: [Kind; 4] = [
    ("answered in good time", GOOD),
    ("answered late", LATE),
    ("failed", FAILED),
    ("rejected at once", REJECTED),
];

fn kind(call: &Call) -> usize {
    match call.outcome {
        Outcome::Answered if call.took < SLOW => 0,
        Outcome::Answered => 1,
        Outcome::Failed => 2,
        Outcome::Rejected => 3,
    }
}

/// Calls that began in each tenth of a second, by kind.
fn counted(run: &Run) -> Counts<4> {
    let calls = run.calls.iter().map(|call| (call.began, kind(call)));
    Counts::of(calls, TENTH, run.scene.end)
}

/// Writes the picture: the runs of each scene below each other.
pub(crate) fn draw(path: &Path, outage: &[Run; 2], cold_start: &[Run; 2]) -> Drawn {
    let height = HEADING * 2 + LEGEND * 2 + PANEL + GUARDED * 3;
    let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let most = [outage, cold_start]
        .iter()
        .flat_map(|runs| runs.iter())
        .map(|run| counted(run).most())
        .max();
    let top = f64::from(most.unwrap_or(40)) * 1.2;

    let (area, rest) = root.split_vertically(HEADING);
    heading(
        &area,
        "A server dies and comes back, called by eight threads",
    )?;
    let (area, rest) = rest.split_vertically(LEGEND);
    legend(&area, "", &KINDS)?;
    let (area, rest) = rest.split_vertically(PANEL);
    panel(&area, &outage[0], "Without a breaker", top)?;
    let (area, rest) = rest.split_vertically(GUARDED);
    panel(&area, &outage[1], "With a breaker", top)?;
    let (area, rest) = rest.split_vertically(HEADING);
    heading(
        &area,
        "It is restarted, and breaks down if the whole load returns while it is cold",
    )?;
    let (area, rest) = rest.split_vertically(GUARDED);
    panel(&area, &cold_start[0], "The same breaker: all at once", top)?;
    let (area, rest) = rest.split_vertically(GUARDED);
    panel(&area, &cold_start[1], "Traffic returns gradually", top)?;
    legend(&rest, "breaker:", &STATES)?;
    root.present()?;
    Ok(())
}

fn panel(area: &Area<'_>, run: &Run, title: &str, top: f64) -> Drawn {
    let below = if run.history.is_some() { 58 } else { 24 };
    let mut chart = ChartBuilder::on(area)
        .caption(title, text(16))
        .margin_left(MARGIN)
        .margin_right(24)
        .x_label_area_size(below)
        .y_label_area_size(LEFT - MARGIN)
        .build_cartesian_2d(0.0..run.scene.end.as_secs_f64(), 0.0..top)?;
    backdrop(&mut chart, top, 14, run.scene.modes().map(shade))?;
    axes(&mut chart, (10, 6), Some("calls per 100 ms"))?;
    counted(run).draw(&mut chart, &KINDS)?;
    if let Some(history) = &run.history {
        let (width, height) = area.dim_in_pixel();
        let band = Band {
            left: LEFT,
            right: width.cast_signed() - 24,
            top: height.cast_signed() - 34,
            height: 16,
            end: run.scene.end,
        };
        band.draw(area, history)?;
    }
    Ok(())
}

/// The shade of the server's mode.
fn shade((from, until, mode): (Duration, Duration, Mode)) -> Shade {
    let (color, name) = match mode {
        Mode::Healthy => (RGBColor(241, 248, 233), "server healthy"),
        Mode::Killed => (RGBColor(255, 235, 238), "server killed"),
        Mode::Hanging => (RGBColor(252, 228, 236), "server hanging"),
        Mode::Slow => (RGBColor(255, 248, 225), "server slow"),
        Mode::Cold => (RGBColor(227, 242, 253), "server restarted, cold at first"),
    };
    (from, until, color, name)
}
