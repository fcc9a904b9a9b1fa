//! The two timelines as a picture.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use atomic_breaker_std::{State, Transition};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::load::{Call, Outcome, Run};
use super::scenario::{END, Mode, SLOW, TIMELINE};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

const TENTH: Duration = Duration::from_millis(100);
const FONT: &str = "sans-serif";

const GOOD: RGBColor = RGBColor(46, 125, 50);
const LATE: RGBColor = RGBColor(249, 168, 37);
const FAILED: RGBColor = RGBColor(198, 40, 40);
const REFUSED: RGBColor = RGBColor(120, 144, 156);
const INK: RGBColor = RGBColor(38, 50, 56);

/// What is counted, from the bottom of a bar to its top.
const KINDS: [(&str, RGBColor); 4] = [
    ("answered in good time", GOOD),
    ("answered late", LATE),
    ("failed: sent to a dead server", FAILED),
    ("refused at once", REFUSED),
];

fn kind(call: &Call) -> usize {
    match call.outcome {
        Outcome::Answered if call.took < SLOW => 0,
        Outcome::Answered => 1,
        Outcome::Failed => 2,
        Outcome::Refused => 3,
    }
}

/// Calls that began in each tenth of a second, by kind.
fn counted(run: &Run) -> Vec<[u32; 4]> {
    let tenths = END.as_millis().div_ceil(TENTH.as_millis()) as usize;
    let mut counts = vec![[0; 4]; tenths];
    for call in &run.calls {
        let tenth = (call.began.as_millis() / TENTH.as_millis()) as usize;
        if let Some(counts) = counts.get_mut(tenth) {
            counts[kind(call)] += 1;
        }
    }
    counts
}

/// Writes the picture.
pub(crate) fn draw(
    path: &Path,
    without: &Run,
    with: &Run,
    history: &[(Instant, Transition)],
) -> Drawn {
    let root = SVGBackend::new(path, (1100, 760)).into_drawing_area();
    root.fill(&WHITE)?;
    let (header, body) = root.split_vertically(64);
    let (upper, lower) = body.split_vertically(330);
    legend(&header)?;
    let counts = [counted(without), counted(with)];
    let highest = counts
        .iter()
        .flatten()
        .map(|bar| bar.iter().sum::<u32>())
        .max();
    let top = f64::from(highest.unwrap_or(40)) * 1.2;
    panel(&upper, "Without a breaker", &counts[0], top, None)?;
    panel(
        &lower,
        "With a breaker",
        &counts[1],
        top,
        Some((with.begin, history)),
    )?;
    root.present()?;
    Ok(())
}

fn legend(area: &Area<'_>) -> Drawn {
    let title = (FONT, 20).into_font().color(&INK);
    area.draw_text(
        "A server dies and comes back, called by eight threads",
        &title,
        (64, 8),
    )?;
    let mut left = 64;
    for ((name, color), width) in KINDS.into_iter().zip([210, 150, 260, 0]) {
        area.draw(&Rectangle::new(
            [(left, 40), (left + 14, 54)],
            color.filled(),
        ))?;
        area.draw_text(name, &(FONT, 14).into_font().color(&INK), (left + 20, 40))?;
        left += width;
    }
    Ok(())
}

