//! The timelines as a picture.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use atomic_breaker_std::{State, Transition};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::load::{Call, Outcome, Run};
use super::scenario::{Mode, SLOW};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

const TENTH: Duration = Duration::from_millis(100);
const FONT: &str = "sans-serif";

const GOOD: RGBColor = RGBColor(46, 125, 50);
const LATE: RGBColor = RGBColor(249, 168, 37);
const FAILED: RGBColor = RGBColor(198, 40, 40);
const REJECTED: RGBColor = RGBColor(120, 144, 156);
const RETURNING: RGBColor = RGBColor(129, 199, 132);
const INK: RGBColor = RGBColor(38, 50, 56);

const WIDTH: u32 = 1100;
const HEADING: u32 = 40;
const LEGEND: u32 = 30;
const PANEL: u32 = 250;
/// A panel with the state of its breaker below.
const GUARDED: u32 = 284;
const LEFT: i32 = 64;
const MARGIN: i32 = 10;

/// What is counted, from the bottom of a bar to its top.
const KINDS: [(&str, RGBColor); 4] = [
    ("answered in good time", GOOD),
    ("answered late", LATE),
    ("failed", FAILED),
    ("rejected at once", REJECTED),
];

/// About the width of a letter.
const LETTER: usize = 7;

/// What a breaker can be in.
const STATES: [(&str, RGBColor); 4] = [
    ("closed", GOOD),
    ("open", FAILED),
    ("half-open", LATE),
    ("returning", RETURNING),
];

const fn color(state: State) -> RGBColor {
    match state {
        State::Closed => GOOD,
        State::HalfOpen => LATE,
        State::Returning => RETURNING,
        _ => FAILED,
    }
}

fn kind(call: &Call) -> usize {
    match call.outcome {
        Outcome::Answered if call.took < SLOW => 0,
        Outcome::Answered => 1,
        Outcome::Failed => 2,
        Outcome::Rejected => 3,
    }
}

/// Calls that began in each tenth of a second, by kind.
fn counted(run: &Run) -> Vec<[u32; 4]> {
    let tenths = run.scene.end.as_millis().div_ceil(TENTH.as_millis()) as usize;
    let mut counts = vec![[0; 4]; tenths];
    for call in &run.calls {
        let tenth = (call.began.as_millis() / TENTH.as_millis()) as usize;
        if let Some(counts) = counts.get_mut(tenth) {
            counts[kind(call)] += 1;
        }
    }
    counts
}

