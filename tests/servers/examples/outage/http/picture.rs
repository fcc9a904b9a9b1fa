// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timelines of all hosts as a picture: without a breaker on the left, with the preset on the right.

use std::path::Path;
use std::time::Duration;

use plotters::prelude::*;

use super::figures::is_good;
use super::load::{Call, Outcome, Run};
use super::scenario::{CALLERS, END, HOSTS, Mode};
use crate::scene::ms;
use test_support::paint::{
    Area, Band, Counts, Drawn, FAILED, GOOD, Kind, LATE, LEFT, REJECTED, STATES, Shade,
    TURNED_AWAY, axes, backdrop, heading, legend, text,
};
use test_support::table::chosen;

const QUARTER: Duration = ms(250);

const WIDTH: u32 = 1100;
const HEADING: u32 = 40;
const LEGEND: u32 = 30;
/// The name of a host, its panel, and the state of its breaker.
const NAME: u32 = 22;
const PANEL: u32 = 106;
const BAND: u32 = 20;
/// The axis of the lowest panel.
const AXIS: u32 = 22;
const MARGIN: i32 = 10;

/// The kinds of calls, from the bottom of a bar to its top.
const KINDS: [Kind; 5] = [
    ("answered in good time", GOOD),
    ("answered late", LATE),
    ("failed", FAILED),
    ("rejected at once", REJECTED),
    ("turned away: all callers busy", TURNED_AWAY),
];

fn kind(call: &Call) -> usize {
    match call.outcome {
        Outcome::Answered if is_good(call) => 0,
        Outcome::Answered => 1,
        Outcome::Failed => 2,
        Outcome::Rejected => 3,
        Outcome::TurnedAway => 4,
    }
}

/// Calls to a host that arrived in each quarter of a second, by kind.
fn counted(run: &Run, host: usize) -> Counts<5> {
    let calls = run.calls.iter().filter(|call| call.host == host);
    Counts::of(calls.map(|call| (call.arrived, kind(call))), QUARTER, END)
}

/// Writes the picture: the runs beside each other, the hosts below each other.
pub(crate) fn draw(path: &Path, runs: &[Run; 2]) -> Drawn {
    let hosts = u32::try_from(HOSTS.len())?;
    let height = HEADING + LEGEND * 2 + (NAME + PANEL + BAND) * hosts + AXIS;
    let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let (area, rest) = root.split_vertically(HEADING);
    let words = format!(
        "Five hosts over HTTP behind a gateway of {CALLERS} callers: calls per {}",
        chosen(QUARTER)
    );
    heading(&area, &words)?;
    let (area, mut rest) = rest.split_vertically(LEGEND);
    legend(&area, "", &KINDS)?;
    for (index, host) in HOSTS.iter().enumerate() {
        let (area, below) = rest.split_vertically(NAME);
        rest = below;
        let titles = runs.each_ref().map(|run| (run.name, &run.counts[index]));
        for ((run, counts), left) in titles
            .into_iter()
            .zip([LEFT, LEFT + WIDTH.cast_signed() / 2])
        {
            let words = format!("{}, {run}: {} wasted requests", host.name, counts.unable);
            area.draw_text(&words, &text(14), (left, 6))?;
        }
        let axis = if index + 1 == HOSTS.len() { AXIS } else { 0 };
        let (area, below) = rest.split_vertically(PANEL + BAND + axis);
        rest = below;
        let most = runs.iter().map(|run| counted(run, index).most()).max();
        let top = f64::from(most.unwrap_or(10)) * 1.3;
        let (left, right) = area.split_horizontally(WIDTH / 2);
        for (area, run) in [left, right].iter().zip(runs) {
            panel(area, run, index, top, axis)?;
        }
    }
    legend(&rest, "breaker:", &STATES)?;
    root.present()?;
    Ok(())
}

fn panel(area: &Area<'_>, run: &Run, host: usize, top: f64, axis: u32) -> Drawn {
    let scene = &HOSTS[host].scene;
    let mut chart = ChartBuilder::on(area)
        .margin_left(MARGIN)
        .margin_right(MARGIN * 2)
        .x_label_area_size(BAND + axis)
        .y_label_area_size(LEFT - MARGIN)
        .build_cartesian_2d(0.0..END.as_secs_f64(), 0.0..top)?;
    backdrop(&mut chart, top, 12, scene.modes().map(shade))?;
    axes(&mut chart, (if axis == 0 { 0 } else { 12 }, 3), None)?;
    counted(run, host).draw(&mut chart, &KINDS)?;
    if let Some(history) = &run.histories[host] {
        let (width, height) = area.dim_in_pixel();
        let band = Band {
            left: LEFT,
            right: width.cast_signed() - MARGIN * 2,
            top: height.cast_signed() - 14,
            height: 12,
            end: END,
        };
        band.draw(area, history)?;
    }
    Ok(())
}

/// The shade of a host's mode.
fn shade((from, until, mode): (Duration, Duration, Mode)) -> Shade {
    let (color, name) = match mode {
        Mode::Healthy => (RGBColor(241, 248, 233), ""),
        Mode::Failing => (RGBColor(255, 235, 238), "answers 500"),
        Mode::Restarting => (RGBColor(248, 232, 246), "503, Retry-After"),
        Mode::Hanging => (RGBColor(252, 228, 236), "never answers"),
        Mode::Limited => (RGBColor(255, 248, 225), "429 beyond its quota"),
        Mode::Cold => (RGBColor(227, 242, 253), "cold at first"),
    };
    (from, until, color, name)
}
