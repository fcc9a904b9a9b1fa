// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars on a logarithmic scale, as SVG.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(38, 50, 56);
const OURS: RGBColor = RGBColor(46, 125, 50);
const OTHERS: RGBColor = RGBColor(120, 144, 156);

const ROW: u32 = 17;
const LEFT: u32 = 290;
const RIGHT: u32 = 90;
const TOP: u32 = 84;

/// One bar or several, one below the other.
#[derive(Clone, Debug)]
pub struct Group {
    /// The name beside the bars.
    pub name: String,
    /// Nanoseconds, in the order of the legend.
    pub values: Vec<f64>,
    /// Drawn in the colour of this project.
    pub is_ours: bool,
}

/// Draws groups of bars; `legend` names the bars of each group, from the palest to the darkest.
///
/// # Errors
/// When the file cannot be written.
pub fn bars(
    path: &Path,
    title: &str,
    subtitle: &str,
    legend: &[String],
    groups: &[Group],
) -> Result<(), Box<dyn Error>> {
    let bars = legend.len().max(1) as u32;
    let pitch = ROW * bars + 14;
    let size = (920, TOP + pitch * groups.len() as u32 + 24);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let text = |pixels: u32| (FONT, pixels).into_font().color(&INK);
    root.draw_text(title, &text(20), (24, 12))?;
    root.draw_text(subtitle, &text(14), (24, 40))?;

    let values = || groups.iter().flat_map(|group| group.values.iter().copied());
    let lowest = values().fold(f64::INFINITY, f64::min).log10().floor();
    let highest = values().fold(0.0, f64::max).log10().ceil();
    let width = f64::from(size.0 - LEFT - RIGHT);
    let x = |value: f64| {
        LEFT.cast_signed() + ((value.log10() - lowest) / (highest - lowest) * width) as i32
    };

    // A line per power of ten.
    let mut power = lowest;
    while power <= highest {
        let at = x(10_f64.powf(power));
        let line = [(at, TOP.cast_signed() - 8), (at, size.1.cast_signed() - 20)];
        root.draw(&PathElement::new(line.to_vec(), INK.mix(0.15)))?;
        let label = format!("{} ns", 10_f64.powf(power));
        let style = text(12).pos(Pos::new(HPos::Center, VPos::Bottom));
        root.draw_text(&label, &style, (at, TOP.cast_signed() - 10))?;
        power += 1.0;
    }

    for (number, group) in (0..).zip(groups) {
        let top = TOP.cast_signed() + (pitch * number).cast_signed();
        let middle = top + (ROW * bars / 2).cast_signed();
        let style = text(14).pos(Pos::new(HPos::Right, VPos::Center));
        root.draw_text(&group.name, &style, (LEFT.cast_signed() - 10, middle))?;
        let color = if group.is_ours { OURS } else { OTHERS };
        for (bar, value) in (0..).zip(&group.values) {
            let top = top + (ROW * bar).cast_signed();
            let bottom = top + ROW.cast_signed() - 2;
            let depth = 0.45 + 0.55 * f64::from(bar + 1) / f64::from(bars);
            let corners = [
                (LEFT.cast_signed(), top),
                (x(*value).max(LEFT.cast_signed() + 1), bottom),
            ];
            root.draw(&Rectangle::new(corners, color.mix(depth).filled()))?;
            let name = legend.get(bar as usize).map_or("", String::as_str);
            let digits = if *value < 10.0 { 2 } else { 0 };
            let label = format!(
                "{value:.digits$}{}{name}",
                if name.is_empty() { "" } else { "  " }
            );
            let style = text(12).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw_text(
                &label,
                &style,
                (corners[1].0 + 6, i32::midpoint(top, bottom)),
            )?;
        }
    }
    root.present()?;
    Ok(())
}
