// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pictures of the pages are readable without telling red from green.

use test_support::paint::{FAILED, GOOD, LATE, REJECTED, RETURNING, TURNED_AWAY};
use test_support::sight::least_differences;

#[test]
fn the_colors_of_pictures_differ_for_eyes_that_do_not_tell_red_from_green() {
    let colors = [GOOD, LATE, FAILED, REJECTED, RETURNING, TURNED_AWAY];
    let least = least_differences(&colors.map(|color| (color.0, color.1, color.2)));
    println!("the least differences: {least:.1?}");
    assert!(least.iter().all(|least| *least >= 25.0), "{least:?}");
}

#[test]
fn control_green_and_red_do_not_differ_enough() {
    let [usual, deuteranopia, protanopia] = least_differences(&[(46, 125, 50), (198, 40, 40)]);
    assert!(usual > 90.0 && deuteranopia < 16.0 && protanopia < 19.0);
}
