// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints the tables of docs/drivers.md.

fn main() {
    // Some drivers panic, and are seen to.
    std::panic::set_hook(Box::new(|_| {}));
    for animal in zoo::zoo::animals() {
        for ill in zoo::condition::Ill::ALL {
            let figures = animal.by_driver(ill);
            println!("{} {ill:?} {figures:?}", animal.name);
            if let Some((guard, figures)) = animal.by_transport(ill) {
                println!("    {guard} {figures:?}");
            }
        }
    }
}
