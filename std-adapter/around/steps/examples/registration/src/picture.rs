// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lives of all jobs as a picture.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::events::Event;
use super::lives::{Doing, Lives};
use super::scene::SERVICES;
use super::service::Mood;
use test_support::paint::{
    Area, Drawn, FAILED, GOOD, INK, Kind, LATE, REJECTED, heading, legend, text,
};

const WIDTH: u32 = 1100;
const LEFT: i32 = 96;
const RIGHT: i32 = 1076;
const ROW: i32 = 12;
const BAND: i32 = 18;
/// Below the heading and the two legends.
const BANDS: i32 = 100;
const ROWS: i32 = BANDS + 4 * BAND + 12;

const KINDS: [Kind; 5] = [
    ("check the address", RGBColor(129, 212, 250)),
    ("create the account", RGBColor(41, 182, 246)),
    ("charge the card", RGBColor(94, 53, 177)),
    ("send the mail", RGBColor(38, 166, 154)),
    ("tell the CRM", RGBColor(46, 125, 50)),
];
const PAUSES: RGBColor = RGBColor(255, 224, 178);
const WAITS: RGBColor = RGBColor(207, 216, 220);
const OTHERS: [Kind; 5] = [
    ("pauses after a failure", PAUSES),
    ("waits for its lane", WAITS),
    ("its worker was killed", INK),
    ("done", GOOD),
    ("rejected", FAILED),
];

const fn shade(mood: Mood) -> RGBColor {
    match mood {
        Mood::Well => RGBColor(241, 248, 233),
        Mood::Slow => LATE,
        Mood::Busy => REJECTED,
        Mood::Hangs => RGBColor(216, 27, 96),
        Mood::Dead => FAILED,
    }
}

const fn color(doing: Doing) -> RGBColor {
    match doing {
        Doing::Step(step) => KINDS[step].1,
        Doing::Pauses => PAUSES,
        Doing::Waits => WAITS,
        Doing::Lost => INK,
    }
}

struct Axis {
    end_us: u64,
}

impl Axis {
    fn x(&self, at_us: u64) -> i32 {
        let part = at_us as f64 / self.end_us.max(1) as f64;
        LEFT + (f64::from(RIGHT - LEFT) * part.min(1.0)) as i32
    }
}

pub(crate) fn draw(path: &Path, events: &[Event], lives: &Lives) -> Drawn {
    let rows = i32::try_from(lives.by_job.len())?;
    let height = ROWS + rows * ROW + 40;
    let root = SVGBackend::new(path, (WIDTH, height.cast_unsigned())).into_drawing_area();
    root.fill(&WHITE)?;
    heading(
        &root,
        "Registrations of five steps, while services die and workers are killed",
    )?;
    let (_, below) = root.split_vertically(44);
    legend(&below, "", &KINDS)?;
    let (_, below) = root.split_vertically(66);
    legend(&below, "", &OTHERS)?;
    let axis = Axis {
        end_us: lives.end_us.next_multiple_of(1_000_000),
    };
    for (at, (name, _)) in (0..).zip(SERVICES) {
        band(&root, &axis, events, name, BANDS + at * BAND)?;
    }
    let top = BANDS + 3 * BAND;
    label(&root, "killed", LEFT - 8, top + BAND / 2)?;
    for event in events.iter().filter(|event| event.is("killed").is_some()) {
        let x = axis.x(event.at_us);
        root.draw(&Rectangle::new(
            [(x, top + 3), (x + 2, top + BAND - 3)],
            INK.filled(),
        ))?;
    }
    seconds(&root, &axis, height)?;
    for again in events
        .iter()
        .filter(|event| event.is("began").is_some())
        .skip(1)
    {
        let x = axis.x(again.at_us);
        let style = text(12).pos(Pos::new(HPos::Center, VPos::Top));
        root.draw_text("killed, started again", &style, (x, height - 16))?;
        root.draw(&PathElement::new([(x, BANDS), (x, height - 18)], INK))?;
    }
    for (at, life) in (0..).zip(lives.by_job.values()) {
        let top = ROWS + at * ROW;
        if at % 4 == 0 {
            label(&root, &format!("job {}", at + 1), LEFT - 8, top + ROW / 2)?;
        }
        for (from, until, doing) in &life.spans {
            let (left, right) = (axis.x(*from), axis.x(*until));
            let (inset, least) = match doing {
                Doing::Step(_) => (1, 1),
                Doing::Lost => (3, 1),
                Doing::Pauses | Doing::Waits => (4, 0),
            };
            let block = [
                (left, top + inset),
                (right.max(left + least), top + ROW - inset),
            ];
            root.draw(&Rectangle::new(block, color(*doing).filled()))?;
        }
        if let Some((at_us, how)) = &life.end {
            let color = if how == "done" { GOOD } else { FAILED };
            root.draw(&Circle::new(
                (axis.x(*at_us) + 5, top + ROW / 2),
                3,
                color.filled(),
            ))?;
        }
    }
    root.present()?;
    Ok(())
}

fn label(area: &Area<'_>, words: &str, right: i32, middle: i32) -> Drawn {
    let style = text(12).pos(Pos::new(HPos::Right, VPos::Center));
    Ok(area.draw_text(words, &style, (right, middle))?)
}

/// The moods of a service over time.
fn band(area: &Area<'_>, axis: &Axis, events: &[Event], name: &str, top: i32) -> Drawn {
    label(area, name, LEFT - 8, top + BAND / 2)?;
    let told = events.iter().filter_map(|event| match event.is("mood")? {
        [service, mood] if service == name => Some((event.at_us, Mood::of(mood)?)),
        _ => None,
    });
    let mut moods: Vec<_> = std::iter::once((0, Mood::Well)).chain(told).collect();
    // A mood from before the program was killed is reported again.
    moods.dedup_by_key(|(_, mood)| *mood);
    let ends = moods.iter().skip(1).map(|(at, _)| *at).chain([axis.end_us]);
    for ((from, mood), until) in moods.iter().zip(ends) {
        let (left, right) = (axis.x(*from), axis.x(until));
        let block = [(left, top + 2), (right, top + BAND - 2)];
        area.draw(&Rectangle::new(block, shade(*mood).filled()))?;
        if *mood != Mood::Well {
            let style = text(12)
                .color(&WHITE)
                .pos(Pos::new(HPos::Center, VPos::Center));
            area.draw_text(
                mood.name(),
                &style,
                (i32::midpoint(left, right), top + BAND / 2),
            )?;
        }
    }
    Ok(())
}

fn seconds(area: &Area<'_>, axis: &Axis, height: i32) -> Drawn {
    let style = text(12).pos(Pos::new(HPos::Center, VPos::Top));
    for second in (0..=axis.end_us / 1_000_000).step_by(5) {
        let x = axis.x(second * 1_000_000);
        let line = [(x, BANDS), (x, height - 34)];
        area.draw(&PathElement::new(line, INK.mix(0.15)))?;
        area.draw_text(&format!("{second} s"), &style, (x, height - 30))?;
    }
    Ok(())
}
