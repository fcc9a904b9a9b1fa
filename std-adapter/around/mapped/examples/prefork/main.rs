// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server of four worker processes, whose database goes away for a while: first each worker has its own breaker,
//! then all share one in a file. Meanwhile workers are killed and replaced. Ends by itself after about four seconds.
//!
//! ```console
//! cargo run -p atomic-breaker-mapped --example prefork
//! ```

#[cfg(any(target_os = "linux", target_os = "android"))]
mod server;

#[cfg(any(target_os = "linux", target_os = "android"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    server::main()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn main() {
    println!("Files of breakers are for Linux and Android.");
}
