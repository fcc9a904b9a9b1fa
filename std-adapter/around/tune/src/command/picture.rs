// SPDX-License-Identifier: MIT OR Apache-2.0
//! The largest incident as a picture, without a breaker and with rules.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow};
use atomic_breaker_tune::{
    CallLog, Config, Figures, Recommendation, Replay, ReplayTimeline, State, StateChange,
};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::words::{real, time};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

// Colours differ in lightness or between blue and yellow, for eyes that do not tell red from green.
const USEFUL: RGBColor = RGBColor(30, 110, 190);
const WASTED: RGBColor = RGBColor(160, 20, 20);
const HEALTHY: RGBColor = RGBColor(249, 180, 37);
const SPARED: RGBColor = RGBColor(150, 160, 165);
const RETURNING: RGBColor = RGBColor(130, 205, 250);
const INK: RGBColor = RGBColor(38, 50, 56);

/// From the bottom of a bar to its top.
const KINDS: [(&str, RGBColor); 4] = [
    ("useful", USEFUL),
    ("wasted", WASTED),
    ("rejected, would have been useful", HEALTHY),
    ("rejected, would have been wasted", SPARED),
];

const STATES: [(&str, RGBColor); 4] = [
    ("closed", USEFUL),
    ("open", WASTED),
    ("half-open", HEALTHY),
    ("returning", RETURNING),
];

const MOMENTS: u16 = 200;
const WIDTH: u32 = 1_100;
const PANEL: u32 = 250;
const LEFT: i32 = 64;

fn counts(moment: &Figures) -> [u64; 4] {
    [
        moment.useful,
        moment.wasted,
        moment.healthy_rejected,
        moment.spared(),
    ]
}

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// A stretch of the log: its start, its length, and the key whose breaker is shown.
struct Stretch {
    from_us: u64,
    until_us: u64,
    key: Option<u32>,
}

impl Stretch {
    /// The incident with most failed calls, with half as much time before it and as much after it.
    fn of(found: &Recommendation, log: &CallLog) -> Option<Self> {
        let largest = found.incidents.iter().max_by_key(|it| it.failed)?;
        let length = (largest.until_us - largest.from_us).max(1_000_000);
        Some(Self {
            from_us: largest.from_us.saturating_sub(length / 2),
            until_us: (largest.until_us + length / 2).min(log.calls().last()?.start_us),
            key: (log.keys().len() > 1).then_some(largest.key),
        })
    }

    fn secs(&self, at_us: u64) -> f64 {
        let clamped = at_us.clamp(self.from_us, self.until_us) - self.from_us;
        Duration::from_micros(clamped).as_secs_f64()
    }
}

