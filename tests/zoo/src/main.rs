// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints the tables of docs/drivers.md.

fn main() {
    // Drivers that panic are in the table.
    std::panic::set_hook(Box::new(|_| {}));
    println!(
        "{}\n{}",
        zoo::table::by_driver(),
        zoo::table::by_transport()
    );
}
