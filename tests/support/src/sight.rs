// SPDX-License-Identifier: MIT OR Apache-2.0
//! The distance between colors, also for eyes that do not tell red from green.

/// Red, green and blue, from 0 to 255.
pub type Rgb = (u8, u8, u8);

type Matrix = [[f64; 3]; 3];

const USUAL: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// Severity 1 of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
/// Deficiency" (2009), for linear RGB.
const DEUTERANOPIA: Matrix = [
    [0.367_322, 0.860_646, -0.227_968],
    [0.280_085, 0.672_501, 0.047_413],
    [-0.011_820, 0.042_940, 0.968_881],
];
const PROTANOPIA: Matrix = [
    [0.152_286, 1.052_583, -0.204_868],
    [0.114_503, 0.786_281, 0.099_216],
    [-0.003_882, -0.048_116, 1.051_998],
];
/// From linear RGB, divided by the white of D65.
const XYZ: Matrix = [
    [0.433_8, 0.376_2, 0.189_9],
    [0.212_6, 0.715_2, 0.072_2],
    [0.017_7, 0.109_5, 0.872_9],
];

fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
}

fn linear(part: u8) -> f64 {
    let part = f64::from(part) / 255.0;
    if part <= 0.040_45 {
        part / 12.92
    } else {
        ((part + 0.055) / 1.055).powf(2.4)
    }
}

/// In CIELAB, as seen by these eyes.
fn lab((red, green, blue): Rgb, eyes: &Matrix) -> [f64; 3] {
    let seen = times(eyes, [red, green, blue].map(linear)).map(|part| part.clamp(0.0, 1.0));
    let [x, y, z] = times(&XYZ, seen).map(|part| {
        if part > 0.008_856 {
            part.cbrt()
        } else {
            part.mul_add(7.787, 16.0 / 116.0)
        }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// The least difference of any two of these colors (CIE 1976), for usual eyes, deuteranopia and protanopia.
pub fn least_differences(colors: &[Rgb]) -> [f64; 3] {
    [USUAL, DEUTERANOPIA, PROTANOPIA].map(|eyes| {
        let seen: Vec<_> = colors.iter().map(|color| lab(*color, &eyes)).collect();
        let pairs = seen.iter().enumerate().flat_map(|(at, one)| {
            seen[at + 1..].iter().map(move |other| {
                let squares = one.iter().zip(other).map(|(a, b)| (a - b) * (a - b));
                squares.sum::<f64>().sqrt()
            })
        });
        pairs.fold(f64::INFINITY, f64::min)
    })
}
