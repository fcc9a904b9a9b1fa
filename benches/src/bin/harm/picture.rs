// SPDX-License-Identifier: MIT OR Apache-2.0
//! The picture: a bar for each contestant, divided by how much it serves, and by which promises it keeps.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const INK: RGBColor = RGBColor(38, 50, 56);
/// From kept to not kept at all.
const COLOURS: [RGBColor; 4] = [
    RGBColor(46, 125, 50),
    RGBColor(174, 213, 129),
    RGBColor(255, 179, 0),
    RGBColor(198, 40, 40),
];
const ROW: i32 = 34;
const LEFT: i32 = 190;
const TOP: i32 = 108;
const WIDTH: i32 = 330;
const GAP: i32 = 50;

/// The number of lines in each class, from kept to not kept at all.
pub(crate) type Classes = [u32; 4];

/// A contestant.
pub(crate) struct Row {
    pub(crate) name: String,
    /// Of partial trouble, and of outages.
    pub(crate) bars: [Classes; 2],
}

/// One half of the picture.
pub(crate) struct Half {
    pub(crate) title: String,
    pub(crate) legend: [&'static str; 4],
}

/// Draws the rows.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn draw(path: &Path, halves: &[Half; 2], rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let count = i32::try_from(rows.len())?;
    let height = TOP + ROW * count + 14;
    let width = LEFT + 2 * WIDTH + GAP + 30;
    let size = (width.cast_unsigned(), height.cast_unsigned());
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let text = |pixels: u32| ("sans-serif", pixels).into_font().color(&INK);
    root.draw_text("Does a breaker help?", &text(20), (24, 12))?;
    for (half, Half { title, legend }) in (0..).zip(halves) {
        let left = LEFT + half * (WIDTH + GAP);
        root.draw_text(title, &text(14), (left, 42))?;
        for ((place, word), colour) in (0..).zip(legend).zip(COLOURS) {
            let at = (left + place % 2 * 165, 66 + place / 2 * 18);
            let square = [at, (at.0 + 11, at.1 + 11)];
            root.draw(&Rectangle::new(square, colour.filled()))?;
            root.draw_text(word, &text(12), (at.0 + 16, at.1))?;
        }
    }
    for (number, row) in (0..).zip(rows) {
        let top = TOP + ROW * number;
        let style = text(14).pos(Pos::new(HPos::Right, VPos::Center));
        root.draw_text(&row.name, &style, (LEFT - 10, top + ROW / 2 - 3))?;
        for (half, classes) in (0..).zip(&row.bars) {
            let left = LEFT + half * (WIDTH + GAP);
            let all = classes.iter().sum::<u32>().max(1);
            let mut seen = 0;
            for (count, colour) in classes.iter().zip(COLOURS) {
                let x = |lines: u32| left + WIDTH * lines.cast_signed() / all.cast_signed();
                let corners = [(x(seen), top), (x(seen + count), top + ROW - 8)];
                root.draw(&Rectangle::new(corners, colour.filled()))?;
                let middle = (i32::midpoint(corners[0].0, corners[1].0), top + ROW / 2 - 3);
                if corners[1].0 - corners[0].0 > 22 {
                    let style = text(12).pos(Pos::new(HPos::Center, VPos::Center));
                    root.draw_text(&count.to_string(), &style, middle)?;
                }
                seen += count;
            }
        }
    }
    root.present()?;
    Ok(())
}