pub(crate) fn draw(
    path: &Path,
    replay: &Replay,
    log: &CallLog,
    found: &Recommendation,
) -> Result<()> {
    let stretch = Stretch::of(found, log).ok_or_else(|| anyhow!("there is no incident"))?;
    let mut panels: Vec<(&str, Option<&Config>)> = vec![("Without a breaker", None)];
    if let Some(today) = &found.today {
        panels.push(("With today's rules", Some(&today.config)));
    }
    panels.push(("With the recommended rules", Some(&found.pick.config)));
    let mut timelines = Vec::new();
    for (title, config) in panels {
        let range = stretch.from_us..stretch.until_us;
        let timeline = replay.timeline(config, log, stretch.key, range, MOMENTS.into())?;
        timelines.push((title, config, timeline));
    }
    let height = 44 + 30 + PANEL * timelines.len() as u32 + 40;
    let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    paint(&root, &stretch, &timelines).map_err(|error| anyhow!(error.to_string()))?;
    Ok(())
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn paint(
    root: &Area<'_>,
    stretch: &Stretch,
    timelines: &[(&str, Option<&Config>, ReplayTimeline)],
) -> Drawn {
    root.fill(&WHITE)?;
    let length = Duration::from_micros(stretch.until_us - stretch.from_us);
    let (area, mut rest) = root.split_vertically(44);
    let heading = format!(
        "The largest incident, {} with the time around it",
        time(length)
    );
    area.draw_text(&heading, &text(20), (LEFT, 12))?;
    let (area, below) = rest.split_vertically(30);
    legend(&area, "calls:", &KINDS)?;
    rest = below;
    let moments = timelines
        .iter()
        .flat_map(|(.., timeline)| &timeline.moments);
    let most = moments
        .map(|moment| counts(moment).iter().sum::<u64>())
        .max();
    let top = real(most.unwrap_or(1).max(1)) * 1.1;
    for (title, config, timeline) in timelines {
        let (area, below) = rest.split_vertically(PANEL);
        panel(&area, stretch, title, config.is_some(), timeline, top)?;
        rest = below;
    }
    legend(&rest, "breaker:", &STATES)?;
    root.present()?;
    Ok(())
}

fn legend(area: &Area<'_>, words: &str, entries: &[(&str, RGBColor)]) -> Drawn {
    area.draw_text(words, &text(14), (LEFT, 6))?;
    let mut left = LEFT + 70;
    for (name, color) in entries {
        area.draw(&Rectangle::new(
            [(left, 6), (left + 14, 20)],
            color.filled(),
        ))?;
        area.draw_text(name, &text(14), (left + 20, 6))?;
        left += 50 + 7 * i32::try_from(name.len())?;
    }
    Ok(())
}

fn panel(
    area: &Area<'_>,
    stretch: &Stretch,
    title: &str,
    has_breaker: bool,
    timeline: &ReplayTimeline,
    top: f64,
) -> Drawn {
    let end = stretch.secs(stretch.until_us);
    let width = end / f64::from(MOMENTS);
    let mut chart = ChartBuilder::on(area)
        .caption(title, text(16))
        .margin_left(10)
        .margin_right(24)
        .x_label_area_size(48)
        .y_label_area_size(LEFT - 10)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_labels(10)
        .y_labels(6)
        .y_desc(format!(
            "calls per {}",
            time(Duration::from_secs_f64(width))
        ))
        .y_label_formatter(&|calls| format!("{calls:.0}"))
        .x_label_formatter(&|secs| format!("{secs} s"))
        .label_style(text(13))
        .axis_style(INK.stroke_width(1))
        .draw()?;
    for (place, moment) in (0..MOMENTS).zip(&timeline.moments) {
        let (left, mut bottom) = (f64::from(place) * width, 0.0);
        for (count, (_, color)) in counts(moment).into_iter().zip(KINDS) {
            let next = bottom + real(count);
            if count > 0 {
                let corners = [(left, bottom), (left + width * 0.9, next)];
                chart.draw_series([Rectangle::new(corners, color.filled())])?;
            }
            bottom = next;
        }
    }
    if has_breaker {
        states(area, &chart, stretch, &timeline.changes)?;
    }
    Ok(())
}

type Chart<'a> = ChartContext<
    'a,
    SVGBackend<'a>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// The state of the breaker, as a band below the calls.
fn states(area: &Area<'_>, chart: &Chart<'_>, stretch: &Stretch, changes: &[StateChange]) -> Drawn {
    let (left, top) = area.get_base_pixel();
    let place = |at_us: u64| {
        let (x, y) = chart.backend_coord(&(stretch.secs(at_us), 0.0));
        (x - left, y - top)
    };
    let color = |state: State| match state {
        State::Closed | State::Disabled => USEFUL,
        State::HalfOpen => HEALTHY,
        State::Returning => RETURNING,
        _ => WASTED,
    };
    let band = |from: u64, until: u64, state: State| {
        let ((x, y), (end, _)) = (place(from), place(until));
        let corners = [(x, y + 24), (end.max(x + 1), y + 34)];
        area.draw(&Rectangle::new(corners, color(state).filled()))
    };
    let (mut from, mut state) = (0, State::Closed);
    for change in changes {
        if change.at_us > stretch.from_us && from < stretch.until_us {
            band(from, change.at_us, state)?;
        }
        (from, state) = (change.at_us, change.transition.to);
    }
    if from < stretch.until_us {
        band(from, stretch.until_us, state)?;
    }
    Ok(())
}