/// Writes the picture: the runs of each scene below each other.
pub(crate) fn draw(path: &Path, outage: &[Run; 2], cold_start: &[Run; 2]) -> Drawn {
    let height = HEADING * 2 + LEGEND * 2 + PANEL + GUARDED * 3;
    let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let most = [outage, cold_start]
        .iter()
        .flat_map(|runs| runs.iter())
        .flat_map(counted)
        .map(|bar| bar.iter().sum::<u32>())
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

fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

fn heading(area: &Area<'_>, words: &str) -> Drawn {
    Ok(area.draw_text(words, &text(20), (LEFT, 12))?)
}

fn legend(area: &Area<'_>, words: &str, entries: &[(&str, RGBColor)]) -> Drawn {
    area.draw_text(words, &text(14), (LEFT, 6))?;
    let mut left = LEFT + if words.is_empty() { 0 } else { 70 };
    for (name, color) in entries {
        area.draw(&Rectangle::new(
            [(left, 6), (left + 14, 20)],
            color.filled(),
        ))?;
        area.draw_text(name, &text(14), (left + 20, 6))?;
        left += i32::try_from(50 + LETTER * name.len())?;
    }
    Ok(())
}

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn panel(area: &Area<'_>, run: &Run, title: &str, top: f64) -> Drawn {
    let below = if run.history.is_some() { 58 } else { 24 };
    let mut chart = ChartBuilder::on(area)
        .caption(title, text(16))
        .margin_left(MARGIN)
        .margin_right(24)
        .x_label_area_size(below)
        .y_label_area_size(LEFT - MARGIN)
        .build_cartesian_2d(0.0..run.scene.end.as_secs_f64(), 0.0..top)?;
    backdrop(&mut chart, run, top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK.mix(0.6))
        .x_labels(10)
        .y_labels(6)
        .x_label_formatter(&|second| format!("{second:.0} s"))
        .y_label_formatter(&|calls| format!("{calls:.0}"))
        .y_desc("calls per 100 ms")
        .label_style(text(13))
        .draw()?;
    bars(&mut chart, run)?;
    if let Some(history) = &run.history {
        let (width, height) = area.dim_in_pixel();
        let band = Band {
            left: LEFT,
            right: width.cast_signed() - 24,
            top: height.cast_signed() - 34,
            end: run.scene.end,
        };
        band.draw(area, history)?;
    }
    Ok(())
}

/// The modes of the server.
fn backdrop(chart: &mut Chart<'_>, run: &Run, top: f64) -> Drawn {
    for (from, until, mode) in run.scene.modes() {
        let (from, until) = (from.as_secs_f64(), until.as_secs_f64());
        let shade = match mode {
            Mode::Healthy => RGBColor(241, 248, 233),
            Mode::Killed => RGBColor(255, 235, 238),
            Mode::Hanging => RGBColor(252, 228, 236),
            Mode::Slow => RGBColor(255, 248, 225),
            Mode::Cold => RGBColor(227, 242, 253),
        };
        chart.draw_series([Rectangle::new([(from, 0.0), (until, top)], shade.filled())])?;
        let style = text(14).pos(Pos::new(HPos::Center, VPos::Top));
        let label = match mode {
            Mode::Cold => "server restarted, cold at first".into(),
            _ => format!("server {mode}"),
        };
        let middle = f64::midpoint(from, until);
        chart.draw_series([Text::new(label, (middle, top * 0.985), style)])?;
    }
    Ok(())
}

/// The calls.
fn bars(chart: &mut Chart<'_>, run: &Run) -> Drawn {
    for (tenth, counts) in (0_u32..).zip(counted(run)) {
        let (left, right) = (
            f64::from(tenth) / 10.0 + 0.006,
            f64::from(tenth + 1) / 10.0 - 0.006,
        );
        let mut floor = 0.0;
        for (count, (_, color)) in counts.iter().zip(KINDS).filter(|(count, _)| **count > 0) {
            let ceiling = floor + f64::from(*count);
            let bar = Rectangle::new([(left, floor), (right, ceiling)], color.filled());
            chart.draw_series([bar])?;
            floor = ceiling;
        }
    }
    Ok(())
}

/// The state of the breaker over time, below the axis.
struct Band {
    left: i32,
    right: i32,
    top: i32,
    end: Duration,
}

impl Band {
    fn x(&self, time: Duration) -> i32 {
        let part = time.as_secs_f64() / self.end.as_secs_f64();
        self.left + (f64::from(self.right - self.left) * part.min(1.0)) as i32
    }

    fn draw(&self, area: &Area<'_>, history: &[(Duration, Transition)]) -> Drawn {
        let changes: Vec<_> = [(Duration::ZERO, State::Closed)]
            .into_iter()
            .chain(history.iter().map(|(at, told)| (*at, told.to)))
            .collect();
        let ends = changes.iter().skip(1).map(|(at, _)| *at).chain([self.end]);
        let spans = changes.iter().zip(ends);
        // A probe is short: three pixels on top of the others keep it visible.
        let (probing, others): (Vec<_>, Vec<_>) =
            spans.partition(|((_, state), _)| *state == State::HalfOpen);
        let widths = others.iter().map(|span| (span, 0));
        for (((from, state), until), least) in widths.chain(probing.iter().map(|span| (span, 3))) {
            let (left, right) = (self.x(*from), self.x(*until));
            let block = [(left, self.top), (right.max(left + least), self.top + 16)];
            area.draw(&Rectangle::new(block, color(*state).filled()))?;
        }
        let right_aligned = text(13).pos(Pos::new(HPos::Right, VPos::Top));
        area.draw_text("breaker", &right_aligned, (self.left - 6, self.top + 1))?;
        Ok(())
    }
}
