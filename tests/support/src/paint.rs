// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of pictures: headings, legends, modes of a server, calls, states of a breaker.

use std::error::Error;
use std::time::Duration;

use atomic_breaker::{State, Transition};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub type Drawn = Result<(), Box<dyn Error>>;

const FONT: &str = "sans-serif";

// They differ in lightness or between blue and yellow, for eyes that do not tell red from green.
pub const GOOD: RGBColor = RGBColor(30, 110, 190);
pub const LATE: RGBColor = RGBColor(249, 180, 37);
pub const FAILED: RGBColor = RGBColor(160, 20, 20);
pub const REJECTED: RGBColor = RGBColor(150, 160, 165);
pub const TURNED_AWAY: RGBColor = RGBColor(70, 40, 100);
pub const RETURNING: RGBColor = RGBColor(130, 205, 250);
pub const INK: RGBColor = RGBColor(38, 50, 56);

pub const LEFT: i32 = 64;

/// About the width of a letter.
const LETTER: usize = 7;

/// A kind of calls, or a state of a breaker.
pub type Kind = (&'static str, RGBColor);

/// The states of a breaker.
pub const STATES: [Kind; 4] = [
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

pub fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

pub fn heading(area: &Area<'_>, words: &str) -> Drawn {
    Ok(area.draw_text(words, &text(20), (LEFT, 12))?)
}

pub fn legend(area: &Area<'_>, words: &str, entries: &[Kind]) -> Drawn {
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

pub type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A mode of the server: its start and end, its color and its name.
pub type Shade = (Duration, Duration, RGBColor, &'static str);

pub fn backdrop(
    chart: &mut Chart<'_>,
    top: f64,
    size: u32,
    modes: impl Iterator<Item = Shade>,
) -> Drawn {
    for (from, until, shade, name) in modes {
        let (from, until) = (from.as_secs_f64(), until.as_secs_f64());
        chart.draw_series([Rectangle::new([(from, 0.0), (until, top)], shade.filled())])?;
        let style = text(size).pos(Pos::new(HPos::Center, VPos::Top));
        let middle = f64::midpoint(from, until);
        chart.draw_series([Text::new(name, (middle, top * 0.985), style)])?;
    }
    Ok(())
}

/// The axes of seconds and calls: how many labels each has at most, and what stands beside the calls, if anything.
pub fn axes(chart: &mut Chart<'_>, labels: (usize, usize), calls: Option<&str>) -> Drawn {
    let seconds = |second: &f64| format!("{second:.0} s");
    let whole = |calls: &f64| format!("{calls:.0}");
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK.mix(0.6))
        .x_labels(labels.0)
        .y_labels(labels.1)
        .x_label_formatter(&seconds)
        .y_label_formatter(&whole)
        .label_style(text(13));
    if let Some(calls) = calls {
        mesh.y_desc(calls);
    }
    Ok(mesh.draw()?)
}

/// Calls by the time at which they began, and by kind.
pub struct Counts<const N: usize> {
    width: Duration,
    bars: Vec<[u32; N]>,
}

impl<const N: usize> Counts<N> {
    /// Calls that began before the end: when, and of which kind. They are counted for each `width` of time.
    pub fn of(
        calls: impl Iterator<Item = (Duration, usize)>,
        width: Duration,
        end: Duration,
    ) -> Self {
        let mut bars = vec![[0; N]; end.as_millis().div_ceil(width.as_millis()) as usize];
        for (began, kind) in calls {
            let index = (began.as_millis() / width.as_millis()) as usize;
            if let Some(bar) = bars.get_mut(index) {
                bar[kind] += 1;
            }
        }
        Self { width, bars }
    }

    /// The calls of the highest bar.
    pub fn most(&self) -> u32 {
        let sums = self.bars.iter().map(|bar| bar.iter().sum());
        sums.max().unwrap_or_default()
    }

    pub fn draw(&self, chart: &mut Chart<'_>, kinds: &[Kind; N]) -> Drawn {
        let width = self.width.as_secs_f64();
        for (index, bar) in (0_u32..).zip(&self.bars) {
            let (left, right) = (
                f64::from(index) * width + 0.006,
                f64::from(index + 1) * width - 0.006,
            );
            let mut floor = 0.0;
            for (count, (_, color)) in bar.iter().zip(kinds).filter(|(count, _)| **count > 0) {
                let ceiling = floor + f64::from(*count);
                let bar = Rectangle::new([(left, floor), (right, ceiling)], color.filled());
                chart.draw_series([bar])?;
                floor = ceiling;
            }
        }
        Ok(())
    }
}

/// The state of a breaker over time, below the axis.
pub struct Band {
    pub left: i32,
    pub right: i32,
    pub top: i32,
    pub height: i32,
    pub end: Duration,
}

impl Band {
    fn x(&self, time: Duration) -> i32 {
        let part = time.as_secs_f64() / self.end.as_secs_f64();
        self.left + (f64::from(self.right - self.left) * part.min(1.0)) as i32
    }

    pub fn draw(&self, area: &Area<'_>, history: &[(Duration, Transition)]) -> Drawn {
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
            let (right, bottom) = (right.max(left + least), self.top + self.height);
            let block = [(left, self.top), (right, bottom)];
            area.draw(&Rectangle::new(block, color(*state).filled()))?;
        }
        let right_aligned = text(13).pos(Pos::new(HPos::Right, VPos::Center));
        let middle = self.top + self.height / 2;
        area.draw_text("breaker", &right_aligned, (self.left - 6, middle))?;
        Ok(())
    }
}