fn panel(
    area: &Area<'_>,
    title: &str,
    counts: &[[u32; 4]],
    top: f64,
    breaker: Option<(Instant, &[(Instant, Transition)])>,
) -> Drawn {
    let end = END.as_secs_f64();
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 17).into_font().color(&INK))
        .margin_right(24)
        .x_label_area_size(if breaker.is_some() { 92 } else { 40 })
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end, 0.0..top)?;

    // The modes of the server, behind everything.
    let until = TIMELINE.iter().skip(1).map(|(from, _)| *from).chain([END]);
    for ((from, mode), until) in TIMELINE.iter().zip(until) {
        let (from, until) = (from.as_secs_f64(), until.as_secs_f64());
        let shade = match mode {
            Mode::Healthy => RGBColor(241, 248, 233),
            Mode::Killed => RGBColor(255, 235, 238),
            Mode::Hanging => RGBColor(252, 228, 236),
            Mode::Slow => RGBColor(255, 248, 225),
        };
        chart.draw_series([Rectangle::new([(from, 0.0), (until, top)], shade.filled())])?;
        let style = (FONT, 14)
            .into_font()
            .color(&INK)
            .pos(Pos::new(HPos::Center, VPos::Top));
        let label = format!("server {mode}");
        let middle = f64::midpoint(from, until);
        chart.draw_series([Text::new(label, (middle, top * 0.985), style)])?;
    }
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK.mix(0.6))
        .x_labels(10)
        .y_labels(6)
        .x_label_formatter(&|second| format!("{second:.0}"))
        .y_label_formatter(&|calls| format!("{calls:.0}"))
        .y_desc("calls begun per 100 ms")
        .x_desc(if breaker.is_some() { "" } else { "seconds" })
        .label_style((FONT, 13).into_font().color(&INK))
        .draw()?;

    for (tenth, counts) in (0_u32..).zip(counts) {
        let (left, right) = (
            f64::from(tenth) / 10.0 + 0.006,
            f64::from(tenth + 1) / 10.0 - 0.006,
        );
        let mut floor = 0.0;
        for (count, (_, color)) in counts.iter().zip(KINDS) {
            let ceiling = floor + f64::from(*count);
            let bar = Rectangle::new([(left, floor), (right, ceiling)], color.filled());
            chart.draw_series([bar])?;
            floor = ceiling;
        }
    }
    if let Some((begin, history)) = breaker {
        let (width, height) = area.dim_in_pixel();
        let band = Band {
            left: 64,
            right: width.cast_signed() - 24,
            top: height.cast_signed() - 62,
        };
        band.draw(area, begin, history)?;
    }
    Ok(())
}

/// The state of the breaker over time, below the axis.
struct Band {
    left: i32,
    right: i32,
    top: i32,
}

impl Band {
    fn x(&self, time: Duration) -> i32 {
        let part = time.as_secs_f64() / END.as_secs_f64();
        self.left + (f64::from(self.right - self.left) * part.min(1.0)) as i32
    }

    fn draw(&self, area: &Area<'_>, begin: Instant, history: &[(Instant, Transition)]) -> Drawn {
        let color = |state| match state {
            State::Closed => GOOD.mix(0.75),
            State::Open => FAILED.mix(0.75),
            _ => LATE.mix(1.0),
        };
        let times = history.iter().map(|(at, told)| (*at - begin, told.to));
        let changes: Vec<_> = [(Duration::ZERO, State::Closed)]
            .into_iter()
            .chain(times)
            .collect();
        let ends = changes.iter().skip(1).map(|(at, _)| *at).chain([END]);
        for ((from, state), until) in changes.iter().zip(ends) {
            // A probe is short; two pixels keep it visible.
            let (left, right) = (self.x(*from), self.x(until));
            let right = if *state == State::HalfOpen {
                right.max(left + 2)
            } else {
                right
            };
            let block = [(left, self.top), (right, self.top + 16)];
            area.draw(&Rectangle::new(block, color(*state).filled()))?;
        }
        let style = (FONT, 13).into_font().color(&INK);
        let right_aligned = style.pos(Pos::new(HPos::Right, VPos::Top));
        area.draw_text("breaker", &right_aligned, (self.left - 6, self.top + 1))?;
        let mut left = self.left;
        for state in [State::Closed, State::Open, State::HalfOpen] {
            let block = [(left, self.top + 30), (left + 12, self.top + 42)];
            area.draw(&Rectangle::new(block, color(state).filled()))?;
            let label = (FONT, 13).into_font().color(&INK);
            area.draw_text(state.name(), &label, (left + 18, self.top + 29))?;
            left += 96;
        }
        let centred = (FONT, 13).into_font().color(&INK);
        let centred = centred.pos(Pos::new(HPos::Center, VPos::Top));
        let middle = i32::midpoint(self.left, self.right);
        area.draw_text("seconds", &centred, (middle, self.top + 29))?;
        Ok(())
    }
}
