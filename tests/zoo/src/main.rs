// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints the tables of docs/drivers.md.

use zoo::table;

fn main() {
    // Drivers that panic are in the table.
    std::panic::set_hook(Box::new(|_| {}));
    println!("{}", table::by_driver());
    println!("{}", table::not_set_up());
    println!("{}", table::by_transport());
}
